"""The scene of the demonstration: two people have stood in a corridor for about a minute.

Twenty metres of corridor with thermometers along the ceiling. Where air is stirred as in a
ventilated corridor (0.06 m2/s) heat spreads by 4 m2 in a minute; a person who warms the air
by some 50 W in a cross-section of 3 m2 gives one kelvin metre in that time.

Over a hundred scenes at epsilon 8 and four rounds the map was 0.55 m from the truth in the mean
(0.46 m in the median, 1.8 m at worst), a guess without data 3.7 m, and the least heat 1.6 m:
`python tests/bench/bench_demo.py`.
"""

from pathlib import Path

import numpy as np

from physics.scenes import Scene, random_sources
from recovery.thermal import Query

from ..deployment import Deployment

LENGTH_M, CELLS = 20.0, 80
SPREAD_M2 = 4.0
PROTECT_M = 0.5
PEOPLE = 2
DELTA = "1/100000"
ADC_STEP = "1/128"  # kelvin, as of a TMP117
EVERY_S = 1.0
APART_M = 5.0  # the warmth of two who stand together is one hump, and would show less


def people(query: Query, world: np.random.Generator) -> Scene:
    """Return two people somewhere in the corridor, not beside each other."""
    while True:
        scene = random_sources(PEOPLE, query.grid, world)
        if np.ptp(scene.places) >= APART_M:
            return scene


def deployment(
    *,
    folder: Path,
    sensors: int,
    epsilon: str,
    rounds: int,
    keyholder: bool,
    broker: tuple[str, int],
) -> Deployment:
    """Return the corridor as a deployment, its files in a folder that will not stay.

    Raises:
        ValueError: a value is out of range.
    """
    return Deployment.model_validate(
        {
            "site": {
                "name": "demo",
                "devices": folder / "devices.json",
                "database": folder / "demo.sqlite",
            },
            "room": {"cells": CELLS, "length_m": LENGTH_M, "walls": "insulated"},
            "heat": {"spread_m2": SPREAD_M2, "intensity_max": 1.0},
            "sensors": {"count": sensors, "adc_step": ADC_STEP},
            "privacy": {
                "epsilon": epsilon,
                "delta": DELTA,
                "protect_distance_m": PROTECT_M,
                "readings": rounds,
                "keyholder": keyholder,
            },
            "rounds": {"gather_s": 10.0, "every_s": EVERY_S},
            # Everything is on this machine, and the broker is gone with it.
            "mqtt": {"host": broker[0], "port": broker[1], "insecure": True},
        }
    )

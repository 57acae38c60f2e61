"""Maps of a simulated day in the sample office: how far off, and how many sources they say.

Run it: `python tests/bench/bench_office.py [days] [estimators...] [--worlds N]`. Each day has its
own noise, the same for every estimator; three people are there at either reading, one or two more
have gone. Off and said are earth mover's distances in metres, from what people gave off lately.
Then about how many sources it says, how often three are within what it says, and milliseconds.

Then of so many worlds of one to five people each, who have been there for a quarter of an hour to
eight, together or each for a time of his own: how often the number is right, within one, and
within what the map says. Three that sat for hours warm a room as five do that came later, and at
this noise no shape tells them apart: the day's own three are said to be four, without noise too.
"""

import sys
import time
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np

import physics.rooms
from edge.core.entropy import Tape
from edge.mechanisms import thermal
from gateway import mechanisms
from gateway.lab.thermal_days.day import LivingRoom, average_recent_watts, read_day, simulate_day
from gateway.lab.thermal_days.rooms import (
    list_round_times_s,
    load_room,
    make_model,
    widen_query_clamp,
)
from gateway.lab.thermal_days.run import play_rounds
from physics.rooms.day import draw_day
from recovery.distance import earth_movers
from recovery.estimators.record import Seen
from recovery.estimators.table import estimate
from recovery.thermal import add_up, look, recover


def main(words: list[str]) -> None:
    worlds = int(words.pop(words.index("--worlds") + 1)) if "--worlds" in words else 20
    words = [word for word in words if not word.startswith("--")]
    days = int(words[0]) if words else 2
    names = words[1:] or ["auto", "posterior", "entropy"]
    room = make_model(load_room(Path(str(files(physics.rooms) / "office.toml"))), "entropy")
    world = np.random.default_rng(0)
    day = draw_day(room.room, world)
    moments = list_round_times_s(room.room, room.query.readings, room.every_min)
    lived = simulate_day(LivingRoom(room.room, day, room.views), rounds_s=moments)
    query = widen_query_clamp(room.query, room.room, lived, moments)
    long_m = max(room.room.size_m)
    rows: dict[str, list[tuple[float, ...]]] = {name: [] for name in names}
    for number in range(days):
        read = read_day(room.room, lived, np.random.default_rng(number))
        mechanism, rng = mechanisms.find_mechanism(thermal.NAME), Tape(b"office %d" % number)
        level_c = room.room.air.baseline_c
        for last in play_rounds(
            mechanism, query, lived, read, level_c, moments, rng, lambda name: None
        ):
            heat = average_recent_watts(room.room, day, last.at_s, room.hold_s)
            for name in names:
                began = time.process_time()
                found = recover(replace(query, estimator=name), [last.known])
                took = 1000 * (time.process_time() - began)
                off = long_m * earth_movers(heat, found.mass, normalise=True)
                sure, said = found.credible, found.expected_error
                low, high, _ = (np.nan,) * 3 if sure is None else sure.likely_range
                about = np.nan if sure is None else sure.median
                said = np.nan if said is None else said
                rows[name].append((off, said, about, float(low <= 3 <= high), took))
    for name, found in rows.items():
        values = np.array(found)
        half = 1.96 * values[:, 0].std(ddof=1) / len(values) ** 0.5
        off, said, about, held, took = values.mean(axis=0)
        print(
            f"{name:12s} {off:.2f} +- {half:.2f} m  said {said:.2f}  about {about:.1f}"
            f"  three are within {held:.2f}  ms {took:.0f}"
        )
    seen = look(query, add_up(query, [last.known]))
    assert seen is not None
    for together in (True, False):
        counts = np.array([count(seen, 1 + nth % 5, nth, together) for nth in range(worlds)])
        right, near, held = counts.mean(axis=0)
        print(
            f"{worlds} worlds, {'together' if together else 'each by himself':16s} right "
            f"{right:.2f}  within one {near:.2f}  within what is said {held:.2f}"
        )


def count(seen: Seen, people: int, world: int, together: bool) -> tuple[bool, bool, bool]:
    """Return whether the number is right, within one, and within what is said."""
    rng = np.random.default_rng([people, world])
    felt = np.array([seen.operator, *(() if seen.others is None else seen.others)])
    times = np.repeat(rng.integers(len(felt)), people)
    if not together:
        times = rng.integers(len(felt), size=people)
    cells = rng.choice(np.flatnonzero(seen.open), people, replace=False)
    powers = seen.prior.warmest * rng.uniform(0.75, 1.0, people)
    warmth = powers @ felt[times, :, cells]
    noise = seen.sigma * rng.standard_normal(len(warmth))
    sure = estimate("auto", replace(seen, readings=warmth + noise)).credible
    low, high, _ = sure.likely_range
    off = abs(sure.median - people)
    return off == 0, off <= 1, low <= people <= high


if __name__ == "__main__":
    main(sys.argv[1:])

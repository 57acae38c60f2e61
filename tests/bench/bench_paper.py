"""The paper's settings, our distances beside those found elsewhere, for both calibrations.

Run it: `python tests/bench/bench_paper.py [trials]`. 100 cells, 50 sensors, delta 1/10, unit
sources in random cells; every number is a mean earth mover's distance with its 95 % interval,
on the whole path of a release. Nothing here is asserted.
"""

import sys
from collections import Counter
from dataclasses import replace

import numpy as np

from edge.entropy import Tape
from edge.records import Grid, Reading
from edge.thermal import Params
from gateway.mechanisms import named, play
from physics.sensors import grains
from recovery.distance import earth_movers
from recovery.maps.heatmap import Heatmap
from recovery.thermal import Query, operator

PAPER = Query(Grid((100, 1), 0), (50,), 0.05, (1, 1), (1, 10))
EPSILONS = (1, 4, 10)
SOURCES = (1, 2, 3, 4)
# Found elsewhere with 100 trials: {epsilon: by number of sources}.
PRINTED = {1: (0.080, 0.133, 0.136, 0.126), 4: (0.029, 0.080, 0.090, 0.091)}
PRINTED |= {10: (0.014, 0.061, 0.074, 0.080)}
QUANTILE = {1: (0.084, 0.153, 0.154, 0.151), 4: (0.031, 0.087, 0.091, 0.098)}
QUANTILE |= {10: (0.014, 0.066, 0.075, 0.087)}
UNIFORM = (0.349, 0.232, 0.193, 0.161)


def trial(query: Query, sources: int, number: int) -> tuple[float, str]:
    """Return the distance, NaN where there was no map, and the first word of its status."""
    world = np.random.default_rng([sources, number])
    heat = np.zeros(100)
    heat[world.choice(100, sources, replace=False)] = 1
    warmth = operator(query) @ heat

    def readings(planned: object) -> list[Reading]:
        values = grains(warmth, Params(*planned.params).exponent)  # type: ignore[attr-defined]
        return [Reading(sensor, (value,)) for sensor, value in enumerate(values)]

    found = play(named("thermal"), query, readings, Tape(b"%d %d" % (sources, number)))
    if not isinstance(found, Heatmap):
        return float("nan"), "unresolved"
    return earth_movers(found.mass, heat[None], normalise=True), found.status.split()[0]


def line(query: Query, sources: int, trials: int, elsewhere: float | None) -> str:
    """Return one line of the table."""
    made = [trial(query, sources, number) for number in range(trials)]
    distances = np.array([distance for distance, _ in made])
    known = distances[~np.isnan(distances)]
    within = distances[[status == "optimal" for _, status in made]]
    shares = Counter(status for _, status in made)
    interval = 1.96 * known.std() / np.sqrt(len(known))
    others = " ".join(f"{name} {count / trials:.2f}" for name, count in shares.most_common())
    return (
        f"{query.epsilon[0]:7d} {sources:7d} {elsewhere or float('nan'):9.3f}"
        f" {known.mean():8.3f} ±{interval:.3f} {within.mean() if len(within) else 0:9.3f}"
        f"   {others}"
    )


def main() -> None:
    """Print one table for each noise and radius."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print(f"uniform map: {UNIFORM} for 1 to 4 sources; {trials} trials a line")
    for noise, estimator, spread, elsewhere in (
        ("paper", "l1-printed", 0.05, PRINTED),
        ("paper", "l1", 0.05, QUANTILE),
        ("exact", "l1-printed", 0.05, None),
        ("exact", "l1", 0.05, None),
        ("paper", "l1-printed", 0.5, None),
        ("exact", "l1-printed", 0.5, None),
    ):
        print(f"\n{noise} noise, {estimator}, spread {spread}")
        print("epsilon sources elsewhere     ours          optimal alone   statuses")
        for epsilon in EPSILONS:
            query = replace(
                PAPER,
                epsilon=(epsilon, 1),
                calibration=noise,
                estimator=estimator,
                spread_m2=spread,
            )
            for sources in SOURCES:
                found = elsewhere[epsilon][sources - 1] if elsewhere else None
                print(line(query, sources, trials, found), flush=True)


if __name__ == "__main__":
    main()

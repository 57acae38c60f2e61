"""How near the sampled posterior comes, how often it is right, and how long it takes.

python tests/bench/bench_chain.py [runs] [emd|coverage|plane|time]
"""

import sys
import time

import numpy as np
from numpy.typing import NDArray

from physics.kernel import forward
from recovery.bayes.chain import estimate_by_chain, sample_posterior
from recovery.bayes.draws import cumulative_shares, from_draws
from recovery.compiled import compiled
from recovery.distance import earth_movers
from recovery.estimators.record import Prior, Seen
from recovery.kernels import gibbs

Floats = NDArray[np.float64]

CELLS, SENSORS, SPREAD = 100, 50, 0.05
PLACES = np.arange(1, CELLS + 1) / CELLS
OPERATOR = forward(PLACES, np.arange(1, SENSORS + 1) / SENSORS, SPREAD)
# thermal.md, section 3.2: printed noise at epsilon 1, 4, 10; exact noise at 4 and 10.
SIGMAS = {"1": 0.686, "4": 0.172, "10": 0.069, "10 exact": 0.0383}


def drawn(
    world: np.random.Generator, prior: Prior, low: float, sigma: float
) -> tuple[Floats, Seen]:
    """Return a scene of the prior and what is seen of it."""
    number = int(world.integers(prior.fewest, prior.most + 1))
    heat = np.zeros(CELLS)
    heat[world.choice(CELLS, number, replace=False)] = world.uniform(low, 1, number)
    readings = OPERATOR @ heat + sigma * world.standard_normal(SENSORS)
    return heat, Seen(OPERATOR, readings, sigma, PLACES[:, None], (1, CELLS), prior)


def emd(runs: int) -> None:
    """Print mean distances with the number of sources known and not."""
    print("noise   k   knows k   1..8    ratio   knows nothing (U(.3,1))   same, knows k")
    for name, sigma in SIGMAS.items():
        for number in (1, 2, 3, 4, 6, 8):
            found: list[list[float]] = []
            world = np.random.default_rng(17)
            for _ in range(runs):
                row = []
                heat, seen = drawn(world, Prior(number, number), 1.0, sigma)
                for prior in (Prior(number, number), Prior(1, 8)):
                    row.append(_distance(heat, seen, prior))
                heat, seen = drawn(world, Prior(number, number), 0.3, sigma)
                for prior in (Prior(1, 8, 1.0, 0.3), Prior(number, number, 1.0, 0.3)):
                    row.append(_distance(heat, seen, prior))
                found.append(row)
            known, unknown, free, held = np.mean(found, axis=0)
            error = np.std(np.array(found)[:, 0]) / np.sqrt(runs)
            print(
                f"{name:9s} {number}   {known:.4f}  {unknown:.4f}  {unknown / known:.2f}    "
                f"{free:.4f}   {held:.4f}   +- {error:.4f}",
                flush=True,
            )


def _distance(heat: Floats, seen: Seen, prior: Prior) -> float:
    known = Seen(seen.operator, seen.readings, seen.sigma, seen.places, seen.shape, prior)
    return earth_movers(estimate_by_chain(known).heat, heat, positions=PLACES, normalise=True)


def coverage(runs: int, scenes: int = 0) -> None:
    """Print how often the truth lies where nine in ten of the posterior do.

    `band` is over all cells; shares are few, so the band holds at least its level. `ranks`
    breaks ties among draws evenly, which a right posterior covers just as often as it says.
    """
    print("noise     powers     band    ranks 90 %   50 %    presence: said, so   seconds")
    for name, sigma in SIGMAS.items():
        for prior, low in ((Prior(1, 8), 1.0), (Prior(1, 8, 1.0, 0.3), 0.3)):
            world = np.random.default_rng(29)
            inside, ranks, said, so = [], [], [], []
            start = time.process_time()
            for run in range(runs):
                heat, seen = drawn(world, prior, low, sigma)
                draws = (
                    sample_posterior(seen, scenes, stream=run)
                    if scenes
                    else sample_posterior(seen, stream=run)
                )
                credible = from_draws(seen, draws).credible
                truth = np.cumsum(heat) / heat.sum()
                assert credible is not None
                assert credible.band is not None
                inside.append(
                    (credible.band.low - 1e-9 <= truth) & (truth <= credible.band.high + 1e-9)
                )
                shares = cumulative_shares(draws.cells, draws.powers, CELLS)
                below = (shares < truth[:, None] - 1e-9).mean(axis=1)
                same = (np.abs(shares - truth[:, None]) <= 1e-9).mean(axis=1)
                ranks.append((below + world.uniform() * same)[[19, 39, 59, 79]])
                present = credible.present.ravel()
                likely = present > 0.2
                said.extend(present[likely])
                so.extend(heat[likely] > 0)
            took = (time.process_time() - start) / runs
            rank = np.array(ranks)
            nine = np.mean((rank > 0.05) & (rank < 0.95))
            half = np.mean((rank > 0.25) & (rank < 0.75))
            print(
                f"{name:9s} {'equal ' if low == 1 else 'U(.3,1)'}   {np.mean(inside):.3f}   "
                f"{nine:.3f}        {half:.3f}    {np.sum(said):.0f} {np.sum(so):.0f} of {len(so)}"
                f"         {took:.3f}",
                flush=True,
            )


def seconds(runs: int) -> None:
    """Print seconds a recovery, as it is and compiled."""
    for way in ("plain", "compiled"):
        if way == "compiled":
            compiled(gibbs)
        for number, prior, low in (
            (4, Prior(4, 4), 1.0),
            (4, Prior(1, 8), 1.0),
            (8, Prior(1, 8), 1.0),
            (4, Prior(1, 8, 1.0, 0.3), 0.3),
        ):
            row = []
            for sigma in SIGMAS.values():
                world = np.random.default_rng(3)
                times = []
                for _ in range(runs + 1):
                    _, seen = drawn(world, Prior(number, number), low, sigma)
                    seen = Seen(OPERATOR, seen.readings, sigma, seen.places, seen.shape, prior)
                    start = time.process_time()
                    estimate_by_chain(seen)
                    times.append(time.process_time() - start)
                row.append(float(np.median(times[1:])))
            print(way, number, prior, *(f"{took:.3f}" for took in row), flush=True)


def plane(runs: int) -> None:
    """Print distances in a plane: 20 x 20 cells, 10 x 10 sensors, 2 sources, near exact noise."""
    side, sensors = 20, 10
    grid = np.arange(1, side + 1) / side
    places = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)
    line = forward(grid, np.arange(1, sensors + 1) / sensors, 0.02)
    operator = np.kron(line, line)
    for sigma in (2.5, 1.1, 0.65):
        world = np.random.default_rng(5)
        found, start = [], time.process_time()
        for _ in range(runs):
            heat = np.zeros(side * side)
            heat[world.choice(side * side, 2, replace=False)] = 1
            readings = operator @ heat + sigma * world.standard_normal(sensors**2)
            seen = Seen(operator, readings, sigma, places, (side, side), Prior(2, 2))
            estimate = estimate_by_chain(seen)
            found.append(
                earth_movers(
                    estimate.heat.reshape(side, side), heat.reshape(side, side), normalise=True
                )
            )
        took = (time.process_time() - start) / runs
        print(f"plane sigma {sigma}: {np.mean(found):.4f}, {took:.3f} s", flush=True)


if __name__ == "__main__":
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    which = sys.argv[2:] or ["emd", "coverage", "plane", "time"]
    if "time" in which:
        seconds(min(many, 20))
    compiled(gibbs)
    if "emd" in which:
        emd(many)
    if "coverage" in which:
        coverage(many)
    if "plane" in which:
        plane(min(many, 40))

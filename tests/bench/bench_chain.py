"""How near the sampled posterior comes, how often it is right, and how long it takes.

python tests/bench/bench_chain.py [runs] [emd|coverage|plane|time]
"""

import sys
import time

import numpy as np
from numpy.typing import NDArray

from physics.kernel import forward
from recovery.bayes.chain import cumulative_shares, estimate_by_chain, from_draws, sample_posterior
from recovery.bayes.room_physics import Physics
from recovery.bayes.unknown_physics import estimate_jointly
from recovery.distance import earth_movers
from recovery.estimators import posterior
from recovery.estimators.record import Prior, Seen
from recovery.kernels import compiled, gibbs

Floats = NDArray[np.float64]

CELLS, SENSORS, SPREAD = 100, 50, 0.05
PLACES = np.arange(1, CELLS + 1) / CELLS
PLACES_OF_SENSORS = np.arange(1, SENSORS + 1) / SENSORS
OPERATOR = forward(PLACES, PLACES_OF_SENSORS, SPREAD)
# thermal.md, section 3.2: printed noise at epsilon 1, 4, 10; exact noise at 4 and 10.
SIGMAS = {"1": 0.686, "4": 0.172, "10": 0.069, "10 exact": 0.0383}


def drawn(
    world: np.random.Generator, prior: Prior, low: float, sigma: float, spread: float = SPREAD
) -> tuple[Floats, Seen]:
    """Return a scene of the prior and what is seen of it, with heat spread so far."""
    number = int(world.integers(prior.fewest, prior.most + 1))
    heat = np.zeros(CELLS)
    heat[world.choice(CELLS, number, replace=False)] = world.uniform(low, 1, number)
    true = forward(PLACES, PLACES_OF_SENSORS, spread)
    readings = true @ heat + sigma * world.standard_normal(SENSORS)
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


def coverage(runs: int) -> None:
    """Print how often the whole truth lies within the band that says nine times in ten.

    Scenes of the prior: of equal sources, and evenly warm between three tenths and all; at
    spread unknown too, where it is anywhere within a factor of four. `single` is how often one
    point of the truth lies in the band; `ranks` breaks ties among draws evenly, which a right
    posterior covers just as often as it says.
    """
    print("path      noise     prior            whole band   single  wide   ranks   seconds")
    for name in ("1", "4", "10"):
        for number in (2, 3):
            _row("exact", name, Prior(number, number), 1.0, runs)
        _row("exact", name, Prior(1, 3), 1.0, runs)
    for name in ("1", "10 exact"):
        _row("sampled", name, Prior(1, 8), 1.0, runs)
        _row("sampled", name, Prior(1, 8, 1.0, 0.3), 0.3, runs)
    for name in ("1", "10"):
        _row("physics", name, Prior(2, 2), 1.0, runs // 2)
    _row("physics", "1", Prior(1, 3, 1.0, 0.3), 0.3, runs // 10)


def _row(path: str, name: str, prior: Prior, low: float, runs: int) -> None:
    world = np.random.default_rng([2718, *path.encode(), *name.encode(), prior.most])
    whole, single, wide, ranks = [], [], [], []
    start = time.process_time()
    for run in range(runs):
        spread = SPREAD * 2.0 ** world.uniform(-1, 1) if path == "physics" else SPREAD
        heat, seen = drawn(world, prior, low, SIGMAS[name], spread)
        truth = np.cumsum(heat) / heat.sum()
        if path == "sampled":
            draws = sample_posterior(seen, stream=1000 + run)
            estimate = from_draws(seen, draws)
            shares = cumulative_shares(draws.cells, draws.powers, CELLS)
            below = (shares < truth[:, None] - 1e-9).mean(axis=1)
            same = (np.abs(shares - truth[:, None]) <= 1e-9).mean(axis=1)
            ranks.append((below + world.uniform() * same)[[19, 39, 59, 79]])
        elif path == "physics":
            physics = Physics(PLACES_OF_SENSORS, (SPREAD / 2, SPREAD * 2))
            estimate = estimate_jointly(seen, physics).estimate
        else:
            estimate = posterior.estimate(seen)
        band = estimate.credible.band if estimate.credible else None
        assert band is not None
        within = (band.low - 1e-9 <= truth) & (truth <= band.high + 1e-9)
        whole.append(within.all())
        single.append(within.mean())
        wide.append((band.high - band.low).mean())
    took = (time.process_time() - start) / runs
    off = 1.96 * np.sqrt(np.mean(whole) * (1 - np.mean(whole)) / runs)
    nine = f"{np.mean(np.abs(np.array(ranks) - 0.5) < 0.45):.3f}" if ranks else "     "
    kind = f"{prior.fewest}..{prior.most} {'equal' if low == 1 else 'U(.3,1)'}"
    print(
        f"{path:9s} {name:9s} {kind:15s}  {np.mean(whole):.3f} ±{off:.3f} {np.mean(single):.3f}  "
        f"{np.mean(wide):.3f}  {nine}   {took:.3f}",
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

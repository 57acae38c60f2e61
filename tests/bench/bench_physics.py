"""What it costs not to know the physics, and to think one does: joint, stated and true.

Run: python tests/bench/bench_physics.py [trials]. Mean earth mover's distances over random scenes
of two sources on the unit interval, 100 cells and 50 sensors, each recovered with the spread (or
wall loss, or drift) inferred, with the stated one taken for true, and with the true one known. The
spread is anywhere within a factor of four, evenly in its logarithm; the noise is that of the exact
calibration at delta 0.1, at the stated spread ("stated") or at the worst of the range ("worst").
"""

import math
import sys
import time
from dataclasses import replace

import numpy as np

from physics.kernel import forward, sensitivity
from physics.places import Floats
from recovery.bayes.room_physics import Physics
from recovery.bayes.unknown_physics import estimate_jointly
from recovery.estimators import posterior
from recovery.estimators.record import Prior, Seen
from recovery.noise.gaussian import gaussian_sigma

CELLS, SENSORS = np.arange(1, 101) / 100, np.arange(1, 51) / 50
SHORT, STATED, LONG = 0.025, 0.05, 0.1


def distance(heat: Floats, truth: Floats) -> float:
    """Return the earth mover's distance of shares; no estimate is scored as an even one."""
    given = heat / heat.sum() if heat.any() else np.full(100, 0.01)
    return float(np.abs(np.cumsum(given - truth / truth.sum()))[:-1].sum() / 100)


def trial(
    stated: Physics, allowed: Physics, true: Physics, sigma: float, world: np.random.Generator
) -> tuple[list[float], float, float]:
    """Return three distances, the rank of the true spread and the seconds of the joint one."""
    truth = np.zeros(100)
    truth[world.choice(100, 2, replace=False)] = 1
    places = CELLS[:, None]
    operators = [
        physics.operator(places, physics.spreads_m2[0], physics.losses_per_m[0])
        for physics in (stated, true)
    ]
    drift = true.offset * world.standard_normal() + (
        true.slope * world.standard_normal() * (SENSORS - SENSORS.mean())
    )
    readings = operators[1] @ truth + drift + sigma * world.standard_normal(50)
    seen = Seen(operators[0], readings, sigma, places, (1, 100), Prior(2, 2))
    begun = time.process_time()
    joint = estimate_jointly(seen, allowed)
    spent = time.process_time() - begun
    maps = (
        joint.estimate.heat,
        posterior.estimate(seen).heat,
        posterior.estimate(replace(seen, operator=operators[1], readings=readings - drift)).heat,
    )
    belief = joint.spread_m2
    rank = float(np.interp(true.spreads_m2[0], belief.values, belief.upto))
    return [distance(heat, truth) for heat in maps], rank, spent


def line(name: str, made: list[tuple[list[float], float, float]]) -> str:
    """Return a row of the table."""
    far = np.array([distances for distances, _, _ in made])
    (joint, stated, known), left = far.mean(axis=0), far - far[:, 2:]
    ratio = left[:, 0].mean() / left[:, 1].mean()
    # By the delta method, for both halves of the ratio share their scenes.
    doubt = (left[:, 0] - ratio * left[:, 1]).std() / math.sqrt(len(far)) / left[:, 1].mean()
    # Only where the spread was sought can it be covered.
    covers = np.mean([0.05 < rank < 0.95 for _, rank, _ in made])
    spent = 1e3 * np.mean([seconds for _, _, seconds in made])
    return (
        f"{name:28s} {joint:6.4f} {stated:7.4f} {known:7.4f}   {ratio:5.2f} +- {2 * doubt:4.2f}"
        f"   {covers:6.3f} {spent:7.1f}"
    )


def main() -> None:
    """Print the table."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print(f"{trials} scenes a row; the loss left is of what taking the stated for true costs")
    print("unknown                       joint  stated   known   loss left   90 % cover   ms")
    world = np.random.default_rng(20)
    for epsilon in (1.0, 4.0, 10.0):
        for noise, at in (("stated", STATED), ("worst", SHORT)):
            sigma = gaussian_sigma(epsilon, 0.1) * sensitivity(forward(CELLS, SENSORS, at))
            made = []
            for _ in range(trials):
                spread = SHORT * (LONG / SHORT) ** world.random()
                made.append(
                    trial(
                        Physics(SENSORS, (STATED, STATED)),
                        Physics(SENSORS, (SHORT, LONG)),
                        Physics(SENSORS, (spread, spread)),
                        sigma,
                        world,
                    )
                )
            print(line(f"spread, epsilon {epsilon:g}, {noise}", made))
    stated = Physics(SENSORS, (STATED, STATED), "insulated")
    for epsilon in (1.0, 10.0):
        for name, spreads in (("wall loss", (STATED, STATED)), ("spread, loss", (SHORT, LONG))):
            allowed, made = Physics(SENSORS, spreads, "losing", (0.0, math.inf)), []
            # Cold walls let a move at the shortest spread be felt most, see test_robin.
            cold = allowed.operator(CELLS[:, None], spreads[0], math.inf)
            sigma = gaussian_sigma(epsilon, 0.1) * sensitivity(cold)
            for _ in range(trials // 4):
                spread = spreads[0] * (spreads[1] / spreads[0]) ** world.random()
                loss = allowed.loss(world.random())
                true = Physics(SENSORS, (spread, spread), "losing", (loss, loss))
                made.append(trial(stated, allowed, true, sigma, world))
            print(line(f"{name}, epsilon {epsilon:g}", made))
    sigma = gaussian_sigma(1.0, 0.1) * sensitivity(forward(CELLS, SENSORS, STATED))
    drifting = Physics(SENSORS, (STATED, STATED), offset=1.0, slope=1.0)
    made = [
        trial(Physics(SENSORS, (STATED, STATED)), drifting, drifting, sigma, world)
        for _ in range(trials)
    ]
    print(line("drift, epsilon 1", made))


if __name__ == "__main__":
    main()

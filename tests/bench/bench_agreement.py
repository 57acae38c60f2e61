"""Check a thousand random instances of the least heat against Clarabel, and by weak duality.

Run it: `python tests/bench/bench_agreement.py [instances]`. All sizes up to a thousand cells and
five hundred sensors, and all spreads, noises and numbers of sources, a third with furniture.
Each answer must be within a millionth of Clarabel's total on the same few directions, have the
same status, and be proved in the space of the sensors by its own multipliers. Where Clarabel
says itself that it gave up, the proof stands alone. Ends with status 1 where one disagrees.
"""

import math
import sys
from collections import Counter

import numpy as np

from physics.kernel import forward
from recovery.l1.cone import Solution, by_clarabel
from recovery.sparse import minimise_l1, prepare

SIZES = [(40, 25), (100, 50), (30, 60), (200, 20), (60, 60), (400, 200), (700, 40), (1000, 500)]
SPREADS = [1e-4, 1e-3, 0.005, 0.05, 0.5, 5.0, 100.0]
NOISES = [0.001, 0.01, 0.1, 1.0, 4.0]
CLOSE = 1e-6


def instance(seed: int) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
    """Return an operator, readings, a radius and the most heat of each cell."""
    world = np.random.default_rng(seed)
    cells, sensors = SIZES[seed % len(SIZES)]
    there, here = np.arange(1, cells + 1) / cells, np.arange(1, sensors + 1) / sensors
    matrix = forward(there, here, world.choice(SPREADS))
    sources, sigma = world.choice([1, 2, 4, 10]), world.choice(NOISES)
    heat, upper = np.zeros(cells), np.ones(cells)
    heat[world.choice(cells, sources, replace=False)] = world.uniform(0.3, 1, sources)
    readings = matrix @ heat + sigma * world.normal(size=sensors)
    if seed % 3 == 0:
        upper = world.uniform(0.4, 1.5, cells)
        upper[world.choice(cells, cells // 3, replace=False)] = 0
    return matrix, readings, sigma * math.sqrt(sensors) * world.choice([1.0, 1.2]), upper


def proved(
    matrix: np.ndarray, readings: np.ndarray, radius: float, upper: np.ndarray, found: Solution
) -> float:
    """Return by how much an answer may be wrong, relative, from its multipliers alone."""
    nu, far = found.multipliers, float(np.linalg.norm(matrix @ found.heat - readings))
    if found.status == "zero":
        return max(0.0, float(np.linalg.norm(readings)) / radius - 1)
    if found.status == "infeasible":
        least = float(nu @ readings - upper @ np.maximum(0, matrix.T @ nu))
        return far / least - 1 if least > radius else math.inf
    least = float(nu @ readings - radius * np.linalg.norm(nu))
    least -= float(upper @ np.maximum(0, matrix.T @ nu - 1))
    return max(float(found.heat.sum()) / least - 1, far / radius - 1)


def main() -> int:
    """Print what was seen, and return how many instances disagree."""
    instances = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    seen: Counter[str] = Counter()
    wrong, worst_proof, worst_pair = [], 0.0, 0.0
    for seed in range(instances):
        matrix, readings, radius, upper = instance(seed)
        ready = prepare(matrix)
        found = minimise_l1(ready, readings, radius, upper, method="fast")
        seen[found.status] += 1
        doubt = proved(matrix, readings, radius, upper, found)
        worst_proof = max(worst_proof, doubt)
        bad = found.status == "inaccurate" or not doubt <= CLOSE
        other = None if found.status == "zero" else by_clarabel(ready, readings, radius, upper)
        if other is not None and other.status != "inaccurate":
            seen["as Clarabel"] += 1
            apart = abs(found.objective - other.objective) / max(found.objective, 1e-6)
            if found.status == "infeasible":  # Clarabel's nearest may be further; ours is proved
                apart = max(0.0, found.residual / other.residual - 1)
            worst_pair = max(worst_pair, apart)
            bad = bad or found.status != other.status or apart > CLOSE
        if bad:
            wrong.append(seed)
            print(seed, matrix.shape, found.status, found.objective, doubt, other and other.status)
            print("   ", other and other.objective)
    print(
        f"{instances} instances: {seen['optimal']} optimal, {seen['infeasible']} infeasible, "
        f"{seen['zero']} zero, {seen['inaccurate']} inaccurate; {len(wrong)} disagree. Of "
        f"{seen['as Clarabel']} that Clarabel solved, furthest apart {worst_pair:.1e}; by weak "
        f"duality none is wrong by more than {worst_proof:.1e}."
    )
    return len(wrong)


if __name__ == "__main__":
    sys.exit(min(1, main()))

"""What a search for the least heat found, and how sure it is."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Heat, and how sure it is the least."""

    heat: Floats  # (cells,), within 0..upper
    objective: float  # sum of the heat
    residual: float  # ||A f - y||, in the unit of the readings
    gap: float  # the objective exceeds the least possible by at most this; NaN if unknown
    status: str  # "optimal", "zero", "infeasible" (nearest heat) or "inaccurate"
    iterations: int
    seconds: float
    # nu, (sensors,): for every heat within 0..upper and the radius, its sum is at least
    # nu'y - radius ||nu|| - sum(upper max(0, A'nu - 1)). Where the status is "infeasible",
    # of length one, and nu'y - sum(upper max(0, A'nu)) is how near any heat can come.
    multipliers: Floats
    method: str  # "fast", "small" or "cvxpy": what found it
    # What the readings cannot tell whatever the noise; empty where they tell cells apart.
    undetermined: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Solutions:
    """Many solutions of one operator; each is a `Solution` when it is taken out."""

    heat: Floats  # (readings, cells)
    objective: Floats  # (readings,), as are the following
    residual: Floats
    gap: Floats
    status: tuple[str, ...]
    iterations: NDArray[np.int64]
    seconds: float  # of all together
    method: tuple[str, ...]
    multipliers: Callable[[int], Floats]  # of the reading with that number, (sensors,)
    undetermined: str = ""

    def __len__(self) -> int:
        return len(self.heat)

    def __getitem__(self, one: int) -> Solution:
        if not -len(self) <= one < len(self):
            raise IndexError(f"there is no solution {one} among {len(self)}")
        return Solution(
            self.heat[one],
            float(self.objective[one]),
            float(self.residual[one]),
            float(self.gap[one]),
            self.status[one],
            int(self.iterations[one]),
            self.seconds / len(self),
            self.multipliers(one),
            self.method[one],
            self.undetermined,
        )

    def __iter__(self) -> Iterator[Solution]:
        return (self[one] for one in range(len(self)))

"""How heat came to the sensors: what is known of it, and what only within a range."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from physics.kernel import Length, forward
from physics.kernels.robin import forward_robin

Floats = NDArray[np.float64]

_RUNG = 1.3  # between two spreads of the first grid
_LOSSES = 6  # in the first grid


@dataclass(frozen=True, slots=True, eq=False)
class Physics:
    """What is known of how heat came to the sensors.

    Args:
        sensors_m: (sensors,) or (sensors, 2), in the unit of the places of the cells.
        spreads_m2: the shortest and the longest that heat may have spread; equal if known.
        walls: "none", "insulated", or "losing" for walls that lose heat.
        losses_per_m: the least and the most that each of the walls may lose over diffusivity,
            as `physics.kernels.robin` has it, 0 to infinity; all lose alike. Only for "losing".
        length_m: between the walls; (x, y) for a room.
        offset: deviation of a drift that all sensors share, in kelvin.
        slope: deviation of what drift differs by from one end to the other, in kelvin.

    Raises:
        ValueError: a range that is no range, or a deviation that is negative.
    """

    sensors_m: Floats
    spreads_m2: tuple[float, float]
    walls: Literal["none", "insulated", "losing"] = "none"
    losses_per_m: tuple[float, float] = (0.0, 0.0)
    length_m: Length = 1.0
    offset: float = 0.0
    slope: float = 0.0

    def __post_init__(self) -> None:
        for name, good, needed in (
            ("spreads_m2", 0 < self.spreads_m2[0] <= self.spreads_m2[1] < math.inf, "positive"),
            ("losses_per_m", 0 <= self.losses_per_m[0] <= self.losses_per_m[1], "0 or more"),
        ):
            if not good:
                raise ValueError(
                    f"{name} is {getattr(self, name)} but must be (least, most), {needed}: the "
                    "readings choose between what lies between. Give the same number twice where "
                    "it is known."
                )
        if self.walls not in ("none", "insulated", "losing") or (
            self.walls != "losing" and self.losses_per_m[1] > 0
        ):
            raise ValueError(
                f"walls is {self.walls!r} and losses_per_m {self.losses_per_m} but only walls "
                "that are 'losing' lose heat; others are 'insulated' or 'none'. Correct one."
            )
        if not (0 <= self.offset < math.inf and 0 <= self.slope < math.inf):
            raise ValueError(
                f"offset is {self.offset} and slope {self.slope} but both must be 0 or more and "
                "finite: they are deviations of what the sensors are off by. Use 0 for none."
            )

    def operator(self, places_m: Floats, spread_m2: float, loss_per_m: float = 0.0) -> Floats:
        """Return A, (sensors, cells), if this is how heat spread and was lost."""
        places = places_m[:, 0] if places_m.shape[1] == 1 else places_m
        if self.walls == "losing":
            return forward_robin(places, self.sensors_m, spread_m2, loss_per_m, self.length_m)
        return forward(places, self.sensors_m, spread_m2, self.walls, self.length_m)

    def first_grid(self) -> tuple[Floats, Floats]:
        """Return logarithms of a few spreads, and a few shares that walls may lose.

        On these scales every place is as likely as any other before any reading.
        """
        shortest, longest = self.spreads_m2
        rungs = 2 + math.ceil(math.log(longest / shortest) / math.log(_RUNG))
        spreads = np.linspace(math.log(shortest), math.log(longest), rungs)
        least, most = (self.share(loss) for loss in self.losses_per_m)
        shares = np.linspace(least, most, _LOSSES)
        return spreads[: None if longest > shortest else 1], shares[: None if most > least else 1]

    def loss(self, share: float) -> float:
        """Return H where H L / (1 + H L) is this share."""
        return math.inf if share >= 1 else share / (1 - share) / self._longest()

    def share(self, loss_per_m: float) -> float:
        """Return H L / (1 + H L), L the longest side."""
        scaled = loss_per_m * self._longest()
        return 1.0 if math.isinf(scaled) else scaled / (1 + scaled)

    def _longest(self) -> float:
        return float(np.max(self.length_m))

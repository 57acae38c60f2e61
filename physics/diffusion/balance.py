"""Where the heat went: what was stored, against what came in and went out."""

from typing import NamedTuple

from ..places import Floats


class Balance(NamedTuple):
    """Heat since a run began, in joules: stored = powered - out - ventilated, to rounding.

    Numbers for one field, (k,) for many. The flows are those that the step itself used. When a
    medium changes, the new material takes the temperature of the old: that is not a flow, and
    stored counts what came after.
    """

    stored_j: Floats | float
    powered_j: Floats | float
    out_j: Floats | float
    ventilated_j: Floats | float

    @property
    def missing_j(self) -> Floats | float:
        """What came in, did not go out and is not stored: rounding, or a fault."""
        return self.powered_j - self.out_j - self.ventilated_j - self.stored_j

    def plus(self, other: "Balance") -> "Balance":
        """Return the balance of both times together."""
        return Balance(*(mine + more for mine, more in zip(self, other, strict=True)))


NOTHING = Balance(0.0, 0.0, 0.0, 0.0)

"""What every forward operator can do, whatever it is made of."""

from typing import Protocol

from numpy.typing import ArrayLike

from ..places import Floats


class Operator(Protocol):
    """The forward operator A, (sensors, sources), with readings = A @ heat.

    Sources and sensors of a grid are counted with x fastest, as in `physics.places`.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """(sensors, sources)."""

    def matvec(self, heat: ArrayLike) -> Floats:
        """Return the readings, (sensors,) or (sensors, k), of heat, (sources,) or (sources, k)."""

    def rmatvec(self, readings: ArrayLike) -> Floats:
        """Return the transposed operator's answer, (sources,) or (sources, k)."""

    def columns(self, sources: ArrayLike) -> Floats:
        """Return what a unit of heat in each of these sources, (k,), leaves: (sensors, k)."""

    def dense(self) -> Floats:
        """Return the operator formed whole, (sensors, sources); for checks on small ones."""

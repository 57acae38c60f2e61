"""One walled axis seen at the middles of its cells: the forward operator by cosines or sines.

On the middles of n cells the mirror images of insulated walls make the operator a sum over a
line of 2 n cells that closes on itself, and the cosine transform takes such a sum apart; cold
walls, whose images have the other sign, take the sine transform. The eigenvalues are

    w_m = sum over all j of exp(-s (pi (m + 2 n j) / length)**2) * n / length

the modes of the *continuous* room, folded where n cells cannot tell them apart. They are not the
exp(-s (2 n / length)**2 sin(pi m / 2 n)**2) * n / length of a room made of n cells that pass heat
to their neighbours, which is another, coarser physics.

Source: Strang, "The discrete cosine transform", SIAM Review 41 (1999), for the middles.
"""

from dataclasses import dataclass

import numpy as np
from scipy import fft

from ..kernel import forward
from ..kernels.line import SWITCH
from ..places import Floats

# Above the switch of `kernels.line` a mode this many turns of a single cell away is e**-46.
_FOLDS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Modes:
    """The operator of one axis, (sensors, cells), kept as eigenvalues.

    Args:
        values: (cells,), one for each mode, in temperature per unit of heat.
        cold: sines, for cold walls; else cosines, for insulated ones.
        first, every: sensors stand at the middles of cells first, first + every, ...
        sensors: how many.
    """

    values: Floats
    cold: bool
    first: int
    every: int
    sensors: int

    @property
    def shape(self) -> tuple[int, int]:
        """(sensors, cells)."""
        return self.sensors, len(self.values)

    @property
    def whole(self) -> bool:
        """Whether a sensor stands in every cell."""
        return self.sensors == len(self.values)

    def along(self, tensor: Floats, axis: int) -> Floats:
        """Return the readings of heat whose cells lie along this axis of the tensor."""
        found = np.moveaxis(self._turned(tensor, axis), axis, -1)
        found = found[..., self.first : self.first + self.every * self.sensors : self.every]
        return np.moveaxis(found, -1, axis)

    def back(self, tensor: Floats, axis: int) -> Floats:
        """Return the transposed operator's answer, along this axis."""
        if not self.whole:
            given = np.moveaxis(tensor, axis, -1)
            spaced = np.zeros((*given.shape[:-1], len(self.values)))
            spaced[..., self.first : self.first + self.every * self.sensors : self.every] = given
            tensor = np.moveaxis(spaced, -1, axis)
        return self._turned(tensor, axis)

    def _turned(self, tensor: Floats, axis: int) -> Floats:
        there, back = (fft.dst, fft.idst) if self.cold else (fft.dct, fft.idct)
        values = self.values.reshape(-1, *(1,) * (tensor.ndim - 1 - axis))
        modes = there(tensor, 2, axis=axis, norm="ortho") * values
        return np.asarray(back(modes, 2, axis=axis, norm="ortho", overwrite_x=True))


def folded_modes(cells: int, spread_m2: float, length_m: float, cold: bool) -> Floats:
    """Return the eigenvalues, (cells,), from the sum above or from mirror images.

    A source at an insulated wall is felt twice as much as its images along an endless line, so
    half of that, at 0, 1, ..., n cells' distance, is the kernel of the closed line, and its
    transform the eigenvalues. That is for fresh heat: where few modes are left each is summed by
    itself, or the last ones would be lost in the rounding of the first.
    """
    if spread_m2 / length_m**2 > SWITCH:
        modes = np.arange(cells) + (1 if cold else 0)
        folds = 2 * cells * np.arange(-_FOLDS, _FOLDS + 1)
        rates = np.pi / length_m * (modes[:, None] + folds)
        return np.asarray(np.exp(-spread_m2 * rates**2).sum(axis=1) * cells / length_m)
    distances = np.linspace(0.0, length_m, cells + 1)
    kernel = forward([0.0], distances, spread_m2, "insulated", length_m)[:, 0] / 2
    values = np.asarray(fft.dct(kernel, 1))
    return values[1:] if cold else values[:-1]

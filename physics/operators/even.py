"""One axis with evenly spread sources and sensors: the forward operator by Fourier transform.

A sensor feels a source by their distance alone, so a line of sources is a convolution, and with
enough noughts after it the transform's convolution is the same. Walls add mirror images: what
comes from them depends on the sum of the two places, a convolution with the line turned round.

Source: Golub and Van Loan, Matrix Computations, section 4.8.2, for Toeplitz matrices.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from ..kernel import AnyWalls, forward, heat_kernel
from ..kernels.modes import NEGLIGIBLE
from ..places import Floats
from .even_steps import Steps

Complex = NDArray[np.complex128]


@dataclass(frozen=True, slots=True, eq=False)
class Even:
    """The operator of one axis, (sensors, sources), kept as a spectrum.

    Args:
        steps: where sources and sensors stand.
        direct: spectrum of what depends on the difference of two places.
        mirrored: spectrum of what depends on their sum, None without walls.
        kernel: direct kernel at every difference of two places, the smallest first.
        size: numbers transformed.
    """

    steps: Steps
    direct: Complex
    mirrored: Complex | None
    kernel: Floats
    size: int

    @property
    def shape(self) -> tuple[int, int]:
        """(sensors, sources)."""
        return self.steps.sensors, self.steps.sources

    def along(self, tensor: Floats, axis: int) -> Floats:
        """Return the readings of heat whose sources lie along this axis of the tensor."""
        every = self.steps.source_every, self.steps.sensor_every
        return self._turned(tensor, axis, self.direct, every, self.steps.sensors)

    def back(self, tensor: Floats, axis: int) -> Floats:
        """Return the transposed operator's answer, along this axis."""
        every = self.steps.sensor_every, self.steps.source_every
        return self._turned(tensor, axis, self.direct.conj(), every, self.steps.sources)

    def _turned(
        self, tensor: Floats, axis: int, direct: Complex, every: tuple[int, int], count: int
    ) -> Floats:
        if axis != tensor.ndim - 1:  # the transform of rows side by side is the quickest
            tensor = np.ascontiguousarray(np.swapaxes(tensor, axis, -1))
            return np.swapaxes(
                self._turned(tensor, tensor.ndim - 1, direct, every, count), -1, axis
            )
        if every[0] > 1:
            spaced = np.zeros((*tensor.shape[:-1], (tensor.shape[-1] - 1) * every[0] + 1))
            spaced[..., :: every[0]] = tensor
            tensor = spaced
        spectrum = fft.rfft(tensor, self.size)
        mirrored = None if self.mirrored is None else spectrum.conj() * self.mirrored
        spectrum *= direct
        if mirrored is not None:
            spectrum += mirrored
        found = fft.irfft(spectrum, self.size, overwrite_x=True)
        return np.asarray(found[..., : (count - 1) * every[1] + 1 : every[1]])


def even_axis(
    steps: Steps, spread_m2: float, walls: AnyWalls = "none", length_m: float = 1.0
) -> Even:
    """Return the operator of `physics.kernel.forward` along one axis of even places.

    Raises:
        ValueError: as `physics.kernel.forward`.
    """
    last, most = (steps.sources - 1) * steps.source_every, (steps.sensors - 1) * steps.sensor_every
    gaps = np.asarray(np.arange(-last, most + 1) * steps.step_m, dtype=float)
    apart: Floats = steps.sensors_m - steps.sources_m + gaps
    if walls == "none":
        kernel = heat_kernel(apart, spread_m2)
        nearest = float(np.abs(apart).min())
        reach = math.hypot(nearest, math.sqrt(4 * NEGLIGIBLE * spread_m2))
        felt = np.flatnonzero(np.abs(apart) <= reach)
        # What is negligible is lost in the transform's rounding and may wrap round; nothing else
        # may, and the places must fit.
        felt_from, felt_to = int(felt[0]), int(felt[-1])
        needed = 1 + max(most + last - felt_from, felt_to, last, most)
    else:
        kernel = _periodic(apart, spread_m2, length_m)
        felt_from, felt_to, needed = 0, last + most, last + most + 1
    size = int(fft.next_fast_len(needed, real=True))
    direct = _spectrum(kernel[felt_from : felt_to + 1], felt_from - last, size)
    mirrored = None
    if walls != "none":
        sums: Floats = steps.sensors_m + steps.sources_m + last * steps.step_m + gaps
        sign = 1.0 if walls == "insulated" else -1.0
        turned = np.arange(size // 2 + 1, dtype=np.int64) * last % size
        mirrored = _spectrum(_periodic(sums, spread_m2, length_m), -last, size)
        mirrored *= sign * np.exp(-2j * np.pi / size * turned)
    return Even(steps, direct, mirrored, kernel, size)


def _spectrum(kernel: Floats, first: int, size: int) -> Complex:
    """Return the transform of a kernel that begins at the difference `first`, in steps."""
    wrapped = np.zeros(size)
    wrapped[np.arange(first, first + len(kernel)) % size] = kernel
    return np.asarray(fft.rfft(wrapped))


def _periodic(gaps_m: Floats, spread_m2: float, length_m: float) -> Floats:
    """Return the sum of g(x + 2 j length) over all j: half of what stands at an insulated wall."""
    folded = np.abs(np.remainder(gaps_m + length_m, 2 * length_m) - length_m)
    return forward([0.0], np.minimum(folded, length_m), spread_m2, "insulated", length_m)[:, 0] / 2

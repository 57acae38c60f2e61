"""The forward operator of evenly spread sources and sensors, on a line, in a plane, in a room.

The kernel is a product of one for each axis, so the axes are transformed one after the other,
and the noughts that keep a transform from wrapping round are paid on one axis at a time: a
million cells in a plane cost twice a million numbers, not four times.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft

from ..kernel import SWITCH, AnyWalls, forward, heat_kernel
from ..kernels.modes import NEGLIGIBLE
from ..places import Floats
from .layout import axis_lengths, chosen_sources, unit_columns, vectors

# Whether places along an axis are even, and the step that sources and sensors share.

# Steps of sources and sensors are whole multiples, up to this, of one step they share.
_MOST_PARTS = 8
# A place that is off its even place by this much of the width of the kernel changes no entry by
# more than 1e-13 of the largest.
_OFF = 1e-13


@dataclass(frozen=True, slots=True)
class Steps:
    """Even places: source j at first + j * step * every, sensor i at first + i * step * every.

    Args:
        step_m: the step that both share.
        sources_m, sensors_m: the first place of each.
        sources, sensors: how many.
        source_every, sensor_every: how many steps from one to the next.
    """

    step_m: float
    sources_m: float
    sensors_m: float
    sources: int
    sensors: int
    source_every: int
    sensor_every: int


def even_steps(sources: Floats, sensors: Floats, spread_m2: float) -> Steps | None:
    """Return the step that sources and sensors, (k,) each and growing, share; None if they do not.

    They may stand anywhere against each other; only their steps must be as whole numbers up to 8.
    """
    own = [_step(places, spread_m2) for places in (sources, sensors)]
    if own[0] is None or own[1] is None:
        return None
    source, sensor = own[0] or own[1] or 1.0, own[1] or own[0] or 1.0
    ratio = Fraction(sensor / source).limit_denominator(_MOST_PARTS)
    if not 0 < ratio.numerator <= _MOST_PARTS:
        return None
    step = source / ratio.denominator
    reach = step * ratio.numerator * max(1, len(sensors) - 1)
    far = float(np.abs(sensors).max())
    if abs(reach - sensor * max(1, len(sensors) - 1)) > off_allowed(far, spread_m2):
        return None
    firsts = float(sources[0]), float(sensors[0])
    counts = len(sources), len(sensors)
    return Steps(step, *firsts, *counts, ratio.denominator, ratio.numerator)


def _step(places: Floats, spread_m2: float) -> float | None:
    """Return the step of even, growing places, nought for a single one, None for uneven ones."""
    if len(places) == 1:
        return 0.0
    step = float(places[-1] - places[0]) / (len(places) - 1)
    even = places[0] + step * np.arange(len(places))
    far = float(np.abs(places).max())
    good = step > 0 and float(np.abs(places - even).max()) <= off_allowed(far, spread_m2)
    return step if good else None


def off_allowed(far_m: float, spread_m2: float) -> float:
    """Return how far from its even place a place may stand, in metres: rounding, or no matter.

    Args:
        far_m: the largest number among the places.
    """
    return max(4 * float(np.finfo(float).eps) * far_m, _OFF * math.sqrt(spread_m2))


# One axis with evenly spread sources and sensors: the forward operator by Fourier transform.
#
# A sensor feels a source by their distance alone, so a line of sources is a convolution, and with
# enough noughts after it the transform's convolution is the same. Walls add mirror images: what
# comes from them depends on the sum of the two places, a convolution with the line turned round.
#
# Source: Golub and Van Loan, Matrix Computations, section 4.8.2, for Toeplitz matrices.

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


# One walled axis seen at the middles of its cells: the forward operator by cosines or sines.
#
# On the middles of n cells the mirror images of insulated walls make the operator a sum over a
# line of 2 n cells that closes on itself, and the cosine transform takes such a sum apart; cold
# walls, whose images have the other sign, take the sine transform. The eigenvalues are
#
#     w_m = sum over all j of exp(-s (pi (m + 2 n j) / length)**2) * n / length
#
# the modes of the *continuous* room, folded where n cells cannot tell them apart. They are not the
# exp(-s (2 n / length)**2 sin(pi m / 2 n)**2) * n / length of a room made of n cells that pass
# heat to their neighbours, which is another, coarser physics.
#
# Source: Strang, "The discrete cosine transform", SIAM Review 41 (1999), for the middles.

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


Line: TypeAlias = Even | Modes


@dataclass(frozen=True, slots=True, eq=False)
class Uniform:
    """The forward operator A = last axis x ... x first axis, each axis by its transform.

    Args:
        axes: x first. Cells and sensors are counted with x fastest, as in `physics.places`.
    """

    axes: tuple[Line, ...]

    @property
    def cells(self) -> tuple[int, ...]:
        """How many cells along each axis, x first."""
        return tuple(axis.shape[1] for axis in self.axes)

    @property
    def sensors(self) -> tuple[int, ...]:
        """How many sensors along each axis, x first."""
        return tuple(axis.shape[0] for axis in self.axes)

    @property
    def shape(self) -> tuple[int, int]:
        """(sensors, cells), as of the dense operator."""
        return math.prod(self.sensors), math.prod(self.cells)

    @property
    def method(self) -> Literal["fft", "dct", "dst"]:
        """Which transform the axes take; "fft" where any of them has to."""
        if all(isinstance(axis, Modes) for axis in self.axes):
            return "dst" if self.axes[0].cold else "dct"  # type: ignore[union-attr]
        return "fft"

    def matvec(self, heat: ArrayLike) -> Floats:
        """Return the readings, (sensors,) or (sensors, k), of heat, (cells,) or (cells, k)."""
        tensor = vectors("heat", heat, self.shape[1]).T
        shape = tensor.shape[:-1]
        tensor = tensor.reshape(*shape, *reversed(self.cells))
        for nth in self._shortest_first(turned=False):
            tensor = self.axes[nth].along(tensor, tensor.ndim - 1 - nth)
        return np.asarray(tensor.reshape(*shape, -1).T)

    def rmatvec(self, readings: ArrayLike) -> Floats:
        """Return the transposed operator's answer, (cells,) or (cells, k)."""
        tensor = vectors("readings", readings, self.shape[0]).T
        shape = tensor.shape[:-1]
        tensor = tensor.reshape(*shape, *reversed(self.sensors))
        for nth in self._shortest_first(turned=True):
            tensor = self.axes[nth].back(tensor, tensor.ndim - 1 - nth)
        return np.asarray(tensor.reshape(*shape, -1).T)

    def columns(self, sources: ArrayLike) -> Floats:
        """Return what a unit of heat in each of these cells, (k,), leaves: (sensors, k)."""
        cells = chosen_sources(sources, self.shape[1])
        return self.matvec(unit_columns(cells, self.shape[1]))

    def dense(self) -> Floats:
        """Return the operator formed whole, (sensors, cells); for checks on small ones."""
        return self.matvec(np.eye(self.shape[1]))

    def _shortest_first(self, turned: bool) -> list[int]:
        """Return the axes, those that lose the most places first: the others have less to do."""
        ratios = [axis.shape[0] / axis.shape[1] for axis in self.axes]
        return sorted(range(len(ratios)), key=lambda nth: ratios[nth], reverse=turned)


def forward_uniform(
    sources_m: Sequence[ArrayLike],
    sensors_m: Sequence[ArrayLike],
    spread_m2: float,
    walls: AnyWalls = "none",
    length_m: float | Sequence[float] = 1.0,
) -> Uniform | None:
    """Return the operator of `physics.kernel.forward` by transforms; None where it has none.

    It is exact at any spread, up to rounding: 1e-15 of the largest reading or so.

    Args:
        sources_m, sensors_m: for each axis, x first, places along it, growing and even. The
            sensors' step may be any small fraction of the sources', or multiple of it, and both
            may start anywhere.
        spread_m2: diffusivity times elapsed time, in square metres; positive.
        walls: "none", "insulated" or "cold" at 0 and `length_m` of every axis.
        length_m: between the walls; one for each axis of a room that is no cube.

    Raises:
        ValueError: as `physics.kernel.forward`, or the axes do not agree.

    >>> operator = forward_uniform([np.arange(8) / 8], [np.arange(1, 8, 2) / 8], 0.01)
    >>> operator.shape, operator.method
    ((4, 8), 'fft')
    """
    lengths = axis_lengths(sources_m, sensors_m, length_m)
    axes = []
    for there, here, length in zip(sources_m, sensors_m, lengths, strict=True):
        axis = _axis(np.asarray(there, float), np.asarray(here, float), spread_m2, walls, length)
        if axis is None:
            return None
        axes.append(axis)
    return Uniform(tuple(axes))


def _axis(
    sources: Floats, sensors: Floats, spread: float, walls: AnyWalls, length: float
) -> Line | None:
    # The ends stand for all: forward refuses here what it would refuse anyway.
    forward(sources[[0, -1]], sensors[[0, -1]], spread, walls, length)
    steps = even_steps(sources, sensors, spread)
    if steps is None:
        return None
    if walls != "none":
        cell = length / len(sources)
        first = round(steps.sensors_m / cell - 0.5)
        middles = np.array([0.5, len(sources) - 0.5, first + 0.5]) * cell
        off = np.abs(middles - [sources[0], sources[-1], sensors[0]]).max()
        if off <= off_allowed(length, spread) and steps.source_every == 1:
            cold = walls == "cold"
            values = folded_modes(len(sources), spread, length, cold)
            return Modes(values, cold, first, steps.sensor_every, len(sensors))
    return even_axis(steps, spread, walls, length)

"""A kernel laid over every cell of a map, and back: as one matrix, as a few shifts, as transforms.

All three compute the same pair of maps, each the other's transpose:

    forward: mass (rows, columns)   -> (rows + 2 ry, columns + 2 rx), kernel convolved with mass
    adjoint: values of that outer array -> (rows, columns), kernel correlated with them

The kernel is (2 ry + 1, 2 rx + 1); nothing wraps round.
"""

from dataclasses import dataclass

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]


@dataclass(frozen=True, slots=True, eq=False)
class ByMatrix:
    """Every entry written out: the quickest where both arrays are small."""

    matrix: Floats  # (outer cells, cells)
    inner: tuple[int, int]
    outer: tuple[int, int]

    def forward(self, mass: Floats) -> Floats:
        """Return the kernel convolved with the mass."""
        return (self.matrix @ mass.ravel()).reshape(self.outer)

    def adjoint(self, values: Floats) -> Floats:
        """Return the kernel correlated with the values."""
        return (values.ravel() @ self.matrix).reshape(self.inner)


@dataclass(frozen=True, slots=True, eq=False)
class ByShifts:
    """One shifted copy for each entry of the kernel: for large maps and a reach of a cell."""

    entries: tuple[tuple[int, int, float], ...]  # row, column and value of what is not nought
    inner: tuple[int, int]
    outer: tuple[int, int]

    def forward(self, mass: Floats) -> Floats:
        """Return the kernel convolved with the mass."""
        rows, columns = self.inner
        out = np.zeros(self.outer)
        for y, x, weight in self.entries:
            out[y : y + rows, x : x + columns] += weight * mass
        return out

    def adjoint(self, values: Floats) -> Floats:
        """Return the kernel correlated with the values."""
        rows, columns = self.inner
        out = np.zeros(self.inner)
        for y, x, weight in self.entries:
            out += weight * values[y : y + rows, x : x + columns]
        return out


@dataclass(frozen=True, slots=True, eq=False)
class ByTransform:
    """Products of real Fourier transforms; that of the kernel is kept, so each way costs two."""

    spectrum: Complexes
    inner: tuple[int, int]
    outer: tuple[int, int]
    padded: tuple[int, int]

    def forward(self, mass: Floats) -> Floats:
        """Return the kernel convolved with the mass."""
        found = scipy.fft.rfft2(mass, self.padded)
        found *= self.spectrum
        back = scipy.fft.irfft2(found, self.padded, overwrite_x=True)
        return back[: self.outer[0], : self.outer[1]]

    def adjoint(self, values: Floats) -> Floats:
        """Return the kernel correlated with the values."""
        # The last value read for an inner cell is an outer one, so the padding suffices here too.
        found = scipy.fft.rfft2(values, self.padded)
        found *= self.spectrum.conj()
        back = scipy.fft.irfft2(found, self.padded, overwrite_x=True)
        return back[: self.inner[0], : self.inner[1]]


def outer_of(inner: tuple[int, int], kernel: Floats) -> tuple[int, int]:
    """Return the shape of what a kernel makes of a map."""
    return inner[0] + kernel.shape[0] - 1, inner[1] + kernel.shape[1] - 1


def by_matrix(inner: tuple[int, int], kernel: Floats) -> ByMatrix:
    """Return the kernel written out as a matrix."""
    outer = outer_of(inner, kernel)
    matrix = np.zeros((*outer, *inner))
    high, wide = kernel.shape
    for y in range(inner[0]):
        for x in range(inner[1]):
            matrix[y : y + high, x : x + wide, y, x] = kernel
    return ByMatrix(matrix.reshape(outer[0] * outer[1], -1), inner, outer)


def by_shifts(inner: tuple[int, int], kernel: Floats) -> ByShifts:
    """Return the kernel as shifts."""
    entries = tuple((int(y), int(x), float(kernel[y, x])) for y, x in np.argwhere(kernel != 0))
    return ByShifts(entries, inner, outer_of(inner, kernel))


def by_transform(inner: tuple[int, int], kernel: Floats) -> ByTransform:
    """Return the kernel's transform, of a size that has small factors."""
    outer = outer_of(inner, kernel)
    good = [scipy.fft.next_fast_len(size, real=True) for size in outer]
    padded = (good[0], good[1])
    return ByTransform(scipy.fft.rfft2(kernel, padded), inner, outer, padded)

"""What a mechanism that does the same in every cell makes of a map, without its matrix.

A user in a cell answers a near place with the kernel's chance and any place of the outer domain
with one chance more, so the answers' law is one convolution and one constant:

    forward:  g = kernel * mass + base * sum(mass)    on the support, 0 elsewhere
    adjoint:  kernel correlated with r, + base * sum over the support of r

They are each other's transpose, and a mass that adds to one becomes a law that adds to one.

Source: Du et al. 2024 (paper 003), Sections IV and VI, of which this is the linear algebra.
"""

import math
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import scipy
from numpy.typing import NDArray

from edge.core.records import Round

from .round import domain_of, total_of, weights_of

# A kernel laid over every cell of a map, and back: as one matrix or by transforms.
#
# Both compute the same pair of maps, each the other's transpose:
#
#     forward: mass (rows, columns)   -> (rows + 2 ry, columns + 2 rx), kernel convolved with mass
#     adjoint: values of that outer array -> (rows, columns), kernel correlated with them
#
# The kernel is (2 ry + 1, 2 rx + 1); nothing wraps round.


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


def find_outer_shape(inner: tuple[int, int], kernel: Floats) -> tuple[int, int]:
    """Return the shape of what a kernel makes of a map."""
    return inner[0] + kernel.shape[0] - 1, inner[1] + kernel.shape[1] - 1


def make_by_matrix(inner: tuple[int, int], kernel: Floats) -> ByMatrix:
    """Return the kernel written out as a matrix."""
    outer = find_outer_shape(inner, kernel)
    matrix = np.zeros((*outer, *inner))
    high, wide = kernel.shape
    for y in range(inner[0]):
        for x in range(inner[1]):
            matrix[y : y + high, x : x + wide, y, x] = kernel
    return ByMatrix(matrix.reshape(outer[0] * outer[1], -1), inner, outer)


def make_by_transform(inner: tuple[int, int], kernel: Floats) -> ByTransform:
    """Return the kernel's transform, of a size that has small factors."""
    outer = find_outer_shape(inner, kernel)
    good = [scipy.fft.next_fast_len(size, real=True) for size in outer]
    padded = (good[0], good[1])
    return ByTransform(scipy.fft.rfft2(kernel, padded), inner, outer, padded)


Bools = NDArray[np.bool_]

# A matrix with more entries takes longer to read than transforms take, as measured
# at sides from 15 to 64.
_ENTRIES_MAX = 400_000
# And nobody wants to write out one with more: 800 megabytes.
_WRITTEN_MAX = 100_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Channel:
    """The chance of every answer from every cell, as a kernel and a constant.

    Args:
        rows, columns: of the inner grid.
        kernel: (2 ry + 1, 2 rx + 1), what a place so far off gets beyond `base`; not negative.
        base: the chance of every place of the support, from wherever; positive.
        support: (rows + 2 ry, columns + 2 rx), which places are ever answered.

    Raises:
        ValueError: shapes that do not fit, chances that are none or do not add to one, a kernel
            that reaches beyond the support.
    """

    rows: int
    columns: int
    kernel: Floats
    base: float
    support: Bools
    _way: ByMatrix | ByTransform = field(init=False, repr=False)
    _even: Floats = field(init=False, repr=False)  # base on the support

    def __post_init__(self) -> None:
        _check(self.rows, self.columns, self.kernel, self.base, self.support)
        inner = (self.rows, self.columns)
        way: ByMatrix | ByTransform
        if self.support.size * self.rows * self.columns <= _ENTRIES_MAX:
            way = make_by_matrix(inner, self.kernel)
        else:
            way = make_by_transform(inner, self.kernel)
        reached = way.forward(np.ones(inner))[~self.support]
        if reached.size and reached.max() > 1e-9 * self.kernel.max():
            raise ValueError(
                f"the kernel reaches {int((reached > 1e-9 * self.kernel.max()).sum())} places "
                "outside the support but can reach none: what is answered there is lost, and a "
                "column adds to less than one. Mark every place that any cell's answer lies in."
            )
        object.__setattr__(self, "_way", way)
        object.__setattr__(self, "_even", self.base * self.support)

    @property
    def reach(self) -> tuple[int, int]:
        """How far an answer goes beyond the grid, (rows, columns)."""
        return self.kernel.shape[0] // 2, self.kernel.shape[1] // 2

    def forward(self, mass: Floats) -> Floats:
        """Return the law of the answers, (rows + 2 ry, columns + 2 rx), of a map of mass."""
        law = self._way.forward(mass)
        # Transforms leave 1e-17 of either sign where there is nothing.
        np.maximum(law, 0.0, out=law)
        law *= self.support
        law += self._even * float(mass.sum())
        return law

    def adjoint(self, values: Floats) -> Floats:
        """Return, for each cell, the mean of an outer array over the answers from there."""
        even = float(np.vdot(self._even, values))
        # Outside the support no cell's answer lies, so the kernel never reads there.
        return self._way.adjoint(values) + even

    def signed(self, change: Floats) -> Floats:
        """Return what a change of the map, of either sign, changes the law by."""
        return self._way.forward(change) * self.support + self._even * float(change.sum())

    def matrix(self) -> Floats:
        """Return every chance, (outer cells, cells); each column adds to one.

        Raises:
            ValueError: it would have more entries than fit in memory.
        """
        cells = self.rows * self.columns
        if self.support.size * cells > _WRITTEN_MAX:
            raise ValueError(
                f"the matrix would have {self.support.size} x {cells} entries but at most "
                f"{_WRITTEN_MAX} are written out: more do not fit in memory. Use forward and "
                "adjoint, which need no matrix."
            )
        way = self._way
        if not isinstance(way, ByMatrix):
            way = make_by_matrix((self.rows, self.columns), self.kernel)
        return way.matrix + self._even.reshape(-1, 1)


def sum_blocks(values: Floats, side: int) -> Floats:
    """Return the sums over squares of so many places a side, the last ones smaller."""
    if side == 1:
        return values
    rows = np.add.reduceat(values, np.arange(0, values.shape[0], side), axis=0)
    return np.add.reduceat(rows, np.arange(0, values.shape[1], side), axis=1)


# More chances take half a second to weigh once.
_CHANCES_MAX = 4_000_000


def choose_square_sides(channel: Channel, most: int) -> tuple[int, int]:
    """Return the sides of squares, of cells and of answers, that can be looked at in a matrix.

    Args:
        most: squares of cells.
    """
    step = 1
    while _count((channel.rows, channel.columns), step) > most:
        step += 1
    block, cells = step, _count((channel.rows, channel.columns), step)
    while _count(channel.support.shape, block) * cells > _CHANCES_MAX:
        block += 1
    return step, block


def _count(shape: tuple[int, ...], side: int) -> int:
    """Return how many squares of a side there are, the last ones smaller."""
    return math.prod(math.ceil(length / side) for length in shape)


def sum_answers(channel: Channel, values: Floats, block: int) -> Floats:
    """Return sums of an outer array over the squares that may be answered, row by row."""
    kept = sum_blocks(channel.support.astype(np.float64), block) > 0
    return sum_blocks(values, block)[kept]


def compute_square_laws(
    channel: Channel, step: int, block: int, mass: Floats | None = None
) -> Floats:
    """Return the chance of every square of answers from every square of cells.

    Args:
        step: cells along a side of a square, the last ones smaller.
        block: places along a side of what answers are summed over.
        mass: (rows, columns), how squares of cells are filled; evenly if None.

    Returns:
        (squares of answers that may be given, squares of cells), each row by row.
    """
    if step == block == 1:
        return channel.matrix()[channel.support.ravel()]
    shape = channel.rows, channel.columns
    # A square with nobody in it is filled evenly.
    filled = np.ones(shape) if mass is None else mass + 1e-12 / math.prod(shape)
    even = channel.base * channel.support.astype(np.float64)
    kept = sum_blocks(channel.support.astype(np.float64), block) > 0
    way = make_by_transform((step, step), channel.kernel)
    laws = []
    for top, left in product(range(0, shape[0], step), range(0, shape[1], step)):
        part = filled[top : top + step, left : left + step]
        square = np.zeros((step, step))
        square[: part.shape[0], : part.shape[1]] = part / part.sum()
        law = even.copy()
        window = law[top : top + way.outer[0], left : left + way.outer[1]]
        window += np.maximum(way.forward(square), 0)[: window.shape[0], : window.shape[1]]
        laws.append(sum_blocks(law, block)[kept])
    return np.column_stack(laws)


def _check(rows: int, columns: int, kernel: Floats, base: float, support: Bools) -> None:
    """Raise ValueError unless these are a channel."""
    sizes = kernel.shape if kernel.ndim == 2 else (0, 0)
    if rows < 1 or columns < 1 or sizes[0] % 2 == 0 or sizes[1] % 2 == 0:
        raise ValueError(
            f"the grid has {rows} rows and {columns} columns and the kernel shape {kernel.shape} "
            "but the grid needs a cell and the kernel odd sides: its middle is the cell itself. "
            "Give the kernel as (2 ry + 1, 2 rx + 1)."
        )
    outer = (rows + sizes[0] - 1, columns + sizes[1] - 1)
    if support.shape != outer or support.dtype != np.bool_:
        raise ValueError(
            f"the support has shape {support.shape} of {support.dtype} but must be {outer} of "
            "bool: it marks which places of the grid and its margin are ever answered."
        )
    fine = bool(np.isfinite(kernel).all()) and bool((kernel >= 0).all()) and 0 < base <= 1
    total = float(kernel.sum()) + base * int(np.count_nonzero(support))
    if not (fine and abs(total - 1) < 1e-9):
        raise ValueError(
            f"the kernel and base {base:g} add to {total:.12g} over the support but chances are "
            "not negative, their base is positive, and they add to 1: every user answers once. "
            "Divide the weights by their total."
        )


# The channel of a disk Round: from where people are to what is answered, as probabilities.


def channel_of(round: Round) -> Channel:
    """Return the channel of a Round, from the whole numbers that devices draw with.

    Its kernel is what a cell of the footprint gets above the others, (weight - far) / total, and
    its base what every cell that can be answered gets, far / total.
    """
    columns, rows = round.grid.shape
    far, total = round.params[1], total_of(round)
    weights = weights_of(round)
    above = np.where(weights != 0, weights - far, 0)
    return Channel(
        rows=rows,
        columns=columns,
        kernel=np.asarray(above / total, dtype=np.float64),
        base=far / total,
        support=domain_of(round),
    )

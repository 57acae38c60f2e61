"""From blurred sums back to places in order, and what can be asked of them.

The sums, divided by the sizes of their groups, are averages of a sequence that rises; the
nearest rising sequence is nearer to the truth than what was released. An average errs by the
noise over the group's size, so it weighs as the square of the size: a short last group weighs
little. All this is after the veil: pure, and it costs no privacy.

Two ways from averages to places:

    steps   each group's places are its average, as printed
    lines   from the middle of one group to that of the next the places lie evenly; on even
            places the error falls by a third, in clusters it is within some percent of steps

Source: paper 004, steps B1 and B2, Sections 2.2 and 6.1.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression
from scipy.spatial import Voronoi, cKDTree

from edge.core.records import Release
from edge.mechanisms.ranks import params_of

# The Hilbert curve for arrays of places, in one, two and three dimensions.
#
# The same curve as `edge.mechanisms.ranks.place_of`, number for number, and its inverse. Two
# points whose places differ by t of the whole curve are at most 3 sqrt(t) apart in a unit square.
#
# Source: Skilling 2004, "Programming the Hilbert curve"; paper 004, Section 2.3, for the bound.


Whole = NDArray[np.int64]
Floats = NDArray[np.float64]

_CHUNK = 1 << 15  # so many at a time: they stay in the processor's cache


def cells_of(points: ArrayLike, order: int) -> Whole:
    """Return the cell of each point of the unit interval, square or cube, (n, axes).

    A point outside counts as the nearest one inside, for dropping it would tell of it.

    Raises:
        ValueError: the points have another shape, or one has no place (NaN).
    """
    given = np.asarray(points, dtype=np.float64)
    given = given[:, None] if given.ndim == 1 else given
    if given.ndim != 2 or not 1 <= given.shape[1] <= 3 or np.isnan(given).any():
        raise ValueError(
            f"the points have shape {given.shape} and {np.isnan(given).sum()} NaN but must be "
            "(n, 1), (n, 2) or (n, 3) numbers: what stands nowhere has no place on a curve. Leave "
            "such points out, and say so."
        )
    side = 1 << order
    return np.asarray(np.clip(np.floor(given * side), 0, side - 1), np.int64)


def places_of(cells: ArrayLike, order: int) -> Whole:
    """Return the place on the curve of each cell, (n,), of cells (n, axes) below 2**order."""
    given = np.asarray(cells, dtype=np.int64)
    places = np.empty(len(given), np.int64)
    for begin in range(0, len(given), _CHUNK):
        part = given[begin : begin + _CHUNK]
        places[begin : begin + len(part)] = _encode_hilbert([*part.T.copy()], order)
    return places


def find_cells(places: ArrayLike, order: int, axes: int) -> Whole:
    """Return the cell at each place of the curve, (n, axes); the inverse of `places_of`."""
    given = np.asarray(places, dtype=np.int64)
    cells = np.empty((len(given), axes), np.int64)
    for begin in range(0, len(given), _CHUNK):
        part = given[begin : begin + _CHUNK]
        cells[begin : begin + len(part)] = np.stack(_decode_hilbert(part, order, axes), axis=1)
    return cells


def _encode_hilbert(x: list[Whole], order: int) -> Whole:
    for bit in range(order - 1, 0, -1):
        for i in range(len(x)):
            _turn(x, i, bit)
    for i in range(1, len(x)):
        x[i] ^= x[i - 1]
    turn = np.zeros_like(x[0])
    for bit in range(order - 1, 0, -1):
        turn ^= -(x[-1] >> bit & 1) & ((1 << bit) - 1)
    place = np.zeros_like(x[0])
    for bit in range(order - 1, -1, -1):
        for v in x:
            place <<= 1
            place |= (v ^ turn) >> bit & 1
    return place


def _decode_hilbert(place: Whole, order: int, axes: int) -> list[Whole]:
    x = [np.zeros_like(place) for _ in range(axes)]
    for bit in range(order):
        for i in range(axes):
            x[i] |= (place >> (bit * axes + axes - 1 - i) & 1) << bit
    turn = x[-1] >> 1
    for i in range(axes - 1, 0, -1):
        x[i] ^= x[i - 1]
    x[0] ^= turn
    for bit in range(1, order):
        for i in range(axes - 1, -1, -1):
            _turn(x, i, bit)
    return x


def _turn(x: list[Whole], i: int, bit: int) -> None:
    """Turn or swap the lower bits of the first axis with those of axis i; its own inverse."""
    below = (1 << bit) - 1
    high = -(x[i] >> bit & 1)  # all ones where this bit is set
    swap = (x[0] ^ x[i]) & below & ~high
    x[0] ^= swap | (high & below)
    if i:
        x[i] ^= swap


_RANKS = 1 << 16  # at which a line is looked at


def list_group_sizes(count: int, group: int) -> Whole:
    """Return how many places each group has; the last one holds what is left.

    >>> list_group_sizes(13, 4)
    array([4, 4, 4, 1])
    """
    sizes = np.full(-(-count // group), group, np.int64)
    if count % group:
        sizes[-1] = count % group
    return sizes


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """All places in their order, as far as groups tell: parts of the whole curve, 0 to 1."""

    averages: Floats  # (groups,), rising
    sizes: Whole  # (groups,)
    lines: bool  # whether places lie evenly between groups

    def quantile(self, parts: ArrayLike) -> Floats:
        """Return the place below which so large a part of all lies: 0.5 for the median."""
        part = np.asarray(parts, dtype=np.float64)
        ends = np.cumsum(self.sizes) / self.sizes.sum()
        if self.lines:
            return np.interp(part, ends - self.sizes / (2 * self.sizes.sum()), self.averages)
        return self.averages[np.minimum(np.searchsorted(ends, part), len(ends) - 1)]

    def below(self, places: ArrayLike) -> Floats:
        """Return which part of all lies at or below each place of the curve."""
        ranks, at = self._list_ranks(), np.asarray(places, dtype=np.float64)
        return np.searchsorted(self.quantile(ranks), at, side="right") / len(ranks)

    def points(self, order: int, axes: int) -> tuple[Floats, Floats]:
        """Return points of the unit interval, square or cube, (n, axes), and their weights."""
        if self.lines:
            ranks = self._list_ranks()
            places, weights = self.quantile(ranks), np.full(len(ranks), 1 / len(ranks))
        else:
            places, weights = self.averages, self.sizes / self.sizes.sum()
        most = (1 << order * axes) - 1
        at = np.clip(np.floor(places * (most + 1)), 0, most).astype(np.int64)
        return (find_cells(np.minimum(at, most), order, axes) + 0.5) / (1 << order), weights

    def _list_ranks(self) -> Floats:
        return (np.arange(_RANKS) + 0.5) / _RANKS


def estimate_order(sums: Iterable[int], sizes: Whole, places: int, lines: bool = True) -> Order:
    """Return the order of places behind blurred sums.

    Args:
        sums: (groups,) whole numbers, of any size.
        sizes: (groups,) places in each.
        places: of the whole curve.
        lines: see above.
    """
    # A place stands for the middle of its cell. Whole sums may be wider than 64 bits.
    exact = [value / (places * int(size)) for value, size in zip(sums, sizes, strict=True)]
    averages = np.array(exact, dtype=np.float64) + 0.5 / places
    rising = isotonic_regression(averages, weights=np.square(sizes.astype(np.float64))).x
    return Order(np.clip(rising, 0.0, 1.0), sizes, lines)


def estimate_release_order(release: Release, lines: bool = True) -> Order:
    """Return the order behind a release."""
    params = params_of(release.round)
    sizes = list_group_sizes(release.reports * params.points, params.group)
    return estimate_order(release.values, sizes, 1 << params.order * params.axes, lines)


def sum_by_cell(points: Floats, weights: Floats, shape: tuple[int, int]) -> Floats:
    """Return the share of each cell of a grid of (columns, rows), (rows, columns)."""
    columns, rows = shape
    x = np.minimum((points[:, 0] * columns).astype(np.int64), columns - 1)
    y = np.zeros_like(x)
    if points.shape[1] > 1:
        y = np.minimum((points[:, 1] * rows).astype(np.int64), rows - 1)
    mass = np.bincount(y * columns + x, weights=weights, minlength=columns * rows)
    return np.asarray(mass / mass.sum()).reshape(rows, columns)


def compute_voronoi_density(points: Floats, weights: Floats, shape: tuple[int, int]) -> Floats:
    """Return the density at the middle of each cell of a raster, (rows, columns), mean about 1.

    Each distinct point spreads its weight evenly over all that is nearer to it than to others,
    within the unit interval or square. An area is exact, however small for the raster.

    Args:
        points: (n, 1) or (n, 2).
        weights: (n,), of total one.
        shape: (columns, rows) of the raster; one row for points on a line.

    Source: Section 6.1.
    """
    sites, which = np.unique(points, axis=0, return_inverse=True)
    weight = np.bincount(which.ravel(), weights=weights)
    columns, rows = shape
    x, y = (np.arange(columns) + 0.5) / columns, (np.arange(rows) + 0.5) / rows
    if sites.shape[1] == 1:
        middles = (sites[1:, 0] + sites[:-1, 0]) / 2
        widths = np.diff(np.concatenate([[0.0], middles, [1.0]]))
        return (weight / widths)[np.searchsorted(middles, x)][None, :]
    raster = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    nearest = cKDTree(sites).query(raster)[1]
    return (weight / _compute_areas(sites))[nearest].reshape(rows, columns)


def _compute_areas(sites: Floats) -> Floats:
    """Return the area of each site's Voronoi cell within the unit square."""
    # Mirrored at all four sides, the cells of the sites themselves end at the square.
    mirrored = [sites]
    for axis in (0, 1):
        for edge in (0.0, 1.0):
            image = sites.copy()
            image[:, axis] = 2 * edge - image[:, axis]
            mirrored.append(image)
    found = Voronoi(np.concatenate(mirrored))
    areas = np.empty(len(sites))
    for i in range(len(sites)):
        corners = found.vertices[found.regions[found.point_region[i]]] - sites[i]
        x, y = corners[np.argsort(np.arctan2(corners[:, 1], corners[:, 0]))].T
        areas[i] = abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2
    return areas

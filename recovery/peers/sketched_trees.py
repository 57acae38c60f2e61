"""Trees that grow where people are found: by one trusted count a square, and by one sketch of all.

Notion of privacy: pure epsilon; neighbours: one user's point, or nothing in its place. PrivTree is
central, and a yardstick for what no gateway may see; a table of sums can be summed securely.
`draw(num, den)` is that of `grids`.

Source: Zhang, Xiao and Xie 2016, "PrivTree"; Cormode and Muthukrishnan 2005, "An improved data
stream summary", with noise in every sum and the median of rows, for the least is biased by noise.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .grids import Crowd, Draw, normalise

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

# Odd numbers without any pattern: powers of the golden ratio's 64 bits.
_MULTIPLIERS = np.array(
    [pow(0x9E3779B97F4A7C15, power, 1 << 64) for power in range(1, 65)], dtype=np.uint64
)


def _sum_level(sums: Whole, level: int, side: int) -> Whole:
    """Return the sums of the squares of a level, (2**level, 2**level)."""
    size, across = side >> level, 1 << level
    rows, columns = sums.shape
    padded = np.zeros((side, side), dtype=np.int64)
    padded[:rows, :columns] = sums
    return np.asarray(padded.reshape(across, size, across, size).sum(axis=(1, 3)))


def map_by_privtree(crowd: Crowd, epsilon: Fraction, draw: Draw) -> Floats:
    """Return the map of PrivTree: half of epsilon for the squares, half for their counts.

    What a square is split by is biased downward with depth, so that the noise of a whole path
    costs as little as that of a few squares.
    """
    half = epsilon / 2
    wide = Fraction(7, 3) / half  # (2 b - 1) / (b - 1), for b = 4 parts of a square
    fall = float(wide) * math.log(4)
    depth = (max(crowd.sums.shape) - 1).bit_length()
    found = np.zeros((1 << depth, 1 << depth))
    open_squares = np.zeros((1, 2), dtype=np.int64)
    for level in range(depth + 1):
        exact = _sum_level(crowd.sums, level, 1 << depth)[tuple(open_squares.T)]
        split = np.zeros(len(exact), dtype=bool)
        if level < depth:
            biased = np.maximum(exact - level * fall, -fall)
            split = biased + [draw(*wide.as_integer_ratio()) for _ in exact] > 0
        size = (1 << depth) >> level
        counts = exact + [draw(*(1 / half).as_integer_ratio()) for _ in exact]
        for (row, column), count in zip(open_squares[~split], counts[~split], strict=True):
            box = slice(row * size, (row + 1) * size), slice(column * size, (column + 1) * size)
            found[box] = count / size**2
        corners = np.array([(0, 0), (0, 1), (1, 0), (1, 1)])
        open_squares = (2 * open_squares[split][:, None] + corners).reshape(-1, 2)
    return normalise(found[tuple(slice(cells) for cells in crowd.sums.shape)])


def map_by_count_min(
    crowd: Crowd, epsilon: Fraction, draw: Draw, rows: int = 20, width: int = 2000
) -> Floats:
    """Return the map of a sketch: each point is in `rows` sums for each level.

    A square is split while its estimate is above two deviations of a sum's noise.
    """
    depth = (max(crowd.sums.shape) - 1).bit_length()
    scale = rows * depth / epsilon  # one user changes so many sums
    levels = [_sum_level(crowd.sums, level, 1 << depth) for level in range(1, depth + 1)]
    table = np.zeros((rows, width), dtype=np.int64)
    for level, counts in enumerate(levels, 1):
        there = np.flatnonzero(counts)
        for row in range(rows):
            np.add.at(table[row], _hash(there, level, row, width), counts.ravel()[there])
    noisy = table + np.array([draw(*scale.as_integer_ratio()) for _ in range(table.size)]).reshape(
        table.shape
    )
    even = float(noisy.sum()) / rows / width
    least = 2 * math.sqrt(2) * float(scale)
    found, open_squares = np.zeros((1 << depth, 1 << depth)), np.zeros((1, 2), dtype=np.int64)
    corners = np.array([(0, 0), (0, 1), (1, 0), (1, 1)])
    for level in range(1, depth + 1):
        open_squares = (2 * open_squares[:, None] + corners).reshape(-1, 2)
        flat = open_squares[:, 0] * (1 << level) + open_squares[:, 1]
        seen = [noisy[row][_hash(flat, level, row, width)] for row in range(rows)]
        estimate = (np.median(seen, axis=0) - even) / (1 - 1 / width)
        split = (estimate > least) & (level < depth)
        size = (1 << depth) >> level
        for (row, column), count in zip(open_squares[~split], estimate[~split], strict=True):
            box = slice(row * size, (row + 1) * size), slice(column * size, (column + 1) * size)
            found[box] = count / size**2
        open_squares = open_squares[split]
    return normalise(found[tuple(slice(cells) for cells in crowd.sums.shape)])


def _hash(flat: Whole, level: int, row: int, width: int) -> Whole:
    """Return in which sum of a row squares are, by multiplication and the upper bits."""
    mixed = (flat.astype(np.uint64) + np.uint64(level << 40)) * _MULTIPLIERS[row]
    mixed = (mixed ^ mixed >> np.uint64(31)) * _MULTIPLIERS[row + 32]
    return ((mixed >> np.uint64(33)) % np.uint64(width)).astype(np.int64)

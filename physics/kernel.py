"""The operator from sources to sensors, between walls or without, along 1 to 3 axes.

Everything here is linear: readings = A @ heat, and this file makes A.
"""

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .places import Floats

NEAR_BY = 50_000  # floats that are worked on at once, so that they stay near the processor

# The heat kernel along a line without walls, from which all others are made.


def heat_kernel(distance_m: ArrayLike, spread_m2: float) -> Floats:
    """Return the temperature that one unit of heat leaves at a distance.

        g(x) = exp(-x**2 / 4 s) / sqrt(4 pi s)

    Args:
        distance_m: distances from the source, in metres, of any shape.
        spread_m2: s, diffusivity times elapsed time, in square metres; positive.

    Returns:
        Temperature per unit of heat, in 1/m.

    Raises:
        ValueError: `spread_m2` is not positive and finite, or a distance is not a number.

    Source: Gilbert and McMillan 2017, Section 2.1, where s is called T.

    >>> heat_kernel(np.array([0.0, 1.0]), spread_m2=0.25).round(4)
    array([0.5642, 0.2076])
    """
    root = math.sqrt(check_spread(spread_m2))
    distance = np.asarray(distance_m, dtype=float)
    if np.isnan(distance).any():
        raise ValueError(
            "distance_m holds a NaN but every distance must be a number, or one bad place "
            "would spoil all the readings. Look for a missing position in the input."
        )
    found = np.empty(distance.shape)
    whole, flat = distance.reshape(-1), found.reshape(-1)
    # Far away the square overflows to infinity and the exponential is rightly nought.
    with np.errstate(over="ignore", under="ignore"):
        for first in range(0, flat.size, NEAR_BY):
            part = np.divide(whole[first : first + NEAR_BY], 2 * root)
            np.negative(np.square(part, out=part), out=part)
            np.exp(part, out=part)
            np.divide(part, 2 * math.sqrt(math.pi) * root, out=flat[first : first + NEAR_BY])
    return np.asarray(found[()])


def check_spread(spread_m2: float) -> float:
    """Return the spread, once it is known to have a kernel.

    Raises:
        ValueError: it is not positive and finite.
    """
    if not 0 < spread_m2 < math.inf:
        raise ValueError(
            f"spread_m2 is {spread_m2:g} but must be positive and finite: heat that has had "
            "no time to spread has no kernel. Is the elapsed time in seconds?"
        )
    return float(spread_m2)


# The kernel along one line between two walls alike, by mirror images or by modes.
#
# Either is exact; the images are few while heat has hardly met the walls, the modes once it has.

# exp(-46) is 1e-20: a term so small is lost in the sum of the others.
NEGLIGIBLE = 46.0

# What a promise can be made for: how much a move is felt is known at every spread.
Walls: TypeAlias = Literal["none", "insulated"]
# What a room can be simulated with: walls kept at the baseline take all the heat they meet.
AnyWalls: TypeAlias = Literal["none", "insulated", "cold"]

# Below this spread over length squared the images converge faster, above it the modes.
SWITCH = 0.1


def compute_axis_response(
    sources: Floats, sensors: Floats, spread: float, walls: str, length: float
) -> Floats:
    """Return (sensors, sources) of one axis, between walls at 0 and `length` or without.

    Raises:
        ValueError: a spread or length that is not positive, walls that are not known, or a
            place behind them.
    """
    if walls == "none":
        return heat_kernel(sensors[:, None] - sources, spread)
    check_walls(sources, sensors, walls, length)
    if check_spread(spread) / length**2 < SWITCH:
        return sum_images(sources, sensors, spread, walls, length)
    return sum_waves(sources, sensors, spread, walls, length)


def sum_images(
    sources: Floats, sensors: Floats, spread: float, walls: str, length: float
) -> Floats:
    """Sum the mirror images of each source, at x + 2 j L and, or less those, at -x + 2 j L.

    No term left out is nearer to a sensor than 2 L images, and there it is negligible.
    """
    count = 1 + int(math.sqrt(NEGLIGIBLE * spread) / length)
    total = np.zeros((len(sensors), len(sources)))
    mirror = 1 if walls == "insulated" else -1
    for shift in 2 * length * np.arange(-count, count + 1):
        total += heat_kernel(sensors[:, None] - sources - shift, spread)
        total += mirror * heat_kernel(sensors[:, None] + sources - shift, spread)
    # No wall leaves less than no heat: what is below is rounding.
    return np.maximum(total, 0.0, out=total)


def sum_waves(
    sources: Floats, sensors: Floats, spread: float, walls: str, length: float
) -> Floats:
    """Sum the modes that the walls allow, cosines where they are insulated, sines where cold.

    K(y, x) = (1 + 2 sum over k of cos(k pi y/L) cos(k pi x/L) exp(-s (k pi/L)**2)) / L
    K(y, x) = 2/L sum over k of sin(k pi y/L) sin(k pi x/L) exp(-s (k pi/L)**2)
    """
    last = math.ceil(math.sqrt(NEGLIGIBLE * length**2 / spread) / math.pi)
    rates = np.arange(1, last + 1) * (math.pi / length)
    wave, mean = (np.cos, 1.0) if walls == "insulated" else (np.sin, 0.0)
    modes = wave(np.outer(sensors, rates)) * (2 * np.exp(-spread * rates**2))
    total = np.asarray((mean + modes @ wave(np.outer(rates, sources))) / length)
    return np.maximum(total, 0.0, out=total)


def check_walls(sources: Floats, sensors: Floats, walls: str, length: float) -> None:
    """Refuse what is no room, and places that are not in it.

    Raises:
        ValueError: walls that are not known, a length that is not positive, a place behind them.
    """
    if walls not in ("insulated", "cold"):
        raise ValueError(
            f"walls is {walls!r} but must be 'none', 'insulated' or 'cold', for only these "
            "kernels are known here. Choose 'insulated' for a closed room."
        )
    if not 0 < length < math.inf:
        raise ValueError(
            f"length_m is {length:g} but must be positive and finite, for the walls stand at 0 "
            "and length_m. Is it the length of the room in metres?"
        )
    for name, places in (("sources_m", sources), ("sensors_m", sensors)):
        outside = np.flatnonzero((places < 0) | (places > length))
        if len(outside):
            raise ValueError(
                f"{name}[{outside[0]}] is {places[outside[0]]:g} but must be between the walls "
                f"at 0 and {length:g}, for no heat passes them. Are position and length in the "
                "same unit, counted from the same wall?"
            )


# How far one source that moves can change all the readings together.
#
# The distance is taken over the whole vector of readings, for whoever sees one sensor of a
# building usually sees them all. The noise of every sensor is scaled to this one number.
#
# Differs from the paper:
# 1. The index i stops where its neighbour still exists: the paper's maximum over all n cells
#    needs a column n + 1. Wrapping round to the first column gives 45 times too much noise.
# 2. Sources that move further than one cell have their own, exact number; the paper has only
#    the next cell, which means less and less as the grid is made finer.


def sensitivity(
    operator: ArrayLike, cells: int = 1, shape: tuple[int, int] | None = None
) -> float:
    """Return the joint sensitivity, for a unit source that moves by so many cells.

        D(d) = max over i <= n - d of || A_i - A_(i+d) ||, A_i column i of the operator

    Args:
        operator: A, (sensors, sources), in temperature per unit of heat.
        cells: d, how far the source moves; see `list_moves` for what that means in a plane.
        shape: (columns, rows) of the cells in a plane, None along a line.

    Raises:
        ValueError: not a finite matrix, or no two cells are so far apart.

    Source: Gilbert and McMillan 2017, Section 3, "Delta_2(A)", with i < n.

    >>> sensitivity([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    1.4142135623730951
    """
    return max(
        float(np.sqrt(np.einsum("ij,ij->j", block, block).max()))
        for block in list_moves(operator, cells, shape)
    )


def list_moves(
    operator: ArrayLike,
    cells: int = 1,
    shape: tuple[int, int] | None = None,
    *,
    mirrored: bool = False,
) -> Iterator[Floats]:
    """Yield blocks (sensors, moves) of column differences, one block for each direction.

    Along a line there is one block, A_i - A_(i+d). In a plane "d cells" is the ring of moves
    longer than d - 1 and at most d cells, so that d = 1 gives the four neighbours and the
    rings 1..d together give every move within d cells, the oblique ones too. A move and its
    reverse differ by a sign alone, so one of the two is given.

    Args:
        operator, cells, shape: as for `sensitivity`.
        mirrored: cells and sensors are the same ones from the left and from the right, from above
            and from below; then of moves that mirror one another one is given at least.

    Raises:
        ValueError: as for `sensitivity`.
    """
    matrix = np.asarray(operator, dtype=float)
    if matrix.ndim != 2 or not matrix.size or not np.isfinite(matrix).all():
        raise ValueError(
            f"the operator has shape {matrix.shape} or holds a value that is not finite, but a "
            "matrix (sensors, sources) of finite numbers is needed, or the noise that rests on "
            "it would protect nobody. Take it from physics.kernel.forward."
        )
    columns, rows = shape or (matrix.shape[1], 1)
    if columns * rows != matrix.shape[1]:
        raise ValueError(
            f"the shape {shape} has {columns * rows} cells but the operator has "
            f"{matrix.shape[1]} sources, and neighbours can only be found when they agree. "
            "Give the (columns, rows) of the grid that the operator was made for."
        )
    steps = [
        (right, down)
        for right, down in list_steps(cells, flat=rows == 1)
        if abs(right) < columns and down < rows and not (mirrored and right < 0)
    ]
    if not steps:
        raise ValueError(
            f"the move is {cells} cells but {columns} by {rows} cells have no two that far "
            "apart, so there is nothing to hide. Ask for a whole number from 1 to "
            f"{max(columns, rows) - 1}, or make the grid finer."
        )
    return _yield_differences(matrix.reshape(-1, rows, columns), steps, mirrored)


def _yield_differences(
    matrix: Floats, steps: list[tuple[int, int]], mirrored: bool
) -> Iterator[Floats]:
    _, rows, columns = matrix.shape
    for right, down in steps:
        left = max(0, -right)
        width, height = columns - abs(right), rows - down
        if mirrored:  # by both axes at once the last move is the first one, backwards
            width, height = (width, -(-height // 2)) if rows > 1 else (-(-width // 2), 1)
        here = matrix[:, :height, left : left + width]
        there = matrix[:, down : down + height, left + right : left + right + width]
        yield (here - there).reshape(len(matrix), -1)


@lru_cache(maxsize=1024)  # the same rings are asked for at every spread
def list_steps(cells: int, flat: bool) -> tuple[tuple[int, int], ...]:
    """Return the steps (right, down) longer than cells - 1 and at most cells, one of each pair."""
    if cells != int(cells) or cells < 1:
        return ()
    if flat:
        return ((int(cells), 0),)
    return tuple(
        (right, down)
        for down in range(int(cells) + 1)
        for right in range(-int(cells), int(cells) + 1)
        if (cells - 1) ** 2 < right**2 + down**2 <= cells**2 and (down > 0 or right > 0)
    )


Length: TypeAlias = float | tuple[float, float]
Lengths: TypeAlias = float | tuple[float, ...]


def forward(
    sources_m: ArrayLike,
    sensors_m: ArrayLike,
    spread_m2: float,
    walls: AnyWalls = "none",
    length_m: Lengths = 1.0,
) -> Floats:
    """Return A, (sensors, sources), with readings = A @ heat.

    Args:
        sources_m: where heat may be, (sources,) along a line, (sources, 2) in a plane or
            (sources, 3) in a room.
        sensors_m: where it is read, (sensors,), (sensors, 2) or (sensors, 3), in the same unit.
        spread_m2: diffusivity times elapsed time, in square metres; positive.
        walls: "none"; or walls at 0 and `length_m` on every axis, "insulated" where no heat
            passes them, "cold" where they are kept at the baseline and take all of it.
        length_m: between the walls; (x, y) or (x, y, z) for a room that is no square or cube.

    Raises:
        ValueError: a spread or length that is not positive, positions that are not finite or
            of the wrong shape, or outside the walls.

    Source: Gilbert and McMillan 2017, Section 2.1, "y = A f0"; in a plane or a room the kernel
    is the product of one kernel for each axis.

    >>> forward([0.0, 1.0], [0.0], spread_m2=0.25).round(4)
    array([[0.5642, 0.2076]])
    """
    sources, sensors, lengths = split_axes(sources_m, sensors_m, length_m)
    if len(lengths) == 1:
        return compute_axis_response(
            sources[:, 0], sensors[:, 0], spread_m2, walls, float(lengths[0])
        )
    factors, which = [], []
    for axis, length in enumerate(lengths.tolist()):
        # Of a grid many are in one row, or in one column.
        own, source = np.unique(sources[:, axis], return_inverse=True)
        felt, sensor = np.unique(sensors[:, axis], return_inverse=True)
        factors.append(compute_axis_response(own, felt, spread_m2, walls, length)[sensor])
        which.append(source)
    across, down = (factor.shape[1] for factor in factors[:2])
    at = which[1] * across + which[0]
    # All cells of a grid, row by row: nothing need be gathered, and a product has no order.
    if len(factors) == 2 and len(at) == across * down and np.array_equal(at, np.arange(len(at))):
        return np.reshape(factors[1][:, :, None] * factors[0][:, None, :], (len(sensors), -1))
    operator = np.ones(())
    for factor, source in zip(factors, which, strict=True):
        gathered = factor.take(source, axis=1)
        operator = np.multiply(operator, gathered, out=gathered)
    return operator


def split_axes(
    sources_m: ArrayLike, sensors_m: ArrayLike, length_m: ArrayLike
) -> tuple[Floats, Floats, Floats]:
    """Return the places as (places, axes), and the length of each axis.

    Raises:
        ValueError: positions that are not finite or of the wrong shape, or axes that disagree.
    """
    sources, sensors = (
        _check_positions("sources_m", sources_m),
        _check_positions("sensors_m", sensors_m),
    )
    lengths = np.atleast_1d(np.asarray(length_m, dtype=float))
    axes = sources.shape[1]
    if sensors.shape[1] != axes or lengths.shape not in ((1,), (axes,)):
        raise ValueError(
            f"sources_m, sensors_m and length_m have {axes}, {sensors.shape[1]} and "
            f"{lengths.size} axes but must share one to three, for a distance joins two places "
            "of one room. Give all of them as x along a line, (x, y) in a plane or (x, y, z)."
        )
    return sources, sensors, np.broadcast_to(lengths, axes)


def _check_positions(name: str, places_m: ArrayLike) -> Floats:
    """Return the positions as (places, axes), whatever the number of axes."""
    places = np.asarray(places_m, dtype=float)
    if places.ndim not in (1, 2) or (places.ndim == 2 and places.shape[1] not in (1, 2, 3)):
        raise ValueError(
            f"{name} has shape {places.shape} but must be (k,) along a line, (k, 2) in a plane or "
            "(k, 3) in a room, or the distances have no meaning. Reshape it, one row for each "
            "place."
        )
    if not len(places):
        raise ValueError(
            f"{name} has no place but at least one is needed, or there is no operator. Leave the "
            "call out where nothing is to be felt."
        )
    if not np.isfinite(places).all():
        raise ValueError(
            f"{name} holds a value that is not finite but every position must be a number, or "
            "one bad place would spoil all the readings. Look for a gap in the input."
        )
    return places.reshape(len(places), -1)

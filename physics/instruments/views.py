"""What share of each cell of the floor a thermal array sees, and what it sees of people.

A view multiplies a field in kelvin above the baseline. Along each axis it is the share of that
axis's cells, and in a plane the product of both: for a large room, `array_axes` sees without
forming it.

What lies beyond a wall sees the wall, which is taken to be at the baseline: a row adds up to
one where the view is inside the room, and to less where it is not.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from edge.core.records import Grid

from .. import places
from .presets import Preset

# The share of each cell along one axis that a pixel covers.


def edges_of(at_m: ArrayLike, grid: Grid) -> list[places.Floats]:
    """Return the borders of the cells along each axis, x first, (cells + 1,).

    Raises:
        ValueError: the place is outside the grid, or has another number of axes.
    """
    places.nearest_cells(np.asarray(at_m, dtype=float).reshape(1, -1), grid)  # refuses it
    found = []
    for length, count in zip(np.atleast_1d(places.length_m(grid)), grid.shape, strict=False):
        pitch = float(length) / count
        first = pitch * (1.0 if grid.cell_mm == 0 else 0.5)
        found.append(first + pitch * (np.arange(count + 1) - 0.5))
    return found


def boxes(low: places.Floats, high: places.Floats, edges: places.Floats) -> places.Floats:
    """Return the share of each box, from low to high, between the edges: (boxes, cells)."""
    covered = np.clip(edges, low[:, None], high[:, None])
    return np.asarray(np.diff(covered, axis=1) / (high - low)[:, None])


def pixels(borders: places.Floats, edges: places.Floats) -> places.Floats:
    """Return the share of each pixel, between neighbouring borders, that falls between edges."""
    return boxes(borders[:-1], borders[1:], edges)


def positive(name: str, value: float) -> None:
    """Refuse a length that is not positive.

    Raises:
        ValueError: it is not, or not finite.
    """
    if not 0 < value < np.inf:
        raise ValueError(
            f"{name} is {value:g} but must be positive and finite, for what is looked at has an "
            "extent. Give metres; an array hangs above what it looks at."
        )


# Thermal arrays at the ceiling: what share of each cell of the floor each pixel sees.
#
# All pixels of an array have the same angle, as data sheets give it, and look along x and y
# independently; within its rectangle a pixel sees every square centimetre alike. Lenses that bend
# straight lines, and pixels of the border that see less, are not here.


class Axes(NamedTuple):
    """The view of an array, axis by axis."""

    down: places.Floats  # (pixel rows, rows)
    across: places.Floats  # (pixel columns, columns)

    def see(self, field_k: places.Floats) -> places.Floats:
        """Return what each pixel sees of a field (..., rows, columns), as (..., pixels)."""
        seen = self.down @ field_k @ self.across.T
        return np.asarray(seen.reshape(*seen.shape[:-2], -1))

    def matrix(self) -> places.Floats:
        """Return the same as one matrix, (pixels, cells)."""
        return np.asarray(np.kron(self.down, self.across))


def footprints(preset: Preset, at_m: ArrayLike, distance_m: float) -> tuple[places.Floats, ...]:
    """Return where the borders of the pixels fall on a floor that far below, x and y.

    The outer pixels see more floor than the inner ones.

    Args:
        at_m: (x, y) of the floor straight below the array; its rows run along x.

    Raises:
        ValueError: the preset is no array, or the distance is not positive.
    """
    positive("distance_m", distance_m)
    if not all(preset.view_deg):
        raise ValueError(
            f"{preset.name} has no field of view but an array was asked for: a thermometer sees "
            "the air that it touches. Take grideye or an mlx90640."
        )
    middle = np.asarray(at_m, dtype=float)
    angles = (
        np.radians(np.linspace(-view / 2, view / 2, count + 1))
        for view, count in zip(preset.view_deg, preset.shape, strict=True)
    )
    return tuple(at + distance_m * np.tan(angle) for at, angle in zip(middle, angles, strict=True))


def array_axes(
    preset: Preset,
    at_m: ArrayLike,
    height_m: float,
    grid: Grid,
) -> Axes:
    """Return the view of an array at the ceiling that looks straight down, axis by axis.

    Args:
        at_m: (x, y) of the array in the plan.
        height_m: of the array above the floor.

    Raises:
        ValueError: no plane, no array, or one that hangs outside or below what it looks at.
    """
    edges = edges_of(at_m, grid)
    if len(edges) != 2:
        raise ValueError(
            "the grid is a line but an array looks at a plane; its pixels have two axes. Give a "
            "grid of columns and rows."
        )
    borders = footprints(preset, at_m, height_m)
    across, down = (pixels(border, side) for border, side in zip(borders, edges, strict=True))
    return Axes(down, across)


# What a thermal array sees of people: the share of each pixel that they cover, and how warm.
#
#     pixel = background + share covered * emissivity * (surface - background)
#
# An array sees surfaces, never air: the warm air about a person, which thermometers feel, is not
# in its picture, and the floor that a person has warmed would be, if a field of it is given. In
# the model: where people stand, their size from above, how warm their clothes and hair are, pixels
# of an equal angle. Not in it: arms and chairs, sides of a body seen obliquely at the border of a
# wide view, somebody hidden behind another, reflections, and clothes that warm up indoors.

# Of hair and shoulders above a doorway at 21 degC: with this a person 0.9 m below a Grid-EYE was
# within a tenth of the recorded ones, 5.8 K at the middle.
SURFACE_K = 4.7
# A square of the area that shoulders and head cover from above.
SIDE_M = 0.4
HEAD_M = 1.6
EMISSIVITY = 0.97  # of skin and clothes in the far infrared; the rest is reflected background


def cover(
    people_m: ArrayLike,
    preset: Preset,
    at_m: ArrayLike,
    height_m: float,
) -> places.Floats:
    """Return the share of each pixel that people cover, (pixels,), at most one.

    Each is a square with its sides along x and y, flat at the height of the head.

    Args:
        people_m: (people, 2), x and y in the plan; none at all is (0, 2).
        at_m: (x, y) of the array at the ceiling, which looks straight down.
        height_m: of the array above the floor.

    Raises:
        ValueError: no array, one that hangs below the heads, or places that are not finite.
    """
    stand = np.asarray(people_m, dtype=float).reshape(-1, 2)
    if not np.isfinite(stand).all():
        raise ValueError(
            "a person stands at a place that is not finite but must be somewhere, or no pixel "
            "can be said to see them. Look for a gap in the positions."
        )
    across, down = footprints(preset, at_m, height_m - HEAD_M)
    seen = np.zeros((len(down) - 1, len(across) - 1))
    for x, y in stand.tolist():
        near = np.array([-SIDE_M / 2, SIDE_M / 2])
        seen += pixels(down, y + near) * pixels(across, x + near).T
    return np.minimum(seen, 1.0).ravel()


def people_seen(
    people_m: ArrayLike,
    preset: Preset,
    at_m: ArrayLike,
    height_m: float,
    background_k: ArrayLike = 0.0,
) -> places.Floats:
    """Return what each pixel sees, (pixels,), in kelvin above the baseline.

    Args:
        background_k: of each pixel, or of all: what it sees where nobody is, from
            `array_axes` and a field of the floor where that is known.
        people_m, preset, at_m, height_m: as for `cover`.

    Raises:
        ValueError: as for `cover`.
    """
    share = cover(people_m, preset, at_m, height_m)
    behind = np.asarray(background_k, dtype=float)
    return np.asarray(behind + EMISSIVITY * share * (SURFACE_K - behind))

"""Thermal arrays at the ceiling: what share of each cell of the floor each pixel sees.

All pixels of an array have the same angle, as data sheets give it, and look along x and y
independently; within its rectangle a pixel sees every square centimetre alike, or as a Gaussian
beam. Lenses that bend straight lines, and pixels of the border that see less, are not here.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from edge.records import Grid

from .. import places
from .records import Preset
from .shares import axes_of, pixels, positive


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
            "the air that it touches. Take grideye or an mlx90640, or `point_views`."
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
    surface_m: float = 0.0,
    beam: bool = False,
) -> Axes:
    """Return the view of an array at the ceiling that looks straight down, axis by axis.

    Args:
        at_m: (x, y) of the array in the plan.
        height_m: of the array above the floor.
        surface_m: height of what it looks at: the floor, or the heads of people.
        beam: see each pixel through a Gaussian that is as wide at half its height as the
            pixel's rectangle, instead of evenly through the rectangle.

    Raises:
        ValueError: no plane, no array, or one that hangs outside or below what it looks at.
    """
    sides = axes_of(np.asarray(at_m, dtype=float).reshape(1, -1), grid)
    if len(sides) != 2:
        raise ValueError(
            "the grid is a line but an array looks at a plane; its pixels have two axes. Give a "
            "grid of columns and rows."
        )
    borders = footprints(preset, at_m, height_m - surface_m)
    across, down = (
        pixels(border, side.edges, beam) for border, side in zip(borders, sides, strict=True)
    )
    return Axes(down, across)


def array_views(
    preset: Preset,
    at_m: ArrayLike,
    height_m: float,
    grid: Grid,
    surface_m: float = 0.0,
    beam: bool = False,
) -> places.Floats:
    """Return what share of each cell each pixel sees, (pixels, cells); see `array_axes`.

    The field must be that of the surfaces below: an array does not see air. `people` makes it.
    """
    return array_axes(preset, at_m, height_m, grid, surface_m, beam).matrix()

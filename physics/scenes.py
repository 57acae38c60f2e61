"""Scenes: where the warm things are. Random ones, or the ones that a file tells of.

Positions are on the scale of the room: 0 to 1 where the grid is the unit interval, metres
otherwise. Recorded frames are kept apart, for nobody knows where their sources were.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edge.core.records import Grid

from .files import read_frames as read_frames
from .files import read_sources
from .kernel import Length, Walls, forward
from .places import Floats, cell_places, nearest_cells


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """Sources of heat and how strong each of them is.

    Args:
        places: (sources,) along a line, (sources, 2) in a plane.
        intensities: (sources,), nought or more; in kelvin metres, or 1 for the paper's unit.

    Raises:
        ValueError: shapes that disagree, values that are not finite, a negative intensity.
    """

    places: Floats
    intensities: Floats

    def __post_init__(self) -> None:
        if self.intensities.shape != (len(self.places),):
            raise ValueError(
                f"there are {len(self.places)} places but intensities of shape "
                f"{self.intensities.shape}; each source needs one of both, or it is not known "
                "what warms the room. Give as many numbers as places."
            )
        if not np.isfinite(self.places).all():
            raise ValueError(
                "a source has a position that is not finite but must stand somewhere, or its "
                "heat reaches nobody. Look for a gap in the positions."
            )
        for source, intensity in enumerate(self.intensities):
            if not 0 <= intensity < math.inf:
                raise ValueError(
                    f"source {source} has the intensity {intensity:g} but it must be finite and "
                    "nought or more, for a source only warms. Leave it out instead."
                )

    def heat(self, grid: Grid) -> Floats:
        """Return the heat in each cell, (cells,): every source goes to its nearest cell."""
        heat = np.zeros(grid.shape[0] * grid.shape[1])
        np.add.at(heat, nearest_cells(self.places, grid), self.intensities)
        return heat

    def temperatures(
        self, sensors_m: Floats, spread_m2: float, walls: Walls = "none", length_m: Length = 1.0
    ) -> Floats:
        """Return the temperature at each sensor, (sensors,), of the sources where they are.

        The arguments are those of `physics.kernel.forward`.
        """
        return np.asarray(
            forward(self.places, sensors_m, spread_m2, walls, length_m) @ self.intensities
        )


def draw_sources(
    k: int,
    grid: Grid,
    world: np.random.Generator,
    intensity: float = 1.0,
    free: NDArray[np.bool_] | None = None,
) -> Scene:
    """Return k equal sources in k different cells, every choice equally likely.

    Args:
        free: (cells,), where a source can stand; None for everywhere.

    Differs from the paper:
    1. One source stands anywhere, where the paper puts it at 1/2: a guess of 1/2 without any
       data would score best there.

    Raises:
        ValueError: k is not a whole number from 1 to the number of cells.
    """
    places = cell_places(grid) if free is None else cell_places(grid)[free]
    if k != int(k) or not 1 <= k <= len(places):
        raise ValueError(
            f"{k} sources were asked for but {len(places)} cells hold 1 to {len(places)}, one "
            "in each. Ask for fewer, or make the grid finer."
        )
    chosen: NDArray[np.int64] = np.sort(world.choice(len(places), int(k), replace=False))
    return Scene(places[chosen], np.full(int(k), float(intensity)))


def read_scene(path: str | Path, length_m: Length = 1.0) -> Scene:
    """Return the scene that a CSV file of sources tells of.

    Its header is `position,intensity` along a line and `x,y,intensity` in a plane; positions
    go from 0 to `length_m`, 1 on the unit interval.

    Raises:
        ValueError: as `physics.files.read_sources`, which names file, line and value.
    """
    return Scene(*read_sources(path, length_m))

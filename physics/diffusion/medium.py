"""What heat moves through, and what drives it: the data of a diffusion problem on a grid.

Arrays of cells are in numpy's order, the last axis is x: (cells,) along a line, (rows, columns)
in a plan, (layers, rows, columns) in a room. Whatever is told axis by axis starts with x.
Temperatures are in kelvin above the baseline.
"""

import hashlib
import math
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..places import Floats

# One for each axis, x first: the side at nought, then the one at the length.
Sides: TypeAlias = tuple[tuple[Floats | float, Floats | float], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Medium:
    """The cells of a room, and how its outer sides pass heat.

        C du/dt = div(k grad u) - loss (u - supply) + power

    and at each outer side a heat flow out of film (u - outside) a square metre.

    Args:
        cell_m: size of a cell along each axis, x first, in metres: one number, or one for each
            cell along it.
        conductivity: k of each cell, W/(m K), nought or more; nought lets nothing through. Air
            that is stirred has k = density x heat capacity x mixing.
        capacity: C of each cell, J/(m3 K), positive; with the share of walls and furniture
            that warms with it.
        loss: of each cell, W/(m3 K), what ventilation carries away; nought or more.
        films: W/(m2 K), one number, or one for each cell of that side: nought is insulated,
            infinity is kept at the outside temperature.
        beyond: the extent of what the cells do not divide: the height in metres of a plan, the
            cross-section in square metres of a line, 1 in a room of three axes.
        resistance: m2 K/W between each cell and the next along each axis, x first, beside what
            half of either has: a number, or an array of the medium's shape with one fewer along
            that axis. None without.

    Raises:
        ValueError: shapes that disagree, or values that are out of range or not finite.
    """

    cell_m: tuple[Floats | float, ...]
    conductivity: Floats
    capacity: Floats
    loss: Floats
    films: Sides
    beyond: float = 1.0
    resistance: tuple[Floats | float, ...] = ()

    def __post_init__(self) -> None:
        shape = self.capacity.shape
        shapes = {part.shape for part in (self.conductivity, self.capacity, self.loss)}
        axes = len(self.cell_m)
        if len(shapes) != 1 or len(shape) != axes or axes not in (1, 2, 3) or 0 in shape:
            raise ValueError(
                f"conductivity, capacity and loss have shapes {sorted(shapes)} and cell_m "
                f"{axes} axes but all must be of one grid of 1 to 3 axes, or a cell has no "
                "material. Make them with one shape, x last."
            )
        for name, least in (("conductivity", 0.0), ("capacity", 5e-324), ("loss", 0.0)):
            part = getattr(self, name)
            wrong = np.argwhere(~((part >= least) & np.isfinite(part)))
            if len(wrong):
                place = tuple(wrong[0].tolist())
                raise ValueError(
                    f"{name} is {part[place]:g} in cell {place} but must be finite and "
                    f"{'positive' if least else 'nought or more'}, or heat would run uphill. "
                    "Correct that material."
                )

    @property
    def shape(self) -> tuple[int, ...]:
        """The cells along each axis, in numpy's order: x last."""
        return self.capacity.shape

    @property
    def volume_m3(self) -> Floats | float:
        """The volume of a cell: one number, or of a shape that goes with the medium's."""
        return math.prod(map(self.find_width, range(len(self.cell_m)))) * self.beyond

    def find_width(self, axis: int) -> Any:
        """Return how wide cells are along an axis, 0 for x, in a shape that goes with theirs."""
        size = self.cell_m[axis]
        return size if np.ndim(size) == 0 else np.reshape(size, (-1,) + (1,) * axis)

    def find_side_shape(self, axis: int) -> tuple[int, ...]:
        """Return the shape of the two outer sides across an axis, 0 for x."""
        across = len(self.shape) - 1 - axis
        return tuple(count for at, count in enumerate(self.shape) if at != across)


class Drive(NamedTuple):
    """What drives the temperatures over one step: means over its time."""

    power_w: Floats  # in each cell, of the medium's shape
    outside_k: Sides  # beyond each outer side, as films are given
    supply_k: float = 0.0  # of the air that ventilation brings in


def make_still_drive(medium: Medium, power_w: Floats | None = None) -> Drive:
    """Return a drive with everything outside at the baseline, and this power or none."""
    power = np.zeros(medium.shape) if power_w is None else power_w
    return Drive(power, ((0.0, 0.0),) * len(medium.shape))


def fingerprint(medium: Medium) -> str:
    """Return 64 hex digits that are the same for equal media, and differ otherwise."""
    hasher = hashlib.sha256()
    hasher.update(repr((medium.shape, float(medium.beyond))).encode())
    parts = (*medium.cell_m, *medium.resistance)
    for part in (*map(np.asarray, parts), medium.conductivity, medium.capacity, medium.loss):
        hasher.update(repr(part.shape).encode())
        hasher.update(_pack_floats(part))
    for axis, pair in enumerate(medium.films):
        for film in pair:
            hasher.update(_pack_floats(np.broadcast_to(film, medium.find_side_shape(axis))))
    return hasher.hexdigest()


def _pack_floats(part: Floats) -> bytes:
    return np.ascontiguousarray(part, dtype="<f8").tobytes()

"""Where most of a map is, in few words."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from physics.places import cell_places
from recovery.maps.heatmap import Blocks, Credible

Floats = NDArray[np.float64]
Whether = NDArray[np.bool_]
_CLAIMS = 5  # blocks that are named, of those that may be

# Cells within this part of the map's longer side are spoken of as one place.
_REACH = 1 / 14
_SHARE_MIN = 0.05


class Place(NamedTuple):
    """A place with much of the heat: where its middle is, and how much of all it has."""

    at: Floats  # (axes,), in metres or in sides of a unit grid
    share: float
    sides: tuple[Floats, Floats] | None = None  # corners of a flat rectangle, least and greatest
    within: float | None = None  # how far from there its source is, at the level of a posterior


def find_cell_places(grid: Any, middles: bool) -> Floats:
    """Return where one says that each cell is, (cells, axes).

    Args:
        middles: a cell of a unit grid is a square, told by its middle; else it is the point where
            the paper of thermal puts it, at its far end.
    """
    places = cell_places(grid)
    places = places.reshape(len(places), -1)
    if middles and not grid.cell_mm:
        return places - 0.5 / np.array(grid.shape[: places.shape[1]])
    return places


def find_warmest_places(
    mass: Floats, grid: Any, middles: bool = False, credible: Credible | None = None
) -> list[Place]:
    """Return where most of the heat is, the greatest share first: the one list that is shown.

    A flat rectangle, of equal cells, is one place, however wide. Of the rest the warmest cell
    gathers those near it, then the warmest that is left, and so on. Where a posterior says about
    how many sources there are, there are no more places, all heat counts to the nearest of them,
    and what is flat is no place: nobody believes a source in it more than elsewhere.

    Args:
        mass: (rows, columns), adds to one.
        middles: as for `find_cell_places`.
    """
    if credible is not None and _is_even(mass, credible):
        return []
    places = find_cell_places(grid, middles)
    reach = _REACH * float(np.ptp(places, axis=0).max())
    left, found = mass.ravel().copy(), list[Place]()
    for flat in _flat_areas(mass) if credible is None else ():
        inside, sides = np.flatnonzero(flat), _find_corners(flat, grid)
        if sides is not None and np.linalg.norm(np.ptp(places[inside], axis=0)) > reach:
            share = float(left[inside].sum())
            found.append(Place(places[inside].mean(axis=0), share, sides))
            left[inside] = 0
    while left.max() > 0.002:
        near = np.linalg.norm(places - places[left.argmax()], axis=1) <= reach
        share = float(left[near].sum())
        found.append(Place(left[near] @ places[near] / share, share))
        left[near] = 0
    kept = [place for place in found if place.share >= _SHARE_MIN]
    # Of two that are alike the first along the axes, whatever the last digit says.
    kept.sort(key=lambda place: (-round(place.share, 2), *place.at))
    if credible is None or not kept:
        return kept
    return _assign_all_heat(kept[: credible.median], mass, places, credible)


def _is_even(mass: Floats, credible: Credible) -> bool:
    """Return whether no cell stands out, of more than there may be sources."""
    warm = mass[mass > 0]
    return len(warm) > len(credible.numbers) and float(np.ptp(warm)) < 1e-9


def _assign_all_heat(
    kept: list[Place], mass: Floats, places: Floats, credible: Credible
) -> list[Place]:
    """Return the places with the heat that is nearest to each, and within what its source is."""
    away = np.linalg.norm(places[:, None] - [place.at for place in kept], axis=2)
    nearest, away = away.argmin(axis=1), away.min(axis=1)
    half_cell = 0.5 * float(np.ptp(places, axis=0).max()) / max(max(mass.shape) - 1, 1)
    made = []
    for number, place in enumerate(kept):
        mine = np.flatnonzero(nearest == number)
        mine = mine[np.argsort(away[mine], kind="stable")]
        upto = np.cumsum(credible.present.ravel()[mine])
        held = int(np.searchsorted(upto, credible.level * upto[-1] - 1e-9))
        within = float(away[mine[held]]) + half_cell if upto[-1] > 0 else None
        made.append(place._replace(share=float(mass.ravel()[mine].sum()), within=within))
    return sorted(made, key=lambda place: (-round(place.share, 2), *place.at))


def describe_source_count(credible: Credible, places: list[Place]) -> str:
    """Return how many sources there are, and that a place holds several where it must."""
    several = 0 < len(places) < credible.likely_range[0]
    return credible.sentence + " A place that is named holds several of them." * several


def _flat_areas(mass: Floats) -> Iterator[Whether]:
    """Yield each area of equal cells that holds enough, unless it is the whole map."""
    values, counts = np.unique(mass, return_counts=True)
    for value in values[(values * counts >= _SHARE_MIN) & (counts > 1) & (counts < mass.size)]:
        left = mass == value
        while left.any():
            area = _join(left)
            left &= ~area
            if value * area.sum() >= _SHARE_MIN:
                yield area


def _join(cells: Whether) -> Whether:
    """Return those of the cells that hang together with the first one."""
    rows, columns = cells.shape
    free = np.zeros((rows + 2, columns + 2), dtype=bool)  # with a border around
    free[1:-1, 1:-1] = cells
    ways = np.array([1, -1, columns + 2, -columns - 2])
    flat = free.ravel()
    edge, joined = np.flatnonzero(flat)[:1], np.zeros_like(flat)
    while edge.size:
        flat[edge], joined[edge] = False, True
        beside = np.unique(edge[:, None] + ways)
        edge = beside[flat[beside]]
    return joined.reshape(free.shape)[1:-1, 1:-1]


def _find_corners(area: Whether, grid: Any) -> tuple[Floats, Floats] | None:
    """Return the corners of an area, None where it is no rectangle."""
    rows, columns = (np.flatnonzero(area.any(axis=axis)) for axis in (1, 0))
    if len(rows) * len(columns) != area.sum():
        return None
    cell = np.array([grid.cell_mm / 1000] * 2 if grid.cell_mm else [1 / n for n in grid.shape])
    axes = 1 if area.shape[0] == 1 else 2
    low = np.array([columns[0], rows[0]]) * cell
    high = np.array([columns[-1] + 1, rows[-1] + 1]) * cell
    return low[:axes], high[:axes]


def format_place(at: Floats, grid: Any) -> str:
    """Return a place as one writes it, halves rounded up."""
    numbers = " / ".join(_format_coordinate(axis) for axis in np.atleast_1d(at))
    return f"{numbers} m" if grid.cell_mm else numbers


def _format_coordinate(axis: float) -> str:
    # As usual a middle of a cell, 0.125, would be 0.12, and a hair further 0.13.
    return f"{round(float(axis), 6) + 1e-9:.2f}"


def describe_place(place: Place, grid: Any) -> str:
    """Return where a place is: near its middle, or from side to side of what is flat."""
    if place.sides is None:
        return f"near {format_place(place.at, grid)}"
    spans = [
        f"{_format_coordinate(low)} to {_format_coordinate(high)}"
        for low, high in zip(*place.sides, strict=True)
    ]
    return f"evenly in {' / '.join(spans)}{' m' * bool(grid.cell_mm)}"


def describe_densest_block(blocks: Blocks, grid: Any) -> tuple[str, str]:
    """Return where most are, and in a sentence what is sure of the densest block."""
    found = blocks.claims[:_CLAIMS]
    if not len(found):
        unsure = "The answers tell no place from another; ask more people, or for larger cells."
        return "spread out", unsure
    spots = []
    for at in found:
        top, left, rows, columns = blocks.boxes[at]
        area = np.zeros((grid.shape[1], grid.shape[0]), dtype=bool)
        area[top : top + rows, left : left + columns] = True
        spots.append(
            describe_place(Place(np.zeros(0), 0.0, _find_corners(area, grid)), grid).split(
                "in ", 1
            )[1]
        )
    most = [f"{blocks.shares[at]:.0%} in {spot}" for at, spot in zip(found, spots, strict=True)]
    low, high = 100 * blocks.low[found[0]], 100 * blocks.high[found[0]]
    finer = "; finer is not resolved" if blocks.boxes[found[0], 2:].prod() > 1 else ""
    between = f"Between {low:.3g} and {high:.3g}% of all are in {spots[0]}{finer}"
    return ", ".join(most), f"{between} ({blocks.level:.0%} sure)."


def format_distance(grid: Any, parts: float) -> str:
    """Return a distance that is given in parts of the longer side."""
    if not grid.cell_mm:
        return f"{parts:.4f} of the side"
    return f"{parts * max(grid.shape) * grid.cell_mm / 1000:.3f} m"


def describe_warmest_places(
    mass: Floats, grid: Any, middles: bool = False, credible: Credible | None = None
) -> str:
    """Return in words where most of the heat is; arguments as for `find_warmest_places`."""
    most = find_warmest_places(mass, grid, middles, credible)
    listed = [f"{place.share:.0%} {describe_place(place, grid)}" for place in most]
    return ", ".join(listed) or "spread out"

"""The points that figures are made of: the paper's three synthetic sets, files, and a made city.

The paper's two real sets cannot be kept here. With `--points FILE` their panels are made from a
file of one's own: where it lies over Chicago or New York as theirs do, from the three parts of
Table III, otherwise from the whole of it. Without a file the panel of the real data that a figure
cannot do without is made from a synthetic city, and says so.
"""

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from edge.core.records import Grid
from physics.points import histogram, mnormal, normal, read_points, szipf

from ...faults import OperatorFault
from .figures import Order

Floats: TypeAlias = NDArray[np.float64]
Whole: TypeAlias = NDArray[np.int64]
Box: TypeAlias = tuple[float, float, float, float]  # x from, x to, y from, y to

# The laws and sizes of Section VII-A.
SYNTHETIC = {"Normal": (normal, 300_000), "SZipf": (szipf, 100_000), "MNormal": (mnormal, 300_000)}
CITY = "synthetic city"
_CITY_POINTS = 100_000

# Table III, longitudes first.
PARTS: dict[str, tuple[Box, ...]] = {
    "Chicago": (
        (-87.68, -87.59, 41.72, 41.81),
        (-87.73, -87.64, 41.82, 41.91),
        (-87.77, -87.70, 41.92, 41.99),
    ),
    "New York": (
        (-73.84, -73.74, 40.65, 40.75),
        (-73.95, -73.86, 40.65, 40.74),
        (-73.90, -73.83, 40.82, 40.89),
    ),
}
# A part with fewer points than these has no map worth comparing.
_LEAST = 500


class Crowd(NamedTuple):
    """One set of points, on unit squares: its name, and its parts, (points, 2) each."""

    name: str
    parts: tuple[Floats, ...]


@lru_cache(maxsize=8)
def synthetic(name: str, seed: int, scale: float = 1.0) -> Crowd:
    """Return a synthetic set; `scale` is the part of the paper's points that is drawn."""
    if name == CITY:
        return Crowd(CITY, (city(max(1, round(scale * _CITY_POINTS)), _world(seed, 9)),))
    law, points = SYNTHETIC[name]
    number = list(SYNTHETIC).index(name)
    return Crowd(name, (law(max(1, round(scale * points)), _world(seed, number)),))


@lru_cache(maxsize=4)
def of_file(path: Path, whole: bool = False) -> Crowd:
    """Return the points of a file, in the parts of Table III where it has them.

    Args:
        whole: all of it as one square, as Figure 13 wants.

    Raises:
        OperatorFault: the file cannot be read, or all its points are in one place.
    """
    try:
        read = read_points(path)
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault
    places = read.places[read.weights > 0]
    for place, boxes in () if whole else PARTS.items():
        for turned in (places, places[:, ::-1]):  # latitudes first, too
            parts = [_within(turned, box) for box in boxes]
            if min(len(part) for part in parts) >= _LEAST:
                return Crowd(f"{path.stem}, parts of {place}", tuple(parts))
    low, high = places.min(axis=0), places.max(axis=0)
    side = float((high - low).max())
    if not side > 0:
        raise OperatorFault(
            f"{path} has all its points in one place but a map needs two at least, or there is "
            "no square to divide. Give another file"
        )
    # In the middle of the smallest square that holds all; a hair larger, for it is half open.
    corner = (low + high) / 2 - side / 2
    return Crowd(path.stem, (np.clip((places - corner) / side, 0, math.nextafter(1, 0)),))


def city(points: int, world: np.random.Generator) -> Floats:
    """Return points along streets and around squares, (points, 2) in [0, 1).

    Not a city that there is: a grid of streets at an angle, busier near a centre, with some
    crowded corners and an empty bay. It has what the paper says matters in its real sets, people
    on roads and none between them.
    """
    angle = 0.35
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    corners = np.array([[0.0, 0.0], [0.25, 0.1], [-0.2, 0.2]])
    found = np.empty((0, 2))
    while len(found) < points:
        size = 2 * points
        along = world.normal(0, 0.28, size)
        street = np.clip(np.rint(world.normal(0, 2.2, size)), -6, 6) * 0.07
        on_street = np.stack([along, street + world.normal(0, 0.006, size)], axis=1)
        crossing = world.random(size) < 0.5
        on_street[crossing] = on_street[crossing, ::-1]
        crowded = world.random(size) < 0.2
        near = corners[world.integers(len(corners), size=size)]
        on_street[crowded] = (near + world.normal(0, 0.03, (size, 2)))[crowded]
        drawn = 0.5 + on_street @ turn
        bay = np.hypot(drawn[:, 0] - 0.95, drawn[:, 1] - 0.2) < 0.3
        inside = ((drawn >= 0) & (drawn < 1)).all(axis=1) & ~bay
        found = np.concatenate([found, drawn[inside]])
    return found[:points]


def places_of_order(order: Order) -> Callable[[int, np.random.Generator], Floats]:
    """Return what draws so many people: of the city, or with replacement of the first file."""
    if not order.points:
        return city
    places = np.concatenate(of_file(order.points[0], whole=True).parts)
    return lambda users, world: places[world.integers(len(places), size=users)]


def count(part: Floats, side: int) -> Whole:
    """Return how many points each cell of the unit square has, (side, side)."""
    return histogram(part, Grid((side, side), 0))


def _within(places: Floats, box: Box) -> Floats:
    """Return the points of a box, on the unit square."""
    low, high = np.array(box[::2]), np.array(box[1::2])
    inside = ((places >= low) & (places < high)).all(axis=1)
    return np.clip((places[inside] - low) / (high - low), 0, math.nextafter(1, 0))


def _world(seed: int, number: int) -> np.random.Generator:
    return np.random.default_rng([seed, 0, number])


def file_notes(paths: Iterable[Path]) -> tuple[str, ...]:
    """Return a sentence for each file in which one person has several points."""
    said = []
    for path in paths:
        read = read_points(path)
        points, users = len(read.users), int(read.users.max()) + 1
        if points > users:
            said.append(
                f"{path.stem} has {points} points of {users} users; each point answers here as if "
                "it were a person of its own, so what is promised is promised to a point"
            )
    return tuple(said)


def check_files(paths: Iterable[Path]) -> None:
    """Read every file once, before anything is computed.

    Raises:
        OperatorFault: one is no file of points.
    """
    for path in paths:
        of_file(path)

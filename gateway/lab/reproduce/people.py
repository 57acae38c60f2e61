"""The people of figures: the papers' synthetic sets, a made city, or a file in its place.

The papers' real sets cannot be kept here. The city is none that there is, streets and squares;
with a file of user,x,y its people come from there, in the smallest square that holds all. A file
of Salicon's fixations (JSON) gives gazes: for figures of gazes picture by picture.
"""

import json
import math
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edge.core.records import Grid
from physics.points import histogram, mnormal, normal, read_points, szipf

from ...faults import OperatorFault

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

CITY = "city"
STAND_IN = "a made city in the place of the paper's people, unless --points gives some"
# The laws and sizes of paper 003, Section VII-A.
SYNTHETIC = {"Normal": (normal, 300_000), "SZipf": (szipf, 100_000), "MNormal": (mnormal, 300_000)}


def draw_city(points: int, world: np.random.Generator) -> Floats:
    """Return points along streets and around squares, (points, 2) in [0, 1).

    Not a city that there is: a grid of streets at an angle, busier near a centre, with some
    crowded corners and an empty bay. It has what papers say matters in their real sets, people
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


def draw_people(points: str, users: int, world: np.random.Generator) -> Floats:
    """Return so many people of the city, or with replacement of a file, (users, 2)."""
    if not points:
        return draw_city(users, world)
    places = read_square(Path(points))
    drawn: Floats = places[world.integers(len(places), size=users)]
    return drawn


@lru_cache(maxsize=4)
def read_square(path: Path) -> Floats:
    """Return the points of a file, in the smallest square that holds all, (points, 2) in [0, 1).

    Raises:
        OperatorFault: the file cannot be read, or all its points are in one place.
    """
    if path.suffix == ".json":
        return np.concatenate([own for picture in read_gazes(path) for own in picture])
    try:
        read = read_points(path)
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault
    places = read.places[read.weights > 0]
    low, high = places.min(axis=0), places.max(axis=0)
    side = float((high - low).max())
    if not side > 0:
        raise OperatorFault(
            f"{path} has all its points in one place but a map needs two at least, or there is "
            "no square to divide. Give another file"
        )
    corner = (low + high) / 2 - side / 2
    squared: Floats = np.clip((places - corner) / side, 0, math.nextafter(1, 0))
    return squared


@lru_cache(maxsize=1)
def read_gazes(path: Path) -> list[list[Floats]]:
    """Return where everybody looked, by picture: (fixations, 2) of each, in [0, 1).

    As Salicon publishes it: `images` with id, width and height, `annotations` with image_id and
    fixations, row before column and both from 1.

    Raises:
        OperatorFault: the file cannot be read, or is another.
    """
    found: dict[object, list[Floats]] = {}
    try:
        read = json.loads(path.read_bytes())
        sizes = {one["id"]: (one["width"], one["height"]) for one in read["images"]}
        for at, one in enumerate(read["annotations"]):
            fixed = np.array(one["fixations"], dtype=float).reshape(-1, 2)[:, ::-1]
            places = (fixed - 1) / sizes[one["image_id"]]
            if not ((places >= 0) & (places < 1)).all():
                raise ValueError(f"annotation {at} has a fixation outside of its picture")
            if len(places):
                found.setdefault(one["image_id"], []).append(places)
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise OperatorFault(
            f"{path} cannot be read as Salicon's fixations ({fault!r}) but JSON with images and "
            "annotations is needed, for it says who looked where. Give the file as it is "
            "published, or a CSV of user,x,y"
        ) from fault
    if not found:
        raise OperatorFault(
            f"{path} has no fixation but one at least is needed. Give another file"
        )
    return list(found.values())


def describe_repeated_users(path: Path) -> str:
    """Return a sentence where one person of a file has several points; nothing where none has."""
    if path.suffix == ".json":
        own = [len(places) for picture in read_gazes(path) for places in picture]
        points, users = sum(own), len(own)
    else:
        read = read_points(path)
        points, users = len(read.users), int(read.users.max()) + 1
    if points <= users:
        return ""
    return (
        f"{path.name} has {points} points of {users} users; each point answers here as if it were "
        "a person of its own, so what is promised is promised to a point"
    )


@lru_cache(maxsize=8)
def draw_data_set(name: str, seed: int, scale: float, points: str = "") -> Floats:
    """Return the points of a synthetic set of paper 003, or of the city: the same in all runs."""
    if name == CITY:
        return draw_people(points, round(scale * 100_000), np.random.default_rng([seed, 0, 9]))
    law, users = SYNTHETIC[name]
    world = np.random.default_rng([seed, 0, list(SYNTHETIC).index(name)])
    return law(max(1, round(scale * users)), world)


def count_in_cells(points: Floats, side: int) -> Whole:
    """Return how many points each cell of the unit square has, (side, side)."""
    return histogram(points, Grid((side, side), 0))

"""Disk on the points of trajectories, in three ways that promise very different things.

One point: each trajectory answers for one of its points, drawn at random, with all of epsilon.
Every point, shared: each point is answered for with epsilon over the most points a trajectory may
have, so that all of them together cost epsilon.
Every point, each: what paper 003 compares with the two trajectory mechanisms. Its unit is one
point: a trajectory of two hundred points is promised two hundred epsilon, which is nothing.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from recovery.noise import Ratio

from ..contenders import Setting, recovered
from ..people import counted
from .walks import LONGEST, Walks

Floats = NDArray[np.float64]

UNIT_ONE = "a whole trajectory"
UNIT_SHARED = f"a whole trajectory of up to {LONGEST} points; how many it has is seen"
UNIT_EACH = f"ONE POINT: a trajectory has up to {LONGEST} times as much"


def one_point(
    walks: Walks, side: int, epsilon: Ratio, world: np.random.Generator, name: str = "DAM"
) -> Floats:
    """Return the map from one random point of each trajectory, by a name of `CONTENDERS`."""
    drawn = (world.random(len(walks.lengths)) * walks.lengths).astype(np.int64)
    return _map(walks.places[walks.starts + drawn], side, epsilon, world, name)


def shared(walks: Walks, side: int, epsilon: Ratio, world: np.random.Generator) -> Floats:
    """Return the map from every point, at an even part of epsilon."""
    part = Fraction(*epsilon) / LONGEST
    return _map(walks.places, side, part.as_integer_ratio(), world)


def each_point(walks: Walks, side: int, epsilon: Ratio, world: np.random.Generator) -> Floats:
    """Return the map from every point, at all of epsilon each: no promise for a trajectory."""
    return _map(walks.places, side, epsilon, world)


def _map(
    places: Floats, side: int, epsilon: Ratio, world: np.random.Generator, name: str = "DAM"
) -> Floats:
    return recovered(name, counted(places, side), Setting((side, side), epsilon), world)

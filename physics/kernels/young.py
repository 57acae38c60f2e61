"""What heat leaves that was given off lately, added up over its ages.

It has not met both walls of any axis yet, so three images of each source are enough; or it is
added up from the kernel itself, at ages that lie evenly on a logarithmic scale.
"""

import itertools
import math

import numpy as np

from ..places import Floats
from .between import Between, forward_between
from .emitted import emitted

# exp(x) times exp(-exp(x)) over a stretch of one: sixteen nodes are exact to rounding.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def young_from_images(
    sources: Floats, sensors: Floats, last: float, loss: float, walls: str, lengths: Floats
) -> Floats:
    """Return the integral of K exp(-loss s) over the spreads s from 0 to `last`.

    Args:
        sources, sensors: (places, axes).
        last: at most `robin.SWITCH` times the square of the shortest axis, or no walls.
        walls: "none", "insulated" or "cold".
    """
    total = np.zeros((len(sensors), len(sources)))
    sign = -1.0 if walls == "cold" else 1.0
    # The source, and its image in the near wall and in the far one.
    images = ((1, 0), (-1, 0), (-1, 2)) if walls != "none" else ((1, 0),)
    for turned in itertools.product(images, repeat=len(lengths)):
        squares = np.zeros_like(total)
        for axis, (mirror, shift) in enumerate(turned):
            image = mirror * sources[:, axis] + shift * lengths[axis]
            squares += np.square(sensors[:, axis, None] - image)
        mirrors = sum(mirror < 0 for mirror, _ in turned)
        total += sign**mirrors * emitted(np.sqrt(squares), last, len(lengths), loss)
    return total


def young_from_kernels(
    sources: Floats,
    sensors: Floats,
    first: float,
    last: float,
    walls: Between,
    lengths: tuple[float, ...],
    origin: float,
    loss: float,
) -> Floats:
    """Return the integral of K exp(-loss (s - origin)) over s from `first`, positive, to `last`.

    By Gauss and Legendre on stretches of log s no longer than one.
    """
    total = np.zeros((len(sensors), len(sources)))
    low, high = math.log(first), math.log(last)
    ends = np.linspace(low, high, 1 + max(1, math.ceil(high - low)))
    for start, end in itertools.pairwise(ends.tolist()):
        half = (end - start) / 2
        for node, weight in zip(_NODES.tolist(), _WEIGHTS.tolist(), strict=True):
            spread = math.exp(start + half * (1 + node))
            share = weight * half * spread * math.exp(-loss * (spread - origin))
            total += share * forward_between(sources, sensors, spread, walls, lengths)
    return total

"""Centres of a crowd: k places that are near all of it, from a private map alone.

A map's parts before they are divided by their sum are a coreset: the cost of any k centres on
them is nearly that on the true points, so that whatever finds good centres for weighted points
finds good ones for the crowd, and costs no more epsilon.

Source: paper 000, Appendix A.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..sequence import uniforms

Floats = NDArray[np.float64]

_ROUNDS = 100  # a descent that takes longer goes in circles


class Centres(NamedTuple):
    """Places (k, 2) on the unit square, and the mass times l1 distance to the nearest of them."""

    places: Floats
    cost: float


def list_points(mass: ArrayLike) -> tuple[Floats, Floats]:
    """Return the centres (points, 2) of the cells that hold mass, on the unit square, and it."""
    p = np.asarray(mass, dtype=np.float64)
    rows, columns = np.nonzero(p > 0)
    return (np.stack([columns, rows], axis=1) + 0.5) / max(p.shape), p[rows, columns]


def measure_cost(places: Floats, points: Floats, weights: Floats) -> float:
    """Return the weight times l1 distance from each point to its nearest place."""
    return float(weights @ _distances(places, points).min(axis=1))


def find_centres(points: Floats, weights: Floats, k: int, restarts: int = 6) -> Centres:
    """Return k places that are good for weighted points: the best of some descents.

    Each begins with places drawn by weight times distance to those before, from the fixed
    sequence, and moves every place to the weighted median of what is nearest to it.

    Raises:
        ValueError: there are no points, or k is below 1.
    """
    if not len(points) or not len(points) == len(weights) or k < 1:
        raise ValueError(
            f"{len(points)} points with {len(weights)} weights and k = {k} came but one point at "
            "least and k from 1 are needed: nothing has no centre. Give a map with mass."
        )
    found = (_descent(points, weights, uniforms(k, stream)) for stream in range(restarts))
    return min(found, key=lambda one: one.cost)


def _descent(points: Floats, weights: Floats, chance: Floats) -> Centres:
    near = np.ones(len(points))
    chosen: list[int] = []
    for u in chance:
        odds = np.cumsum(weights * near)
        if odds[-1] <= 0:  # every point is a place already
            break
        chosen.append(int(np.searchsorted(odds, u * odds[-1])))
        near = _distances(points[chosen], points).min(axis=1)
    places = points[chosen]
    for _ in range(_ROUNDS):
        nearest = _distances(places, points).argmin(axis=1)
        moved = places.copy()
        for index in np.unique(nearest):
            own = nearest == index
            moved[index] = [_median(points[own, axis], weights[own]) for axis in (0, 1)]
        if (moved == places).all():
            break
        places = moved
    return Centres(places, measure_cost(places, points, weights))


def _median(values: Floats, weights: Floats) -> float:
    order = np.argsort(values)
    half = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(half, half[-1] / 2)])


def _distances(places: Floats, points: Floats) -> Floats:
    return np.asarray(np.abs(points[:, None] - places[None]).sum(axis=2))

"""Two scenes of a room, as far apart as is good to measure, and what is released of both.

The scenes are the two neighbours that are hardest to hide, their difference stretched: noise is
added, so a stretched difference must be told apart exactly as well as the promise says, and no
better, and 20,000 samples a side then catch a sigma that is 10 % off.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

from .bench import Device, Whole, releases
from .claim import Effort

Floats = NDArray[np.float64]

STRETCH = 2.5  # sigmas apart; far above, as many samples as there are could prove no more
BOOTS = 2


class Scenes(NamedTuple):
    """A Round, two neighbours, and how far apart the promise lets them be."""

    name: str
    round: Any
    below: Whole  # readings of two neighbours, (sensors,)
    above: Whole
    mu: float  # sigmas between the neighbours, at most, by the promise
    sigma: float  # of the noise, in grains


class Plan(NamedTuple):
    """A Round of one of a mechanism's rooms, with a clamp that nothing here comes near."""

    name: str
    round: Any


class Seen(NamedTuple):
    """What came of two scenes: releases (tries, sensors), and the noise that was in them."""

    below: Floats
    above: Floats
    apart: Floats  # the difference of the two scenes, (sensors,)
    middle: Floats  # half-way between them
    mu: float  # how far apart the two may be, by the promise
    noise: Floats  # (boots, tries, sensors)


def plans(mechanism: Any) -> list[Plan]:
    """Return a Round for each room of a mechanism."""
    roomy = mechanism.subject.asked.roomy
    return [
        Plan(name, roomy(mechanism.plan(query, ()))) for name, query in mechanism.subject.rooms()
    ]


def scenes(mechanism: Any) -> list[Scenes]:
    """Return two neighbours for each room of a mechanism."""
    found = []
    for name, query in mechanism.subject.rooms():
        round = mechanism.plan(query, ())
        below, above = mechanism.subject.neighbours(query, round)
        mu = _promised(round.guarantee, query.readings)
        roomy = mechanism.subject.asked.roomy(round)
        found.append(Scenes(name, roomy, below, above, mu, math.sqrt(round.params[4])))
    return found


def exact_mu(epsilon: float, delta: float) -> float:
    """Return the most sigmas apart that neighbours may be, on the exact curve.

    Source: Balle and Wang 2018, Theorem 8.
    """

    def over(mu: float) -> float:
        near, far = ndtr(mu / 2 - epsilon / mu), ndtr(-mu / 2 - epsilon / mu)
        return float(near - math.exp(epsilon) * far) - delta

    return float(brentq(over, 1e-3, 50.0, xtol=1e-12))


def _promised(promise: Any, readings: int) -> float:
    """Return the sigmas that one reading may tell, by epsilon and delta and by rho as well."""
    together = exact_mu(
        promise.epsilon[0] / promise.epsilon[1], promise.delta[0] / promise.delta[1]
    )
    return min(together / math.sqrt(readings), math.sqrt(2 * promise.rho[0] / promise.rho[1]))


def stretched(room: Scenes) -> tuple[Whole, Whole, float]:
    """Return two scenes about STRETCH sigmas apart, and how far the promise lets them be."""
    times = max(1, round(STRETCH / room.mu))
    difference = times * (room.above - room.below)
    below = (room.below + room.above) // 2 - difference // 2
    return below, below + difference, times * room.mu


def singly(room: Scenes) -> tuple[Whole, Whole, float]:
    """Return two scenes where every sensor by itself is about STRETCH sigmas apart."""
    times = math.ceil(STRETCH * room.sigma)
    below = np.full(len(room.below), -times // 2)
    return below, below + times, times / room.sigma


def see(
    room: Scenes,
    pair: tuple[Whole, Whole, float],
    devices: list[Device],
    release: Any,
    effort: Effort,
    tries: int,
) -> Seen:
    """Return what is released of a pair of scenes, so many times a side and over two boots."""
    below, above, mu = pair
    half, given = tries // BOOTS, []
    for boot in range(BOOTS):
        for device in devices if boot else ():
            device.boot()
        for side, scene in enumerate((below, above)):
            first = 1 + (2 * boot + side) * half
            given.append(
                releases(
                    release, devices, room.round, range(first, first + half), scene, effort.tape()
                ).astype(float)
            )
    noise = [one - scene for one, scene in zip(given, (below, above) * BOOTS, strict=True)]
    return Seen(
        np.concatenate(given[0::2]),
        np.concatenate(given[1::2]),
        (above - below).astype(float),
        (above + below) / 2,
        mu,
        np.stack([np.concatenate(noise[i : i + 2]) for i in range(0, 2 * BOOTS, 2)]),
    )

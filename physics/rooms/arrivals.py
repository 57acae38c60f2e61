"""Visitors by chance: when they come, where they sit, when they leave."""

import math
from itertools import pairwise

import numpy as np

from ..places import cell_places
from .model import free, grid
from .records import Arrivals, Course, Floats, Point, Room
from .routes import route
from .tracks import Track

# Nobody sits nearer to another, where there are no seats.
APART_M = 0.6


def arrive_s(per_h: Course, from_s: float, to_s: float, world: np.random.Generator) -> Floats:
    """Return when visitors come, in order: a Poisson process with a rate that changes in steps.

    The number is Poisson with the mean that the rates add up to; given it, the moments are
    independent, and each hour has its share of them.

    Args:
        per_h: (second, rate by the hour from then on); nobody comes before the first.
        from_s, to_s: when the day begins and ends.
        world: where chance comes from.

    Source: Kingman 1993, Poisson Processes, section 2.4: the conditioning property.
    """
    edges = np.array([from_s, *(at_s for at_s, _ in per_h if from_s < at_s < to_s), to_s])
    rates = np.array([_rate(per_h, at_s) for at_s in edges[:-1]]) / 3600
    expected = np.concatenate(([0.0], np.cumsum(rates * np.diff(edges))))
    count = world.poisson(expected[-1])
    drawn = np.sort(world.uniform(0.0, expected[-1], count))
    return np.interp(drawn, expected, edges)


def visits(room: Room, arrivals: Arrivals, world: np.random.Generator) -> tuple[Track, ...]:
    """Return the tracks of a day's visitors.

    Each walks from the entrance to a seat that nobody has, stays for a time of exponential law,
    walks back and is gone. Who finds no seat, or no way to it, does not come in.
    """
    taken: list[tuple[float, Point]] = []  # until when, where
    tracks = []
    for number, at_s in enumerate(
        arrive_s(arrivals.per_h, room.day.start_s, room.day.until_s, world).tolist(), 1
    ):
        stay_s = float(world.exponential(60 * arrivals.stay_min))
        seats = _open_seats(room, arrivals, [seat for until, seat in taken if until > at_s])
        if not len(seats):
            continue
        x, y = seats[world.integers(len(seats))]
        way = route(room, arrivals.entrance_m, (float(x), float(y)))
        if way is None:
            continue
        track = _visit(f"visitor {number}", arrivals, way, at_s, stay_s)
        taken.append((float(track.at_s[-1]), way[-1]))
        tracks.append(track)
    return tuple(tracks)


def _visit(
    name: str, arrivals: Arrivals, way: tuple[Point, ...], at_s: float, stay_s: float
) -> Track:
    legs_s = [math.dist(a, b) / arrivals.speed_m_per_s for a, b in pairwise(way)]
    going_s = at_s + np.concatenate(([0.0], np.cumsum(legs_s)))
    leaving_s = going_s[-1] + stay_s + np.concatenate(([0.0], np.cumsum(legs_s[::-1])))
    places = np.array([*way, *way[::-1]])
    moments = np.concatenate((going_s, leaving_s))
    return Track(name, moments, places, np.full(len(moments), arrivals.power_w))


def _open_seats(room: Room, arrivals: Arrivals, taken: list[Point]) -> Floats:
    if arrivals.seats_m:
        return np.array([seat for seat in arrivals.seats_m if seat not in taken]).reshape(-1, 2)
    places = cell_places(grid(room))[free(room)]
    for seat in taken:
        places = places[np.hypot(*(places - seat).T) >= APART_M]
    return places


def _rate(per_h: Course, at_s: float) -> float:
    return next((rate for since, rate in reversed(per_h) if since <= at_s), 0.0)

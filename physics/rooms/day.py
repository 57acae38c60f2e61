"""Who is in a room, where, and when: one day of it.

Everybody of it keeps to the room's plan: nobody is ever in a wall, or in a door that is shut.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from ..places import cell_places
from .plan import Lattice, Mask, find_free_cells, make_grid, make_lattice
from .records import Arrivals, Course, Floats, Frames, Point, Room, Walker, Waypoint

# Dearer than any true pair: whoever would have to jump is somebody else.
_NEVER = 1e9

# Ways through a room: straight where one can, round walls and furniture where one cannot.


@dataclass(frozen=True, eq=False)
class _Ways:
    known: Lattice
    places_m: Floats
    graph: coo_array


def may_stand(room: Room, place: Point) -> bool:
    """Return whether one can stand at a place; doors count as open."""
    known = _make_open_lattice(room)
    cell = known.find_cells(np.array([place]))[0]
    return bool(
        cell >= 0 and known.free[cell] and known.are_ways_free(*np.array([[place], [place]]))[0]
    )


def is_straight(room: Room, start: Point, end: Point) -> bool:
    """Return whether one can go straight from a place to another; doors let all through."""
    return bool(_make_open_lattice(room).are_ways_free(np.array([start]), np.array([end]))[0])


def find_route(
    room: Room, start: Point, end: Point, opened: tuple[bool, ...] | None = None
) -> tuple[Point, ...] | None:
    """Return the corners of a short way from one place to another, both with it, or None.

    The shortest way over the cells and their eight neighbours, pulled straight where nothing is
    in between: a little longer than the shortest of all.

    Args:
        opened: which doors let through; all without.

    Source: Dijkstra 1959, by `scipy.sparse.csgraph`.
    """
    ways = _make_ways(room, opened or (True,) * len(room.doors))
    if ways.known.are_ways_free(np.array([start]), np.array([end]))[0]:
        return start, end
    first, last = _find_entry_cells(ways, start), _find_entry_cells(ways, end)
    if not len(first) or not len(last):
        return None
    there = np.hypot(*(ways.places_m[last] - end).T)
    best: tuple[float, int, NDArray[np.int32]] | None = None
    for node in first.tolist():
        lengths, before = _find_shortest_paths(ways, node)
        total = math.dist(start, ways.places_m[node]) + lengths[last] + there
        if best is None or total.min() < best[0]:
            best = float(total.min()), int(last[np.argmin(total)]), before
    if best is None or not math.isfinite(best[0]):
        return None
    node, nodes = best[1], []
    while node >= 0:
        nodes.append(node)
        node = int(best[2][node])
    corners = [start, *((x, y) for x, y in ways.places_m[nodes[::-1]].tolist()), end]
    return _pull(ways.known, corners)


def _make_open_lattice(room: Room) -> Lattice:
    return make_lattice(room, (True,) * len(room.doors))


def _pull(known: Lattice, corners: list[Point]) -> tuple[Point, ...]:
    kept, here = [corners[0]], 0
    while here < len(corners) - 1:
        after = np.array(corners[here + 1 :])
        straight = known.are_ways_free(np.broadcast_to(corners[here], after.shape), after)
        here += 1 + max([0, *np.flatnonzero(straight).tolist()])
        kept.append(corners[here])
    return tuple(kept)


def _find_entry_cells(ways: _Ways, place: Point) -> NDArray[np.intp]:
    """Return the nearest cells that one can go to straight from a place, three at most."""
    nearest = np.argsort(np.hypot(*(ways.places_m - place).T))[:40]
    here = np.broadcast_to(np.array(place), (len(nearest), 2))
    return np.asarray(nearest[ways.known.are_ways_free(here, ways.places_m[nearest])][:3])


@lru_cache(maxsize=64)
def _find_shortest_paths(ways: _Ways, node: int) -> tuple[Floats, NDArray[np.int32]]:
    # How far every cell is from one, and by which cell one comes; an entrance is asked often.
    lengths, before = dijkstra(ways.graph, directed=False, indices=node, return_predecessors=True)
    return lengths, before


@lru_cache(maxsize=8)
def _make_ways(room: Room, opened: tuple[bool, ...]) -> _Ways:
    known, (columns, rows) = make_lattice(room, opened), make_grid(room).shape
    places = cell_places(make_grid(room)).reshape(-1, 2)
    cell = known.find_cells(places)
    clear = np.append(known.free, False)[cell]
    number = np.where(clear, np.cumsum(clear) - 1, -1).reshape(rows, columns)
    pairs = np.concatenate(
        [
            np.stack([one.ravel(), other.ravel()], axis=1)
            for one, other in (
                (number[:, :-1], number[:, 1:]),
                (number[:-1], number[1:]),
                (number[:-1, :-1], number[1:, 1:]),
                (number[:-1, 1:], number[1:, :-1]),
            )
        ]
    )
    places, pairs = places[clear], pairs[(pairs >= 0).all(axis=1)]
    one, other = pairs[known.are_ways_free(*places[pairs.T])].T
    lengths = np.hypot(*(places[one] - places[other]).T)
    graph = coo_array((lengths, (one, other)), shape=(len(places),) * 2).tocsr()
    return _Ways(known, places, graph)


# Nobody sits nearer to another, where there are no seats.
APART_M = 0.6
_PIECE_M = 0.075  # a fifth of what a body warms


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """One stay of one person: in the room from the first instant to the last.

    Args:
        name: whose; the same for all stays of one person.
        at_s: (k,), seconds since midnight, never going back.
        places_m: (k, 2), x and y at those instants; linear in between.
        power_w: (k,), what heats the air at once, from each instant on.
    """

    name: str
    at_s: Floats
    places_m: Floats
    power_w: Floats

    def find_place(self, at_s: float) -> Floats | None:
        """Return x and y at a moment, (2,), or None while the person is not in the room."""
        if not self.at_s[0] <= at_s <= self.at_s[-1]:
            return None
        return np.array([np.interp(at_s, self.at_s, axis) for axis in self.places_m.T])

    @property
    def joules(self) -> float:
        """What the person gives to the air over the whole stay."""
        return float(np.diff(self.at_s) @ self.power_w[:-1])


@dataclass(frozen=True, slots=True, eq=False)
class Day:
    """Everybody who is in the room on one day."""

    tracks: tuple[Track, ...]

    def list_present(self, at_s: float) -> tuple[Track, ...]:
        """Return the tracks of those who are in the room at a moment."""
        return tuple(track for track in self.tracks if track.at_s[0] <= at_s <= track.at_s[-1])


def make_track(name: str, path: tuple[Waypoint, ...], power_w: float) -> Track:
    """Return the track of somebody whose power is the same all the way."""
    points = np.array(path, dtype=float)
    return Track(name, points[:, 0], points[:, 1:], np.full(len(points), power_w))


def trace_track(track: Track, from_s: float, to_s: float) -> tuple[Floats, Floats]:
    """Return where a track is between two moments, (k, 2), and the joules given off there, (k,).

    A leg is cut into pieces of 75 mm at most, each put where its middle is: the mean
    place is exact, and the shape as good as the footprint is smooth.
    """
    since = max(from_s, float(track.at_s[0]))
    until = min(to_s, float(track.at_s[-1]))
    if until <= since:
        return np.zeros((0, 2)), np.zeros(0)
    corners = track.at_s[(track.at_s > since) & (track.at_s < until)]
    places, joules = [], []
    instants = np.concatenate(([since], np.unique(corners), [until]))
    for start, end in pairwise(instants.tolist()):
        leg = int(np.searchsorted(track.at_s, start, side="right")) - 1
        ends = [_interpolate_place(track, leg, moment) for moment in (start, end)]
        pieces = max(1, int(np.ceil(np.hypot(*(ends[1] - ends[0])) / _PIECE_M)))
        middles = (np.arange(pieces) + 0.5)[:, None] / pieces
        places.append(ends[0] + middles * (ends[1] - ends[0]))
        joules.append(np.full(pieces, (end - start) * track.power_w[leg] / pieces))
    return np.concatenate(places), np.concatenate(joules)


def _interpolate_place(track: Track, leg: int, moment: float) -> Floats:
    start, end = track.at_s[leg : leg + 2]
    share = (moment - start) / (end - start)
    return np.asarray((1 - share) * track.places_m[leg] + share * track.places_m[leg + 1])


def draw_day(room: Room, world: np.random.Generator) -> Day:
    """Return one day of a room: the people of its file, recorded ones, and visitors by chance.

    The visitors alone are random; without [arrivals] every day is the same.

    Args:
        room: what its file says.
        world: where chance comes from; the same seed gives the same day.
    """
    by_chance = draw_visits(room, room.arrivals, world) if room.arrivals else ()
    return Day((*list_known_tracks(room), *by_chance))


def list_known_tracks(room: Room) -> tuple[Track, ...]:
    """Return the tracks that the room file itself tells of: its people, and recorded ones."""
    told = [
        make_track(person.name, stay, person.power_w)
        for person in room.people
        for stay in person.stays
    ]
    recorded = [track for walker in room.walkers for track in replay_tracks(room, walker)]
    return (*told, *recorded)


def check_route(room: Room, at_s: Floats, places_m: Floats) -> Mask:
    """Return whether each leg of a way is free while it is gone, (k - 1,), with the doors as then.

    Args:
        at_s: (k,), when each corner is reached.
        places_m: (k, 2), the corners; it is straight in between.
    """
    moves = np.unique([moment for door in room.doors for span in door.open_s for moment in span])
    held = np.ones(len(at_s) - 1, dtype=bool)
    # The doors stand as in the middle of each time between two of their moves.
    for since, until in pairwise([-math.inf, *moves.tolist(), math.inf]):
        here = np.flatnonzero((at_s[:-1] < until) & (at_s[1:] > since))
        lasts_s = np.maximum(np.diff(at_s)[here], 1e-9)[:, None]
        begins, leg = places_m[here], (places_m[1:] - places_m[:-1])[here]
        ends = [
            begins + leg * np.clip((moment - at_s[here, None]) / lasts_s, 0, 1)
            for moment in (since, until)
        ]
        doors = room.find_open_doors(until - 1e-6 if since == -math.inf else since)
        held[here] &= make_lattice(room, doors).are_ways_free(*ends)
    return held


def link_frames(frames: Frames, jump_m: float, gap_frames: int) -> tuple[dict[int, Point], ...]:
    """Return where each person was in each frame: places without names, put together.

    From frame to frame, everybody goes to the place that makes all ways together shortest, if it
    is near enough; who is lost for a few frames is known again, and is in no frame between.
    Nobody is added and nobody left out: in each frame there are as many as were recorded.

    Args:
        frames: frame numbers, rising, and the places in metres.
        jump_m: the furthest way from one frame to the next.
        gap_frames: for how many frames somebody may be lost and still be the same.

    Source: Jaqaman et al. 2008, Nature Methods 5, 695, first step: linear assignment, with the
    best pairing by `scipy.optimize.linear_sum_assignment`.
    """
    people: list[dict[int, Point]] = []
    for frame, places in frames:
        open_ = [one for one in people if frame - _find_last_frame(one) <= gap_frames + 1]
        pairs = _match_people(open_, frame, places, jump_m)
        for index, place in enumerate(places):
            if index in pairs:
                open_[pairs[index]][frame] = place
            else:
                people.append({frame: place})
    return tuple(people)


def _match_people(
    people: list[dict[int, Point]], frame: int, places: Sequence[Point], jump_m: float
) -> dict[int, int]:
    """Return who is at each place, by index; no entry for a place where somebody new is."""
    if not people or not places:
        return {}
    last = [(_find_last_frame(one), one[_find_last_frame(one)]) for one in people]
    ways = np.array([[math.dist(place, then) for place in places] for _, then in last])
    reach = jump_m * np.array([frame - seen for seen, _ in last])[:, None]
    rows, columns = linear_sum_assignment(np.where(ways <= reach, ways, _NEVER))
    return {
        int(column): int(row)
        for row, column in zip(rows, columns, strict=True)
        if ways[row, column] <= reach[row, 0]
    }


def _find_last_frame(person: dict[int, Point]) -> int:
    return next(reversed(person))  # frames rise


def replay_tracks(room: Room, walker: Walker) -> tuple[Track, ...]:
    """Return the tracks of a recording, each time that it is played.

    A frame stands for the time from half a frame before to half a frame after it, so all the
    recorded time of everybody is there. A way from frame to frame that leads through things is not
    gone: half of its time is spent where it begins, half where it ends.
    """
    people = link_frames(walker.frames, walker.jump_m, walker.gap_frames)
    first = walker.frames[0][0]
    return tuple(
        _make_recorded_track(
            room, walker, f"{walker.name} {number}", stay, at_s - first / walker.frames_per_s
        )
        for at_s in walker.at_s
        for number, person in enumerate(people, 1)
        for stay in _split_stays(person)
    )


def _split_stays(person: dict[int, Point]) -> list[list[tuple[int, Point]]]:
    stays = [[next(iter(person.items()))]]
    for before, after in pairwise(person.items()):
        if after[0] == before[0] + 1:
            stays[-1].append(after)
        else:
            stays.append([after])
    return stays


def _make_recorded_track(
    room: Room, walker: Walker, name: str, stay: list[tuple[int, Point]], zero_s: float
) -> Track:
    half = 0.5
    frames = [stay[0][0] - half, *(frame for frame, _ in stay), stay[-1][0] + half]
    places = [stay[0][1], *(place for _, place in stay), stay[-1][1]]
    at_s = zero_s + np.array(frames) / walker.frames_per_s
    where = np.array(places)
    through = np.flatnonzero(~check_route(room, at_s, where))
    half_s = np.repeat((at_s[through] + at_s[through + 1]) / 2, 2)
    jumps = np.stack([where[through], where[through + 1]], axis=1).reshape(-1, 2)
    at_s = np.insert(at_s, np.repeat(through + 1, 2), half_s)
    where = np.insert(where, np.repeat(through + 1, 2), jumps, axis=0)
    return Track(name, at_s, where, np.full(len(at_s), walker.power_w))


def draw_arrivals(per_h: Course, from_s: float, to_s: float, world: np.random.Generator) -> Floats:
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
    rates = np.array([_find_rate(per_h, at_s) for at_s in edges[:-1]]) / 3600
    expected = np.concatenate(([0.0], np.cumsum(rates * np.diff(edges))))
    count = world.poisson(expected[-1])
    drawn = np.sort(world.uniform(0.0, expected[-1], count))
    return np.interp(drawn, expected, edges)


def draw_visits(room: Room, arrivals: Arrivals, world: np.random.Generator) -> tuple[Track, ...]:
    """Return the tracks of a day's visitors.

    Each walks from the entrance to a seat that nobody has, stays for a time of exponential law,
    walks back and is gone. Who finds no seat, or no way to it through doors that are open, does
    not come in; whom a door keeps stays until it opens, or the day ends.
    """
    taken: list[tuple[float, Point]] = []  # until when, where
    tracks = []
    for number, at_s in enumerate(
        draw_arrivals(arrivals.per_h, room.day.start_s, room.day.until_s, world).tolist(), 1
    ):
        stay_s = float(world.exponential(60 * arrivals.stay_min))
        seats = _list_open_seats(room, arrivals, [seat for until, seat in taken if until > at_s])
        if not len(seats):
            continue
        x, y = seats[world.integers(len(seats))]
        way = find_route(
            room, arrivals.entrance_m, (float(x), float(y)), room.find_open_doors(at_s)
        )
        track = _make_visit(room, arrivals, number, way, at_s, stay_s) if way else None
        if track is None:
            continue
        taken.append((float(track.at_s[-1]), (float(x), float(y))))
        tracks.append(track)
    return tuple(tracks)


def _make_visit(
    room: Room,
    arrivals: Arrivals,
    number: int,
    way: tuple[Point, ...],
    at_s: float,
    stay_s: float,
) -> Track | None:
    places = np.array(way)
    legs_s = np.hypot(*np.diff(places, axis=0).T) / arrivals.speed_m_per_s
    going_s = at_s + np.concatenate(([0.0], np.cumsum(legs_s)))
    if not check_route(room, going_s, places).all():
        return None
    back_s = np.concatenate(([0.0], np.cumsum(legs_s[::-1])))
    goes_s = float(going_s[-1]) + stay_s
    opens = sorted(since for door in room.doors for since, _ in door.open_s if since > goes_s)
    for leaves_s in (goes_s, *opens):
        if check_route(room, leaves_s + back_s, places[::-1]).all():
            moments = np.concatenate((going_s, leaves_s + back_s))
            places = np.concatenate((places, places[::-1]))
            break
    else:
        moments = np.append(going_s, max(goes_s, room.day.until_s))
        places = np.concatenate((places, places[-1:]))
    power = np.full(len(moments), arrivals.power_w)
    return Track(f"visitor {number}", moments, places, power)


def _list_open_seats(room: Room, arrivals: Arrivals, taken: list[Point]) -> Floats:
    if arrivals.seats_m:
        return np.array([seat for seat in arrivals.seats_m if seat not in taken]).reshape(-1, 2)
    places = cell_places(make_grid(room))[find_free_cells(room)]
    for seat in taken:
        places = places[np.hypot(*(places - seat).T) >= APART_M]
    return places


def _find_rate(per_h: Course, at_s: float) -> float:
    return next((rate for since, rate in reversed(per_h) if since <= at_s), 0.0)

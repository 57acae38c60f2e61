"""From releases to a map that is kept and waits to be published; or why there is no estimate."""

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from datetime import time as time_of_day
from math import inf
from typing import Any, NamedTuple, Protocol

from edge.core.records import Round
from edge.host import post
from recovery.maps.heatmap import Heatmap, Unresolved
from recovery.maps.sentence import Wording

from ..devices.enrol.enrol import Devices
from ..logs import log
from ..mechanisms import find_mechanism
from ..settings.deployment import Deployment, Room
from ..settings.roomfile import ClearedMap, Vacancy
from ..store.store import Store
from . import telling
from .intake.outcomes import Letter
from .operate.schedule import parse_hours
from .solver import FAILED


class Drawer(Protocol):
    """Draws maps: a `Solver`."""

    def recover(
        self, mechanism: str, query: Any, releases: Sequence[Any], *vacant: Vacancy
    ) -> Heatmap | Unresolved | ClearedMap | None: ...

    def stop(self) -> None: ...


class Turnout(NamedTuple):
    """How many answered a round, of how many, how many came too late, how many it takes."""

    used: int
    enrolled: int
    late: int
    quorum: int


class DrawnMap(NamedTuple):
    """A map as it is kept and told, and the letter that carries it."""

    body: str
    event: telling.Event
    letter: Letter
    state: bytes | None = None  # of the empty room, for the next


def find_vacancy(
    deployment: Deployment,
    devices: Devices,
    store: Store,
    told_s: Mapping[str, float],
    name: bytes,
) -> Vacancy | None:
    """Return what the empty room is taken off a round by; None in a room without a file.

    None too where levels follow the readings: what they have made of the room is private.

    Args:
        told_s: when devices say that their levels were recorded, by name.
        name: of the round.
    """
    room, sensors = deployment.room, deployment.sensors
    if room.plan is None or sensors.background == "following":
        return None
    clock = _make_room_clock(room, told_s)
    levels: list[float | None] = [None] * math.prod(sensors.count)
    for one in devices.by_name.values():
        if (said_s := told_s.get(one.name)) is not None:
            own = slice(one.place.sensor, one.place.sensor + one.place.sensors)
            levels[own] = [clock(said_s)] * one.place.sensors
    # A round may be asked again, hours after it was opened: devices read when they answer.
    at_s = clock(store.find_answered_s(name) or store.find_opened_s(name) or time.time())
    now = datetime.fromtimestamp(at_s).astimezone()
    known = room.empty is not None and parse_hours(room.empty).contains(now)
    return Vacancy(room.plan, at_s, tuple(levels), known, room.weather, store.load_empty_room())


def _make_room_clock(room: Room, told_s: Mapping[str, float]) -> Callable[[float], float]:
    """Return what gives the time in the room by the time here: another one in a virtual room."""
    if room.begins is None or not told_s:
        return lambda at_s: at_s
    began_s = max(told_s.values())  # a virtual room begins with the level of its devices
    day = datetime.fromtimestamp(began_s).astimezone().date()
    begins_s = datetime.combine(day, time_of_day.fromisoformat(room.begins)).timestamp()
    return lambda at_s: begins_s + room.speed * (at_s - began_s)


def select_answered_releases(releases: Sequence[Any]) -> Sequence[Any]:
    """Return the releases of rounds that somebody answered: the others are no news."""
    return [release for release in releases if release.reports]


def draw_map(
    solver: Drawer,
    site: str,
    query: Any,
    releases: Sequence[Any],
    turnout: Turnout,
    vacant: Vacancy | None = None,
) -> DrawnMap | None:
    """Return the map of all releases, the silent ones too; None when the solver was stopped.

    Below the quorum there is none, and the reason is the result: a map of three sensors where
    twelve were meant looks like one of twelve.
    """
    began_s, heard = time.monotonic(), select_answered_releases(releases)
    first, last = heard[0].round.number, heard[-1].round

    def pack(result: Heatmap | Unresolved | ClearedMap) -> DrawnMap:
        return _pack(site, first, last, result, turnout, vacant, began_s)

    def refuse(why: str) -> DrawnMap:
        return pack(Unresolved(query.grid, last.guarantee, inf, inf, why))

    if turnout.used < turnout.quorum:
        return refuse(_describe_too_few(turnout))
    job = last.mechanism, query, list(map(strip_key, releases)), *([vacant] if vacant else [])
    try:
        result = solver.recover(*job)
        return None if result is None else pack(result)
    except Exception as fault:  # another round is open by now, and must not end with it
        log.exception("no map")
        return refuse(FAILED(why=str(fault)))


def _pack(
    site: str,
    first: int,
    last: Round,
    result: Heatmap | Unresolved | ClearedMap,
    turnout: Turnout,
    vacant: Vacancy | None,
    began_s: float,
) -> DrawnMap:
    """Return a map of the rounds from `first` to `last` as it is kept and told."""
    state, notes = None, tuple[str, ...]()
    if isinstance(result, ClearedMap):
        result, state, notes = result
        for note in notes:
            log.warning("the empty room's temperatures are less certain than usual", why=note)
    reads = find_mechanism(last.mechanism).reads
    event = telling.make_map_event(last.number, result, time.monotonic() - began_s, reads) | {
        "first": first,
        "sensors_used": turnout.used,
        "sensors_enrolled": turnout.enrolled,
        "quorum": turnout.quorum,
        "late": turnout.late,
    }
    if vacant is not None:
        event["empty_room"] = list(notes)
    return republish_map(site, last.mechanism, json.dumps(event))._replace(state=state)


def republish_map(site: str, mechanism: str, body: str) -> DrawnMap:
    """Return a map that was drawn before, to be published in the very bytes that it was then."""
    letter = Letter(0, post.map_topic(site, mechanism), body.encode(), True)
    return DrawnMap(body, telling.complete_old_map(json.loads(body)), letter)


def strip_key(release: Any) -> Any:
    """Return a release as of the Round that was planned, without the key of what was asked."""
    return release._replace(round=Round(*release.round[: len(Round._fields)]))


def _describe_too_few(turnout: Turnout) -> str:
    came, s = turnout.used, "s" * (turnout.used != 1)
    return _FEW(came=came, s=s, enrolled=turnout.enrolled, quorum=turnout.quorum)


_FEW = Wording(
    "map.few",
    "{came} device{s} of {enrolled} answered and [rounds] quorum asks for {quorum}: a map of "
    "fewer would say less than it seems to. See which are silent",
)

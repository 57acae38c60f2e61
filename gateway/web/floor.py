"""The other rooms of the page's floor: each one's map is read from the store of its own gateway.

Nothing is asked of another gateway, and a browser asks this page alone. A store is opened for
each look, and for reading: a gateway that has not begun, or whose disk is away, is a room without
a map.
"""

from itertools import combinations
from typing import Annotated, Any, NamedTuple

from msgspec import UNSET, Meta, MsgspecError, Struct, UnsetType
from sqlalchemy.exc import SQLAlchemyError

from recovery.maps.sentence import Sentence, Wording

from ..faults import OperatorFault
from ..service import telling
from ..settings import config
from ..settings.deployment import Deployment
from ..store.places import find_place
from ..store.reader import Reader, open_reader
from .maps import Map, read_map


class Neighbour(NamedTuple):
    """A room beside ours."""

    name: str  # what it is called on the floor
    deployment: Deployment
    corner_m: tuple[float, float]  # of its first cell, along our columns and rows from our own
    ready: dict[str, Any]  # what its own page is told: read once, for its room file may go away


def read_floor(deployment: Deployment) -> tuple[Neighbour, ...]:
    """Return the rooms that [[page.floor]] names.

    Raises:
        OperatorFault: a file cannot be read, two rooms lie over each other, or their maps cannot
            be drawn in one scale.
    """
    found = tuple(
        # Our own environment speaks of our own deployment.
        _place(config.load_deployment(one.settings, {}), one.corner_m, one.name)
        for one in deployment.page.floor
    )
    own = _place(deployment, (0.0, 0.0))
    for one in found:
        if find_place(one.deployment) == find_place(deployment):
            raise OperatorFault(
                f"floor under [page] names {one.deployment.site.name}, the room of this page, "
                "which is on the floor already. Name the other rooms alone"
            )
        _check_alike(own, one)
    for (name, first, at, _), (other, second, then, _) in combinations((own, *found), 2):
        if name == other:
            raise OperatorFault(
                f"two rooms of the floor are called {name}, and nobody could tell them apart. "
                "Give one of them another name under [[page.floor]]"
            )
        shared = [
            min(a + p, b + q) - max(a, b)
            for a, p, b, q in zip(
                at, _measure_sides_m(first), then, _measure_sides_m(second), strict=True
            )
        ]
        if min(shared) > max(first.room.cell_mm, second.room.cell_mm) / 1000:
            raise OperatorFault(
                f"on the floor, rooms {name} and {other} lie over each "
                f"other by {shared[0]:.3g} m x {shared[1]:.3g} m, and one would hide the other. "
                "Mend corner_m under [[page.floor]]: metres along the columns and rows of the "
                "first room, from its first corner"
            )
    return found


def _place(
    deployment: Deployment, corner_m: tuple[float, float], name: str | None = None
) -> Neighbour:
    ready = telling.make_ready_event(deployment, 0)
    return Neighbour(name or deployment.site.name, deployment, corner_m, ready)


def _check_alike(ours: Neighbour, its: Neighbour) -> None:
    own, other = ours.deployment, its.deployment
    for one in (own, other):
        if not one.room.cell_mm or 1 in one.room.cells:
            raise OperatorFault(
                f"room {one.site.name} is a line, or has no size in metres, and has no place on a "
                "floor. Give it length_m and cells = [columns, rows] under [room], or leave "
                "floor under [page] away"
            )
    if any(ours.ready[what] != its.ready[what] for what in ("reads", "strength_unit")):
        raise OperatorFault(
            f"rooms {own.site.name} and {other.site.name} measure different things, which no "
            "colour can compare: people and warmth, or warmth with a room file and without. Leave "
            "the second out of [[page.floor]]"
        )


def _measure_sides_m(deployment: Deployment) -> tuple[float, float]:
    columns, rows = deployment.room.cells
    return columns * deployment.room.cell_mm / 1000, rows * deployment.room.cell_mm / 1000


class Moment(Struct, forbid_unknown_fields=True):
    """A time in seconds of the epoch, or now."""

    at_s: Annotated[int, Meta(ge=0, le=2**40, description="then; now without it")] | UnsetType = (
        UNSET
    )


class Room(Struct):
    """A room and its newest map of that time; without one, why and code say why not.

    corner_m is where it lies; a map is old after due_s, which is null where none will follow.
    """

    site: str
    corner_m: tuple[float, float]
    shape: tuple[int, int]
    cell_mm: int
    sensors: tuple[int, int]
    due_s: float | None
    floor: dict[str, Any] | None = None
    at_s: float | None = None
    map: Map | None = None
    why: str = ""
    code: str = ""


class Floor(Struct):
    """The rooms beside ours."""

    rooms: list[Room]


def read_rooms(neighbours: tuple[Neighbour, ...], asked: Moment) -> Floor:
    """Return the rooms as they are now, or were then."""
    at_s = None if asked.at_s is UNSET else float(asked.at_s)
    return Floor([_look(one, at_s) for one in neighbours])


def _look(one: Neighbour, at_s: float | None) -> Room:
    ready = one.ready
    about = {key: ready[key] for key in ("shape", "cell_mm", "sensors", "due_s", "floor")}
    room = Room(one.name, one.corner_m, **about)
    try:
        with open_reader(one.deployment) as reader:
            found = reader.read_map_at(at_s)
            if at_s is None and _is_spent(reader, one.deployment):
                room.due_s = None
        drawn = None if found is None else read_map(found[0])
    # These name files and machines, and viewers are not told of those.
    except (OperatorFault, SQLAlchemyError, OSError, MsgspecError):
        return _note_missing_map(room, UNREAD)
    if found is None:
        return _note_missing_map(room, NONE)
    body, room.at_s = found
    mass = body["mass"]
    if mass and [len(mass[0]), len(mass)] != ready["shape"]:
        return _note_missing_map(room, OTHER_GRID)
    room.map = drawn
    return room


def _is_spent(reader: Reader, deployment: Deployment) -> bool:
    """Return whether no other round can be paid for, now or later."""
    _, budget = reader.read_promise()
    last = next(iter(reader.list_rounds(1)), None)
    if budget is None or last is None or last.closed_s is None or deployment.privacy.window_h:
        return False
    return reader.read_ledger(budget).left < last.rho


def _note_missing_map(room: Room, why: Sentence) -> Room:
    room.why, room.code = str(why), why.code
    return room


UNREAD = Wording(
    "floor.unread",
    "its store cannot be read from here: no gateway has run there yet, or its disk is away",
)()
NONE = Wording("floor.none", "it has no map of that time")()
OTHER_GRID = Wording(
    "floor.grid", "its newest map is of another grid than its deployment file says"
)()

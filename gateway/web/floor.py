"""The other rooms of the page's floor: each one's map is read from the store of its own gateway.

Nothing is asked of another gateway, and a browser asks this page alone. A store is opened for
each look, and for reading: a gateway that has not begun, or whose disk is away, is a room without
a map.
"""

from itertools import combinations
from typing import Annotated, Any, NamedTuple

from msgspec import UNSET, Meta, Struct, UnsetType

from recovery.maps.sentence import Wording

from ..faults import OperatorFault
from ..service import telling
from ..settings import config
from ..settings.deployment import Deployment
from ..store.reader import open_reader

DUE = 2.5  # rounds after which a map is old, and its room drawn grey


class Neighbour(NamedTuple):
    """A room beside ours."""

    deployment: Deployment
    corner_m: tuple[float, float]  # of its first cell, along our columns and rows from our own


def read_floor(deployment: Deployment) -> tuple[Neighbour, ...]:
    """Return the rooms that [[page.floor]] names.

    Raises:
        OperatorFault: a file cannot be read, two rooms lie over each other, or their maps cannot
            be drawn in one scale.
    """
    found = tuple(
        # Our own environment speaks of our own deployment.
        Neighbour(config.load(one.settings, {}), one.corner_m)
        for one in deployment.page.floor
    )
    for one in found:
        _check_alike(deployment, one.deployment)
    rooms = [(deployment, (0.0, 0.0)), *found] if found else []
    for (first, at), (second, then) in combinations(rooms, 2):
        shared = [
            min(a + p, b + q) - max(a, b)
            for a, p, b, q in zip(at, _sides_m(first), then, _sides_m(second), strict=True)
        ]
        if min(shared) > max(first.room.cell_mm, second.room.cell_mm) / 1000:
            raise OperatorFault(
                f"on the floor, rooms {first.site.name} and {second.site.name} lie over each "
                f"other by {shared[0]:.3g} m x {shared[1]:.3g} m, and one would hide the other. "
                "Mend corner_m under [[page.floor]]: metres along the columns and rows of the "
                "first room, from its first corner"
            )
    return found


def _check_alike(own: Deployment, other: Deployment) -> None:
    def shown(deployment: Deployment) -> Any:
        ready = telling.ready(deployment, 0)
        return ready["reads"], ready["strength_unit"]

    for one in (own, other):
        if not one.room.cell_mm or 1 in one.room.cells:
            raise OperatorFault(
                f"room {one.site.name} is a line, or has no size in metres, and has no place on a "
                "floor. Give it length_m and rows, or leave [[page.floor]] away"
            )
    if shown(own) != shown(other):
        raise OperatorFault(
            f"rooms {own.site.name} and {other.site.name} measure different things, which no "
            "colour can compare: people and warmth, or warmth with a room file and without. Leave "
            "the second out of [[page.floor]]"
        )


def _sides_m(deployment: Deployment) -> tuple[float, float]:
    columns, rows = deployment.room.cells
    return columns * deployment.room.cell_mm / 1000, rows * deployment.room.cell_mm / 1000


class Moment(Struct, forbid_unknown_fields=True):
    """A time in seconds of the epoch, or now."""

    at_s: Annotated[int, Meta(ge=0, le=2**40, description="then; now without it")] | UnsetType = (
        UNSET
    )


class Room(Struct):
    """A room and its newest map of that time; without mass there is none, and why says why not.

    corner_m is where it lies; a map is old after due_s; one that is doubted has no colours.
    """

    site: str
    corner_m: tuple[float, float]
    shape: tuple[int, int]
    cell_mm: int
    due_s: float
    floor: dict[str, Any] | None = None
    number: int | None = None
    at_s: float | None = None
    mass: list[list[float]] | None = None
    total: float | None = None
    doubted: bool = False
    guarantee: dict[str, Any] = {}
    why: str = ""
    code: str = ""
    fields: dict[str, Any] = {}


class Floor(Struct):
    """The rooms beside ours."""

    rooms: list[Room]


def look(neighbours: tuple[Neighbour, ...], asked: Moment) -> Floor:
    """Return the rooms as they are now, or were then."""
    at_s = None if asked.at_s is UNSET else float(asked.at_s)
    return Floor([_look(one, at_s) for one in neighbours])


def _look(one: Neighbour, at_s: float | None) -> Room:
    deployment = one.deployment
    told = telling.ready(deployment, 0)
    rounds = deployment.rounds
    room = Room(
        deployment.site.name,
        one.corner_m,
        deployment.room.cells,
        deployment.room.cell_mm,
        DUE * rounds.every_s + rounds.gather_s,
        told["floor"],
    )
    try:
        with open_reader(deployment) as reader:
            found = reader.map_at(at_s)
    except OperatorFault:  # which names files and machines, and viewers are not told of those
        room.why, room.code = str(UNREAD), UNREAD.code
        return room
    if found is None:
        room.why, room.code = str(NONE), NONE.code
        return room
    body, room.at_s = found
    room.number, room.mass, room.total = body["number"], body["mass"], body["total"]
    room.guarantee = body["guarantee"]
    room.doubted = (body.get("verdict") or {}).get("level") in ("assumptions", "clamp")
    if not room.mass:
        room.why, room.code = body["why"], body.get("code", "")
        room.fields = body.get("fields", {})
    return room


UNREAD = Wording(
    "floor.unread",
    "its store cannot be read from here: no gateway has run there yet, or its disk is away",
)()
NONE = Wording("floor.none", "it has no map of that time")()

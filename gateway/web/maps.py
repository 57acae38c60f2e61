"""Maps as the API answers them: JSON and its description are both made from these records."""

from typing import Any

import msgspec
from msgspec import Struct

from ..service.telling import complete_old_map


class MapHead(Struct):
    """A map without its picture, of the answers of rounds first to number together.

    sensors_used counts those that answered its round, also those that the verdict leaves out.
    """

    number: int
    first: int | None = None
    status: str = ""
    why: str = ""
    seconds: float | None = None
    total: float | None = None
    estimator: str | None = None
    sensors_used: int | None = None
    sensors_enrolled: int | None = None
    quorum: int | None = None


class Maps(Struct):
    """Maps, newest first; `next` is the `before` of the next page."""

    maps: list[MapHead]
    next: int | None


class Band(Struct):
    """Between what the share of heat up to each cell lies."""

    level: float
    low: Any
    high: Any


class Count(Struct):
    """How many sources there are: from low to high with this chance, and about how many.

    several: one of the places that are named holds several; empty: it may be an empty room.
    """

    low: int
    high: int
    chance: float
    median: int
    several: bool
    empty: bool


class Credible(Struct):
    """How sure the map is; says is a sentence on how many sources there are, which is count."""

    level: float
    present: list[list[float]]
    numbers: list[float]
    band: Band | None = None
    blind_error: float | None = None  # of a map made without any reading
    expected_error: float | None = None
    says: str = ""
    count: Count | None = None


class Source(Struct):
    """Where a source likely is, in metres or in sides of a unit grid, and its share of the heat.

    within is how far from there it is with the chance that credible.level says; null if unknown.
    """

    x: float
    y: float | None
    share: float
    within: float | None = None


class Dropped(Struct):
    """A sensor that is left out of a map, and how far it is from what the others show."""

    sensor: int
    deviations: float


class Verdict(Struct):
    """Whether the readings can be if the deployment file is right, and what to say of it.

    level is fits, sensors (a map without the dropped ones), other (one that counts on another room
    or other sources than stated), weak (one hardly better than a guess), clamp or assumptions (do
    not trust the map); says is a sentence for whoever looks at it, empty where nothing is wrong.
    code and fields are of why, for other languages; a field may be such a sentence, too.
    """

    level: str
    why: str = ""
    says: str = ""
    code: str = ""
    fields: dict[str, Any] = {}
    dropped: list[Dropped] = []
    clamped: list[int] = []


class Blocks(Struct):
    """Squares of cells that the answers tell apart, and between what each one's share lies.

    A row is the first row and column, how many rows and columns, the share that is drawn, the
    ends of its interval, and how it is drawn: 2 solid, 1 hatched (mostly noise), 0 blank (few).
    All intervals hold at once at the level. claims are the rows, counted from 0, that may be named
    as places with many, the densest first: solid, and above an even share for sure.
    """

    level: float
    rows: list[list[float]] = []
    claims: list[int] = []


class Map(MapHead):
    """A map: each cell's share of all there is, row by row; null where none could be drawn.

    sd is how sure each share is, one standard deviation; null where the mechanism says none. Where
    larger blocks are given it is mostly more there, but never more than a share can have.
    sources is of warmth alone: no more of them than count says that there are about.
    Where blocks are given, of nothing finer than them may anything be said.
    nobody is how likely the room is empty, where that is known.
    Where a code is given, why is one of the gateway's own sentences, and fields are what is in it:
    texts, numbers, and sentences with codes of their own.
    """

    mass: list[list[float]] | None = None
    nobody: float | None = None
    sources: list[Source] = []
    sd: list[list[float]] | None = None
    blocks: Blocks | None = None
    chosen: str | None = None
    credible: Credible | None = None
    certified: Band | None = None
    verdict: Verdict | None = None
    guarantee: dict[str, Any] = {}
    code: str = ""
    fields: dict[str, Any] = {}


def read_map(body: dict[str, Any]) -> Map:
    """Return a map as it was published."""
    made = msgspec.convert(complete_old_map(body), Map)
    said = made.verdict
    if said and said.why and not said.says:  # one of before it was a sentence
        said.says = f"Do not trust this map: {said.why}."
    return made

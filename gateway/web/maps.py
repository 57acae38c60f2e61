"""Maps as the API answers them: what was published, read into records."""

from typing import Any

from msgspec import Struct


class MapHead(Struct):
    """A map without its picture."""

    number: int
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


class Credible(Struct):
    """How sure the map is, if sources are as the query says."""

    level: float
    present: list[list[float]]
    numbers: list[float]
    band: Band | None = None
    expected_error: float | None = None


class Verdict(Struct):
    """Whether the readings can be if the deployment file is right: "fits", or why not."""

    level: str
    why: str = ""


class Map(MapHead):
    """A map: each cell's share of all there is, row by row; null where none could be drawn.

    sd is how sure each share is, one standard deviation; null where the mechanism says none.
    """

    mass: list[list[float]] | None = None
    sd: list[list[float]] | None = None
    chosen: str | None = None
    credible: Credible | None = None
    certified: Band | None = None
    verdict: Verdict | None = None
    guarantee: dict[str, Any] = {}

"""The tables and keys of the deployment file, each with the values it may take.

What is promised for which room, and how it is run: rounds, broker, store, guard, page, Home
Assistant, workers. The promise does not depend on the latter, but for `calibration` and `sampler`.
Reading the file, and saying what is wrong with it, is `config`'s business.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    PrivateAttr,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)

from edge.core.records import Grid

from ..loopback import is_loopback
from ..mechanisms import USUAL, sections
from . import windows
from .fields import (
    Count,
    EstimatorName,
    Name,
    NotNegative,
    Number,
    Port,
    Positive,
    RatioField,
    Rectangle,
    Section,
    Shape,
    Switch,
)

_HOURS = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])")
_PREFIX = re.compile(r"[^/+#\x00-\x1f$][^+#\x00-\x1f]*")


def _check_hours(text: str) -> str:
    match = _HOURS.fullmatch(text)
    if match is None or match[1] + match[2] == match[3] + match[4]:
        raise ValueError(
            "it should be two times of the day that differ, from 00:00 to 23:59, such as "
            "08:00-18:00; leave it out for all day"
        )
    return text


def _check_topic_prefix(text: str) -> str:
    if not _PREFIX.fullmatch(text) or text.endswith("/"):
        raise ValueError("it should be the beginning of a topic, without + or # or a last /")
    return text


Hours = Annotated[str, AfterValidator(_check_hours)]
Time = Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]


class Rounds(Section):
    """How the rounds run; seconds."""

    mechanism: str = USUAL
    estimator: EstimatorName = "auto"
    calibration: Literal["exact", "paper"] = "exact"
    sampler: Literal["exact", "table"] = "exact"  # what devices draw noise from
    gather_s: Positive = 30.0
    every_s: NotNegative = 3600.0
    solve_s: Positive = 10.0
    quorum: Count = 1  # devices that must have answered for a map to be drawn
    hours: Hours | None = None  # of this machine's clock


class Mqtt(Section):
    """The broker: TLS, with its certificate and name verified, unless insecure says otherwise."""

    host: str = "127.0.0.1"
    port: Port = 8883
    username: str | None = None
    password_file: Path | None = None
    ca_file: Path | None = None  # who signs its certificate; else the system's authorities may
    insecure: Switch = False
    version: Literal["auto", "5", "3.1.1"] = "auto"
    # messages that wait for our commit
    window: Annotated[int, Field(ge=1, le=65_535), Number] = 500

    # A device's own, from its keys and not from the file: see `access.make_device_settings`.
    _password: str | None = PrivateAttr(None)
    _context: Any = PrivateAttr(None)

    @model_validator(mode="after")
    def _one_way_or_the_other(self) -> Self:
        if self.insecure and self.ca_file is not None:
            raise ValueError(
                "insecure = true speaks in the clear and ca_file is for verifying TLS: only one "
                "of them can be meant, and the wrong one would give everything away; remove one"
            )
        return self


REPORT_DAYS, KEEP_DAYS = 30.0, 365.0  # where rounds never end and nobody says otherwise


class Storage(Section):
    """Where what came is kept, and for how long; what was charged is kept for ever."""

    postgresql: str | None = None  # libpq words or address, instead of the file under [site]
    password_file: Path | None = None  # of the user at PostgreSQL
    # None: 30 and 365 under a promise for a window, whose rounds never end, and for ever else.
    report_days: Positive | None = None  # reports; never longer than what follows
    keep_days: Positive | None = None  # reports and maps; under a window releases, too
    refused_days: Positive = 30.0  # dead letters
    round_keys: Path = Path("/run/heatveil")  # of central trust: where an open round's key lies
    # less room stops the taking
    reserve_mb: Annotated[int, Field(ge=0, le=1_000_000), Number] = 64


class Guard(Section):
    """How much one device may say before it is taken for broken or hostile."""

    messages_per_s: Positive = 20.0  # over a while, of one device
    burst: Count = 500  # messages of one device at once: what a full spool sends when it is back
    forged: Count = 20  # messages in a minute that are no frames of the device
    quarantine: Switch = True  # let the broker shut such a device out, where it can
    minutes: Positive | None = None  # after which it may come back; None until it is let back


class Neighbour(Section):
    """Another room on the page's floor, of a gateway whose store can be read from here."""

    settings: Path  # its deployment file
    name: str | None = None  # what it is called on the floor; else its site's name
    # Its first corner, along this room's columns and rows from its own.
    corner_m: tuple[float, float]


class Page(Section):
    """Where the page and its API listen, and who may read them."""

    host: str = "127.0.0.1"
    port: Port = 8080
    token_file: Path | None = None  # a secret that an operator must show
    viewer_token_file: Path | None = None  # another, for all that names no device
    picture: Path | None = None  # of the floor or the ground, PNG, JPEG or WebP: all of the map
    floor: tuple[Neighbour, ...] = ()  # other rooms, drawn beside this one
    hosts: tuple[str, ...] = ()  # names that it is asked for by besides, such as a proxy's
    # Where /livez, /readyz and /metrics are answered while the page's own port is full.
    health_host: str = "127.0.0.1"
    health_port: Annotated[int, Field(ge=0, le=65535), Number] = 8081  # 0 for nowhere

    @property
    def probed(self) -> tuple[str, int] | None:
        """Host and port where machines ask how the gateway is; None for the page's alone."""
        return (self.health_host, self.health_port) if self.health_port else None

    @model_validator(mode="after")
    def _ports_apart(self) -> Self:
        if self.probed == (self.host, self.port):
            raise ValueError(
                f"port and health_port are both {self.port}, and two cannot listen there. Give "
                "health_port another, or 0: then the page's own port answers"
            )
        return self

    @model_validator(mode="after")
    def _closed_to_strangers(self) -> Self:
        if self.viewer_token_file is not None and self.token_file is None:
            raise ValueError(
                "viewer_token_file stands without token_file: with no operator's token everybody "
                "is an operator, and there is nothing to keep from viewers. Add a token_file"
            )
        for key in ("host", "health_host"):
            host = getattr(self, key)
            if self.token_file is None and not is_loopback(host):
                raise ValueError(
                    f"{key} {host} lets the network read the page and its API: it needs a "
                    "token_file with a secret of 16 characters or more, or a host of this "
                    "machine alone, such as 127.0.0.1"
                )
        return self


class HomeAssistant(Section):
    """Whether results and health of the gateway are announced to Home Assistant."""

    enabled: Switch = False
    prefix: Annotated[str, AfterValidator(_check_topic_prefix)] = "homeassistant"
    expire_s: Positive | None = None  # after which a silent result is unavailable


class Workers(Section):
    """How many parts the devices are split into, each taken by one worker at a time."""

    partitions: Annotated[int, Field(ge=1, le=256), Number] = 1
    lease_s: Positive = 10.0  # how long a worker that died keeps its part


def _make_absent_table() -> Any:
    """Return None: the mechanism has no such table."""


class Site(Section):
    """Who we are and where our files lie."""

    name: Name = "lab"
    devices: Path = Path("devices.json")
    database: Path = Path("heatveil.sqlite")


class Room(Section):
    """The map's cells, and how long the room is along its columns; or the file of the room."""

    plan: Path | None = None  # a room file: then it says what else would be said here
    cells: Shape
    length_m: Positive | None = None
    walls: Literal["none", "insulated"] = "none"
    furniture: tuple[Rectangle, ...] = ()  # column, row, columns, rows, in cells from 0
    # Of a room with a file alone.
    weather: Path | None = None  # what an outdoor thermometer says: see `mechanisms.thermal`
    empty: Hours | None = None  # in which everybody knows that nobody is there
    begins: Time | None = None  # of a virtual room: when, by its own clock, and how fast
    speed: Positive = 1.0

    @property
    def cell_mm(self) -> int:
        """The side of a cell in whole millimetres, or 0 on the unit interval."""
        return round(1000 * (self.length_m or 0) / self.cells[0])

    @property
    def grid(self) -> Any:
        """The grid of square cells."""
        return Grid(self.cells, self.cell_mm)

    @model_validator(mode="after")
    def _said_of_a_file(self) -> Self:
        given = [name for name in ("weather", "empty", "begins") if getattr(self, name)]
        if self.speed != 1:
            given.append("speed")
        if given and self.plan is None:
            raise ValueError(
                f"{given[0]} stands beside no plan: only in a room with a file is the empty room "
                "taken off by model, so it would be ignored without a word; name the file, or "
                "remove it"
            )
        return self

    @model_validator(mode="after")
    def _whole_millimetres(self) -> Self:
        if self.length_m is not None:
            whole_m = max(self.cell_mm, 1) * self.cells[0] / 1000
            if abs(whole_m - self.length_m) > 1e-9 * self.length_m:
                raise ValueError(
                    f"{self.cells[0]} cells in {self.length_m:g} m are not whole millimetres, and "
                    f"every device must know the same cell; {whole_m:g} m would do"
                )
        return self


class Heat(Section):
    """How far heat has spread, and how much of it there can be."""

    spread_m2: Positive | None  # None in a room with a file of its own, which has none
    spread_max_m2: Positive | None = None  # where it is only known to lie between the two
    intensity_max: Positive = 1.0
    sources_max: Count = 8
    sources: Count | None = None  # how many there always are, where that is known
    intensity_min: Positive | None = None  # of one source, where that is known


class Sensors(Section):
    """The thermometers, evenly spaced, their converter's step and own noise in kelvin.

    And how the room's own warmth is taken from what they read: see `recovery.thermal.query`.
    """

    count: Shape
    adc_step: RatioField | None = None
    adc_behind: RatioField | None = None  # the greatest count of a converter behind that one
    drift_sd: NotNegative = 0.0  # kelvin, all together
    noise_sd: NotNegative = 0.0  # kelvin, of one reading
    background: Literal["recorded", "following", "gateway"] = "recorded"
    slew: RatioField | None = None  # kelvin an answer, of a level that follows
    background_k: NotNegative = 0.0  # room in the clamp
    # the first, for the gateway
    empty_readings: Annotated[int, Field(ge=0, le=1_000_000), Number] = 0


class Privacy(Section):
    """The promise: every map is printed with it."""

    epsilon: RatioField
    delta: RatioField | None = None  # of mechanisms whose promise may fail
    protect_distance_m: Positive | None = None
    readings: Count = 1
    window_h: Annotated[int, Field(ge=0, le=8784), Number] = 0  # that they share it in; 0 for ever
    keyholder: Switch = False


if TYPE_CHECKING:
    _Tables = Section
else:  # a table for each mechanism that has one of its own
    _Tables = create_model(
        "_Tables",
        __base__=Section,
        **{
            name: (table, Field(default_factory=_make_absent_table, validate_default=False))
            for name, table in sections.list_own_tables().items()
        },
    )


class Deployment(_Tables):
    """One deployment, whole."""

    site: Site = Site()
    room: Room
    # Those that the mechanism reads; the others are None: see `mechanisms.sections`.
    heat: Heat = Field(default_factory=_make_absent_table, validate_default=False)
    sensors: Sensors = Field(default_factory=_make_absent_table, validate_default=False)
    privacy: Privacy
    rounds: Rounds = Rounds()
    mqtt: Mqtt = Mqtt()
    store: Storage = Storage()
    guard: Guard = Guard()
    page: Page = Page()
    homeassistant: HomeAssistant = HomeAssistant()
    workers: Workers = Workers()

    @property
    def own(self) -> Any:
        """The table that its mechanism has of its own; None where it has none."""
        return getattr(self, self.rounds.mechanism, None)

    @property
    def following(self) -> tuple[int, ...]:
        """Of a level that follows: num and den of its slew, and how many answers share it."""
        if self.sensors is None or self.sensors.slew is None:
            return ()
        return (*self.sensors.slew, self.privacy.readings)

    @property
    def kept_days(self) -> tuple[float | None, float | None]:
        """For how many days reports are kept, and releases and maps; None for ever."""
        keep, report = self.store.keep_days, self.store.report_days
        if self.privacy.window_h:
            keep = keep or max(KEEP_DAYS, windows.bound_reach_days(self) + 1)
            report = report or REPORT_DAYS
        known = [days for days in (keep, report) if days]
        return min(known, default=None), keep

    @field_validator("workers")
    @classmethod
    def _parts_in_a_database(cls, workers: Workers, info: ValidationInfo) -> Workers:
        store = info.data.get("store")
        if workers.partitions > 1 and store is not None and store.postgresql is None:
            raise ValueError(
                f"partitions = {workers.partitions} needs postgresql under [store]: workers share "
                "what came through a database that several processes may write, and SQLite's "
                "file is one gateway's alone; name one, or set partitions = 1"
            )
        return workers

    @model_validator(mode="after")
    def _of_one_mechanism(self) -> Self:
        sections.check_tables(self)
        windows.check_rounds_last(self)
        return self

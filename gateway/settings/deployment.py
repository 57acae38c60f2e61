"""What a deployment is made of: room, what is in it, promise; how it is run is in `operating`.

The tables and keys of the deployment file, each with the values it may take. Reading the
file, and saying what is wrong with it, is `config`'s business.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, ValidationInfo, create_model, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from edge.records import Grid

from ..mechanisms import sections
from .fields import Count, Name, Positive, RatioField, Rectangle, Section, Shape, Switch
from .operating import Guard, HomeAssistant, Hours, Mqtt, Page, Rounds, Storage, Time, Workers


def _absent() -> Any:
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
    weather: Path | None = None  # what an outdoor thermometer says: see `outdoors`
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
                "taken off by model, so it would do nothing unnoticed; name the file, or remove it"
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
    drift_sd: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0  # kelvin, all together
    noise_sd: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0  # kelvin, of one reading
    background: Literal["recorded", "following", "gateway"] = "recorded"
    slew: RatioField | None = None  # kelvin an answer, of a level that follows
    background_k: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0  # room in the clamp
    empty_readings: Annotated[int, Field(ge=0, le=1_000_000)] = 0  # the first, for the gateway


class Privacy(Section):
    """The promise: every map is printed with it."""

    epsilon: RatioField
    delta: RatioField | None = None  # of mechanisms whose promise may fail
    protect_distance_m: Positive | None = None
    readings: Count = 1
    keyholder: Switch = False


if TYPE_CHECKING:
    _Tables = BaseSettings
else:  # a table for each mechanism that has one of its own
    _Tables = create_model(
        "_Tables",
        __base__=BaseSettings,
        **{
            name: (table, Field(default_factory=_absent, validate_default=False))
            for name, table in sections.own().items()
        },
    )


class Deployment(_Tables):
    """One deployment, whole."""

    model_config = SettingsConfigDict(
        env_prefix="HEATVEIL_", env_nested_delimiter="__", extra="forbid", frozen=True
    )

    site: Site = Site()
    room: Room
    # Those that the mechanism reads; the others are None: see `mechanisms.sections`.
    heat: Heat = Field(default_factory=_absent, validate_default=False)
    sensors: Sensors = Field(default_factory=_absent, validate_default=False)
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
        sections.check(self)
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Let the environment stand above the file."""
        return env_settings, init_settings

"""What there is to see where a mechanism is tried out, and what came of it."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from recovery.maps.heatmap import Heatmap, Unresolved

if TYPE_CHECKING:
    from .scores import Watch

Floats = NDArray[np.float64]

# The data sets that --points knows by name; a file of such a name is ./normal.
EXAMPLES = ("normal", "szipf", "mnormal")
TRUTH = "the truth, which only this simulation knows"  # before what a map is to be held against
Numbers = dict[str, Any]
Found = Heatmap | Unresolved


class Inputs(NamedTuple):
    """What there is to see, in the words of the flags; each mechanism takes some of them."""

    sources: Path | None = None
    sources_random: int | None = None
    points: str | None = None  # a file, or the name of an example
    users: int | None = None

    def list_files(self) -> list[Path]:
        """Return the files that are read, which no result may replace."""
        points = None if self.points in EXAMPLES else self.points
        return [Path(one) for one in (self.sources, points) if one is not None]


class World(Protocol):
    """What exists in the simulator alone, so that a map can be held against it."""

    @property
    def query(self) -> Any:
        """The query that is asked of it."""

    @property
    def truth(self) -> Floats:
        """What the map should be, (rows, columns), of any total above 0."""

    def read_devices(self, round: Any) -> Iterator[Any]:
        """Yield the private `Reading` of every device for a Round."""

    def describe_exceptions(self) -> str:
        """Return a clause about what the query does not allow for; empty without any."""


class FleetInputs(NamedTuple):
    """What the devices are to read, in the words of the flags."""

    sources: Path | None = None
    sources_random: int | None = None
    scene: Path | None = None
    speed: float | None = None
    since: str | None = None
    points: str | None = None


class FleetScene(Protocol):
    """What devices stand in."""

    def make_fleet(self, devices: Iterable[Any]) -> Any:
        """Return devices, each an identity and its budget, that stand there."""

    def run_scene(self, fleet: Any) -> AbstractContextManager[str]:
        """Let time pass for a fleet, and give a sentence: what is there, and what changes."""


@dataclass(frozen=True)
class Played:
    """A protocol that is over, and the world that it was played in."""

    world: Any
    watch: "Watch"
    found: Found

    @property
    def mass(self) -> Floats | None:
        """The map, (rows, columns), or None."""
        return self.found.mass if isinstance(self.found, Heatmap) else None


class Judged(NamedTuple):
    """What is worked out beside the scores: for scores.json, and a line each."""

    numbers: Numbers
    lines: list[str]


class Calibrated(NamedTuple):
    """What to print, and why there is no promise; nothing where there is one."""

    lines: list[str]
    refusal: str

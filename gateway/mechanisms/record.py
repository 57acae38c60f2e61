"""What a mechanism must say of itself, for service, command line and page."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from edge.records import Guarantee, Release, Round
from recovery.maps.heatmap import Heatmap, Unresolved

from ..output import Stage, Writer
from ..storage.tallies import Sum
from .scores import Watch

# What a mechanism brings so that it can be played, drawn anew and calibrated: one record.
#
# The table of them is `acts`; a mechanism that joins is one module with its `Act`, and one line
# there. Nothing else on the command line asks which mechanism it is.

Floats = NDArray[np.float64]

# The data sets that --points knows by name; a file of such a name is ./normal.
EXAMPLES = ("normal", "szipf", "mnormal")
Numbers = dict[str, Any]
Found = Heatmap | Unresolved


class Inputs(NamedTuple):
    """What there is to see, in the words of the flags; each mechanism takes some of them."""

    sources: Path | None = None
    sources_random: int | None = None
    points: str | None = None  # a file, or the name of an example
    users: int | None = None

    def files(self) -> list[Path]:
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

    def readings(self, round: Any) -> Iterator[Any]:
        """Yield the private `Reading` of every device for a Round."""

    def beyond(self) -> str:
        """Return a clause about what the query does not allow for; empty without any."""


class Seen(NamedTuple):
    """What the devices are to read, in the words of the flags."""

    sources: Path | None = None
    sources_random: int | None = None
    scene: Path | None = None
    speed: float | None = None
    since: str | None = None
    points: str | None = None


class Stand(Protocol):
    """What devices stand in."""

    def fleet(self, devices: Iterable[Any]) -> Any:
        """Return devices, each an identity and its budget, that stand there."""

    def living(self, fleet: Any) -> AbstractContextManager[str]:
        """Let time pass for a fleet, and give a sentence about it; empty where nothing moves."""


@dataclass(frozen=True)
class Played:
    """A protocol that is over, and the world that it was played in."""

    world: Any
    watch: Watch
    found: Found

    @property
    def mass(self) -> Floats | None:
        """The map, (rows, columns), or None."""
        return self.found.mass if isinstance(self.found, Heatmap) else None


class Told(NamedTuple):
    """What is worked out beside the scores: for scores.json, and a line each."""

    numbers: Numbers
    lines: list[str]


Tail = tuple[Any, ...]


class Exported(NamedTuple):
    """What one mechanism's rows end with: columns, and what fills them.

    reported(message)   of a Round's body; takes a report's numbers and the first sensor's place
    released(message)   of a Round's body; takes what a release holds
    """

    report: Mapping[str, type]
    reported: Callable[[Any], Callable[[Sequence[int], int], Iterable[Tail]]]
    release: Mapping[str, type]
    released: Callable[[Any], Callable[[Sequence[int | None]], Iterable[Tail]]]
    units: dict[str, str]
    sure: bool  # whether maps say how sure each cell is


class Calibrated(NamedTuple):
    """What to print, and why there is no promise; nothing where there is one."""

    lines: list[str]
    refusal: str


@dataclass(frozen=True)
class Act:
    """One mechanism on the command line.

    Args:
        asks: the flags that make its query, the names of the arguments of `asked`.
        sees: the flags that say what there is to see, of those in `Inputs`.
        further: flags that make sense with it in `play` and are looked at elsewhere.
        other_flags: the fields of its query that --set does not give, and what gives them.
        judge: gets what was played and its scores; returns what else is to be said of it.
        redrawn: the writer of the picture of public releases, where nobody knows the truth.
        promise: the guarantee in sentences.
        written: the names of the query's fields that a published file holds.
        opened: a Release from a round of such a file; ValueError where it is none.
        possible: refuses, with the file's name, what no noise can have made.
        reporter: makes of a Round what reports to it, where devices keep something ready.
        heard: who was not heard, in lines, where that can be told.
        calibrated: what `heatveil calibrate` prints; takes the arguments of `calibrating`.
        stand: what virtual devices stand in, by the query, what was asked for, and their number.
    """

    name: str
    query: type
    asks: tuple[str, ...]
    sees: tuple[str, ...]
    other_flags: Mapping[str, str]
    asked: Callable[..., Any]
    checked: Callable[[Mapping[str, Any]], Any]
    world: Callable[[Any, Inputs, np.random.Generator], World]
    bits: Callable[[Round], int]
    vector_length: Callable[[Round], int]
    found_lines: Callable[[Found], list[str]]
    judge: Callable[[Played, Numbers, Stage], Told]
    picture: Callable[[Played, Numbers, Path], None]
    redrawn: Callable[[Any, Sequence[Release], Found, str], Writer]
    promise: Callable[[Any, Guarantee], list[str]]
    written: Callable[[Any], Sequence[str]]
    opened: Callable[[Any, Any], Release]
    calibrated: Callable[..., Calibrated]
    stand: Callable[[Any, Seen, int, np.random.Generator], Stand]
    reporter: Callable[[Round], Callable[[Any, Any], list[int]]] | None = None
    heard: Callable[[Sequence[Release]], list[str]] = lambda releases: []
    possible: Callable[[Release, Path], None] = lambda release, path: None
    further: tuple[str, ...] = ()

    @property
    def takes(self) -> tuple[str, ...]:
        """The flags of `play` that it has a use for, beside those of every mechanism."""
        return (*self.sees, *self.asks, *self.further)


# What an entry of the table must say: all that the service asks of a mechanism but its verbs.
#
# `mechanisms` has plan, report, release and recover. What is here is between those and a site:
# what the deployment file means, what devices are enrolled with, which payloads may count, and in
# which words the promise is told.

Payload = Sequence[int]


class Fold(NamedTuple):
    """How reports become sums, and sums a release: for workers that gather in parts.

    It must give what the mechanism's own `release` gives of all payloads together, exactly.
    """

    slots: Callable[[Payload], Iterable[tuple[int, int]]]  # (slot, amount) of a payload
    release: Callable[[Any, Mapping[int, Sum], int], Any]  # round, sums, reports


class Serves(NamedTuple):
    """One mechanism, as the service needs it.

    sensors(deployment)       how many devices' places there are, (columns, rows)
    query(deployment)         what the analyst asks; ValueError where it cannot be served
    granted(query, every_s)   the first `Limits` of its devices; OperatorFault
    unspent(query, limits, before)     what is left of these for a device that comes when the
                              ledger has some nano-rho; OperatorFault where not one answer is
    check_held(query, sensors, held)   that enrolled devices fit it; OperatorFault
    least(limits)             in words how much blur they ask for at the least
    whole(limits)             in words what they pay for in all, in the unit of the promise
    tighter(last, wished)     the wished `Limits` in numbers that a device which holds the last
                              can take, and why they would protect less than those, or ""
    wrong(plan)               returns what says why a payload cannot count, or ""
    keys(deployment)          how many keys of one sensor the promise is for, None for any number
    fold                      for many workers; None where a release is no sum over reports
    delta(plan)               what the ledger's epsilon is reckoned at; None for a pure promise
    in_words(query, guarantee)   the promise for who manages a building
    most_of, answered         in words what is mapped, and who answers
    announced                 to Home Assistant: what the place with most is called, the share
                              that is there, and its icon
    counted                   whether a share has a standard deviation, and there are no sources
    shown(plan)               what a page must know beside a release's whole numbers
    cautions(query)           what an operator should know before it is asked for, a sentence each
    head                      the file that begins its sample of a deployment; "" for thermal's
    """

    sensors: Callable[[Any], tuple[int, int]]
    query: Callable[[Any], Any]
    granted: Callable[[Any, float], Any]
    unspent: Callable[[Any, Any, int], Any]
    check_held: Callable[[Any, Mapping[str, int], Mapping[str, Any]], None]
    least: Callable[[Any], str]
    whole: Callable[[Any], str]
    tighter: Callable[[Any, Any], tuple[Any, str]]
    wrong: Callable[[Any], Callable[[Payload], str]]
    keys: Callable[[Any], int | None]
    fold: Fold | None
    delta: Callable[[Any], float | None]
    in_words: Callable[[Any, Any], list[str]]
    shown: Callable[[Any], dict[str, Any]]
    most_of: str
    answered: str
    announced: tuple[str, str, str]
    cautions: Callable[[Any], list[str]] = lambda query: []
    counted: bool = False
    head: str = ""

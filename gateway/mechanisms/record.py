"""What a mechanism says of itself: one record, by which everybody else need not know its name.

To add one: `edge/mechanisms/NAME.py` and `recovery/NAME/`, then
`gateway/mechanisms/NAME/__init__.py`, which makes `MECHANISM`, and a line in the table of
`gateway.mechanisms`. The least is

    MECHANISM = Mechanism(
        *halves(device, analyst, cases), trust="central", reads="place", query=Query,
        bits=device.bits,
    )

and with it `play`, `recover`, `calibrate`, `config --sample`, `check`, the audit and the contract
suite know it. Whatever else a `Mechanism` holds has a default, here or in `usual`; who knows
better gives its own. Without `serving` it is refused wherever devices would answer over MQTT.

The query is a frozen dataclass with the fields `grid`, `epsilon` and `readings` at least. What a
field says by `recovery.fields.described` makes its option of the command line, its line of the
sample and its key in the table [NAME] of a deployment file; `grid` stands under [room] there, and
the fields that [privacy] has stand under [privacy].
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from recovery.fields import About, describe_field

from .words import PLACES, Words

if TYPE_CHECKING:
    from ..audit.subject import Subject

Payload = Sequence[int]
Tail = tuple[Any, ...]
Key = tuple[str, str]  # of a deployment file: table and key
_DERIVED: Any = MappingProxyType({})  # from the fields that are given, when the record is made


class Module:
    """A module of a mechanism, loaded when the first of its functions is called.

    So that the service does not hold in memory what the command line needs, nor a map's solver
    what the service needs.
    """

    def __init__(self, package: str, name: str) -> None:
        self._name = f"{package}.{name}"

    def __getattr__(self, function: str) -> Callable[..., Any]:
        if function.startswith("__"):
            raise AttributeError(function)

        def later(*given: Any, **words: Any) -> Any:
            return getattr(import_module(self._name), function)(*given, **words)

        later.__module__, later.__qualname__ = self._name, function
        return later


_capped = Module("gateway.devices.enrol", "capped")
_usual = Module(__package__ or "", "usual")
_places = Module(__package__ or "", "places")


class Fact(NamedTuple):
    """Something that a map says: rendered alike by terminal, page, Home Assistant and JSON."""

    label: str  # such as "Fullest place, x"
    value: float | int | str | None
    unit: str
    sentence: str  # a whole line; "" where the label and the value say it all


class ReportFold(NamedTuple):
    """How reports become sums, and sums a release: for workers that gather in parts.

    It must give what the mechanism's own `release` gives of all payloads together, exactly.
    """

    slots: Callable[[Payload], Iterable[tuple[int, int]]]  # (slot, amount) of a payload
    release: Callable[
        [Any, Mapping[int, Any], int], Any
    ]  # round, `store.message_rows.SlotSum`s, reports


class Exported(NamedTuple):
    """What a mechanism's rows in an export end with: columns, their units, and what fills them.

    reported(message)   of a Round's body; takes a report's numbers and the first sensor's place
    released(message)   of a Round's body; takes what a release holds
    """

    report: Mapping[str, type]
    reported: Callable[[Any], Callable[[Sequence[int], int], Iterable[Tail]]]
    release: Mapping[str, type]
    released: Callable[[Any], Callable[[Sequence[int | None]], Iterable[Tail]]]
    units: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Verbs:
    """Four verbs under one name: enough to be played in memory, and audited.

    plan(query, releases) -> Round | None       the analyst asks, or is done
    report(round, reading, rng) -> whole numbers   the device answers
    release(round, payloads, rng) -> Release    the gateway folds the answers
    recover(query, releases) -> Heatmap | Unresolved   the analyst draws the map
    """

    name: str
    plan: Callable[[Any, Any], Any]
    report: Callable[[Any, Any, Any], list[int]]
    release: Callable[[Any, Any, Any], Any]
    recover: Callable[[Any, Any], Any]
    subject: "Subject | None" = None  # what the audit must know of it; without it the audit fails


def join_halves(device: Any, analyst: Any, cases: Any) -> tuple[Any, Any, Any, Any, Any, Any]:
    """Return name, verbs and subject of a mechanism, from the modules of its two halves."""
    return device.NAME, analyst.plan, device.report, device.release, analyst.recover, cases


@dataclass(frozen=True, eq=False, kw_only=True)
class Serving:
    """What the service needs of a mechanism whose devices answer over MQTT.

    Of devices:
        limits(query, every_s): their first `Limits`; OperatorFault.
        remaining_limits(query, limits, before): what is left of these for a device that comes
            when the ledger has some nano-rho; OperatorFault where not one answer is.
        check_held(query, sensors, held): that enrolled devices fit the query; OperatorFault.
        least_noise(limits), whole_budget(limits): in words, the latter in the promise's unit.
        tighter(last, wished): the wished `Limits` in numbers that a device which holds the last
            can take, and why they would protect less than those, or "".
        key_limit(deployment): how many keys of one sensor the promise is for; None for any number.

    Of a round:
        payload_fault(plan): returns what says why a payload cannot count, or "".
        fold: for many workers; None where a release is no sum over reports.
        ledger_delta(plan): what the ledger's epsilon is reckoned at; None for a pure promise.
        stay_epsilon(query, epsilon, windows): that epsilon of so many windows, or infinity where
            what is set aside of delta does not pay for them.
        page_values(plan): what a page must know beside a release's whole numbers.
        exported: the rows of an export.
    """

    limits: Callable[[Any, float], Any]
    remaining_limits: Callable[[Any, Any, int], Any]
    check_held: Callable[[Any, Mapping[str, int], Mapping[str, Any]], None]
    least_noise: Callable[[Any], str]
    whole_budget: Callable[[Any], str]
    tighter: Callable[[Any, Any], tuple[Any, str]]
    key_limit: Callable[[Any], int | None] = lambda deployment: None
    payload_fault: Callable[[Any], Callable[[Payload], str]] = lambda plan: lambda payload: ""
    fold: ReportFold | None = None
    ledger_delta: Callable[[Any], float | None] = lambda plan: None
    stay_epsilon: Callable[[Any, float, int], float] = lambda query, epsilon, windows: epsilon
    page_values: Callable[[Any], dict[str, Any]] = lambda plan: {}
    exported: Exported


# Of `Serving`, where a promise is epsilon alone and a device has one place.
PURE: Mapping[str, Any] = MappingProxyType(
    {
        "limits": _capped.make_first_limits,
        "remaining_limits": _capped.reduce_limits,
        "check_held": _capped.check_enrolled,
        "least_noise": _capped.describe_least_noise,
        "whole_budget": _capped.describe_whole_budget,
        "tighter": _capped.tighten_limits,
    }
)
# Of `Exported`, where reports are sealed: only a release has rows, a number each.
SEALED: Mapping[str, Any] = MappingProxyType(
    {"report": {}, "reported": lambda body: lambda *_: [], "released": lambda body: enumerate}
)


# Of `Exported`, where a release has a number for each square of a pyramid.
SQUARES: Mapping[str, Any] = MappingProxyType(
    {
        **SEALED,
        "release": {"square": int, "parts": int},
        "units": {
            "square": "of the measured ones, level by level and row by row, from 0",
            "parts": "of people in a square, with noise in them",
        },
    }
)


# Of `Mechanism`, where the gateway is trusted: whoever reads a map is told so first.
CENTRAL: Mapping[str, Any] = MappingProxyType(
    {
        "trust": "central",
        "facts": _usual.list_trusted_facts,
    }
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Mechanism(Verbs):
    """Everything that service, command line, page and kit ask of a mechanism.

    Must be given:
        trust: who sees a report unblurred: "local" nobody, "distributed" nobody alone, "central"
            the gateway.
        reads: what its devices read; who is warm, or where somebody is, (x, y) in the grid.
        query: the dataclass of what may be asked.
        bits(round): of one number of a report.

    Of a device whose owner keeps its keys:
        unveiling: the module whose `unveil` takes the noise off; None where none can be.

    Of a deployment file:
        tables, keys: what it needs there, with what each says; usually the table [NAME].
        refused_keys: what it cannot heed, and why; usually what its query has no field for.
        live_keys: by table, what may change while a gateway runs, beside what always may; usually
            what alters the map alone.
        sensors(deployment): how many devices' places there are, (columns, rows).
        query_of(deployment): what the analyst asks; ValueError where it cannot be served.
        cautions(query): what an operator should know before it is asked, a sentence each.
        describe_blur(query): how much one answer is blurred, in words.

    For readers:
        words: what things are called; usually those of places.
        promise(query, guarantee): the guarantee in sentences.
        curve(query, guarantee): how often the best guess tells two places apart under it, by their
            distance in metres, or in sides of a unit grid: pairs for a picture; none where it is
            the same for all, or not known.
        facts(found): what a map says, a `Fact` each.
        silent_lines(releases): who was not heard.

    On the command line:
        extra_flags: flags that make sense with it in `play` and are looked at elsewhere.
        check_texts(texts): that the options' texts, by option, go together, in their own words;
            check_query(query): that a machine can work with it; OperatorFault.
        world(query, inputs, world): what there is to see; stand(query, seen, number, world): what
            so many virtual devices stand in.
        reporter(round): makes of a Round what reports to it, where devices keep something ready.
        vector_length(round): numbers in one report; vector_most(round): in that of any later one,
            where a mechanism asks for more where it found more.
        judge(played, numbers, stage): gets what was played and its scores; what else is said.
        picture(played, numbers, path), redraw(query, releases, found, name): pictures of a play
            and, a `Writer`, of public releases, where nobody knows the truth; usually of truth,
            panels(query, releases) of what was sent, map, and how sure it is.
        public_fields(query): the names of the query's fields that a published file holds.
        read_release(query, round): a Release from such a file; ValueError where it is none.
        check_possible(release, path): refuses what no noise can have made.
        calibrate(query, ...): what `heatveil calibrate` prints; usually the promise and what
            calibrated(query, round) has to say of it beside that: numbers for JSON, and lines.
        play_frames(**flags): what `play --frames` prints, of recorded frames; demo(sensors,
            epsilon, rounds, ...): runs `heatveil demo`; None where there is none.

    In a room with a file:
        clear(query, releases, vacancy, compiling): what `recover` gives, less the empty room.
    """

    trust: Literal["local", "distributed", "central"]
    reads: Literal["temperature", "place"]
    query: type
    bits: Callable[[Any], int]
    serving: Serving | None = None
    unveiling: Any = None

    tables: Mapping[str, str] = field(default_factory=lambda: _DERIVED)
    keys: Mapping[Key, str] = field(default_factory=dict)
    refused_keys: Mapping[Key, str] = field(default_factory=lambda: _DERIVED)
    live_keys: Mapping[str, frozenset[str]] = field(default_factory=lambda: _DERIVED)
    sensors: Callable[[Any], tuple[int, int]] = _usual.find_device_shape
    query_of: Callable[[Any], Any] = _usual.make_query
    cautions: Callable[[Any], list[str]] = lambda query: []
    describe_blur: Callable[[Any], str] = _usual.describe_blur

    words: Words = PLACES
    promise: Callable[[Any, Any], list[str]] = field(default_factory=lambda: _DERIVED)
    curve: Callable[[Any, Any], list[tuple[float, float]]] = lambda query, guarantee: []
    facts: Callable[[Any], list[Fact]] = _usual.list_facts
    silent_lines: Callable[[Sequence[Any]], list[str]] = lambda releases: []

    extra_flags: tuple[str, ...] = ()
    check_texts: Callable[[Mapping[str, str]], None] = lambda texts: None
    check_query: Callable[[Any], None] = lambda query: None
    world: Callable[[Any, Any, Any], Any] = _places.load_crowd
    stand: Callable[[Any, Any, int, Any], Any] = _places.make_standing_crowd
    reporter: Callable[[Any], Callable[[Any, Any], list[int]]] | None = None
    vector_length: Callable[[Any], int] = lambda round: 1
    vector_most: Callable[[Any], int] | None = None
    judge: Callable[[Any, Any, Any], Any] = _usual.judge_map
    picture: Callable[[Any, Any, Any], None] = _usual.draw_play
    redraw: Callable[[Any, Sequence[Any], Any, str], Any] = _usual.make_picture_writer
    panels: Callable[[Any, Sequence[Any]], list[Any]] = lambda query, releases: []
    public_fields: Callable[[Any], Sequence[str]] = _usual.list_public_fields
    read_release: Callable[[Any, Any], Any] = _usual.read_release
    check_possible: Callable[[Any, Any], None] = lambda release, path: None
    calibrate: Callable[..., Any] = _usual.explain_calibration
    calibrated: Callable[[Any, Any], tuple[dict[str, Any], list[str]]] = lambda query, round: (
        {},
        [],
    )
    play_frames: Callable[..., list[str]] | None = None
    demo: Callable[..., None] | None = None
    clear: Callable[..., Any] = _usual.recover_without_room

    def __post_init__(self) -> None:
        asked = {one.name for one in fields(self.query)}
        derived = {
            "tables": {self.name: "how many devices there are, and how they answer"},
            "refused_keys": {
                (table, key): _UNHEEDED.get(key, f"{key} means nothing")
                for table, keys in _HEEDED.items()
                for key in keys
                if table != "privacy" or key not in asked
            },
            "live_keys": {
                self.name: frozenset(name for name, said in self.abouts.items() if said.map_only)
            },
            "promise": partial(_usual.describe_promise, self.trust),
        }
        for name, made in derived.items():
            if getattr(self, name) is _DERIVED:
                object.__setattr__(self, name, made)

    @property
    def abouts(self) -> Mapping[str, About]:
        """What each field of the query says of itself."""
        return {one.name: describe_field(one) for one in fields(self.query)}

    def format_lines(self, found: Any) -> list[str]:
        """Return what was recovered, a line each."""
        return [fact.sentence for fact in self.facts(found) if fact.sentence]

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of `play` that it has a use for, beside those of every mechanism."""
        own = [said.flag for said in self.abouts.values() if said.flag]
        return (*INPUTS[self.reads], *own, "length", "settings", *self.extra_flags)


# The flags that say what there is to see, by what devices read.
INPUTS = {"temperature": ("sources", "sources_random"), "place": ("points", "users")}
# What a deployment file says that some mechanisms alone can heed.
_HEEDED = {
    "room": ("plan", "walls", "furniture"),
    "privacy": ("delta", "protect_distance_m", "keyholder", "window_h"),
    "rounds": ("estimator", "calibration", "sampler"),
}
_UNHEEDED = {
    "window_h": "each of its rounds is made of the last and takes what it needs of a map's "
    "epsilon, so no window could be said to pay for so many; it ends after `readings` maps"
}

"""The table of mechanisms, and the whole protocol in five lines.

A mechanism is a module of `edge` that runs on the device, a folder of `recovery` where the analyst
is, and a folder here, whose record (`MECHANISM`, a `record.Mechanism`) joins the two and says what
everybody else must know. There is no base class. No mechanism knows another.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

from ..faults import OperatorFault, suggest_name
from ..output import format_duration
from ..settings.windows import count_answers
from .record import Mechanism as Mechanism
from .record import Serving as Serving
from .record import Verbs as Verbs

# What each is, for the help of commands. One that joins is a folder and a line.
TABLE = {
    "thermal": "warm things and thermometers",
    "disk": "people who each report one cell",
    "quadtree": "people whose reports nobody can read, only their sum",
    "pyramid": "a heatmap of people who trust the gateway",
    "pyramid_sum": "such a heatmap of people whose reports nobody can read, only their sum",
    "ranks": "people whose gateway is trusted and sorts their places",
}
USUAL = "thermal"  # where nobody says which
_OWN: dict[str, Mechanism] = {}  # what others register
MECHANISMS: tuple[Mechanism, ...]  # all records, loaded when they are asked for


def __getattr__(name: str) -> Any:
    if name == "MECHANISMS":
        return tuple(map(find_mechanism, TABLE))
    raise AttributeError(f"module {__name__} has no attribute {name}")


def register_mechanism(mechanism: Mechanism, line: str = "of somebody else") -> None:
    """Add a mechanism of one's own, under its own name; `record` says what it must hold.

    Args:
        line: what it is for, in the help of commands.

    Raises:
        ValueError: it is none, its name or its query is that of another one, or it has no name.
    """
    if not isinstance(mechanism, Mechanism):
        raise ValueError(
            f"a mechanism of one's own is {mechanism!r} but must be a Mechanism, the record that "
            "holds its four verbs: a name says nothing of them. Make the record first."
        )
    name = mechanism.name
    if not name.isidentifier() or (name in TABLE and name not in _OWN):
        raise ValueError(
            f"a mechanism of one's own is called {name!r} but must have a name of letters that is "
            f"not one of {', '.join(TABLE)}: a Round says by it what it asks. Take another name."
        )
    for one in map(find_mechanism, TABLE):
        if one.query is mechanism.query and one.name != name:
            raise ValueError(
                f"{name} asks with {one.query.__qualname__}, which is the query of {one.name}, "
                "but must have a class of its own: what a query is planned and recovered by is "
                "found by its class. Derive one from it."
            )
    _OWN[name] = mechanism
    TABLE[name] = line
    find_mechanism.cache_clear()


@cache
def find_mechanism(name: str) -> Mechanism:
    """Return the mechanism of that name.

    Raises:
        OperatorFault: there is none.
    """
    if name in _OWN:
        return _OWN[name]
    if name in TABLE:
        found: Mechanism = import_module(f"{__name__}.{name}").MECHANISM
        return found
    raise OperatorFault(f"{name} is not a mechanism of heatveil; {suggest_name(name, TABLE)}")


def find_for_deployment(deployment: Any) -> Mechanism:
    """Return the mechanism of a deployment.

    Raises:
        OperatorFault: there is none.
    """
    return find_mechanism(deployment.rounds.mechanism)


def find_for_query(query: Any) -> Mechanism:
    """Return the mechanism that a query is of.

    Raises:
        TypeError: it is of none.
    """
    for one in map(find_mechanism, TABLE):
        if type(query) is one.query:
            return one
    raise TypeError(
        f"{type(query).__qualname__} is the query of no mechanism; give the query itself, such as "
        "ThermalQuery(...)"
    )


def find_serving(name: str) -> Serving:
    """Return what the service needs of the mechanism of that name.

    Raises:
        OperatorFault: there is none, or its devices cannot answer over MQTT.
    """
    found = find_mechanism(name).serving
    if found is None:
        raise OperatorFault(
            f"mechanism {name} cannot be served over MQTT by this gateway, so no device was "
            f"enrolled and no round asked. Try it in memory with heatveil play {name}, or set "
            "[rounds] mechanism to one that can be served"
        )
    return found


def plan_first_round(deployment: Any, query: Any) -> Any:
    """Return the Round that a deployment asks first.

    Args:
        query: the deployment's, which takes long to make where a room has a file.

    Raises:
        OperatorFault: it cannot be served.
    """
    try:
        return find_for_deployment(deployment).plan(query, [])
    except (ValueError, ArithmeticError) as fault:
        raise OperatorFault(f"no round can be planned: {fault}") from fault


def explain_idle_readings(
    query: Any, every_s: float | None, hours: str | None = None
) -> list[str]:
    """Return a sentence where more readings share the promise than a window holds, or nothing.

    Args:
        hours: as under [rounds].
    """
    window_h = getattr(query, "window_h", 0)
    if not window_h or not every_s:
        return []
    if query.readings <= (most := count_answers(window_h, every_s, hours)):
        return []
    blur = find_for_query(query).describe_blur
    within = f" from {hours.replace('-', ' to ')}" if hours else ""
    return [
        f"readings = {query.readings}, but with one every {format_duration(every_s)}{within} a "
        f"window of {window_h} h never pays for more than {most}: devices that are enrolled, or "
        f"tightened, for readings = {most} under the same promise give each "
        f"{blur(replace(query, readings=most))} instead of {blur(query)}"
    ]


def make_first_limits(deployment: Any, query: Any) -> Any:
    """Return the first `Limits` of every device; arguments as for `plan_first_round`.

    Raises:
        OperatorFault: it cannot be served, or its promise is too fine for a budget.
    """
    return find_serving(deployment.rounds.mechanism).limits(query, deployment.rounds.every_s)


def plan(query: Any, releases: Sequence[Any] = ()) -> Any:
    """Return the Round that a query asks next, by the mechanism that it is of; None when done.

    Args:
        query: what is to be known, such as a `ThermalQuery`.
        releases: what came of the Rounds before, in their order.

    Raises:
        ValueError: the query cannot be asked, or the releases are not its own.
    """
    return find_for_query(query).plan(query, releases)


def report(round: Any, reading: Any, rng: Any) -> list[int]:
    """Return what a device answers, whole numbers: where trust is local or distributed, blurred.

    Args:
        round: what `plan` returned.
        reading: the private `Reading` of that device.
        rng: the one door for random bits, with the method `below(n)`.
    """
    return find_mechanism(round.mechanism).report(round, reading, rng)


def release(round: Any, payloads: Iterable[Any], rng: Any = None) -> Any:
    """Return what the gateway makes of all reports of a Round: where trust is central, blurred.

    Args:
        round: what `plan` returned.
        payloads: what `report` returned, of each device once. Of `thermal` each is the number of
            its first sensor and the blurred grains of that one and those that follow.
        rng: as for `report`; None where nothing is drawn here.
    """
    return find_mechanism(round.mechanism).release(round, payloads, rng)


def recover(query: Any, releases: Sequence[Any]) -> Any:
    """Return the `Heatmap` of what was released, or an `Unresolved` that says why not.

    Args:
        query: what the Rounds were planned with.
        releases: what came of them, at least one.

    Raises:
        ValueError: the releases are not of this query.
    """
    return find_for_query(query).recover(query, releases)


def play(mechanism: Verbs, query: Any, readings: Callable[[Any], Iterable[Any]], rng: Any) -> Any:
    """Return the map of one whole protocol, run in memory.

    This is the figure, the test harness and the definition of correct; the service runs
    the same four functions with MQTT between them.

    Args:
        query: what the analyst wants to know; the mechanism's own frozen dataclass.
        readings: gives the private `Reading` of every device for a round.
        rng: the one door for random bits, with the method `below(n)`.
    """
    releases: Sequence[Any] = ()
    while round := mechanism.plan(query, releases):
        payloads = [mechanism.report(round, reading, rng) for reading in readings(round)]
        releases = [*releases, mechanism.release(round, payloads, rng)]
    return mechanism.recover(query, releases)

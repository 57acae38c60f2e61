"""Everything that can be asked of the API, as one table: routes and their description come of it.

A function here may wait for the store: it runs on a thread of `reading`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec import Struct

from . import answers, asks, devices, looked_up, maps
from .parts import Parts
from .probes import standing


class Operation(NamedTuple):
    """One address: what may be asked with it, what it answers, and who knows the answer."""

    path: str
    says: str
    asks: type[Struct]
    answers: type[Struct]
    answer: Callable[[Parts, Any], Struct]
    missing: bool = False  # it may have nothing of that number
    tagged: bool = False  # it has an ETag
    stored: bool = True  # it takes the store: else it is answered while that hangs, and anew

    @property
    def name(self) -> str:
        """What programs call it: the function's name."""
        return self.answer.__name__.removeprefix("_")


def _health(parts: Parts, asked: asks.Nothing) -> answers.Standing:
    return standing(parts)


def _state(parts: Parts, asked: asks.Nothing) -> answers.State:
    return answers.State(parts.feed.latest())


OPERATIONS = [
    Operation(
        "/health",
        "Which parts work, and why one does not.",
        asks.Nothing,
        answers.Standing,
        _health,
        stored=False,
    ),
    Operation(
        "/state",
        "The last event of each kind.",
        asks.Nothing,
        answers.State,
        _state,
        stored=False,
    ),
    Operation("/rounds", "The rounds.", asks.Paged, answers.Rounds, looked_up.rounds),
    Operation(
        "/rounds/{number}",
        "One round.",
        asks.One,
        answers.Round,
        looked_up.one_round,
        missing=True,
    ),
    Operation(
        "/rounds/{number}/release",
        "What a round released: noised whole numbers.",
        asks.One,
        answers.Release,
        looked_up.release,
        missing=True,
    ),
    Operation("/maps", "The maps, without their pictures.", asks.Paged, maps.Maps, looked_up.maps),
    Operation(
        "/maps/latest",
        "The newest map.",
        asks.Nothing,
        maps.Map,
        looked_up.latest_map,
        missing=True,
        tagged=True,
    ),
    Operation(
        "/maps/{number}",
        "The map of one round.",
        asks.One,
        maps.Map,
        looked_up.one_map,
        missing=True,
        tagged=True,
    ),
    Operation(
        "/ledger",
        "What is promised, what was charged and what is left.",
        asks.Paged,
        answers.Ledger,
        looked_up.ledger,
    ),
    Operation(
        "/devices", "The devices, without readings.", asks.Named, answers.Devices, devices.devices
    ),
    Operation(
        "/devices/{name}/gaps",
        "Which messages of a device never came.",
        asks.OneNamed,
        answers.Gaps,
        devices.gaps,
    ),
    Operation(
        "/refused",
        "Messages that do not count, without their bytes.",
        asks.Paged,
        answers.Refusals,
        looked_up.refused,
    ),
    Operation(
        "/quarantine",
        "The devices that are shut out.",
        asks.Nothing,
        answers.Quarantine,
        devices.quarantine,
    ),
]

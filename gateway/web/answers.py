"""What the API answers, as records: the JSON and its description are both made from them.

Nothing here has not passed the veil: counts, prices, noised whole numbers, maps made of them.
A rho is a fraction and is written as one, "num/den", beside what it is about; of a pure promise
the epsilon of each device that it stands for is beside it.
"""

from fractions import Fraction
from typing import Any

from msgspec import Struct

from ..service.ledger import RHO, Unit


class Part(Struct):
    """How a part of the gateway is, and for how long it has been so."""

    ok: bool
    why: str
    for_s: float


class Standing(Struct):
    """Whether every part works; else which does not and why."""

    ready: bool
    why: str
    parts: dict[str, Part]
    reads: bool  # whether the store can be asked here


class Rho(Struct):
    """A price, exactly and about; `epsilon` is what a pure promise is told in, else null."""

    exact: str
    about: float
    epsilon: str | None = None

    @classmethod
    def of(cls, rho: Fraction, unit: Unit = RHO) -> "Rho":
        """Return a fraction as JSON carries it.

        Args:
            unit: what the promise is told in.
        """
        told = _exact(unit.of(rho)) if unit.is_epsilon else None
        return cls(_exact(rho), float(rho), told)


def _exact(amount: Fraction) -> str:
    return f"{amount.numerator}/{amount.denominator}"


class Round(Struct):
    """A round: what was asked, what it cost, how many answered, how it ended."""

    number: int
    name: str
    mechanism: str
    opened_s: float
    closed_s: float | None
    reports: int | None
    enrolled: int | None
    rho: Rho
    outcome: str | None


class Rounds(Struct):
    """Rounds, newest first; `next` is the `before` of the next page."""

    rounds: list[Round]
    next: int | None


class Release(Struct):
    """The folded answers of a round: noised whole numbers, null where none came."""

    number: int
    values: list[int | None]


class Charge(Struct):
    """What was charged: for a round, or for one device's second answer to it."""

    id: int
    number: int | None
    device: str
    rho: Rho
    at_s: float


class Ledger(Struct):
    """The promise, and what is left of it."""

    promise: list[str]
    guarantee: dict[str, Any] | None
    budget: Rho | None
    spent: Rho | None
    left: Rho | None
    charges: list[Charge]
    next: int | None


class Device(Struct):
    """What is known of a device, and no reading: counts, when it was last heard, what is amiss."""

    name: str
    key_id: str
    boot: int
    seq: int
    reports: int
    last_s: float | None
    late: int
    refused: int
    left: Rho | None
    alarm: str | None
    quarantine: str | None


class Devices(Struct):
    """Devices by name; `next` is the `after` of the next page."""

    devices: list[Device]
    budget: Rho | None
    next: str | None


class Gap(Struct):
    """Numbers of a boot that never came, both ends included."""

    boot: int
    first: int
    last: int


class Gaps(Struct):
    """What of a device never came, between what did, newest first."""

    device: str
    gaps: list[Gap]


class Refused(Struct):
    """A message that does not count: which, why and how long; its bytes are not shown."""

    id: int
    at_s: float
    topic: str
    kind: str
    why: str
    size: int


class Refusals(Struct):
    """How many messages did not count, by kind, and the newest."""

    kinds: dict[str, int]
    newest: list[Refused]
    next: int | None


class Quarantined(Struct):
    """A device that is shut out; since when, where that is known."""

    device: str
    why: str
    since_s: float | None


class Quarantine(Struct):
    """All devices that are shut out."""

    devices: list[Quarantined]


class State(Struct):
    """The last event of each kind, as the page hears them."""

    events: dict[str, dict[str, Any]]

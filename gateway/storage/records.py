"""What people are shown of a store, row by row; times are in seconds of the epoch."""

from fractions import Fraction
from typing import NamedTuple


class RoundRow(NamedTuple):
    """A round: when it was open, who answered, what it cost."""

    number: int
    name_hex: str
    mechanism: str
    opened_s: float
    closed_s: float | None
    reports: int | None  # None while it is open
    enrolled: int | None  # None where it was not kept
    rho: Fraction
    outcome: str  # open, closed, or why it ended otherwise


class ChargeRow(NamedTuple):
    """A charge; number is None for an answer to a round that is not in the store."""

    id: int
    number: int | None
    device: str  # empty: the whole fleet was asked
    rho: Fraction
    at_s: float


class DeviceRow(NamedTuple):
    """A device under one of its keys, as far as it was ever heard of."""

    name: str
    key_id_hex: str
    epoch: int
    seq: int
    reports: int  # that count
    last_s: float | None  # of the last that counts
    alarm: str | None
    quarantine: str | None


class RefusedRow(NamedTuple):
    """A dead letter, without its bytes."""

    id: int
    at_s: float
    topic: str
    kind: str
    why: str
    size: int


class Gap(NamedTuple):
    """Numbers that a device used in one boot, and that never came."""

    epoch: int
    first: int
    last: int


class AnswerRow(NamedTuple):
    """A report that counts, as the bytes that came."""

    device: str
    key_id: bytes
    epoch: int
    seq: int
    frame: bytes
    taken_s: float

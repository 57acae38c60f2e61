"""What is asked, and what becomes of a message: rows between campaign, judge, intake and store."""

from collections.abc import Mapping, Set
from fractions import Fraction
from typing import Any, NamedTuple

from .ledger import Charge

Key = tuple[str, int, int]  # device, epoch, seq: no two different messages may share it


class Asked(NamedTuple):
    """A round as it is sent."""

    planned: bytes  # the four-byte name of the round as the mechanism planned it
    name: bytes  # of the round as it is sent, with the next free number
    plan: Any
    message: bytes
    rho: Fraction


class Kept(NamedTuple):
    """A report that counts, as the bytes that came."""

    device: str
    epoch: int
    seq: int
    round: bytes
    frame: bytes


class Known(NamedTuple):
    """What the store knows of a batch before it is judged."""

    frames: Mapping[Key, bytes]  # under the batch's keys
    prices: Mapping[bytes, Fraction]  # of the rounds that it answers, as they were charged
    answered: Set[tuple[bytes, str]]  # (round, device) that have a report that counts


class Again(NamedTuple):
    """A second answer: it left the device, so it is charged all the same."""

    round: bytes
    charge: Charge
    frame: bytes


class DeadLetter(NamedTuple):
    """A message that does not count, and why."""

    topic: str
    why: str
    frame: bytes


class Receipt(NamedTuple):
    """Tells a device that its message is stored, as a report that counts or a dead letter."""

    device: str
    epoch: int
    seq: int
    taken: bool

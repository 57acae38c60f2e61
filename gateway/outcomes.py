"""What is asked, and what becomes of a message: rows between campaign, judge, intake and store."""

from fractions import Fraction
from typing import Any, NamedTuple

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

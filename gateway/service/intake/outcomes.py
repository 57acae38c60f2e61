"""What is asked, and what becomes of a message: rows between campaign, judge, intake and store."""

import hashlib
from collections.abc import Mapping, Set
from fractions import Fraction
from typing import Any, NamedTuple

from ..ledger import Charge

# A device, and the four bytes that name its enrolment: under a new key its numbers begin anew.
Who = tuple[str, bytes]
Key = tuple[str, bytes, int, int]  # and epoch, seq: no two different messages may share it
Seen = Mapping[bytes, bool]  # SHA-256 of messages that came before, and whether they count


class AskedRound(NamedTuple):
    """A round as it is sent."""

    planned: bytes  # the four-byte name of the round as the mechanism planned it
    name: bytes  # of the round as it is sent, with the next free number
    plan: Any
    message: bytes
    rho: Fraction


class CountedReport(NamedTuple):
    """A report that counts, as the bytes that came."""

    device: str
    epoch: int
    seq: int
    round: bytes
    frame: bytes
    key_id: bytes = b""


class HeardMessage(NamedTuple):
    """A genuine message that does not count: its numbers are used up, and it told something."""

    device: str
    epoch: int
    seq: int
    round: bytes
    frame: bytes
    key_id: bytes = b""


class KnownFacts(NamedTuple):
    """What the store knows of a batch before it is judged."""

    seen: Mapping[Key, Seen]  # under the batch's keys
    prices: Mapping[bytes, Fraction]  # of the rounds that it answers, as they were charged
    answered: Set[tuple[bytes, str]]  # (round, device) that a genuine message has answered


class Alarm(NamedTuple):
    """A device that has broken, or could break, its own noise: it needs a new key."""

    device: str
    key_id: bytes
    why: str


class SecondAnswer(NamedTuple):
    """A second answer: it left the device, so it is charged all the same."""

    round: bytes
    charge: Charge
    frame: bytes


# What is wrong with a message, in one word: what `/metrics` and `/api/v1/refused` count by.
KINDS = (
    "topic",  # no device of this site speaks there
    "unknown",  # a device that is not enrolled
    "oversized",  # longer than any frame of ours
    "garbled",  # no frame: cut short, no CBOR of ours, out of bounds
    "version",  # a frame of another version
    "forged",  # the MAC does not hold
    "replayed",  # numbers that its device has passed
    "future",  # numbers that no device comes to
    "changed",  # numbers that came before, with other bytes
    "retained",  # kept by the broker, which would give it anew at every start
    "late",  # the round is over
    "other-round",  # no round that we asked
    "second",  # its device has answered the round before
    "place",  # for other sensors than its device is enrolled for
    "sealed",  # sealed, and not to the key of the round that it answers
    "flood",  # more than one device may say
    "quarantined",  # of a device that is shut out
    "unstorable",  # the store would not have it
    "repeated",  # of a secure sum: it came before, bit for bit
    "joined-twice",  # of a secure sum: other keys than its device joined with
    "wrong-length",  # of a secure sum: its fields are not as long as its step needs
)


class DeadLetter(NamedTuple):
    """A message that does not count, and why: a sentence, and one of `KINDS`."""

    topic: str
    why: str
    frame: bytes
    kind: str = "garbled"


class Letter(NamedTuple):
    """A message of ours, kept until the broker has it; id 0 before it is stored."""

    id: int
    topic: str
    payload: bytes
    retain: bool


class Receipt(NamedTuple):
    """Tells a device that its message is stored, as a report that counts or a dead letter."""

    device: str
    epoch: int
    seq: int
    taken: bool


def hash_frame(frame: bytes) -> bytes:
    """Return the 32 bytes by which a frame is known again."""
    return hashlib.sha256(frame).digest()

"""What becomes of a message: it counts, it is absorbed, or it is refused for a reason.

No I/O: what the store knows of these messages comes in, a verdict goes out. In order: is
the topic a device's of this site, is the device enrolled, are the bytes genuine (`edge.wire`
checks the MAC over topic and payload), has it come before, do its numbers go up, does it
answer the open round (`rounds`). A refused answer is charged when its device has answered that
round before: it told more, whether or not the round is still open.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from edge import wire

from .enrol import Devices
from .ledger import Charge, price
from .outcomes import Again, DeadLetter, Kept, Key, Known, Receipt
from .rounds import Accepted, OpenRound
from .session import Message


class Arrival(NamedTuple):
    """A genuine report, as the bytes that came."""

    report: Any
    message: Message

    @property
    def key(self) -> Key:
        """What no two different messages may share."""
        return self.report.sender, self.report.epoch, self.report.seq


@dataclass
class Verdict:
    """What to write, what to say, and the round after it."""

    round: OpenRound | None
    newest: dict[str, tuple[int, int]]
    kept: list[Kept] = field(default_factory=list)
    letters: list[DeadLetter] = field(default_factory=list)
    extra: list[Again] = field(default_factory=list)
    receipts: list[Receipt] = field(default_factory=list)


def authenticate(message: Message, devices: Devices) -> Arrival | DeadLetter:
    """Return the report in a message, or why it is not genuine."""
    topic, payload, _ = message
    parts = topic.split("/")
    sender = parts[-2] if len(parts) > 1 else ""
    if topic != wire.topic(devices.site, sender, "data"):
        return DeadLetter(topic, f"no device of site {devices.site} speaks there", payload)
    device = devices.by_name.get(sender)
    if device is None:
        return DeadLetter(topic, f"{sender} is not enrolled", payload)
    try:
        report = wire.unpack_report(payload, device.mac_key, topic, sender)
    except Exception as fault:  # whatever bytes do to a decoder, the next message is waiting
        return DeadLetter(topic, f"it is not a frame of {sender}: {fault}", payload)
    return Arrival(report, message)


def judge(
    arrivals: Sequence[Arrival],
    round: OpenRound | None,
    newest: Mapping[str, tuple[int, int]],
    known: Known,
    now_s: float,
) -> Verdict:
    """Return what becomes of genuine reports, in the order they came.

    Args:
        newest: the greatest (epoch, seq) of every device that counted.
        known: what the store has of these arrivals.
        now_s: of the monotonic clock that the round's deadline is on.
    """
    verdict = Verdict(round, dict(newest))
    frames, answered = dict(known.frames), set(known.answered)
    prices = dict(known.prices)
    if round is not None:
        prices[round.name] = price(round.plan.guarantee)
        answered |= {(round.name, sender) for sender in round.reports}
    for arrival in arrivals:
        report, (topic, payload, _) = arrival
        if frames.get(arrival.key) == payload:  # sent again, because our receipt was lost
            verdict.receipts.append(Receipt(*arrival.key, True))
            continue
        why = _refusal(arrival, verdict, frames, now_s)
        verdict.receipts.append(Receipt(*arrival.key, not why))
        if why:
            verdict.letters.append(DeadLetter(topic, why, payload))
            again = arrival.key in frames or (report.round, report.sender) in answered
            if again and report.round in prices:
                charge = Charge(prices[report.round], report.sender)
                verdict.extra.append(Again(report.round, charge, payload))
            continue
        answered.add((report.round, report.sender))
        frames[arrival.key] = payload
        verdict.newest[report.sender] = (report.epoch, report.seq)
        verdict.kept.append(Kept(*arrival.key, report.round, payload))
    return verdict


def _refusal(arrival: Arrival, verdict: Verdict, frames: Mapping[Key, bytes], now_s: float) -> str:
    """Return why a report does not count, or nothing; in the verdict the round moves on."""
    sender, epoch, seq = arrival.key
    if arrival.key in frames:
        return (
            f"{sender} sent message {epoch}.{seq} before with other bytes: two readings under "
            "one noise give away their difference. Give the device a new key"
        )
    if (epoch, seq) < verdict.newest.get(sender, (0, 0)):
        last = "{}.{}".format(*verdict.newest[sender])
        return (
            f"{sender} sent message {epoch}.{seq} after {last}: its memory was set back, or it "
            "has a double. Give the device a new key"
        )
    if verdict.round is None:
        return "no round is open"
    verdict.round, outcome = verdict.round.take(arrival.report, now_s)
    return "" if isinstance(outcome, Accepted) else outcome.why

"""What becomes of a message: it counts, it is absorbed, or it is refused for a reason.

No I/O: what the store knows of these messages comes in, a verdict goes out. In order: is
the topic a device's of this site, is the device enrolled, are the bytes genuine (`edge.wire`
checks the MAC over topic and payload), has it come before, do its numbers go up, does it
answer the open round (`rounds`). Numbers are used up by whatever is genuine, whether or not it
counts: a device that goes back behind them, or uses them twice, is an alarm. A refused answer is
charged when its device has answered that round before: it told more, open or not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from edge import wire

from ..enrolment.enrol import Devices
from ..ledger import Charge, price
from ..mqtt.session import Message
from ..rounds import Accepted, OpenRound
from .outcomes import Again, Alarm, DeadLetter, Heard, Kept, Key, Known, Receipt, Who, digest


class Arrival(NamedTuple):
    """A genuine report, as the bytes that came, and under which enrolment."""

    report: Any
    message: Message
    key_id: bytes

    @property
    def who(self) -> Who:
        """The device, under its key: a new key counts anew."""
        return self.report.sender, self.key_id

    @property
    def key(self) -> Key:
        """What no two different messages may share."""
        return *self.who, self.report.epoch, self.report.seq


@dataclass
class Verdict:
    """What to write, what to say, and the round after it."""

    round: OpenRound | None
    newest: dict[Who, tuple[int, int]]
    kept: list[Kept] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)
    letters: list[DeadLetter] = field(default_factory=list)
    extra: list[Again] = field(default_factory=list)
    alarms: list[Alarm] = field(default_factory=list)
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
    return Arrival(report, message, device.key_id)


def judge(
    arrivals: Sequence[Arrival],
    round: OpenRound | None,
    newest: Mapping[Who, tuple[int, int]],
    known: Known,
    now_s: float,
) -> Verdict:
    """Return what becomes of genuine reports, in the order they came.

    Args:
        newest: the greatest (epoch, seq) that every device has used.
        known: what the store has of these arrivals.
        now_s: of the monotonic clock that the round's deadline is on.
    """
    verdict = Verdict(round, dict(newest))
    seen = {key: dict(before) for key, before in known.seen.items()}
    answered, prices = set(known.answered), dict(known.prices)
    if round is not None:
        prices[round.name] = price(round.plan.guarantee)
        answered |= {(round.name, sender) for sender in round.reports}
    for arrival in arrivals:
        (sender, epoch, seq, name), frame = _stamp(arrival), arrival.message.payload
        before, known_by = seen.setdefault(arrival.key, {}), digest(frame)
        if known_by in before:  # sent again, because our receipt was lost
            verdict.receipts.append(Receipt(sender, epoch, seq, before[known_by]))
            continue
        why = _broken(arrival, verdict, bool(before))
        if why:
            verdict.alarms.append(Alarm(*arrival.who, why))
        else:
            why = _late(arrival, verdict, now_s)
        verdict.receipts.append(Receipt(sender, epoch, seq, not why))
        if why:
            verdict.letters.append(DeadLetter(arrival.message.topic, why, frame))
            if (before or (name, sender) in answered) and name in prices:
                verdict.extra.append(Again(name, Charge(prices[name], sender), frame))
        row = sender, epoch, seq, name, frame, arrival.key_id
        if why:
            verdict.heard.append(Heard(*row))
        else:
            verdict.kept.append(Kept(*row))
        answered.add((name, sender))
        before[known_by] = not why
        last = verdict.newest.get(arrival.who, (0, 0))
        verdict.newest[arrival.who] = max(last, (epoch, seq))
    return verdict


def _stamp(arrival: Arrival) -> tuple[str, int, int, bytes]:
    report = arrival.report
    return report.sender, report.epoch, report.seq, report.round


def _broken(arrival: Arrival, verdict: Verdict, used: bool) -> str:
    """Return why the device needs a new key, or nothing; used: its numbers came before."""
    sender, epoch, seq, _ = _stamp(arrival)
    if used:
        return (
            f"{sender} sent message {epoch}.{seq} before with other bytes: two readings under "
            "one noise give away their difference. Give the device a new key"
        )
    last = verdict.newest.get(arrival.who, (0, 0))
    if (epoch, seq) <= last:
        return (
            f"{sender} sent message {epoch}.{seq} after {last[0]}.{last[1]}: its memory was set "
            "back, it has a double, or the broker held a message back. Look which; if it may be "
            "one of the first two, give the device a new key"
        )
    return ""


def _late(arrival: Arrival, verdict: Verdict, now_s: float) -> str:
    """Return why a report does not count, or nothing; in the verdict the round moves on."""
    if verdict.round is None:
        return "no round is open"
    verdict.round, outcome = verdict.round.take(arrival.report, now_s)
    return "" if isinstance(outcome, Accepted) else outcome.why

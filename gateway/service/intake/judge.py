"""What becomes of genuine messages: they count, are absorbed, or are refused for a reason.

`judge_reports` has no I/O: what the store knows of these messages comes in, a verdict goes out. In
order: has it come before, do its numbers go up, does it answer the open round (`rounds`). A device
counts its boots (epoch) and its messages since (seq), and both only go up; they are used up by
whatever is genuine, whether or not it counts. Who goes back, uses a number twice, or leaps as far
as no device can in its life has not been the one device with this key, and is an alarm. A leap
uses no numbers up: else a single one, from whoever has the key, would make all that the device
says from then on a step back. A refused answer is charged when its device has answered that round
before: it told more, open or not.

The store is asked only of what may have come before (`read_known`). A device's numbers go up, so
what is above the newest of them is new. So of honest reports there is nothing to ask, and of the
others everything. Some of those prove that it is the store that has forgotten
(`check_unknown_rounds`).
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from recovery.maps.sentence import Wording

from ...logs import log
from ...store.places import Stopped, retry_until_stored
from ...store.store import Store
from ..ledger import Charge, compute_round_rho
from ..rounds import OpenRound
from .door import Arrival
from .door import authenticate as authenticate
from .outcomes import (
    Alarm,
    AskedRound,
    CountedReport,
    DeadLetter,
    HeardMessage,
    Key,
    KnownFacts,
    Receipt,
    SecondAnswer,
    Seen,
    Who,
    hash_frame,
)

NEVER = (0, 0)  # before the first (epoch, seq) of a device
BOOTS = 1 << 20  # between two messages: one every 30 s for a year, and more than a flash survives
MESSAGES = 1 << 20  # of one boot that nobody heard: one a minute for two years


Numbers = tuple[int, int]  # epoch, seq


def judge_numbers(
    arrival: Arrival, last: Numbers, used: bool, back: tuple[Numbers, Numbers] | None = None
) -> tuple[str, str]:
    """Return the kind and why the device needs a new key, or nothing.

    Args:
        last: the greatest numbers of the device so far.
        used: its numbers came before, with other bytes.
        back: the greatest numbers when it first went back, and to which last: one board goes
            back once, and two of one name go on from both, as does a broker's backlog.
    """
    sender, epoch, seq = arrival.report[1:4]
    came, before = {"device": sender, "number": f"{epoch}.{seq}"}, f"{last[0]}.{last[1]}"
    if used:
        return "changed", _CHANGED(**came)
    if (epoch, seq) <= last and back is not None and last > back[0] and (epoch, seq) > back[1]:
        return "replayed", _DOUBLE(**came, last=before)
    if (epoch, seq) <= last:
        return "replayed", _REPLAYED(**came, last=before)
    if epoch - last[0] > BOOTS or seq - (last[1] if epoch == last[0] else 0) > MESSAGES:
        return "future", _FUTURE(**came, last=before)
    return "", ""


# Why a device needs a new key; the store keeps these as text.
ALARMS = (
    Wording(
        "alarm.changed",
        "{device} sent message {number} before with other bytes: two readings under one noise "
        "give away their difference. Give the device a new key",
    ),
    Wording(
        "alarm.double",
        "two boards speak as {device} in turns, or the broker holds messages back again and "
        "again: {number} came after {last}, and each goes on from its own. Look which; of two "
        "boards one is a copy, and both use the same noise: switch the copy off, and give the "
        "device a new key",
    ),
    Wording(
        "alarm.replayed",
        "{device} sent message {number} after {last}: its memory was set back, it has a double, "
        "or the broker held a message back. Look which; if it may be one of the first two, give "
        "the device a new key",
    ),
    Wording(
        "alarm.future",
        "{device} sent message {number} after {last}: no device starts or speaks so often. Its "
        "memory is damaged, or somebody else has its key; its numbers count on from the earlier "
        "ones. Look which, and give the device a new key",
    ),
)
_CHANGED, _DOUBLE, _REPLAYED, _FUTURE = ALARMS


def count_skipped(last: tuple[int, int], epoch: int, seq: int) -> int:
    """Return how many numbers a device has skipped; none before the first that we heard of."""
    if last == NEVER:
        return 0
    return max(seq - last[1] - 1 if epoch == last[0] else seq - 1, 0)


@dataclass
class Verdict:
    """What to write and what to say, and then, once that is committed, `apply`."""

    round: OpenRound | None  # as it stood before
    taken: dict[str, Any] = field(default_factory=dict)  # reports that count, by their senders
    late: int = 0
    missing: int = 0  # numbers that devices have skipped: shown as a gap, and never asked for
    newest: dict[Who, Numbers] = field(default_factory=dict)  # where it has gone up
    # As `judge_numbers` has it
    back: dict[Who, tuple[Numbers, Numbers]] = field(default_factory=dict)
    kept: list[CountedReport] = field(default_factory=list)
    heard: list[HeardMessage] = field(default_factory=list)
    letters: list[DeadLetter] = field(default_factory=list)
    extra: list[SecondAnswer] = field(default_factory=list)
    alarms: list[Alarm] = field(default_factory=list)
    receipts: list[Receipt] = field(default_factory=list)
    again: list[Receipt] = field(default_factory=list)  # receipts that were given before

    def apply(self, newest: dict[Who, tuple[int, int]]) -> None:
        """Let the round and the newest numbers move on; to be called after the commit."""
        newest.update(self.newest)
        if self.round is not None:
            self.round.add_reports(self.taken, self.late)


def judge_reports(
    arrivals: Sequence[Arrival],
    round: OpenRound | None,
    newest: Mapping[Who, tuple[int, int]],
    known: KnownFacts,
    now_s: float,
    back: Mapping[Who, tuple[Numbers, Numbers]] = MappingProxyType({}),
) -> Verdict:
    """Return what becomes of genuine reports, in the order they came.

    Args:
        newest: the greatest (epoch, seq) that every device has used.
        known: what the store has of these arrivals.
        now_s: of the monotonic clock that the round's deadline is on.
        back: of devices that went back: see `judge_numbers`.
    """
    verdict = Verdict(round)
    fresh: dict[Key, dict[bytes, bool]] = {}  # frames of this batch, and whether they count
    answered, prices = set(known.answered), dict(known.prices)
    if round is not None:
        prices[round.name] = compute_round_rho(round.plan.guarantee)
    for arrival in arrivals:
        report, (topic, frame, *_), key_id = arrival
        name, sender, epoch, seq, _ = report
        who, key = (sender, key_id), (sender, key_id, epoch, seq)
        before = fresh.get(key)
        if before is None:
            before = fresh[key] = {}
        counted = _find_earlier_outcome(frame, before, known.seen.get(key))
        if counted is not None:  # sent again, because our receipt was lost
            verdict.again.append(Receipt(sender, epoch, seq, counted))
            if counted and round is not None and name == round.name:
                verdict.taken[sender] = (
                    report  # the round may not know: see `reload_newest_numbers`
                )
            continue
        last = verdict.newest.get(who) or newest.get(who, NEVER)
        used = bool(before) or key in known.seen
        went = verdict.back.get(who) or back.get(who)
        kind, why = judge_numbers(arrival, last, used, went)
        if why:
            verdict.alarms.append(Alarm(*who, why))
            if kind == "replayed":  # from the first time on, so that two stay two
                verdict.back[who] = went[0] if went else last, (epoch, seq)
        else:
            kind, why = _explain_refusal(arrival, verdict, prices, now_s)
        verdict.receipts.append(Receipt(sender, epoch, seq, not why))
        if why:
            verdict.letters.append(DeadLetter(topic, why, frame, kind))
            verdict.late += kind == "late"
            leapt = kind == "future"  # and is not remembered, so it is charged whatever came
            again = (
                leapt
                or used
                or (name, sender) in answered
                or _is_answer_counted(round, name, sender)
            )
            if again and name in prices:
                verdict.extra.append(SecondAnswer(name, Charge(prices[name], sender), frame))
            if leapt:
                before[frame] = False
                continue
            verdict.heard.append(HeardMessage(sender, epoch, seq, name, frame, key_id))
        else:
            verdict.taken[sender] = report
            verdict.kept.append(CountedReport(sender, epoch, seq, name, frame, key_id))
        answered.add((name, sender))
        before[frame] = not why
        if (epoch, seq) > last:
            verdict.missing += count_skipped(last, epoch, seq)
            verdict.newest[who] = epoch, seq
    return verdict


def _find_earlier_outcome(
    frame: bytes, batch: Mapping[bytes, bool], stored: Seen | None
) -> bool | None:
    """Return whether the same bytes counted when they came before; None when they did not come."""
    if frame in batch:
        return batch[frame]
    return stored.get(hash_frame(frame)) if stored else None


def _is_answer_counted(round: OpenRound | None, name: bytes, sender: str) -> bool:
    """Return whether an answer of this device counts in the round that is open."""
    return round is not None and name == round.name and sender in round.reports


def _explain_refusal(
    arrival: Arrival, verdict: Verdict, charged: Mapping[bytes, Fraction], now_s: float
) -> tuple[str, str]:
    """Return the kind and why a report does not count, or nothing.

    Args:
        charged: rounds that were asked, and so are over unless they are open.
    """
    report, round = arrival.report, verdict.round
    if round is None:
        kind, why = "other-round", f"it answers round {report.round.hex()}; no round is open"
    else:
        refused = round.find_refusal(report, now_s, verdict.taken)
        if refused is None:
            return "", ""
        kind, why = refused.kind, refused.why
    if kind == "other-round" and report.round in charged:
        now = why.partition("; ")[2]
        return "late", f"it answers an earlier round ({report.round.hex()}), which is over; {now}"
    return kind, why


# Returns the round of this name that a deployment asks, if its number is near to this one.
Foresight = Callable[[bytes, int], AskedRound | None]


def read_known(
    store: Store,
    arrivals: Sequence[Arrival],
    round: OpenRound | None,
    newest: Mapping[Who, tuple[int, int]],
    now_s: float,
) -> KnownFacts:
    """Return what the judge must know of these arrivals; its arguments are `judge_reports`'s."""
    doubtful = [
        one
        for one in arrivals
        if round is None
        or (one.report.epoch, one.report.seq) <= newest.get(one.who, (0, 0))
        or round.find_refusal(one.report, now_s) is not None
    ]
    if not doubtful:
        return KnownFacts({}, {}, frozenset())
    answers = [(one.report.round, one.report.sender) for one in doubtful]
    return store.read_known([one.key for one in doubtful], answers)


def check_unknown_rounds(
    store: Store,
    arrivals: Sequence[Arrival],
    round: OpenRound | None,
    known: KnownFacts,
    foreseen: Foresight,
) -> None:
    """Hold the ledger against answers to rounds that it has not asked.

    A device answers what is signed with the site's key alone: one that answers a round which this
    ledger is still to ask proves that it was asked before, and that the ledger has forgotten it.

    Raises:
        ForgottenFault: it has.
    """
    strange = {one.report.round: one.report.sender for one in arrivals}
    strange = {name: strange[name] for name in strange.keys() - known.prices.keys()}
    if round is not None:
        strange.pop(round.name, None)
    next = store.find_number(b"") if strange else 0
    found = [(asked, strange[name]) for name in strange if (asked := foreseen(name, next))]
    for asked, sender in sorted(found, key=lambda one: -one[0].plan.number):  # all, by the last
        store.record_found_round(asked, f"{sender} has answered round {asked.plan.number}")


def reload_newest_numbers(
    stopping: threading.Event, store: Store, newest: dict[Who, tuple[int, int]]
) -> None:
    """Bring the newest numbers up to the store's: a commit may have held whose answer was lost.

    Without that its messages, handed over again, would pass for new, and the store refuse them.
    """
    try:
        newest.update(retry_until_stored(stopping, store.read_newest_numbers))
    except Stopped:
        pass
    except Exception:  # the writer must go on: the next batch that fails asks again
        log.exception(
            "could not read from the store which sequence numbers are used; until that works, a "
            "message that is handed over again may pass for new and then be refused as one that "
            "cannot be stored. Going on with the numbers remembered; the store is asked again "
            "when a batch next fails"
        )

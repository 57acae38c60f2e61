"""What becomes of messages, one by one: bad ones are survived, honest ones cost no question."""

import random
import threading
from fractions import Fraction
from typing import Any

import pytest

from edge.core import wire
from edge.core.records import Report
from gateway.service.intake.door import Arrival, authenticate
from gateway.service.intake.judge import (
    BOOTS,
    MESSAGES,
    NEVER,
    Verdict,
    judge_reports,
    read_known,
    reload_newest_numbers,
)
from gateway.service.intake.outcomes import Alarm, DeadLetter, KnownFacts, Receipt, hash_frame
from gateway.service.ledger import Charge
from gateway.service.mqtt.connection import Message
from gateway.service.rounds import OpenRound

SITE = "testsite"
NOTHING = KnownFacts({}, {}, frozenset())


def opened(home: Any, plan: Any) -> OpenRound:
    places = {name: device.place for name, device in home.devices.by_name.items()}
    return OpenRound(plan, wire.name_of(plan), 100.0, places)


def message(name: str, frame: bytes) -> Message:
    return Message(wire.topic(SITE, name, "data"), frame, (1, 1))


def arrival(home: Any, name: str, frame: bytes) -> Arrival:
    found = authenticate(message(name, frame), home.devices)
    assert isinstance(found, Arrival)
    return found


def test_nothing_that_is_not_genuine_gets_past_the_door(home: Any) -> None:
    """Forged, cut short, copied from another device, and a thousand random mutations."""
    frame = home.answer("node-0", home.round())
    world = random.Random(1)
    mutants = [frame[:-1], frame[:3], b"", frame + b"\0", b"\xff" * 70_000]
    for _ in range(1000):
        at, bit = world.randrange(len(frame)), 1 << world.randrange(8)
        mutants.append(frame[:at] + bytes([frame[at] ^ bit]) + frame[at + 1 :])

    for mutant in mutants:
        found = authenticate(message("node-0", mutant), home.devices)
        assert isinstance(found, DeadLetter)
        assert "not a frame of node-0" in found.why
    copied = authenticate(message("node-1", frame), home.devices)
    assert isinstance(copied, DeadLetter)


def judged(home: Any, plan: Any, arrivals: list[Arrival], **known: Any) -> Verdict:
    values = {"newest": {}, "known": NOTHING, "now_s": 1.0, **known}
    return judge_reports(arrivals, opened(home, plan), **values)


def test_a_frame_that_comes_again_is_absorbed_and_receipted_again(home: Any) -> None:
    """The broker and the device send again until they know; that must have no effect."""
    plan = home.round()
    first = arrival(home, "node-0", home.answer("node-0", plan))

    in_one_batch = judged(home, plan, [first, first])
    stored = NOTHING._replace(seen={first.key: {hash_frame(first.message.payload): True}})
    later = judged(home, plan, [first], known=stored)

    assert len(in_one_batch.kept) == 1
    assert in_one_batch.receipts == in_one_batch.again == [Receipt("node-0", 1, 1, True)]
    assert later.kept == []
    assert later.letters == []
    assert len(later.again) == 1


def test_other_bytes_under_the_same_numbers_are_kept_as_evidence(home: Any) -> None:
    """Two readings under one noise: the worst a device can do, so it must be seen."""
    plan = home.round()
    first = arrival(home, "node-0", home.answer("node-0", plan))
    double = home.fresh("node-0", epoch=1).answer(home.message(plan), lambda _: [2000])
    second = arrival(home, "node-0", double)
    assert second.key == first.key
    assert second.message.payload != first.message.payload

    verdict = judged(home, plan, [first, second, second])

    assert [kept.frame for kept in verdict.kept] == [first.message.payload]
    assert "other bytes" in verdict.letters[0].why
    assert verdict.letters[0].frame == second.message.payload
    assert verdict.receipts[1:] == verdict.again == [Receipt("node-0", 1, 1, False)]
    assert [(again.charge.device, again.frame) for again in verdict.extra] == [
        ("node-0", second.message.payload)
    ]
    assert verdict.alarms == [Alarm(*second.who, verdict.letters[0].why)]


def test_a_device_whose_memory_was_set_back_is_refused(home: Any) -> None:
    """An old flash image would draw old noise again."""
    plan = home.round()
    frame = home.answer("node-0", plan)

    late = arrival(home, "node-0", frame)
    verdict = judged(home, plan, [late], newest={late.who: (2, 1)})

    assert verdict.kept == []
    assert "set back" in verdict.letters[0].why
    assert verdict.newest == {}  # it stays where it was
    assert verdict.alarms == [Alarm(*late.who, verdict.letters[0].why)]
    assert [heard.frame for heard in verdict.heard] == [frame]


def test_a_second_answer_is_refused_and_charged(home: Any) -> None:
    """A device that was restarted answers the round again, with fresh noise."""
    plan = home.round()
    first = arrival(home, "node-0", home.answer("node-0", plan))
    again = home.fresh("node-0", epoch=2).answer(home.message(plan), lambda _: [1000])

    verdict = judged(home, plan, [first, arrival(home, "node-0", again)])

    assert len(verdict.kept) == 1
    assert [charge.device for _, charge, _ in verdict.extra] == ["node-0"]
    assert verdict.extra[0][1].rho.as_integer_ratio() == plan.guarantee.rho


@pytest.mark.parametrize("open_number", [2, None])
def test_a_second_answer_to_an_older_round_is_charged_at_that_rounds_price(
    home: Any, open_number: int | None
) -> None:
    """A fleet that was restarted answers what a broker plays back, whatever is open now."""
    plan = home.round(1, rho=(1, 30))
    frame = home.fresh("node-0", epoch=2).answer(home.message(plan), lambda _: [1000])
    again, name = arrival(home, "node-0", frame), wire.name_of(plan)
    known = KnownFacts({}, {name: Fraction(1, 30)}, frozenset({(name, "node-0")}))
    now = opened(home, home.round(open_number)) if open_number else None

    verdict = judge_reports([again], now, {again.who: (1, 1)}, known, 1.0)
    first = judge_reports([again], now, {}, known._replace(answered=frozenset()), 1.0)

    assert verdict.kept == []
    assert verdict.extra == [(name, (Fraction(1, 30), "node-0"), frame)]
    assert first.extra == []  # late, but the round's own price covers one answer


def test_a_late_answer_and_one_to_another_round_are_refused(home: Any) -> None:
    """Never silently: both get a reason and a receipt, so that the device can let go."""
    plan = home.round()
    answer = [arrival(home, "node-0", home.answer("node-0", plan))]
    late = judged(home, plan, answer, now_s=100.5)
    other = judged(home, home.round(2), answer)
    none = judge_reports(answer, None, {}, NOTHING, 1.0)
    asked = NOTHING._replace(prices={wire.name_of(plan): Fraction(1, 20)})
    over = judged(home, home.round(2), answer, known=asked)

    assert "it answers an earlier round" in over.letters[0].why
    assert "which is over; round 2 (" in over.letters[0].why
    assert "closed 0.5 s ago" in late.letters[0].why
    assert "it answers round" in other.letters[0].why
    assert "; round 2 (" in other.letters[0].why
    assert "no round is open" in none.letters[0].why
    for verdict in (late, other, none):
        assert verdict.kept == []
        assert not verdict.receipts[0].taken
        assert verdict.alarms == []
        assert verdict.newest == {answer[0].who: (1, 1)}
        assert [heard.frame for heard in verdict.heard] == [answer[0].message.payload]


def test_other_bytes_than_a_refused_message_had_are_an_alarm(home: Any) -> None:
    """Whether the first one counted makes no difference to the noise they share."""
    plan = home.round()
    frame = home.fresh("node-0", epoch=1).answer(home.message(plan), lambda _: [2000])
    second = arrival(home, "node-0", frame)
    name = wire.name_of(plan)
    known = KnownFacts(
        {second.key: {hash_frame(b"what came late"): False}},
        {name: Fraction(1, 50)},
        frozenset({(name, "node-0")}),
    )

    verdict = judge_reports([second], None, {second.who: (1, 1)}, known, 1.0)

    assert "other bytes" in verdict.alarms[0].why
    assert len(verdict.extra) == 1
    # The control: what a broker hands over again, whatever became of it, is no alarm.
    same = known._replace(seen={second.key: {hash_frame(frame): False}})
    again = judge_reports([second], None, {second.who: (1, 1)}, same, 1.0)
    assert (again.alarms, again.extra, again.letters) == ([], [], [])
    assert [one.taken for one in again.again] == [False]


def test_used_numbers_under_another_round_are_charged_at_its_price(home: Any) -> None:
    """One noise for two rounds gives their difference away: the second one has told more."""
    first, second = home.round(1, rho=(1, 30)), home.round(2, rho=(1, 20))
    used = arrival(home, "node-0", home.answer("node-0", first))
    double = home.fresh("node-0", epoch=1).answer(home.message(second), lambda _: [2000])
    again = arrival(home, "node-0", double)
    assert again.key == used.key
    stored = NOTHING._replace(seen={used.key: {hash_frame(used.message.payload): True}})

    verdict = judge_reports([again], opened(home, second), {used.who: (1, 1)}, stored, 1.0)

    assert [one.charge.rho for one in verdict.extra] == [Fraction(1, 20)]
    assert len(verdict.alarms) == 1


def test_two_late_answers_to_one_round_are_charged_once_more(home: Any) -> None:
    """The round's price covers one of them, in one batch as well as in two."""
    plan = home.round()
    first = arrival(home, "node-0", home.answer("node-0", plan))
    frame = home.fresh("node-0", epoch=2).answer(home.message(plan), lambda _: [2000])
    second = arrival(home, "node-0", frame)

    verdict = judged(home, plan, [first, second], now_s=100.5)

    assert verdict.kept == []
    assert [again.frame for again in verdict.extra] == [frame]


def test_skipped_numbers_are_counted_as_a_gap_and_refuse_nothing(home: Any) -> None:
    """A spool that was overwritten: it is to be seen, and nobody is asked for it again."""
    for number in range(2, 6):
        home.answer("node-0", home.round(number))
    fifth = arrival(home, "node-0", home.answer("node-0", home.round(7)))
    assert fifth.report.seq == 5

    same_boot = judged(home, home.round(7), [fifth], newest={fifth.who: (1, 2)})
    next_boot = judged(home, home.round(7), [fifth], newest={fifth.who: (0, 9)})

    assert (same_boot.missing, next_boot.missing) == (2, 4)
    assert len(same_boot.kept) == len(next_boot.kept) == 1


# A leap that no device makes is refused, and takes nothing from the device it claims to be.

LAST = (3, 7)
HIGHEST = (1 << 48) - 1  # the wire takes no larger one: see `edge.core.wire`


def said(home: Any, epoch: int, seq: int, value: int = 5) -> Arrival:
    """Return what whoever has node-0's key can say."""
    device, topic = home.devices.by_name["node-0"], wire.topic(SITE, "node-0", "data")
    report = Report(wire.name_of(home.round()), "node-0", epoch, seq, [device.place.sensor, value])
    frame = bytes(wire.pack_report(report, device.mac_key, topic, 16))
    found = authenticate(Message(topic, frame, (1, 1)), home.devices)
    assert isinstance(found, Arrival)
    return found


def test_two_boards_of_one_name_are_told_from_one_that_went_back(home: Any) -> None:
    """A copy goes on from its own numbers while the true one does: in one batch, or over many."""
    back: dict[Any, Any] = {}
    newest: dict[Any, tuple[int, int]] = {}
    told = []
    for epoch, seq in [(3, 1), (5, 1), (3, 2), (3, 3), (5, 2), (3, 4), (3, 5)]:
        verdict = judged(home, home.round(), [said(home, epoch, seq)], newest=newest, back=back)
        verdict.apply(newest)
        back.update(verdict.back)
        told += [("in turns" in alarm.why, alarm.why.split()[4]) for alarm in verdict.alarms]

    assert [turns for turns, _ in told] == [False, False, True, True]
    assert told[2][1] == "node-0"
    together = [said(home, *numbers) for numbers in ((5, 1), (3, 2), (5, 2), (3, 4))]
    alarms = judged(home, home.round(), together).alarms
    assert ["in turns" in alarm.why for alarm in alarms] == [False, True]


def judge_leaps(home: Any, arrivals: list[Arrival], last: tuple[int, int] = LAST) -> Verdict:
    places = {name: device.place for name, device in home.devices.by_name.items()}
    plan = home.round()
    newest = {arrivals[0].who: last} if last != NEVER else {}
    round = OpenRound(plan, wire.name_of(plan), 100.0, places)
    return judge_reports(arrivals, round, newest, NOTHING, 1.0)


@pytest.mark.parametrize(
    ("epoch", "seq"),
    [
        (HIGHEST, 1),
        (HIGHEST, HIGHEST),
        (3, HIGHEST),
        (4, HIGHEST),
        (3 + BOOTS + 1, 1),
        (3, 7 + MESSAGES + 1),
        (4, MESSAGES + 1),
    ],
)
def test_a_leap_is_refused_and_what_the_device_says_next_counts(
    home: Any, epoch: int, seq: int
) -> None:
    """One message from a stolen key must not silence the device itself for ever."""
    leap, honest = said(home, epoch, seq), said(home, 3, 8, 6)

    verdict = judge_leaps(home, [leap, leap, honest])

    assert [letter.kind for letter in verdict.letters] == ["future"]
    assert f"message {epoch}.{seq} after 3.7" in verdict.letters[0].why
    assert [alarm.device for alarm in verdict.alarms] == ["node-0"]
    assert [kept.frame for kept in verdict.kept] == [honest.message.payload]
    assert verdict.newest == {leap.who: (3, 8)}
    assert verdict.missing == 0  # or whoever shows gaps would show 2**48 of them
    assert verdict.heard == []
    assert [receipt.taken for receipt in verdict.receipts] == [False, True]
    # It told something, and the round's price covers one answer, which is the honest one's.
    rho = Fraction(*home.round().guarantee.rho)
    assert [one.charge for one in verdict.extra] == [Charge(rho, "node-0")]


@pytest.mark.parametrize("last", [LAST, NEVER])
def test_the_farthest_that_a_device_can_come_counts(home: Any, last: tuple[int, int]) -> None:
    """The control; and a gateway with a new store may meet an old device."""
    far = said(home, last[0] + BOOTS, MESSAGES)

    verdict = judge_leaps(home, [far], last)

    assert len(verdict.kept) == 1
    assert (verdict.letters, verdict.alarms) == ([], [])


# Honest reports cost the store no question; every other one is asked about.


class Asked:
    """A store that notes what it is asked."""

    def __init__(self) -> None:
        self.keys: list[Any] = []
        self.answers: list[Any] = []

    def read_known(self, keys: Any, answers: Any) -> KnownFacts:
        self.keys, self.answers = list(keys), list(answers)
        return KnownFacts({}, {}, frozenset())

    def read_newest_numbers(self) -> Any:
        return {("node-0", b"key!"): (2, 9)}


def test_of_a_round_of_honest_devices_nothing_is_asked(home: Any) -> None:
    """Five thousand a second leave no time for a question each."""
    plan, store = home.round(), Asked()
    arrivals = [arrival(home, name, home.answer(name, plan)) for name in home.nodes]

    read_known(store, arrivals, opened(home, plan), {}, 1.0)

    assert store.keys == []


def test_whoever_may_have_come_before_is_asked_about(home: Any) -> None:
    """Numbers that are not above, another round, one that is over or answered, or none open."""
    plan, one = home.round(), arrival(home, "node-0", home.answer("node-0", home.round()))
    answered = opened(home, plan)
    answered.add_reports({"node-0": one.report})
    cases = [
        (opened(home, plan), {one.who: (1, 1)}, 1.0),
        (opened(home, plan), {one.who: (5, 0)}, 1.0),
        (opened(home, home.round(2)), {}, 1.0),
        (opened(home, plan), {}, 100.0),
        (answered, {}, 1.0),
        (None, {}, 1.0),
    ]
    for round, newest, now_s in cases:
        store = Asked()
        read_known(store, [one], round, newest, now_s)

        assert store.keys == [one.key]
        assert store.answers == [(wire.name_of(plan), "node-0")]


def test_a_commit_whose_answer_was_lost_is_remembered() -> None:
    """Its messages are handed over again, and must not pass for new."""
    newest = {("node-0", b"key!"): (1, 1), ("node-1", b"key!"): (4, 4)}

    reload_newest_numbers(threading.Event(), Asked(), newest)

    assert newest == {("node-0", b"key!"): (2, 9), ("node-1", b"key!"): (4, 4)}

"""What the store has said yes to is on the disk, once, and nothing half-done is."""

import gc
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError

from gateway.faults import OperatorFault, ReplacedFault
from gateway.service.intake.door import authenticate
from gateway.service.intake.outcomes import (
    Alarm,
    AskedRound,
    CountedReport,
    DeadLetter,
    HeardMessage,
    Letter,
    SecondAnswer,
    hash_frame,
)
from gateway.service.ledger import Charge, make_terms
from gateway.service.mqtt.connection import Message
from gateway.settings import windows
from gateway.store import message_rows
from gateway.store import message_rows as rows
from gateway.store.places import Place
from gateway.store.reader import Reader
from gateway.store.store import Store
from recovery.maps.guarantee import describe_window

NAME = b"\x00\x01\x02\x03"
KEY, NEW_KEY = b"key1", b"key2"
RHO = Fraction(1, 7)


def kept(seq: int, device: str = "north", round: bytes | None = None) -> CountedReport:
    return CountedReport(device, 1, seq, round or seq.to_bytes(4, "big"), b"frame %d" % seq, KEY)


def asked(plan: Any, name: bytes = NAME) -> AskedRound:
    return AskedRound(b"P" + name[1:], name, plan, b"message", RHO)


def test_what_is_older_than_a_window_counts_no_more(
    store: Store, home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the second at which the oldest ends; a promise for life forgets nothing."""
    at_s, unit = 1.8e9, describe_window(24, "2 readings", "rho")
    monkeypatch.setattr("time.time", lambda: at_s)
    plans = [home.round(number) for number in (1, 2, 3)]
    plans = [plan._replace(guarantee=plan.guarantee._replace(unit=unit)) for plan in plans]
    store.open_round(asked(plans[0], b"0001"), 3 * RHO)
    again = Charge(RHO, "north")
    store.keep_batch([], extra=[SecondAnswer(b"0001", again, b"second")])
    at_s += 60
    store.open_round(asked(plans[1], b"0002"), 3 * RHO)
    assert "round 3 asks" in store.open_round(asked(plans[2], b"0003"), 3 * RHO)
    lapse_s = 1.8e9 + windows.bound_span_s(24)
    assert store.find_affordable_s(3 * RHO, RHO) == lapse_s
    assert store.find_affordable_s(3 * RHO, 3 * RHO) == lapse_s + 60
    assert store.find_affordable_s(4 * RHO, RHO) is None
    assert store.find_affordable_s(RHO, 2 * RHO) is None

    at_s = 1.8e9 + windows.bound_span_s(24) - 1
    assert store.list_charges() == (Charge(RHO), Charge(RHO), again)
    at_s += 1
    assert store.list_charges() == (Charge(RHO),)
    assert store.open_round(asked(plans[2], b"0003"), 3 * RHO) == ""
    assert store.find_affordable_s(2 * RHO, RHO) == lapse_s + 60


@pytest.mark.long
def test_a_ledger_that_knows_less_than_it_did_is_not_charged(store: Store, home: Any) -> None:
    """Another was put in its place, whatever its file is called: what was spent is not in it."""
    for number in (1, 2):
        name = number.to_bytes(4, "big")
        store.open_round(asked(home.round(number), name), Fraction(1))
    with store.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM charges")

    with pytest.raises(ReplacedFault):
        store.open_round(asked(home.round(3), b"0003"), Fraction(1))
    assert store.list_charges() == ()


def test_a_round_over_the_budget_leaves_no_trace(store: Store, home: Any) -> None:
    """It was not asked, so it must not be charged, and not be taken for asked later."""
    store.open_round(asked(home.round()), RHO)

    why = store.open_round(asked(home.round(2), b"next"), RHO)

    assert "round 2 asks" in why
    assert store.list_charges() == (Charge(RHO),)


def test_round_numbers_only_go_up_whatever_is_planned(store: Store, home: Any) -> None:
    """Another plan begins at one again, but its devices have passed that number."""
    first = b"P\x01\x02\x03"
    assert store.find_number(first) == 1
    store.open_round(asked(home.round(1)), Fraction(1))

    assert store.find_number(first) == 1
    assert store.find_number(b"else") == 2


def test_a_batch_is_kept_whole_or_not_at_all(store: Store) -> None:
    """Half a batch that was acknowledged whole would be a loss."""
    store.keep_batch([kept(1)])
    again = [SecondAnswer(NAME, Charge(RHO), b"")]
    with pytest.raises(IntegrityError):
        store.keep_batch([kept(2), kept(3), kept(1)], [DeadLetter("t", "why", b"")], again)

    assert store.read_newest_numbers() == {("north", KEY): (1, 1)}
    assert store.list_refused() == []
    assert store.list_charges() == ()


def test_numbers_are_used_up_by_what_does_not_count_too(store: Store, place: Place) -> None:
    """Or a device whose answers came late could go back behind them, and no one would know."""
    late = HeardMessage("north", 3, 2, NAME, b"late", KEY)
    store.keep_batch([kept(1)], [], [], [late, late._replace(device="south", epoch=1)])
    store.keep_batch([kept(2)])  # behind: it does not set the newest back
    store.close()
    found = Store(place, "lab")

    assert found.read_newest_numbers() == {("north", KEY): (3, 2), ("south", KEY): (1, 2)}
    known = found.read_known([("north", KEY, 3, 2)], [(NAME, "north"), (NAME, "east")])
    assert known.seen == {("north", KEY, 3, 2): {hash_frame(b"late"): False}}
    assert known.answered == {(NAME, "north")}
    found.close()


def test_a_new_key_begins_its_numbers_anew(store: Store) -> None:
    """The way out of every alarm is a new key; its first message must not be refused for it."""
    store.keep_batch([kept(9)._replace(epoch=7)])
    store.keep_batch([kept(1, round=b"next")._replace(key_id=NEW_KEY)])

    assert store.read_newest_numbers() == {("north", KEY): (7, 9), ("north", NEW_KEY): (1, 1)}


def test_alarms_are_there_until_the_device_has_a_new_key(store: Store, place: Place) -> None:
    """A gateway that was restarted at night must not have forgotten the evening's alarm."""
    first, second = Alarm("north", KEY, "set back"), Alarm("north", KEY, "other bytes")
    store.keep_batch([], [], [], [], [first, second, Alarm("south", KEY, "set back")])
    store.keep_batch([], [], [], [], [first])
    store.close()
    found = Store(place, "lab")

    assert found.list_alarms() == {
        ("north", KEY): ("set back", 3),
        ("south", KEY): ("set back", 1),
    }
    found.close()


def test_what_was_heard_does_not_fill_the_disk(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device gone mad signs nonsense for ever; its newest numbers are not forgotten with it."""
    monkeypatch.setattr(rows, "HEARD_KEPT", 10)
    for first in (1, 9, 17):
        store.keep_batch(
            [], [], [], [HeardMessage("north", 1, first + n, NAME, b"x", KEY) for n in range(8)]
        )
    keys = [("north", KEY, 1, seq) for seq in range(1, 25)]

    assert sorted(key[3] for key in store.read_known(keys, []).seen) == list(range(15, 25))
    assert store.read_newest_numbers() == {("north", KEY): (1, 24)}


def test_a_round_under_another_promise_is_not_added_to_the_ledger(
    store: Store, home: Any, place: Place
) -> None:
    """A price for half a metre and one for five do not add up to a price of anything."""
    store.open_round(asked(home.round(1)), Fraction(1))
    other = home.round(2)
    other = other._replace(guarantee=other.guarantee._replace(neighbours="two sources move"))
    with pytest.raises(OperatorFault) as caught:
        store.open_round(asked(other, b"next"), Fraction(1))
    said = str(caught.value)
    store.close()

    assert "charged for: two sources move, and not one source moves;" in said
    assert "ledger --end-promise" in said
    found = Store(place, "lab")
    with pytest.raises(OperatorFault):
        found.open_round(asked(other, b"next"), Fraction(1))
    assert found.list_charges() == (Charge(RHO),)
    found.close()


@pytest.mark.parametrize("far", ["0.5 m", "5 m"])
def test_a_promise_that_was_put_in_other_words_goes_on(
    store: Store, home: Any, place: Place, far: str
) -> None:
    """Its charges count; of another distance it is another promise."""
    rest = "stronger than 1, {}, heat had a spread of at least 4 m2, and there are no walls"
    former = f"one source moves by at most {far}, everything else the same, if no source is "
    latter = (
        "whether one source stands in one place or in another at most 0.5 m away, all else the "
        "same, if no source is "
    )
    words = [
        former + rest.format("sources stand at cells' places"),
        latter + rest.format("all stand at points of the map's grid"),
    ]
    first, second = (
        (plan := home.round(number))._replace(guarantee=plan.guarantee._replace(neighbours=said))
        for number, said in enumerate(words, 1)
    )
    assert store.open_round(asked(first), 2 * RHO) == ""
    store.close()
    found = Store(place, "lab")
    if far == "5 m":
        with pytest.raises(OperatorFault, match=r"0\.5 m away, and not .* 5 m away;"):
            found.open_round(asked(second, b"next"), 2 * RHO)
    else:
        found.check_promise(make_terms(second.guarantee), 2 * RHO, {})
        assert found.open_round(asked(second, b"next"), 2 * RHO) == ""
        assert found.list_charges() == (Charge(RHO), Charge(RHO))
    found.close()


def test_who_answered_under_a_promise_that_was_ended_is_asked_under_no_other(
    store: Store, home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever clocks showed, is kept of the answers, and is promised next: for a window, too.

    Who was late has answered, and who leapt ahead in its numbers. New keys are asked, and who has
    answered under the promise that stands.
    """
    at_s, year_s = 1.8e9, 365 * 86_400
    places = ("north", "south", "east")
    devices = [f"{one}-{how}" for one in places for how in ("counted", "late", "leapt")]
    monkeypatch.setattr("time.time", lambda: at_s)
    plans = [home.round(number) for number in (1, 2, 3)]
    plans = [
        plan._replace(guarantee=plan.guarantee._replace(delta=(1, 10**plan.number)))
        for plan in plans
    ]

    def list_taken(guarantee: Any) -> list[str]:
        """Return which devices may be asked under this promise, of those that have answered."""
        taken, terms = [], make_terms(guarantee)
        for device in devices:
            store.check_promise(terms, RHO, {device: NEW_KEY, "west": KEY})
            with suppress(OperatorFault):
                store.check_promise(terms, RHO, {device: KEY})
                taken.append(device)
        return taken

    for plan, place, ahead_s in zip(plans, places, (-year_s, year_s, 0), strict=True):
        name = b"000%d" % plan.number
        assert store.open_round(asked(plan, name), RHO) == ""
        at_s += 60
        late = HeardMessage(f"{place}-late", 1, 1, name, b"late", KEY)
        leapt = Alarm(f"{place}-leapt", KEY, "no device speaks so often")
        store.keep_batch([kept(1, f"{place}-counted", name)], more=[late], alarms=[leapt])
        store.close_round(name, [1], 1)
        if plan is not plans[-1]:
            at_s += ahead_s
            assert store.end_promise() == (1, RHO)
            at_s -= ahead_s
        at_s += 86_400
    assert list_taken(plans[-1].guarantee) == devices[6:]
    assert store.forget_older(at_s + 1, 1, 1) == 6
    assert list_taken(plans[-1].guarantee) == devices[6:]
    assert store.end_promise() == (1, RHO)
    assert list_taken(plans[0].guarantee) == []
    unit = describe_window(24, "2 readings", "rho")
    assert list_taken(plans[0].guarantee._replace(unit=unit)) == []


def test_a_second_answer_is_charged_to_the_promise_of_its_round(store: Store, home: Any) -> None:
    """However late it comes: in the next promise's ledger it would be told in another unit."""
    first, second = home.round(1), home.round(2)
    pure = first.guarantee._replace(epsilon=(4, 1), delta=None, rho=(2, 1))
    assert store.open_round(asked(first._replace(guarantee=pure)), 9 * RHO) == ""
    assert store.end_promise() == (1, RHO)
    assert store.open_round(asked(second, b"next"), 9 * RHO) == ""
    both = [SecondAnswer(name, Charge(RHO, "attic"), b"again") for name in (NAME, b"next")]
    store.keep_batch([], [], both)

    assert store.list_charges() == (Charge(RHO), Charge(RHO, "attic"))
    with closing(Reader(store.place)) as reader:
        (_, _, ended), units = *reader.list_ended_promises(), reader.read_units()
        told = [units.find_for_charge(one) for one in reader.list_charges()]
    assert ended.charges == (Charge(RHO), Charge(RHO, "attic"))
    assert [unit.is_epsilon for unit in told] == [False, True, False, True]


def test_a_gateway_that_missed_the_end_of_a_promise_does_not_begin_it_again(
    store: Store, home: Any, place: Place
) -> None:
    """It lost PostgreSQL for a while, and its lock with it: whoever ended the promise had that."""
    keys = {"south": NEW_KEY, "north": KEY}
    assert store.open_round(asked(home.round(1)), 2 * RHO, keys=keys) == ""
    store.keep_batch([kept(1, round=NAME)])
    other = Store(place, "lab")
    assert other.end_promise({"north": KEY, "west": KEY}) == (1, RHO)
    other.close()

    # Whoever was asked may have answered: what is under way comes later, or in a sum alone.
    with pytest.raises(OperatorFault, match="was ended, for good, and west has the key"):
        store.open_round(asked(home.round(2), b"next"), 2 * RHO, keys={"west": KEY})
    with pytest.raises(OperatorFault, match="was ended, for good, and north has the key"):
        store.open_round(asked(home.round(2), b"next"), 2 * RHO, keys=keys)
    assert store.list_charges() == ()
    # Nor does whoever has the former keys, or keys that were asked nothing, end the next one.
    assert store.open_round(asked(home.round(3), b"more"), 2 * RHO, keys={"east": NEW_KEY}) == ""
    store.keep_batch([kept(1, "east", b"more")._replace(key_id=NEW_KEY)])
    with pytest.raises(OperatorFault, match="was ended, for good, and north has the key"):
        store.end_promise({"north": KEY})
    with pytest.raises(OperatorFault, match="made with other devices than east"):
        store.end_promise({"east": KEY})
    assert store.open_round(asked(home.round(2), b"next"), 2 * RHO, keys={"north": NEW_KEY}) == ""


def test_a_budget_that_was_promised_is_never_raised(store: Store, home: Any, place: Place) -> None:
    """Else the page would say, once it is set back, that more was spent than was promised."""
    plan = home.round(1)
    promised = make_terms(plan.guarantee)
    # Nothing was spent: nobody was promised anything yet
    store.check_promise(promised, 9 * RHO, {})
    store.open_round(asked(plan), 3 * RHO)
    store.check_promise(promised, 3 * RHO, {})
    store.check_promise(promised, 2 * RHO, {})  # smaller: from now on it is this
    store.close()
    found = Store(place, "lab")

    for more in (3 * RHO, 2 * RHO + Fraction(1, 10**30)):
        with pytest.raises(OperatorFault, match="in a new folder"):
            found.check_promise(promised, more, {})
        with pytest.raises(OperatorFault, match="was promised"):
            found.open_round(asked(home.round(2), b"next"), more)
    assert found.list_charges() == (Charge(RHO),)
    assert found.open_round(asked(home.round(2), b"next"), 2 * RHO) == ""
    found.close()


def test_what_a_statement_carried_is_not_in_its_error(store: Store) -> None:
    """Errors go to logs, and logs to places that nobody reviews."""
    store.keep_batch([kept(1)])
    with pytest.raises(IntegrityError) as caught:
        store.keep_batch([kept(1)._replace(frame=b"what nobody may read")])

    assert "nobody may read" not in str(caught.value)
    assert "nobody may read" not in repr(caught.value)


def test_dead_letters_do_not_fill_the_disk(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device gone mad sends them for ever; the newest are kept, and the beginning of each."""
    monkeypatch.setattr(message_rows, "REFUSED_EACH", 10)
    store.keep_batch([], [DeadLetter("quiet", "evidence", b"y")])
    for first in (0, 8, 16):
        letters = [DeadLetter("loud", str(first + n), b"x" * 10_000) for n in range(8)]
        store.keep_batch([], letters)

    found = store.list_refused()
    assert [letter.why for letter in found] == [*(str(n) for n in range(23, 13, -1)), "evidence"]
    assert [len(letter.frame) for letter in found] == [message_rows.EVIDENCE_BYTES] * 10 + [1]


def test_a_second_answer_is_charged_once_however_often_it_comes(
    store: Store, home: Any, place: Place
) -> None:
    """A broker that delivers it again, or plays it back, must not use up the site's budget."""
    store.open_round(asked(home.round(3)), Fraction(1))
    again = SecondAnswer(NAME, Charge(RHO, "north"), b"second")
    store.keep_batch([], [], [again, again])
    store.keep_batch([], [], [again])
    store.keep_batch([], [], [again._replace(frame=b"third")])
    store.close()

    found = Store(place, "lab")
    assert found.list_charges() == (Charge(RHO), Charge(RHO, "north"), Charge(RHO, "north"))
    found.close()


def test_many_topics_do_not_fill_the_disk_either(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may write anywhere could take a new topic for each message."""
    monkeypatch.setattr(message_rows, "REFUSED_KEPT", 10)
    for n in range(24):
        store.keep_batch([], [DeadLetter(f"topic {n}", str(n), b"x")])

    assert [letter.why for letter in store.list_refused()] == [str(n) for n in range(23, 13, -1)]


# Letters, filters, quarantine, forgetting: what stands in the store beside its rounds.


DAY_S = 86_400


def letter(topic: str, payload: bytes, retain: bool = True) -> Letter:
    return Letter(0, topic, payload, retain)


def test_a_retained_letter_takes_the_place_of_an_older_one(store: Store) -> None:
    """After a night without a broker nobody needs every map of it; what is not retained, all."""
    store.add_letters([letter("map", b"1"), letter("say", b"1", False), letter("state", b"1")])
    store.add_letters([letter("map", b"2"), letter("say", b"2", False)])

    waiting = store.list_letters()
    assert [(one.topic, one.payload) for one in waiting] == [
        ("say", b"1"),
        ("state", b"1"),
        ("map", b"2"),
        ("say", b"2"),
    ]
    assert store.list_letters(1) == waiting[:1]
    store.mark_posted([])
    store.mark_posted([one.id for one in waiting[:3]])
    assert store.list_letters() == waiting[3:]


def test_who_posted_an_old_letter_does_not_strike_out_the_new(store: Store) -> None:
    """The broker acknowledges the old one when the new one waits already; SQLite reuses ids."""
    store.add_letters([letter("map", b"old")])
    (old,) = store.list_letters()
    store.add_letters([letter("map", b"new")])
    store.mark_posted([old.id])

    assert [one.payload for one in store.list_letters()] == [b"new"]


def test_rounds_leave_nothing_to_the_garbage_collector(store: Store, home: Any) -> None:
    """Which looks seldom: what lies about until then is memory that grows with every round."""

    def run(numbers: range) -> None:
        for number in numbers:
            name = number.to_bytes(4, "big")
            store.open_round(asked(home.round(number), name), Fraction(100))
            store.keep_batch([kept(number, round=name)])
            store.close_round(name, [1, None], 1, letters=[letter("round", b"")])
            store.keep_map(name, "{}", [letter("map", b"")])
            store.mark_posted([one.id for one in store.list_letters()])

    left = []
    run(range(1, 3))
    gc.collect()
    gc.disable()
    try:
        for first in (3, 13, 23):
            run(range(first, first + 10))
            left.append(gc.collect())
    finally:
        gc.enable()

    assert min(left) < 10  # in one of three: others of this process may leave something, too


def test_who_is_shut_out_stays_so_over_a_start(store: Store, place: Place) -> None:
    """A device that floods must not be let in again by a restart; the first reason is kept."""
    store.quarantine("north", "it floods")
    since_s = store.list_quarantined()["north"][1]
    store.quarantine("north", "still")
    store.quarantine("south", "forged")
    store.close()
    found = Store(place, "lab")

    assert found.list_quarantined()["north"] == ("it floods", since_s)
    found.let_back("south")
    assert set(found.list_quarantined()) == {"north"}
    found.close()


def _lived(store: Store, home: Any) -> dict[int, float]:
    """Let three rounds come and two close; return when by number."""
    closed = {}
    for number in (1, 2, 3):
        name = b"nam%d" % number
        asked = AskedRound(name, name, home.round(number), b"message", Fraction(1, 7))
        store.open_round(asked, Fraction(1))
        store.keep_batch(
            [CountedReport(f"node-{n}", 1, number, name, b"frame", KEY) for n in range(25)],
            [DeadLetter("a/b", "why", b"bytes")],
            [],
            [HeardMessage("node-0", 2, number, name, b"late", KEY)],
        )
        if number < 3:
            store.close_round(name, [number], 25)
            store.keep_map(name, f'{{"number": {number}}}')
    return closed


def test_what_is_forgotten_and_what_never_is(
    store: Store, place: Place, home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readings of closed rounds and old maps go; charges, numbers and what is open stay."""
    monkeypatch.setattr("gateway.store.store.SOME", 10)
    _lived(store, home)
    reader = Reader(place)
    now_s = reader.list_rounds()[0].opened_s + 10 * DAY_S
    charges, newest = store.list_charges(), store.read_newest_numbers()

    assert store.forget_older(now_s, 11, 11) == 0
    assert store.forget_older(now_s, None, 1) == 3
    assert reader.list_refused() == []
    assert [len(reader.list_answers(number)) for number in (1, 2, 3)] == [25, 25, 25]

    again = [(b"nam%d" % number, "node-30") for number in (1, 2, 3)]
    assert not store.read_known([], again).answered
    assert store.forget_older(now_s, 1, 1) == 25 + 25 + 3 + 1
    assert store.read_known([], again).answered == set(again[:2])  # for nobody knows any more
    assert [len(reader.list_answers(number)) for number in (1, 2, 3)] == [0, 0, 25]
    assert reader.read_map(1) is None
    assert reader.read_map() == {"number": 2}  # else the page would have nothing to show
    assert store.list_charges() == charges
    assert store.read_newest_numbers() == newest
    assert [store.read_release(b"nam%d" % n) for n in (1, 2, 3)] == [([1], 25), ([2], 25), None]
    assert [row.reports for row in reader.list_devices()][:2] == [3, 3]
    assert store.forget_older(now_s, 1, 1) == 0
    reader.close()


def test_an_answer_to_a_round_that_was_silent_may_be_a_second_one_once_the_first_is_forgotten(
    place: Place, home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It came too late to count, so that nothing but its number was ever kept of it."""
    at_s, late = 1.8e9, HeardMessage("north", 1, 1, NAME, b"late", KEY)
    monkeypatch.setattr("time.time", lambda: at_s)
    store = Store(place, "lab", report_days=30)
    store.open_round(asked(home.round()), RHO)
    store.close_round(NAME, [], 0, outcome="silent")
    store.keep_batch([], more=[late])
    both = [(NAME, "north"), (NAME, "south")]

    at_s += 30 * DAY_S - 60
    store.forget_older(at_s, 30, 30)
    assert store.read_known([], both).answered == {(NAME, "north")}
    at_s += 120
    assert store.read_known([], both).answered == set(both)
    store.forget_older(at_s, 30, 30)
    assert store.read_known([], both).answered == set(both)
    store.close()


# Dead letters are evidence of what strangers sent: readable, and of bounded size.

SITE = "testsite"


def refused(place: Path, letters: list[DeadLetter]) -> list[DeadLetter]:
    """Return what a store makes of these, oldest first."""
    store = Store(place, SITE)
    try:
        store.keep_batch([], letters)
        return store.list_refused(len(letters))[::-1]
    finally:
        store.close()


@pytest.mark.parametrize(
    "name",
    [
        "a\x1b[2Jb",
        "a\nWARNING all is well",
        "a\rb",
        "a\x00b",
        "a\u202etxt.exe",
        "a\ud800b",
        "\x9b1m",
    ],
    ids=["escape", "line", "return", "zero", "right to left", "half a character", "C1"],
)
def test_a_name_made_to_mislead_is_shown_as_what_it_is(
    home: Any, tmp_path: Path, name: str
) -> None:
    """A terminal, a log and a page show topics and reasons: none may be moved by them."""
    topic = f"heatveil/1/{SITE}/{name}/data"
    found = authenticate(Message(topic, b"x" * 40, (1, 1)), home.devices)
    assert isinstance(found, DeadLetter)
    kept = refused(tmp_path / "store.sqlite", [found])[0]

    for text in (kept.topic, kept.why):
        assert text.isprintable()
        assert "\ufffd" in text
    assert "is not enrolled" in kept.why


def test_what_people_write_is_kept_as_it_is(tmp_path: Path) -> None:
    """The control: letters of any language, spaces and signs stay."""
    letter = DeadLetter("heatveil/1/büro/Gerät 3 – öst/データ", "it says „no“", b"x")

    kept = refused(tmp_path / "store.sqlite", [letter])[0]

    assert kept[:2] == letter[:2]


def test_topics_as_long_as_mqtt_allows_do_not_fill_the_disk(tmp_path: Path) -> None:
    """Each of another topic, so that none pushes another out: their text is what is bounded."""
    place, longest = tmp_path / "store.sqlite", 65_535
    letters = [
        DeadLetter(f"{number:05}" + "x" * (longest - 5), "y" * longest, b"z" * 100_000)
        for number in range(200)
    ]
    kept = refused(place, letters)

    assert len({one.topic for one in kept}) == 200
    assert all(len(one.topic) == len(one.why) == message_rows.LONGEST for one in kept)
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 200 * 4096 + (1 << 20)

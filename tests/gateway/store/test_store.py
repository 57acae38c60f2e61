"""What the store has said yes to is on the disk, once, and nothing half-done is."""

from fractions import Fraction
from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError

from gateway.faults import OperatorFault, ReplacedFault
from gateway.service.intake.outcomes import Again, Alarm, Asked, DeadLetter, Heard, Kept, digest
from gateway.service.ledger import Charge, terms
from gateway.settings import windows
from gateway.store import message_rows
from gateway.store import message_rows as rows
from gateway.store.places import Place
from gateway.store.store import Store
from recovery.maps.guarantee import said_of_window

NAME = b"\x00\x01\x02\x03"
KEY, NEW_KEY = b"key1", b"key2"
RHO = Fraction(1, 7)


def kept(seq: int, device: str = "north", round: bytes | None = None) -> Kept:
    return Kept(device, 1, seq, round or seq.to_bytes(4, "big"), b"frame %d" % seq, KEY)


def asked(plan: Any, name: bytes = NAME) -> Asked:
    return Asked(b"P" + name[1:], name, plan, b"message", RHO)


def test_what_is_older_than_a_window_counts_no_more(
    store: Store, home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the second at which the oldest ends; a promise for life forgets nothing."""
    at_s, unit = 1.8e9, said_of_window(24, "2 readings", "rho")
    monkeypatch.setattr("time.time", lambda: at_s)
    plans = [home.round(number) for number in (1, 2, 3)]
    plans = [plan._replace(guarantee=plan.guarantee._replace(unit=unit)) for plan in plans]
    store.open_round(asked(plans[0], b"0001"), 2 * RHO)
    at_s += 60
    store.open_round(asked(plans[1], b"0002"), 2 * RHO)
    assert "round 3 asks" in store.open_round(asked(plans[2], b"0003"), 2 * RHO)
    assert store.first_end_s() == 1.8e9 + windows.span_s(24)

    at_s = 1.8e9 + windows.span_s(24) - 1
    assert store.charges() == (Charge(RHO),) * 2
    at_s += 1
    assert store.charges() == (Charge(RHO),)
    assert store.open_round(asked(plans[2], b"0003"), 2 * RHO) == ""
    assert store.first_end_s() == 1.8e9 + 60 + windows.span_s(24)


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
    assert store.charges() == ()


def test_a_round_over_the_budget_leaves_no_trace(store: Store, home: Any) -> None:
    """It was not asked, so it must not be charged, and not be taken for asked later."""
    store.open_round(asked(home.round()), RHO)

    why = store.open_round(asked(home.round(2), b"next"), RHO)

    assert "round 2 asks" in why
    assert store.charges() == (Charge(RHO),)


def test_round_numbers_only_go_up_whatever_is_planned(store: Store, home: Any) -> None:
    """Another plan begins at one again, but its devices have passed that number."""
    first = b"P\x01\x02\x03"
    assert store.number_of(first) == 1
    store.open_round(asked(home.round(1)), Fraction(1))

    assert store.number_of(first) == 1
    assert store.number_of(b"else") == 2


def test_a_batch_is_kept_whole_or_not_at_all(store: Store) -> None:
    """Half a batch that was acknowledged whole would be a loss."""
    store.keep([kept(1)])
    again = [Again(NAME, Charge(RHO), b"")]
    with pytest.raises(IntegrityError):
        store.keep([kept(2), kept(3), kept(1)], [DeadLetter("t", "why", b"")], again)

    assert store.newest() == {("north", KEY): (1, 1)}
    assert store.refused() == []
    assert store.charges() == ()


def test_numbers_are_used_up_by_what_does_not_count_too(store: Store, place: Place) -> None:
    """Or a device whose answers came late could go back behind them, and no one would know."""
    late = Heard("north", 3, 2, NAME, b"late", KEY)
    store.keep([kept(1)], [], [], [late, late._replace(device="south", epoch=1)])
    store.keep([kept(2)])  # behind: it does not set the newest back
    store.close()
    found = Store(place, "lab")

    assert found.newest() == {("north", KEY): (3, 2), ("south", KEY): (1, 2)}
    known = found.known([("north", KEY, 3, 2)], [(NAME, "north"), (NAME, "east")])
    assert known.seen == {("north", KEY, 3, 2): {digest(b"late"): False}}
    assert known.answered == {(NAME, "north")}
    found.close()


def test_a_new_key_begins_its_numbers_anew(store: Store) -> None:
    """The way out of every alarm is a new key; its first message must not be refused for it."""
    store.keep([kept(9)._replace(epoch=7)])
    store.keep([kept(1, round=b"next")._replace(key_id=NEW_KEY)])

    assert store.newest() == {("north", KEY): (7, 9), ("north", NEW_KEY): (1, 1)}


def test_alarms_are_there_until_the_device_has_a_new_key(store: Store, place: Place) -> None:
    """A gateway that was restarted at night must not have forgotten the evening's alarm."""
    first, second = Alarm("north", KEY, "set back"), Alarm("north", KEY, "other bytes")
    store.keep([], [], [], [], [first, second, Alarm("south", KEY, "set back")])
    store.keep([], [], [], [], [first])
    store.close()
    found = Store(place, "lab")

    assert found.alarms() == {("north", KEY): ("set back", 3), ("south", KEY): ("set back", 1)}
    found.close()


def test_what_was_heard_does_not_fill_the_disk(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device gone mad signs nonsense for ever; its newest numbers are not forgotten with it."""
    monkeypatch.setattr(rows, "HEARD_KEPT", 10)
    for first in (1, 9, 17):
        store.keep([], [], [], [Heard("north", 1, first + n, NAME, b"x", KEY) for n in range(8)])
    keys = [("north", KEY, 1, seq) for seq in range(1, 25)]

    assert sorted(key[3] for key in store.known(keys, []).seen) == list(range(15, 25))
    assert store.newest() == {("north", KEY): (1, 24)}


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
    assert found.charges() == (Charge(RHO),)
    found.close()


def test_a_budget_that_was_promised_is_never_raised(store: Store, home: Any, place: Place) -> None:
    """Else the page would say, once it is set back, that more was spent than was promised."""
    plan = home.round(1)
    promised = terms(plan.guarantee)
    store.check(promised, 9 * RHO)  # nothing was spent: nobody was promised anything yet
    store.open_round(asked(plan), 3 * RHO)
    store.check(promised, 3 * RHO)
    store.check(promised, 2 * RHO)  # smaller: from now on it is this
    store.close()
    found = Store(place, "lab")

    for more in (3 * RHO, 2 * RHO + Fraction(1, 10**30)):
        with pytest.raises(OperatorFault, match="in a new folder"):
            found.check(promised, more)
        with pytest.raises(OperatorFault, match="was promised"):
            found.open_round(asked(home.round(2), b"next"), more)
    assert found.charges() == (Charge(RHO),)
    assert found.open_round(asked(home.round(2), b"next"), 2 * RHO) == ""
    found.close()


def test_what_a_statement_carried_is_not_in_its_error(store: Store) -> None:
    """Errors go to logs, and logs to places that nobody reviews."""
    store.keep([kept(1)])
    with pytest.raises(IntegrityError) as caught:
        store.keep([kept(1)._replace(frame=b"what nobody may read")])

    assert "nobody may read" not in str(caught.value)
    assert "nobody may read" not in repr(caught.value)


def test_dead_letters_do_not_fill_the_disk(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device gone mad sends them for ever; the newest are kept, and the beginning of each."""
    monkeypatch.setattr(message_rows, "REFUSED_EACH", 10)
    store.keep([], [DeadLetter("quiet", "evidence", b"y")])
    for first in (0, 8, 16):
        letters = [DeadLetter("loud", str(first + n), b"x" * 10_000) for n in range(8)]
        store.keep([], letters)

    found = store.refused()
    assert [letter.why for letter in found] == [*(str(n) for n in range(23, 13, -1)), "evidence"]
    assert [len(letter.frame) for letter in found] == [message_rows.EVIDENCE_BYTES] * 10 + [1]


def test_a_second_answer_is_charged_once_however_often_it_comes(
    store: Store, home: Any, place: Place
) -> None:
    """A broker that delivers it again, or plays it back, must not use up the site's budget."""
    store.open_round(asked(home.round(3)), Fraction(1))
    again = Again(NAME, Charge(RHO, "north"), b"second")
    store.keep([], [], [again, again])
    store.keep([], [], [again])
    store.keep([], [], [again._replace(frame=b"third")])
    store.close()

    found = Store(place, "lab")
    assert found.charges() == (Charge(RHO), Charge(RHO, "north"), Charge(RHO, "north"))
    found.close()


def test_many_topics_do_not_fill_the_disk_either(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may write anywhere could take a new topic for each message."""
    monkeypatch.setattr(message_rows, "REFUSED_KEPT", 10)
    for n in range(24):
        store.keep([], [DeadLetter(f"topic {n}", str(n), b"x")])

    assert [letter.why for letter in store.refused()] == [str(n) for n in range(23, 13, -1)]

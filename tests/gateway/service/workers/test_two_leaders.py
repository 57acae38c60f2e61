"""Two leaders for a moment, as after a restart of PostgreSQL: what the store lets both do.

The lead is forgotten with the server, and taken anew by whoever comes first; until the other has
looked, both believe that they lead. Every test has them at the same step at once, many times.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from edge.core import wire
from edge.core.records import Round
from gateway.faults import OvertakenFault
from gateway.service.intake.outcomes import Asked, Letter
from gateway.service.workers import rounds
from gateway.store.places import Database
from gateway.store.store import Store

from .conftest import named
from .test_gathering import FOLD, answers, opened, part

TRIES, PRICE, BUDGET = 30, Fraction(1, 50), Fraction(100)
LETTER = Letter(0, "heatveil/1/site/round", b"", True)


@pytest.fixture
def heir(store: Store, database: Database) -> Iterator[Store]:
    """Return the store as the second leader has it: other connections."""
    other = Store(database, named(database))
    yield other
    other.close()


def at_once(*steps: Callable[[], Any]) -> list[Any]:
    """Return what each returns, or raises, when all begin together."""
    gate = threading.Barrier(len(steps))

    def begun(step: Callable[[], Any]) -> Any:
        gate.wait()
        try:
            return step()
        except Exception as fault:
            return fault

    with ThreadPoolExecutor(len(steps)) as crew:
        return list(crew.map(begun, steps))


def rows(store: Store, table: str) -> list[Any]:
    """Return all rows of a table."""
    with store.engine.connect() as connection:
        return list(connection.execute(text(f"SELECT * FROM {table}")).all())


def asked(home: Any, plan: Round, planned: bytes = b"") -> Asked:
    """Return a round as a leader asks it."""
    name = wire.name_of(plan)
    return Asked(planned or name, name, plan, home.message(plan), PRICE)


def test_both_ask_the_next_round_and_it_is_one_and_charged_once(
    store: Store, heir: Store, home: Any
) -> None:
    """They plan the same of the same releases."""
    for number in range(1, TRIES + 1):
        one = asked(home, home.round(number))
        said = at_once(*(partial(s.open_round, one, BUDGET) for s in (store, heir)))
        assert said == ["", ""]
        assert len(rows(store, "rounds")) == len(rows(store, "charges")) == number


def test_both_ask_another_round_under_one_number_and_one_of_them_is_charged(
    store: Store, heir: Store, home: Any
) -> None:
    """Were one behind the other's releases: what is not written is not charged, nor sent."""
    for number in range(1, TRIES + 1):
        plans = [home.round(number), home.round(number)._replace(mechanism="other")]
        pairs = zip((store, heir), plans, strict=True)
        said = at_once(*(partial(s.open_round, asked(home, plan), BUDGET) for s, plan in pairs))
        assert said.count("") == 1
        assert sum(isinstance(one, IntegrityError) for one in said) == 1
        assert len(rows(store, "rounds")) == len(rows(store, "charges")) == number


@pytest.mark.long
def test_both_release_a_round_and_what_stands_is_one_of_the_two(
    store: Store, heir: Store, home: Any
) -> None:
    """And the other is told so, and reads what stands."""
    for number in range(1, TRIES + 1):
        name = opened(store, home, number).name
        values = ([number, 0], [0, number])
        pairs = zip((store, heir), values, strict=True)
        written = at_once(*(partial(s.close_round, name, v, 1, post=[LETTER]) for s, v in pairs))
        assert sorted(written) == [False, True]
        assert store.release(name) == heir.release(name) == (values[written.index(True)], 1)
        assert len(rows(store, "charges")) == number


def test_what_the_heir_lets_count_after_the_sum_is_in_the_release(
    store: Store, heir: Store, home: Any
) -> None:
    """The one has summed and not yet released, the other opens the round that it found open."""
    round = opened(store, home)
    first, last, *_ = answers(home, round).values()
    mine = part(store)
    mine.keep([first])
    summed = rounds.close_and_sum(store.engine, round, FOLD)
    rounds.opened(heir.engine, round.name, FOLD)
    mine.keep([last])
    values, reports = summed.release.values, summed.release.reports
    with pytest.raises(OvertakenFault):
        store.close_round(round.name, values, reports, summed=1)
    again = rounds.close_and_sum(heir.engine, round, FOLD).release
    assert heir.close_round(round.name, again.values, again.reports, summed=2)
    assert store.release(round.name) == (again.values, 2)


def test_a_sum_of_fewer_than_have_answered_is_no_release(
    store: Store, heir: Store, home: Any
) -> None:
    """The heir has opened, counted one more and closed again before the first one writes."""
    round = opened(store, home)
    first, last, *_ = answers(home, round).values()
    mine = part(store)
    mine.keep([first])
    old = rounds.close_and_sum(store.engine, round, FOLD)
    rounds.opened(heir.engine, round.name, FOLD)
    mine.keep([last])
    new = rounds.close_and_sum(heir.engine, round, FOLD)
    with pytest.raises(OvertakenFault):
        store.close_round(round.name, old.release.values, 1, summed=len(old.devices))
    assert heir.close_round(round.name, new.release.values, 2, summed=len(new.devices))
    assert store.release(round.name) == (new.release.values, 2)


@pytest.mark.long
def test_a_round_that_is_released_meanwhile_is_not_opened_again(
    store: Store, heir: Store, home: Any
) -> None:
    """Else what came from then on would count in the store, and in no release."""
    for number in range(1, TRIES + 1):
        round = opened(store, home, number)
        release = rounds.close_and_sum(store.engine, round, FOLD).release
        close = partial(store.close_round, round.name, release.values, release.reports, summed=0)
        opens = partial(rounds.opened, heir.engine, round.name, FOLD)
        closed, _ = at_once(close, opens)
        with store.engine.connect() as connection:
            found = rounds.last(connection)
        assert found is not None
        assert (found.closed_s is None) == isinstance(closed, OvertakenFault)
        assert (store.release(round.name) is None) == isinstance(closed, OvertakenFault)

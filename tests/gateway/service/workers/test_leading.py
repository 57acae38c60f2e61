"""The leader dies in mid-round and a standby goes on with it, as processes."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from edge.core import wire
from edge.core.records import Round
from edge.host import post
from edge.mechanisms import thermal
from gateway.devices.broker.embedded import find_free_port
from gateway.faults import OvertakenFault, TakenFault
from gateway.service.intake.outcomes import Asked, Letter
from gateway.service.mqtt.connection import Message
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.service.workers import rounds
from gateway.service.workers.leases import lead
from gateway.settings.deployment import Mqtt
from gateway.store.places import Database
from gateway.store.store import Store
from tests.waiting import eventually

from .conftest import named
from .test_gathering import FOLD, answers, opened, part


@pytest.mark.long
def test_a_standby_goes_on_with_the_round_of_a_leader_that_died(
    site: Callable[[int], Any], store: Store
) -> None:
    """The same round, charged once, with the answers that workers took while nobody led."""
    home = site(60)
    leader = home.start("serve", "--rounds", "1")
    assert eventually(lambda: len(home.listening(leader)) == 6)
    round, frames = home.asked()
    elsewhere = f"import os; os.environ['HEATVEIL_PAGE__PORT'] = '{find_free_port()}'"
    heir = home.start("serve", "--rounds", "1", before=elsewhere)
    worker = home.start("work", "--name", "ada")
    assert eventually(lambda: "standby" in home.log(heir))
    assert eventually(lambda: len(home.listening(worker)) == 3)
    first, second, third = (
        {name: frames[name] for name in sorted(frames)[i::3]} for i in range(3)
    )
    home.say(first)
    assert eventually(lambda: first.keys() <= home.receipts.keys())
    os.kill(leader.pid, signal.SIGKILL)
    leader.wait()
    home.say(second)
    assert eventually(lambda: second.keys() <= home.receipts.keys())
    home.say(third)
    assert heir.wait(timeout=60) == 0, home.log(heir)

    assert dict(store.answers(round)) == frames
    assert len(store.charges()) == 1
    assert store.refused() == []
    release = thermal.release(home.plan, home.payloads(frames), None)
    assert store.release(round) == (release.values, len(frames))


# Kills its own process right before a step of the store, or right after it.
DIES = """
import os, signal
from gateway.store.store import Store
do = Store.{step}
def last(*args, **words):
    if {before}:
        os.kill(os.getpid(), signal.SIGKILL)
    do(*args, **words)
    os.kill(os.getpid(), signal.SIGKILL)
Store.{step} = last
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("step", "before"), [("close_round", True), ("close_round", False), ("keep_map", False)]
)
def test_a_leader_that_dies_between_the_last_answer_and_the_map_has_an_heir(
    site: Callable[[int], Any], store: Store, mosquitto: Mqtt, step: str, before: bool
) -> None:
    """Closed and not released, released and not drawn, drawn and not published: once each."""
    home = site(24)
    worker = home.start("work", "--name", "ada")
    leader = home.start("serve", before=DIES.format(step=step, before=before))
    assert eventually(lambda: len(home.listening(leader, worker)) == 6)
    elsewhere = f"import os; os.environ['HEATVEIL_PAGE__PORT'] = '{find_free_port()}'"
    heir = home.start("serve", before=elsewhere)
    assert eventually(lambda: "standby" in home.log(heir))
    round, frames = home.asked()
    maps: list[bytes] = []

    def came(link: Link, message: Message) -> None:
        maps.append(message.payload)
        link.ack(message)

    with Pump("ear") as pump:
        topic = post.map_topic(home.name, "thermal")
        ear = Link(mosquitto, "ear", pump, subscribe=[topic], on_message=came).wait()
        home.say(frames)
        assert leader.wait(timeout=60) == -signal.SIGKILL
        assert eventually(lambda: maps), home.log(heir)
        time.sleep(1)
        ear.close()

    release = thermal.release(home.plan, home.payloads(frames), None)
    assert store.release(round) == (release.values, len(frames))
    assert len(store.charges()) == 1
    assert store.refused() == []
    assert {payload.decode() for payload in maps} == {store.map_of(round)}
    assert worker.poll() is None


def test_a_file_has_no_standby_and_says_so(tmp_path: Path) -> None:
    """Two gateways on one SQLite file would be on one machine: the second is a mistake."""
    place = tmp_path / "heatveil.sqlite"
    with lead(place, print), pytest.raises(TakenFault), lead(place, print):
        pass


# Two leaders for a moment, as after a restart of PostgreSQL: what the store lets both do.

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
        assert sum(isinstance(one, IntegrityError | OvertakenFault) for one in said) == 1
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


def overtake(store: Store, heir: Store, home: Any) -> tuple[Any, Any]:
    """Return a round, and what one made of its first answer before the heir let another count."""
    round = opened(store, home)
    first, last, *_ = answers(home, round).values()
    mine = part(store)
    mine.keep([first])
    summed = rounds.close_and_sum(store.engine, round, FOLD)
    rounds.open_round(heir.engine, round.name, FOLD)
    mine.keep([last])
    return round, summed


def test_what_the_heir_lets_count_after_the_sum_is_in_the_release(
    store: Store, heir: Store, home: Any
) -> None:
    """The one has summed and not yet released, the other opens the round that it found open."""
    round, summed = overtake(store, heir, home)
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
    round, old = overtake(store, heir, home)
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
        opens = partial(rounds.open_round, heir.engine, round.name, FOLD)
        closed, _ = at_once(close, opens)
        with store.engine.connect() as connection:
            found = rounds.find_last_round(connection)
        assert found is not None
        assert (found.closed_s is None) == isinstance(closed, OvertakenFault)
        assert (store.release(round.name) is None) == isinstance(closed, OvertakenFault)

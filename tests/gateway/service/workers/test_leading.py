"""The leader dies in mid-round and a standby goes on with it, as processes."""

import os
import signal
import threading
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
from edge.mechanisms import thermal
from gateway.faults import OvertakenFault, TakenFault
from gateway.service.intake.outcomes import AskedRound, Letter
from gateway.service.workers import rounds
from gateway.service.workers.leases import hold_lead
from gateway.service.workers.part import find_part
from gateway.store.places import Database
from gateway.store.schema import leases
from gateway.store.store import Store
from tests.processes import find_free_port
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
    assert eventually(lambda: len(home.listening(leader)) == 6), home.log(leader)
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
    assert eventually(lambda: first.keys() <= home.receipts)
    os.kill(leader.pid, signal.SIGKILL)
    leader.wait()
    home.say(second)
    assert eventually(lambda: second.keys() <= home.receipts)
    home.say(third)
    assert heir.wait(timeout=60) == 0, home.log(heir)

    assert dict(store.list_answers(round)) == frames
    assert len(store.list_charges()) == 1
    assert store.list_refused() == []
    release = thermal.release(home.plan, home.payloads(frames), None)
    assert store.read_release(round) == (release.values, len(frames))


# Kills its own process right before a step of the store, or right after it.


def test_a_file_has_no_standby_and_says_so(tmp_path: Path) -> None:
    """Two gateways on one SQLite file would be on one machine: the second is a mistake."""
    place = tmp_path / "heatveil.sqlite"
    with hold_lead(place, print), pytest.raises(TakenFault), hold_lead(place, print):
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


def asked(home: Any, plan: Round, planned: bytes = b"") -> AskedRound:
    """Return a round as a leader asks it."""
    name = wire.name_of(plan)
    return AskedRound(planned or name, name, plan, home.message(plan), PRICE)


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
        written = at_once(
            *(partial(s.close_round, name, v, 1, letters=[LETTER]) for s, v in pairs)
        )
        assert sorted(written) == [False, True]
        assert (
            store.read_release(name) == heir.read_release(name) == (values[written.index(True)], 1)
        )
        assert len(rows(store, "charges")) == number


def overtake(store: Store, heir: Store, home: Any) -> tuple[Any, Any]:
    """Return a round, and what one made of its first answer before the heir let another count."""
    round = opened(store, home)
    first, last, *_ = answers(home, round).values()
    mine = part(store)
    mine.keep_batch([first])
    summed = rounds.close_and_sum(store.engine, round, FOLD)
    rounds.open_round(heir.engine, round.name, FOLD)
    mine.keep_batch([last])
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
    assert store.read_release(round.name) == (again.values, 2)


def test_a_sum_of_fewer_than_have_answered_is_no_release(
    store: Store, heir: Store, home: Any
) -> None:
    """The heir has opened, counted one more and closed again before the first one writes."""
    round, old = overtake(store, heir, home)
    new = rounds.close_and_sum(heir.engine, round, FOLD)
    with pytest.raises(OvertakenFault):
        store.close_round(round.name, old.release.values, 1, summed=len(old.devices))
    assert heir.close_round(round.name, new.release.values, 2, summed=len(new.devices))
    assert store.read_release(round.name) == (new.release.values, 2)


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
        assert (found.closed_s is None) == isinstance(closed, OvertakenFault)
        assert (store.read_release(round.name) is None) == isinstance(closed, OvertakenFault)


# Worker processes that are killed and stopped in mid-round: nothing lost, nothing doubled.


DEVICES, PARTITIONS, LEASE_S = 240, 6, 2.0


def holders(store: Store) -> dict[int, str]:
    """Return who has which part."""
    with store.engine.connect() as connection:
        rows = connection.execute(leases.select().where(leases.c.part >= 0)).all()
    return {row.part: row.holder for row in rows}


def wait_shared(store: Store, *names: str) -> dict[str, set[int]]:
    """Return whose are which parts, once these workers, and they alone, have equal shares."""
    shares, each = dict[str, set[int]](), PARTITIONS / len(names)

    def equal() -> bool:
        shares.clear()
        for number, holder in holders(store).items():
            shares.setdefault(holder.split("-")[0], set()).add(number)
        even = all(each - 1 < len(held) < each + 1 for held in shares.values())
        return even and shares.keys() == set(names)

    assert eventually(equal)
    return shares


# The clock of its machine is so many seconds off.
OFF = "import time; real = time.time; time.time = lambda: real() + {seconds}"


@pytest.mark.long
def test_workers_die_and_stop_in_mid_round_and_nothing_is_lost_or_doubled(
    site: Callable[[int], Any], store: Store
) -> None:
    """kill -9 of one, SIGSTOP of another beyond its lease: the parts change hands.

    Their machines are a day apart from the leader's, each to its side: no clock of theirs counts.
    """
    home = site(DEVICES)
    leader = home.start("serve", "--rounds", "1")
    ada = home.start("work", "--name", "ada", before=OFF.format(seconds=86400))
    bob = home.start("work", "--name", "bob", before=OFF.format(seconds=-86400))
    wait_shared(store, "leader", "ada", "bob")
    assert eventually(lambda: len(home.listening(leader, ada, bob)) == PARTITIONS)
    round, frames = home.asked()
    names = sorted(frames)
    first, second, third = ({name: frames[name] for name in names[i::3]} for i in range(3))
    home.say(first)
    assert eventually(lambda: first.keys() <= home.receipts)

    dead = wait_shared(store, "leader", "ada", "bob")["ada"]
    home.say(second)
    os.kill(ada.pid, signal.SIGKILL)
    ada.wait()
    assert eventually(lambda: second.keys() <= home.receipts)
    assert any(find_part(name, PARTITIONS) in dead for name in second)

    stopped = wait_shared(store, "leader", "bob")["bob"]
    os.kill(bob.pid, signal.SIGSTOP)
    *most, (last, frame) = third.items()
    home.say(dict(most))
    assert eventually(lambda: dict(most).keys() <= home.receipts)
    assert any(find_part(name, PARTITIONS) in stopped for name in dict(most))
    wait_shared(store, "leader")
    os.kill(bob.pid, signal.SIGCONT)
    wait_shared(store, "leader", "bob")  # it is a worker again
    home.say({last: frame})
    assert leader.wait(timeout=60) == 0, home.log(leader)
    bob.send_signal(signal.SIGTERM)
    assert bob.wait(timeout=60) == 0

    assert dict(store.list_answers(round)) == frames
    assert store.list_refused() == []
    assert store.list_alarms() == {}
    release = thermal.release(home.plan, home.payloads(frames), None)
    assert store.read_release(round) == (release.values, DEVICES)
    assert set(holders(store).values()) == {""}


# A worker that takes a second for each commit and writes down what came of it, so that it can be
# stopped with readings in its hands.
SLOW = """
import time
from gateway.service.workers.rounds import PartStore

keep, said = PartStore.keep_batch, open({path!r}, "a", buffering=1)

def slowly(self, kept, *rest):
    if kept:
        said.write("tries\\n")
        time.sleep({pause_s})
    try:
        keep(self, kept, *rest)
    except Exception as fault:
        said.write(type(fault).__name__ + "\\n")
        raise
    if kept:
        said.write(f"keeps {{len(kept)}}\\n")

PartStore.keep_batch = slowly
"""


@pytest.mark.long
def test_a_worker_that_wakes_up_after_its_lease_cannot_commit(
    site: Callable[[int], Any], store: Store, tmp_path: Path
) -> None:
    """Stopped with readings in its hands: they are its successor's."""
    home = site(40)
    paths = {name: tmp_path / name for name in ("zombie", "heir")}
    slow = {
        name: SLOW.format(path=str(path), pause_s=pause_s)
        for (name, path), pause_s in zip(paths.items(), (1.0, 2.5), strict=True)
    }
    quiet = (
        "import gateway.service.workers.gathering as g; g.Worker.__enter__ = lambda self: self\n"
    )
    quiet += "g.Worker.__exit__ = lambda self, *_: None"
    leader = home.start("serve", "--rounds", "1", before=quiet)
    zombie = home.start("work", "--name", "zombie", before=slow["zombie"])
    # Before a session is there for the first time, the broker keeps nothing for it.
    assert eventually(lambda: len(home.listening(zombie)) == PARTITIONS)
    round, frames = home.asked()
    home.say(frames)
    assert eventually(lambda: paths["zombie"].exists() and paths["zombie"].read_text())
    os.kill(zombie.pid, signal.SIGSTOP)
    assert "keeps" not in paths["zombie"].read_text()
    heir = home.start("work", "--name", "heir", before=slow["heir"])
    wait_shared(store, "heir")
    assert eventually(lambda: paths["heir"].exists() and paths["heir"].read_text())
    os.kill(zombie.pid, signal.SIGCONT)  # while its heir has the same readings in its hands
    assert leader.wait(timeout=60) == 0, home.log(leader)
    for child in (zombie, heir):
        child.send_signal(signal.SIGTERM)
        child.wait(timeout=60)

    said = paths["zombie"].read_text().split("\n")
    first = said.index("LeaseLost")
    assert not any(line.startswith("keeps") for line in said[:first])
    assert dict(store.list_answers(round)) == frames
    assert store.list_refused() == []
    release = thermal.release(home.plan, home.payloads(frames), None)
    assert store.read_release(round) == (release.values, len(frames))
    assert eventually(lambda: home.receipts == frames.keys())

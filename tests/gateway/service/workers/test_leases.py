"""Parts change hands once, by the database's clock, and who lost one cannot write for it."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select, update
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import DBAPIError

from gateway.service.workers import leases
from gateway.service.workers.leases import Lease, LeaseLost, Leases
from gateway.store.schema import leases as table
from gateway.store.store import Store

PARTS, LEASE_S = 8, 1.0


def worker(store: Store, name: str, lease_s: float = LEASE_S) -> Leases:
    """Return the leases of a worker, of parts that have their rows."""
    rows = [{"part": part, "holder": "", "until_s": 0.0, "epoch": 0} for part in range(PARTS)]
    with store.engine.begin() as connection:
        connection.execute(postgresql.insert(table).on_conflict_do_nothing(), rows)
    return Leases(store.engine, name, lease_s)


def set_clock(store: Store, forward_s: float) -> None:
    """Do to all leases what a step of the database's clock does to them."""
    with store.engine.begin() as connection:
        connection.execute(update(table).values(until_s=table.c.until_s - forward_s))


@pytest.mark.long
def test_workers_that_join_and_take_at_once_never_have_the_same_part(store: Store) -> None:
    """Eight threads take for all they are worth: every part has exactly one holder."""
    ready = threading.Barrier(8)

    def take(name: str) -> list[Lease]:
        mine = worker(store, name, 30.0)
        ready.wait()
        return [lease for _ in range(3) for lease in mine.take(PARTS, 1)]

    with ThreadPoolExecutor(8) as crew:
        taken = [lease for found in crew.map(take, "abcdefgh") for lease in found]
    assert sorted(lease.part for lease in taken) == list(range(PARTS))


@pytest.mark.long
def test_a_part_is_taken_when_its_lease_has_run_out_and_not_before(store: Store) -> None:
    """A holder that renews keeps its parts; one that is silent loses them all, in time."""
    ada, bob = worker(store, "ada"), worker(store, "bob")
    held = ada.take(PARTS, PARTS)
    assert len(held) == PARTS
    until_s = time.monotonic() + 1.5 * LEASE_S
    while time.monotonic() < until_s:
        assert ada.renew(held) == set(held)
        assert bob.take(PARTS, 1) == []
        time.sleep(0.1)

    silent_s = time.monotonic()
    while not (taken := bob.take(PARTS, PARTS)):
        time.sleep(0.02)
    assert 0.5 * LEASE_S < time.monotonic() - silent_s < 2 * LEASE_S + 10
    assert [lease.epoch for lease in taken] == [2] * PARTS
    assert ada.renew(held) == set()
    assert ada.take(PARTS, PARTS) == []


def test_what_is_given_back_is_free_at_once_and_nothing_of_anothers(store: Store) -> None:
    """Nobody waits for the lease of a worker that said goodbye."""
    ada, bob = worker(store, "ada", 60.0), worker(store, "bob", 60.0)
    held = ada.take(PARTS, PARTS)
    ada.give(held[:2])
    taken = bob.take(PARTS, PARTS)
    assert [lease.part for lease in taken] == [0, 1]
    ada.give(held)  # two of which are another's by now

    assert bob.renew(taken) == set(taken)
    assert len(bob.take(PARTS, PARTS)) == PARTS - 2


@pytest.mark.parametrize(("forward_s", "free"), [(-86400.0, PARTS), (86400.0, PARTS), (0.0, 0)])
def test_a_clock_that_is_set_keeps_no_part_from_the_living(
    store: Store, forward_s: float, free: int
) -> None:
    """The database's clock goes back a day: who died before would else keep its parts a day."""
    dead, heir = worker(store, "dead", 60.0), worker(store, "heir", 60.0)
    dead.take(PARTS, PARTS)
    set_clock(store, forward_s)
    assert len(heir.take(PARTS, PARTS)) == free


@pytest.mark.long
def test_a_renewal_does_not_wait_for_a_commit_that_takes_its_time(store: Store) -> None:
    """A slow disk would else cost a worker its parts; with a plain lock on the row it does."""
    ada = worker(store, "ada", 60.0)
    (held,) = ada.take(1, 1)
    with store.engine.begin() as connection:
        leases.hold(connection, held, 10)
        assert ada.renew([held]) == {held}  # else it is ended after the patience of the store
    with store.engine.begin() as connection:
        connection.execute(select(table).where(table.c.part == 0).with_for_update(read=True))
        with pytest.raises(DBAPIError, match="lock timeout"):
            ada.renew([held])


def test_who_lost_a_part_cannot_hold_it_even_under_the_same_name(store: Store) -> None:
    """The epoch is the fence: the same holder, back after another had the part, is another."""
    ada, bob = worker(store, "ada", 0.05), worker(store, "bob", 0.05)
    (old,) = ada.take(PARTS, 1)
    with store.engine.begin() as connection:
        leases.hold(connection, old, 1)
    time.sleep(0.1)
    assert bob.take(1, 1)
    time.sleep(0.1)
    (new,) = ada.take(1, 1)
    assert (new.part, new.holder) == (old.part, old.holder)
    with store.engine.begin() as connection:
        leases.hold(connection, new, 1)
        with pytest.raises(LeaseLost, match="no longer ada's"):
            leases.hold(connection, old, 1)


def test_a_part_does_not_change_hands_while_a_commit_for_it_is_under_way(store: Store) -> None:
    """Its lease has run out, but the row is held: taken is what nobody writes for."""
    ada, bob = worker(store, "ada", 0.05), worker(store, "bob", 60.0)
    held = ada.take(PARTS, PARTS)
    with store.engine.begin() as connection:
        leases.hold(connection, held[3], 10)
        time.sleep(0.2)
        assert {lease.part for lease in bob.take(PARTS, PARTS)} == set(range(PARTS)) - {3}
        assert bob.take(PARTS, PARTS) == []
    assert [lease.part for lease in bob.take(PARTS, PARTS)] == [3]


def test_a_worker_that_stops_in_the_middle_of_a_commit_does_not_keep_its_part(
    store: Store,
) -> None:
    """A transaction that says nothing is ended by the database, and writes nothing."""
    ada, bob = worker(store, "ada", 0.05), worker(store, "bob", 60.0)
    (held,) = ada.take(1, 1)
    with store.engine.connect() as connection:
        leases.hold(connection, held, 0.3)
        time.sleep(0.1)
        assert bob.take(1, 1) == []
        time.sleep(0.5)
        assert [lease.part for lease in bob.take(1, 1)] == [0]
        with pytest.raises(DBAPIError):
            connection.execute(select(1))

"""Parts change hands once, by the database's clock, and who lost one cannot write for it."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import select, update
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import DBAPIError

from gateway.faults import OperatorFault
from gateway.service.workers import leases
from gateway.service.workers.gathering import describe_workers
from gateway.service.workers.leases import Lease, LeaseLost, Leases, Member
from gateway.store.schema import leases as table
from gateway.store.store import Store
from tests.waiting import eventually

PARTS, LEASE_S = 8, 60.0


def worker(store: Store, name: str) -> Leases:
    """Return the leases of a worker, of parts that have their rows."""
    rows = [{"part": part, "holder": "", "until_s": 0.0, "epoch": 0} for part in range(PARTS)]
    with store.engine.begin() as connection:
        connection.execute(postgresql.insert(table).on_conflict_do_nothing(), rows)
    return Leases(store.engine, name, LEASE_S)


def set_clock(store: Store, forward_s: float) -> None:
    """Do to all leases what a step of the database's clock does to them."""
    with store.engine.begin() as connection:
        timed = update(table).where(table.c.part != leases.AGREED)
        connection.execute(timed.values(until_s=table.c.until_s - forward_s))


@pytest.mark.long
def test_workers_that_join_and_take_at_once_never_have_the_same_part(store: Store) -> None:
    """Eight threads take for all they are worth: every part has exactly one holder."""
    ready = threading.Barrier(8)

    def take(name: str) -> list[Lease]:
        mine = worker(store, name)
        ready.wait()
        return [lease for _ in range(3) for lease in mine.take_parts(PARTS, 1)]

    with ThreadPoolExecutor(8) as crew:
        taken = [lease for found in crew.map(take, "abcdefgh") for lease in found]
    assert sorted(lease.part for lease in taken) == list(range(PARTS))


def test_a_part_is_taken_when_its_lease_has_run_out_and_not_before(store: Store) -> None:
    """A holder that renews keeps its parts; one that is silent loses them all, in time."""
    ada, bob = worker(store, "ada"), worker(store, "bob")
    held = ada.take_parts(PARTS, PARTS)
    assert len(held) == PARTS
    for _ in range(3):
        set_clock(store, 0.6 * LEASE_S)
        assert ada.renew(held) == set(held)
        assert bob.take_parts(PARTS, 1) == []

    set_clock(store, 0.6 * LEASE_S)
    assert bob.take_parts(PARTS, PARTS) == []
    set_clock(store, 0.6 * LEASE_S)
    taken = bob.take_parts(PARTS, PARTS)
    assert [lease.epoch for lease in taken] == [2] * PARTS
    assert ada.renew(held) == set()
    assert ada.take_parts(PARTS, PARTS) == []


def test_what_is_given_back_is_free_at_once_and_nothing_of_anothers(store: Store) -> None:
    """Nobody waits for the lease of a worker that said goodbye."""
    ada, bob = worker(store, "ada"), worker(store, "bob")
    held = ada.take_parts(PARTS, PARTS)
    ada.give_back(held[:2])
    taken = bob.take_parts(PARTS, PARTS)
    assert [lease.part for lease in taken] == [0, 1]
    ada.give_back(held)  # two of which are another's by now

    assert bob.renew(taken) == set(taken)
    assert len(bob.take_parts(PARTS, PARTS)) == PARTS - 2


@pytest.mark.parametrize(("forward_s", "free"), [(-86400.0, PARTS), (86400.0, PARTS), (0.0, 0)])
def test_a_clock_that_is_set_keeps_no_part_from_the_living(
    store: Store, forward_s: float, free: int
) -> None:
    """The database's clock goes back a day: who died before would else keep its parts a day."""
    dead, heir = worker(store, "dead"), worker(store, "heir")
    dead.take_parts(PARTS, PARTS)
    set_clock(store, forward_s)
    assert len(heir.take_parts(PARTS, PARTS)) == free


def test_who_lost_a_part_cannot_hold_it_even_under_the_same_name(store: Store) -> None:
    """The epoch is the fence: the same holder, back after another had the part, is another."""
    ada, bob = worker(store, "ada"), worker(store, "bob")
    (old,) = ada.take_parts(PARTS, 1)
    with store.engine.begin() as connection:
        leases.hold_lease(connection, old, 1)
    set_clock(store, 1.1 * LEASE_S)
    assert bob.take_parts(1, 1)
    set_clock(store, 1.1 * LEASE_S)
    (new,) = ada.take_parts(1, 1)
    assert (new.part, new.holder) == (old.part, old.holder)
    with store.engine.begin() as connection:
        leases.hold_lease(connection, new, 1)
        with pytest.raises(LeaseLost, match="no longer ada's"):
            leases.hold_lease(connection, old, 1)


def test_a_part_does_not_change_hands_while_a_commit_for_it_is_under_way(store: Store) -> None:
    """Its lease has run out, but the row is held: taken is what nobody writes for."""
    ada, bob = worker(store, "ada"), worker(store, "bob")
    held = ada.take_parts(PARTS, PARTS)
    with store.engine.begin() as connection:
        leases.hold_lease(connection, held[3], 10)
        set_clock(store, 1.1 * LEASE_S)
        assert {lease.part for lease in bob.take_parts(PARTS, PARTS)} == set(range(PARTS)) - {3}
        assert bob.take_parts(PARTS, PARTS) == []
    assert [lease.part for lease in bob.take_parts(PARTS, PARTS)] == [3]


def test_a_worker_that_stops_in_the_middle_of_a_commit_does_not_keep_its_part(
    store: Store,
) -> None:
    """A transaction that says nothing is ended by the database, and writes nothing."""
    ada, bob = worker(store, "ada"), worker(store, "bob")
    (held,) = ada.take_parts(1, 1)
    with store.engine.connect() as connection:
        leases.hold_lease(connection, held, 0.3)
        set_clock(store, 1.1 * LEASE_S)
        assert eventually(lambda: [lease.part for lease in bob.take_parts(1, 1)] == [0])
        with pytest.raises(DBAPIError):
            connection.execute(select(1))


# Who is at work, as everybody sees it, and what all of them agree on.

ROLL_PARTS, MARK = 4, 7


def join(
    store: Store, *names: str, lease_s: float = LEASE_S, partitions: int = ROLL_PARTS
) -> None:
    """Let these join."""
    for name in names:
        leases.join_workers(store.engine, name, lease_s, MARK, partitions)


def test_who_joins_is_counted_until_it_leaves_or_is_silent(store: Store) -> None:
    """In the order in which they joined, which is the order of their shares."""
    join(store, "ada", "bob", "cy")
    assert leases.renew_membership(store.engine, "ada", LEASE_S, MARK) == ["ada", "bob", "cy"]
    leases.leave_workers(store.engine, "bob")
    for living in (["ada", "cy"], ["ada"]):
        set_clock(store, 0.6 * LEASE_S)
        assert leases.renew_membership(store.engine, "ada", LEASE_S, MARK) == living


@pytest.mark.parametrize(("partitions", "lease_s"), [(ROLL_PARTS + 2, LEASE_S), (ROLL_PARTS, 5.0)])
def test_who_splits_the_devices_otherwise_does_not_join_those_at_work(
    store: Store, partitions: int, lease_s: float
) -> None:
    """One device would be in two parts, another in none; with all others gone it may."""
    join(store, "ada")
    with pytest.raises(OperatorFault, match="ada run with 4 and 60: devices would be in two"):
        join(store, "bob", lease_s=lease_s, partitions=partitions)
    leases.leave_workers(store.engine, "ada")
    join(store, "bob", lease_s=lease_s, partitions=partitions)
    with pytest.raises(OperatorFault, match="bob run with"):
        join(store, "ada")


def test_the_dead_keep_nobody_from_changing_the_parts(store: Store) -> None:
    """A worker that was killed is at work for one lease more, and no longer."""
    join(store, "dead")
    with pytest.raises(OperatorFault):
        join(store, "ada", partitions=ROLL_PARTS + 2)
    set_clock(store, 1.1 * LEASE_S)
    join(store, "ada", partitions=ROLL_PARTS + 2)


def test_the_roll_names_the_dead_the_living_and_what_is_nobodys(store: Store, home: Any) -> None:
    """Whatever its leader shows: words of `heatveil health` are made of it."""
    mark = leases.hash_devices(home.devices)
    join(store, "dead", "ada")
    Leases(store.engine, "dead", LEASE_S).take_parts(1, 1)
    set_clock(store, 1.1 * LEASE_S)
    leases.renew_membership(store.engine, "ada", LEASE_S, mark)
    ours = Leases(store.engine, "ada", LEASE_S).take_parts(ROLL_PARTS, ROLL_PARTS - 1)
    assert len(ours) == ROLL_PARTS - 1
    found = leases.read_roll(store.engine, LEASE_S, ROLL_PARTS)
    assert found.members == [Member("dead", MARK, False, 0), Member("ada", mark, True, 3)]
    assert found.nobodys == [3]
    said = describe_workers(found, mark)
    assert not said.ok
    assert "nobody has part 3" in said.why
    assert "gone without a goodbye: dead" in said.why


def test_another_list_of_devices_has_another_mark_and_is_told(home: Any) -> None:
    """A name, a key, a place or the site's key: whatever differs."""
    devices = home.devices
    name, one = next(iter(devices.by_name.items()))
    others = [
        devices._replace(by_name={k: v for k, v in devices.by_name.items() if k != name}),
        devices._replace(by_name=devices.by_name | {name: one._replace(key_id=b"else")}),
        devices._replace(by_name=devices.by_name | {name: one._replace(place=(99, 1))}),
        devices._replace(site_key=bytes(32)),
    ]
    mark = leases.hash_devices(devices)
    turned = devices._replace(by_name=dict(reversed(devices.by_name.items())))
    assert leases.hash_devices(turned) == mark
    for other in others:
        assert 0 <= leases.hash_devices(other) != mark
        found = leases.Roll([Member("ada", leases.hash_devices(other), True, ROLL_PARTS)], [])
        assert "ada works with another devices file" in describe_workers(found, mark).why
        assert not describe_workers(found, mark).ok
    assert describe_workers(leases.Roll([Member("ada", mark, True, ROLL_PARTS)], []), mark).ok

"""Who is at work, as everybody sees it, and what all of them agree on."""

import time
from typing import Any

import pytest

from gateway.faults import OperatorFault
from gateway.service.workers import leases
from gateway.service.workers.gathering import told
from gateway.service.workers.leases import Leases, Member
from gateway.store.store import Store

PARTS, LEASE_S, MARK = 4, 1.0, 7


def join(store: Store, *names: str, lease_s: float = LEASE_S, partitions: int = PARTS) -> None:
    """Let these join."""
    for name in names:
        leases.join(store.engine, name, lease_s, MARK, partitions)


@pytest.mark.long
def test_who_joins_is_counted_until_it_leaves_or_is_silent(store: Store) -> None:
    """In the order in which they joined, which is the order of their shares."""
    join(store, "ada", "bob", "cy")
    assert leases.sign(store.engine, "ada", LEASE_S, MARK) == ["ada", "bob", "cy"]
    leases.leave(store.engine, "bob")
    until_s = time.monotonic() + 1.5 * LEASE_S
    while time.monotonic() < until_s:
        living = leases.sign(store.engine, "ada", LEASE_S, MARK)
        time.sleep(0.1)
    assert living == ["ada"]


def test_who_leaves_takes_nothing_along(store: Store) -> None:
    """Its parts are free at once, also those that it forgot."""
    join(store, "ada", "bob", lease_s=60.0)
    assert len(Leases(store.engine, "ada", 60.0).take(PARTS, PARTS)) == PARTS
    assert Leases(store.engine, "bob", 60.0).take(PARTS, PARTS) == []
    leases.leave(store.engine, "ada")
    assert len(Leases(store.engine, "bob", 60.0).take(PARTS, PARTS)) == PARTS


@pytest.mark.parametrize(("partitions", "lease_s"), [(PARTS + 2, LEASE_S), (PARTS, 5.0)])
def test_who_splits_the_devices_otherwise_does_not_join_those_at_work(
    store: Store, partitions: int, lease_s: float
) -> None:
    """One device would be in two parts, another in none; with all others gone it may."""
    join(store, "ada")
    with pytest.raises(OperatorFault, match="ada work with 4 and 1: devices would be in two"):
        join(store, "bob", lease_s=lease_s, partitions=partitions)
    leases.leave(store.engine, "ada")
    join(store, "bob", lease_s=lease_s, partitions=partitions)
    with pytest.raises(OperatorFault, match="bob work with"):
        join(store, "ada")


def test_the_dead_keep_nobody_from_changing_the_parts(store: Store) -> None:
    """A worker that was killed is at work for one lease more, and no longer."""
    join(store, "dead", lease_s=0.2)
    with pytest.raises(OperatorFault):
        join(store, "ada", partitions=PARTS + 2)
    time.sleep(0.4)
    join(store, "ada", partitions=PARTS + 2)


def test_the_roll_names_the_dead_the_living_and_what_is_nobodys(store: Store, home: Any) -> None:
    """Whatever its leader shows: words of `heatveil health` are made of it."""
    mark = leases.mark_of(home.devices)
    join(store, "dead", "ada", lease_s=0.5)
    Leases(store.engine, "dead", 0.5).take(1, 1)
    time.sleep(0.6)
    leases.sign(store.engine, "ada", 0.5, mark)
    assert len(Leases(store.engine, "ada", 0.5).take(PARTS, PARTS - 1)) == PARTS - 1
    found = leases.called(store.engine, 0.5, PARTS)
    assert found.members == [Member("dead", MARK, False, 0), Member("ada", mark, True, 3)]
    assert found.nobodys == [3]
    said = told(found, mark)
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
    mark = leases.mark_of(devices)
    turned = devices._replace(by_name=dict(reversed(devices.by_name.items())))
    assert leases.mark_of(turned) == mark
    for other in others:
        assert 0 <= leases.mark_of(other) != mark
        found = leases.Roll([Member("ada", leases.mark_of(other), True, PARTS)], [])
        assert "ada works with another devices file" in told(found, mark).why
        assert not told(found, mark).ok
    assert told(leases.Roll([Member("ada", mark, True, PARTS)], []), mark).ok

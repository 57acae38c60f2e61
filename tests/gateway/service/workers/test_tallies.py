"""What the database sums up is what the mechanism's own release says, exactly."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from edge.core.records import Grid
from edge.mechanisms import disk, thermal
from gateway import mechanisms
from gateway.service.rounds import OpenRound, Place
from gateway.service.workers import rounds
from gateway.service.workers.part import part_of
from gateway.service.workers.rounds import Fold, combine, find_fold
from gateway.store import message_rows
from gateway.store.message_rows import Sum
from gateway.store.store import Store
from recovery.disk import plan
from recovery.disk.query import Query
from recovery.disk.round import domain_of

NAME, OTHER = b"abcd", b"efgh"
PARTS = 4


def summed(store: Store, fold: Fold, plan: Any, name: bytes = NAME) -> Any:
    """Return the release that SQL's sums make."""
    with store.engine.connect() as connection:
        return fold.release(plan, *message_rows.sum_slots(connection, name))


@pytest.mark.parametrize("seed", range(3))
def test_a_thermal_round_summed_in_parts_is_the_release_of_all_its_payloads(
    store: Store, home: Any, seed: int
) -> None:
    """Devices with one sensor or eight, some of them silent, values of either sign."""
    world = random.Random(seed)
    first, payloads = 0, {}
    while first < 120:
        width = world.choice([1, 1, 8])
        if world.random() < 0.8:
            values = [world.randint(-(2**31), 2**31 - 1) for _ in range(width)]
            payloads[f"node-{first}"] = [first, *values]
        first += width
    params = (first, *home.round().params[1:])
    plan, fold = home.round()._replace(params=params), rounds.find_fold("thermal")
    with store.engine.begin() as connection:
        for part in range(PARTS):
            mine = [said for name, said in payloads.items() if part_of(name, PARTS) == part]
            for batch in (mine[:3], mine[3:]):
                message_rows.add(connection, NAME, part, combine(fold, batch), len(batch))
        message_rows.add(connection, OTHER, 0, {0: Sum(1, 1)}, 1)  # another round's
    assert summed(store, fold, plan) == thermal.release(plan, list(payloads.values()), None)


def test_sums_of_a_transaction_that_fails_are_not_there(store: Store) -> None:
    """Reports and their sums are one: what is rolled back was never added."""
    with store.engine.connect() as connection:
        message_rows.add(connection, NAME, 0, {1: Sum(5, 1)}, 1)
        assert message_rows.came(connection, NAME) == 1
        connection.rollback()
    with store.engine.connect() as connection:
        assert message_rows.sum_slots(connection, NAME) == ({}, 0)
        assert message_rows.came(connection, NAME) == 0


def test_a_sensor_that_is_summed_twice_is_an_error_and_no_average(home: Any) -> None:
    """More answers of one sensor in a round would average its noise away."""
    with pytest.raises(ValueError, match="2 times"):
        rounds.find_fold("thermal").release(home.round(), {1: Sum(10, 2)}, 2)


# Counting in parts: however reports are shared out, the sums make the mechanism's own release.

ROUND = plan(Query(Grid((6, 5), 0), (3, 1), scheme="dam-ns", radius=2), [])
INSIDE = [place for place, good in enumerate(domain_of(ROUND).ravel()) if good]
OUTSIDE = sorted(set(range(domain_of(ROUND).size)) - set(INSIDE))


def shared(payloads: Sequence[Sequence[int]], parts: int) -> dict[int, Sum]:
    """Return the sums of all parts, added up as the database does."""
    fold, total = find_fold("disk"), dict[int, Sum]()
    for part in range(parts):
        for slot, (amount, reports) in combine(fold, payloads[part::parts]).items():
            before = total.get(slot, Sum(0, 0))
            total[slot] = Sum(before.amount + amount, before.reports + reports)
    return total


@pytest.mark.parametrize("parts", [1, 2, 7])
@pytest.mark.parametrize("devices", [0, 1, 500])
def test_the_parts_add_up_to_the_release_of_all(parts: int, devices: int) -> None:
    """The map must not depend on how many workers there were."""
    dice = random.Random(devices)
    payloads = [[sensor, dice.choice(INSIDE)] for sensor in range(devices)]

    found = find_fold("disk").release(ROUND, shared(payloads, parts), devices)
    assert found == disk.release(ROUND, payloads, None)


@pytest.mark.parametrize("place", [OUTSIDE[0], OUTSIDE[-1], domain_of(ROUND).size, -1])
def test_what_nobody_can_answer_is_refused_before_it_is_counted(place: int) -> None:
    """By the fold as by the device's own release; and by the round, so that it is never kept."""
    payload = [0, place]
    with pytest.raises(ValueError, match="outside"):
        disk.release(ROUND, [payload], None)
    with pytest.raises(ValueError, match="no device can"):
        find_fold("disk").release(ROUND, shared([payload], 1), 1)

    assert refusal(payload) == ("place", True)


def test_a_count_that_was_lost_is_found_out() -> None:
    """A map of fewer than came would look like one of all."""
    sums = shared([[0, INSIDE[0]], [1, INSIDE[1]]], 1)
    with pytest.raises(ValueError, match="2 answers were counted"):
        find_fold("disk").release(ROUND, sums, 3)


def refusal(payload: Sequence[int]) -> tuple[str, bool]:
    """Return the kind of a payload's refusal by an open round, and whether there is one."""
    places = {"a": Place(0, 1)}
    round = OpenRound(
        ROUND,
        b"name",
        1.0,
        places,
        wrong=mechanisms.find_service(ROUND.mechanism).payload_fault(ROUND),
    )
    report: Any = type("Report", (), {"sender": "a", "payload": payload, "round": b"name"})
    found = round.refusal(report, 0.0)
    return ("", False) if found is None else (found.kind, True)

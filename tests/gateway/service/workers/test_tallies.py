"""What the database sums up is what the mechanism's own release says, exactly."""

import random
from typing import Any

import pytest

from edge.mechanisms import thermal
from gateway.service.workers import rounds
from gateway.service.workers.part import part_of
from gateway.service.workers.rounds import Fold, combined
from gateway.store import message_rows
from gateway.store.message_rows import Sum
from gateway.store.store import Store

NAME, OTHER = b"abcd", b"efgh"
PARTS = 4


def summed(store: Store, fold: Fold, plan: Any, name: bytes = NAME) -> Any:
    """Return the release that SQL's sums make."""
    with store.engine.connect() as connection:
        return fold.release(plan, *message_rows.summed(connection, name))


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
    plan, fold = home.round()._replace(params=params), rounds.named("thermal")
    with store.engine.begin() as connection:
        for part in range(PARTS):
            mine = [said for name, said in payloads.items() if part_of(name, PARTS) == part]
            for batch in (mine[:3], mine[3:]):
                message_rows.add(connection, NAME, part, combined(fold, batch), len(batch))
        message_rows.add(connection, OTHER, 0, {0: Sum(1, 1)}, 1)  # another round's
    assert summed(store, fold, plan) == thermal.release(plan, list(payloads.values()), None)


def test_sums_of_a_transaction_that_fails_are_not_there(store: Store) -> None:
    """Reports and their sums are one: what is rolled back was never added."""
    with store.engine.connect() as connection:
        message_rows.add(connection, NAME, 0, {1: Sum(5, 1)}, 1)
        assert message_rows.came(connection, NAME) == 1
        connection.rollback()
    with store.engine.connect() as connection:
        assert message_rows.summed(connection, NAME) == ({}, 0)
        assert message_rows.came(connection, NAME) == 0


def test_a_sensor_that_is_summed_twice_is_an_error_and_no_average(home: Any) -> None:
    """More answers of one sensor in a round would average its noise away."""
    with pytest.raises(ValueError, match="2 times"):
        rounds.named("thermal").release(home.round(), {1: Sum(10, 2)}, 2)

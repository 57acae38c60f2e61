"""What the database sums up is what the mechanism's own release says, exactly."""

import random
import time
from typing import Any

import numpy as np
import pytest

from edge import thermal
from edge.records import Release
from gateway.service.workers import folds
from gateway.service.workers.folds import Fold, combined
from gateway.service.workers.parts import part_of
from gateway.store import message_rows
from gateway.store.message_rows import Sum
from gateway.store.store import Store

NAME, OTHER = b"abcd", b"efgh"
CELLS, REPORTS, PARTS, BATCH = 256, 200_000, 4, 500

# A mechanism that counts: its payload is the cells that a device says yes to.
COUNTS = Fold(
    lambda payload: ((cell, 1) for cell in payload),
    lambda round, sums, reports: Release(
        round, [sums[cell].amount if cell in sums else 0 for cell in range(CELLS)], reports
    ),
)


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
    plan, fold = home.round()._replace(params=params), folds.named("thermal")
    with store.engine.begin() as connection:
        for part in range(PARTS):
            mine = [said for name, said in payloads.items() if part_of(name, PARTS) == part]
            for batch in (mine[:3], mine[3:]):
                message_rows.add(connection, NAME, part, combined(fold, batch), len(batch))
        message_rows.add(connection, OTHER, 0, {0: Sum(1, 1)}, 1)  # another round's
    assert summed(store, fold, plan) == thermal.release(plan, list(payloads.values()), None)


def test_a_sensor_that_is_summed_twice_is_an_error_and_no_average(store: Store, home: Any) -> None:
    """Two readings of one sensor in one release would average the noise away."""
    with store.engine.begin() as connection:
        for part in range(2):
            message_rows.add(connection, NAME, part, {1: Sum(5, 1)}, 1)
    with pytest.raises(ValueError, match="sensor 1 answers round 1 2 times"):
        summed(store, folds.named("thermal"), home.round())


def test_sums_of_a_transaction_that_fails_are_not_there(store: Store) -> None:
    """Reports and their sums are one: what is rolled back was never added."""
    with store.engine.connect() as connection:
        message_rows.add(connection, NAME, 0, {1: Sum(5, 1)}, 1)
        assert message_rows.came(connection, NAME) == 1
        connection.rollback()
    with store.engine.connect() as connection:
        assert message_rows.summed(connection, NAME) == ({}, 0)
        assert message_rows.came(connection, NAME) == 0


@pytest.mark.long
def test_counts_of_very_many_reports_are_a_sum_in_sql(store: Store) -> None:
    """200,000 reports of 256 cells: equal to numpy's counts, for little time."""
    world = np.random.default_rng(3)
    bits = world.random((REPORTS, CELLS)) < 0.05
    began_s = time.process_time()
    adding_s = 0.0
    for batch in range(0, REPORTS, BATCH):
        cells = [np.flatnonzero(row).tolist() for row in bits[batch : batch + BATCH]]
        start_s = time.process_time()
        sums = combined(COUNTS, cells)
        with store.engine.begin() as connection:
            message_rows.add(connection, NAME, batch // BATCH % PARTS, sums, len(cells))
        adding_s += time.process_time() - start_s
    asked_s = time.monotonic()
    release = summed(store, COUNTS, None)
    asking_s = time.monotonic() - asked_s
    assert release.values == bits.sum(axis=0).tolist()
    assert release.reports == REPORTS
    print(
        f"\n{REPORTS} reports of {CELLS} cells: {adding_s / REPORTS * 1e6:.1f} us CPU a report to "
        f"add {bits.sum() / REPORTS:.1f} cells each, the round's sum in {asking_s * 1e3:.1f} ms"
        f" ({time.process_time() - began_s:.1f} s CPU in all)"
    )
    assert asking_s < 0.5

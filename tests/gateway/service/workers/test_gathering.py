"""A round over several parts is released as one; and the tallies that parts tell each other."""

import random
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from math import inf
from typing import Any

import pytest
from sqlalchemy.dialects import postgresql

from edge.core import wire
from edge.core.records import Grid
from edge.host import post
from edge.mechanisms import disk, thermal
from gateway import mechanisms
from gateway.service.intake.outcomes import AskedRound, CountedReport, DeadLetter
from gateway.service.rounds import OpenRound, Place
from gateway.service.workers import leases, rounds
from gateway.service.workers.leases import Lease, LeaseLost, Leases
from gateway.service.workers.part import find_part
from gateway.service.workers.rounds import (
    PartStore,
    ReportFold,
    RoundOver,
    find_fold,
    sum_payloads,
)
from gateway.store import message_rows
from gateway.store.message_rows import SlotSum
from gateway.store.schema import leases as table
from gateway.store.store import Store
from recovery.disk import plan
from recovery.disk.query import Query
from recovery.disk.round import domain_of

# Rounds over many workers: closed against late commits, and summed to what the release is.

FOLD, TRIES = rounds.find_fold("thermal"), 60


def opened(store: Store, home: Any, number: int = 1) -> OpenRound:
    """Return a round that is charged, in the store, and open."""
    plan = home.round(number)
    name = wire.name_of(plan)
    asked = AskedRound(name, name, plan, home.message(plan), Fraction(1, 50))
    assert store.open_round(asked, Fraction(100)) == ""
    places = {name: device.place for name, device in home.devices.by_name.items()}
    rounds.open_round(store.engine, name, FOLD)
    return OpenRound(plan, name, inf, places)


def answers(home: Any, round: OpenRound) -> dict[str, CountedReport]:
    """Return what every device answers, as a row of the store."""
    rows = {}
    for name, device in home.devices.by_name.items():
        frame = home.answer(name, round.plan)
        topic = wire.topic(home.devices.site, name, "data")
        report = post.unpack_report(frame, device.mac_key, topic, name)
        numbers = report.epoch, report.seq
        rows[name] = CountedReport(name, *numbers, round.name, frame, device.key_id)
    return rows


def part(store: Store, number: int = 0, holder: str = "ada", lease_s: float = 60.0) -> PartStore:
    """Return the store of a part that was just taken."""
    mine = Leases(store.engine, holder, lease_s)
    row = {"part": number, "holder": "", "until_s": 0.0, "epoch": 0}
    with store.engine.begin() as connection:
        connection.execute(postgresql.insert(table).on_conflict_do_nothing(), row)
    while not (taken := [one for one in mine.take_parts(number + 1, 9) if one.part == number]):
        time.sleep(0.01)
    return PartStore(store, taken[0], FOLD, 60)


def test_a_round_over_two_parts_is_released_as_one(store: Store, home: Any) -> None:
    """The sums of both parts are what the mechanism makes of all payloads."""
    round = opened(store, home)
    rows = answers(home, round)
    parts = [part(store, 0), part(store, 1, "bob")]
    for index, row in enumerate(rows.values()):
        parts[index % 2].keep_batch([row])
    found = rounds.close_and_sum(store.engine, round, FOLD)
    reports = [
        post.unpack_report(
            row.frame,
            home.devices.by_name[name].mac_key,
            wire.topic(home.devices.site, name, "data"),
            name,
        )
        for name, row in rows.items()
    ]
    assert found.release == thermal.release(round.plan, [one.payload for one in reports], None)
    assert sorted(found.devices) == sorted(rows)


@pytest.mark.long
def test_a_report_is_in_the_sum_or_hears_that_the_round_is_over(store: Store, home: Any) -> None:
    """Close and commit at once, many times: none counts after the close, none is half in."""
    mine, world = part(store), random.Random(5)
    late, in_time, took_s = 0, 0, 0.005
    with ThreadPoolExecutor(2) as crew:
        for number in range(1, TRIES + 1):
            round = opened(store, home, number)
            rows = list(answers(home, round).values())[:2]
            gate = threading.Barrier(2)
            wait_s = world.random() * 2 * took_s  # so that both sides win at times

            def keep(rows: list[CountedReport] = rows, gate: threading.Barrier = gate) -> int:
                nonlocal took_s
                gate.wait()
                kept, began_s = 0, time.monotonic()
                for row in rows:
                    try:
                        mine.keep_batch([row])
                    except RoundOver:
                        return kept
                    kept += 1
                took_s = time.monotonic() - began_s
                return kept

            kept = crew.submit(keep)
            gate.wait()
            time.sleep(wait_s)
            found = rounds.close_and_sum(store.engine, round, FOLD)
            count = kept.result()
            # What was kept before the close is in the sum; after it nothing was.
            assert found.release.reports == len(found.devices) == count
            assert len(store.list_answers(round.name)) == count
            assert sum(value is not None for value in found.release.values) == count
            late += count < 2
            in_time += count > 0
            with pytest.raises(RoundOver):
                mine.keep_batch([rows[1]._replace(seq=2**40)])
            assert store.close_round(round.name, found.release.values, count)
    assert late > TRIES / 20, "the race was never lost: it tests nothing"
    assert in_time > TRIES / 20, "the race was never won: it tests nothing"


def test_who_lost_the_lease_writes_nothing_at_all(
    store: Store, home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither reports nor sums nor numbers; without the fence the zombie's commit would stand."""
    round = opened(store, home)
    first, second = list(answers(home, round).values())[:2]
    zombie = part(store, 0, "zombie", 0.05)
    part(store, 0, "successor")
    with pytest.raises(LeaseLost):
        zombie.keep_batch([first])
    assert store.list_answers(round.name) == []
    assert store.read_newest_numbers() == {}
    assert rounds.count_answers(store.engine, round.name) == 0

    def unfenced(connection: Any, lease: Lease, idle_s: float) -> None:
        """Let everybody write."""

    monkeypatch.setattr(leases, "hold_lease", unfenced)
    zombie.keep_batch([second])
    assert [name for name, _ in store.list_answers(round.name)] == [second.device]


def test_sums_that_are_missing_are_made_of_the_reports(store: Store, home: Any) -> None:
    """One gateway took answers before there were parts: opened again, the round has them all."""
    round = opened(store, home)
    first, second, *_ = answers(home, round).values()
    store.keep_batch([first])
    assert rounds.count_answers(store.engine, round.name) == 0
    # And the gateway dies before the release is kept
    rounds.close_and_sum(store.engine, round, FOLD)
    rounds.open_round(store.engine, round.name, FOLD)
    assert rounds.count_answers(store.engine, round.name) == 1
    part(store).keep_batch([second])
    found = rounds.close_and_sum(store.engine, round, FOLD)
    assert sorted(found.devices) == sorted([first.device, second.device])
    assert found.release.reports == 2


def test_a_round_that_was_released_is_not_opened_again(store: Store, home: Any) -> None:
    """Two leaders for a moment, as when the database was started anew: what is out is out."""
    round = opened(store, home)
    first, second, *_ = answers(home, round).values()
    mine = part(store)
    mine.keep_batch([first])
    found = rounds.close_and_sum(store.engine, round, FOLD)
    assert store.close_round(round.name, found.release.values, 1)
    rounds.open_round(store.engine, round.name, FOLD)
    with pytest.raises(RoundOver):
        mine.keep_batch([second])


# What the database sums up is what the mechanism's own release says, exactly.

NAME, OTHER = b"abcd", b"efgh"
PARTS = 4


def summed(store: Store, fold: ReportFold, plan: Any, name: bytes = NAME) -> Any:
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
            mine = [said for name, said in payloads.items() if find_part(name, PARTS) == part]
            for batch in (mine[:3], mine[3:]):
                message_rows.add_slot_sums(
                    connection, NAME, part, sum_payloads(fold, batch), len(batch)
                )
        message_rows.add_slot_sums(connection, OTHER, 0, {0: SlotSum(1, 1)}, 1)  # another round's
    assert summed(store, fold, plan) == thermal.release(plan, list(payloads.values()), None)


def test_a_sensor_that_is_summed_twice_is_an_error_and_no_average(home: Any) -> None:
    """More answers of one sensor in a round would average its noise away."""
    with pytest.raises(ValueError, match="2 times"):
        rounds.find_fold("thermal").release(home.round(), {1: SlotSum(10, 2)}, 2)


# Counting in parts: however reports are shared out, the sums make the mechanism's own release.

ROUND = plan(Query(Grid((6, 5), 0), (3, 1), scheme="dam-ns", radius=2), [])
INSIDE = [place for place, good in enumerate(domain_of(ROUND).ravel()) if good]
OUTSIDE = sorted(set(range(domain_of(ROUND).size)) - set(INSIDE))


def shared(payloads: Sequence[Sequence[int]], parts: int) -> dict[int, SlotSum]:
    """Return the sums of all parts, added up as the database does."""
    fold, total = find_fold("disk"), dict[int, SlotSum]()
    for part in range(parts):
        for slot, (amount, reports) in sum_payloads(fold, payloads[part::parts]).items():
            before = total.get(slot, SlotSum(0, 0))
            total[slot] = SlotSum(before.amount + amount, before.reports + reports)
    return total


def test_the_parts_add_up_to_the_release_of_all() -> None:
    """The map must not depend on how many workers there were."""
    dice = random.Random(500)
    payloads = [[sensor, dice.choice(INSIDE)] for sensor in range(500)]

    found = find_fold("disk").release(ROUND, shared(payloads, 7), 500)
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
        wrong=mechanisms.find_serving(ROUND.mechanism).payload_fault(ROUND),
    )
    report: Any = type("Report", (), {"sender": "a", "payload": payload, "round": b"name"})
    found = round.find_refusal(report, 0.0)
    return ("", False) if found is None else (found.kind, True)


def test_late_ones_are_counted_whatever_the_clock_of_their_worker(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each row has the time of the machine that wrote it, which may be a day off."""
    letters = [DeadLetter("heatveil/1/x/y/data", "it is late", b"", "late")]
    store.keep_batch([], letters)  # for a round before
    began = rounds.find_last_refused(store.engine)
    store.keep_batch([], [letters[0]._replace(kind="garbled")])
    opened_with = rounds.find_last_refused(store.engine)
    real = time.time
    for off_s in (-86400.0, 86400.0):
        monkeypatch.setattr(time, "time", lambda off_s=off_s: real() + off_s)
        store.keep_batch([], letters)

    assert rounds.count_refusals(store.engine, began, opened_with) == (3, 2)

"""Rounds over many workers: closed against late commits, and summed to what the release is."""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from math import inf
from typing import Any

import pytest
from sqlalchemy.dialects import postgresql

from edge.core import wire
from edge.host import post
from edge.mechanisms import thermal
from gateway.service.intake.outcomes import Asked, DeadLetter, Kept
from gateway.service.rounds import OpenRound
from gateway.service.workers import leases, rounds
from gateway.service.workers.leases import Lease, LeaseLost, Leases
from gateway.service.workers.rounds import PartStore, RoundOver
from gateway.store.schema import leases as table
from gateway.store.store import Store

FOLD, TRIES = rounds.find_fold("thermal"), 60


def opened(store: Store, home: Any, number: int = 1) -> OpenRound:
    """Return a round that is charged, in the store, and open."""
    plan = home.round(number)
    name = wire.name_of(plan)
    asked = Asked(name, name, plan, home.message(plan), Fraction(1, 50))
    assert store.open_round(asked, Fraction(100)) == ""
    places = {name: device.place for name, device in home.devices.by_name.items()}
    rounds.open_round(store.engine, name, FOLD)
    return OpenRound(plan, name, inf, places)


def answers(home: Any, round: OpenRound) -> dict[str, Kept]:
    """Return what every device answers, as a row of the store."""
    rows = {}
    for name, device in home.devices.by_name.items():
        frame = home.answer(name, round.plan)
        topic = wire.topic(home.devices.site, name, "data")
        report = post.unpack_report(frame, device.mac_key, topic, name)
        numbers = report.epoch, report.seq
        rows[name] = Kept(name, *numbers, round.name, frame, device.key_id)
    return rows


def part(store: Store, number: int = 0, holder: str = "ada", lease_s: float = 60.0) -> PartStore:
    """Return the store of a part that was just taken."""
    mine = Leases(store.engine, holder, lease_s)
    row = {"part": number, "holder": "", "until_s": 0.0, "epoch": 0}
    with store.engine.begin() as connection:
        connection.execute(postgresql.insert(table).on_conflict_do_nothing(), row)
    while not (taken := [one for one in mine.take(number + 1, 9) if one.part == number]):
        time.sleep(0.01)
    return PartStore(store, taken[0], FOLD, 5)


def test_a_round_over_two_parts_is_released_as_one(store: Store, home: Any) -> None:
    """The sums of both parts are what the mechanism makes of all payloads."""
    round = opened(store, home)
    rows = answers(home, round)
    parts = [part(store, 0), part(store, 1, "bob")]
    for index, row in enumerate(rows.values()):
        parts[index % 2].keep([row])
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
    late = in_time = 0
    with ThreadPoolExecutor(2) as crew:
        for number in range(1, TRIES + 1):
            round = opened(store, home, number)
            rows = list(answers(home, round).values())[:2]
            gate = threading.Barrier(2)
            wait_s = world.random() * 0.01

            def keep(rows: list[Kept] = rows, gate: threading.Barrier = gate) -> int:
                gate.wait()
                kept = 0
                for row in rows:
                    try:
                        mine.keep([row])
                    except RoundOver:
                        break
                    kept += 1
                return kept

            kept = crew.submit(keep)
            gate.wait()
            time.sleep(wait_s)
            found = rounds.close_and_sum(store.engine, round, FOLD)
            count = kept.result()
            # What was kept before the close is in the sum; after it nothing was.
            assert found.release.reports == len(found.devices) == count
            assert len(store.answers(round.name)) == count
            assert sum(value is not None for value in found.release.values) == count
            late += count < 2
            in_time += count > 0
            with pytest.raises(RoundOver):
                mine.keep([rows[1]._replace(seq=2**40)])
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
        zombie.keep([first])
    assert store.answers(round.name) == []
    assert store.newest() == {}
    assert rounds.count_answers(store.engine, round.name) == 0

    def unfenced(connection: Any, lease: Lease, idle_s: float) -> None:
        """Let everybody write."""

    monkeypatch.setattr(leases, "hold", unfenced)
    zombie.keep([second])
    assert [name for name, _ in store.answers(round.name)] == [second.device]


def test_sums_that_are_missing_are_made_of_the_reports(store: Store, home: Any) -> None:
    """One gateway took answers before there were parts: opened again, the round has them all."""
    round = opened(store, home)
    first, second, *_ = answers(home, round).values()
    store.keep([first])
    assert rounds.count_answers(store.engine, round.name) == 0
    rounds.close_and_sum(
        store.engine, round, FOLD
    )  # and the gateway dies before the release is kept
    rounds.open_round(store.engine, round.name, FOLD)
    assert rounds.count_answers(store.engine, round.name) == 1
    part(store).keep([second])
    found = rounds.close_and_sum(store.engine, round, FOLD)
    assert sorted(found.devices) == sorted([first.device, second.device])
    assert found.release.reports == 2


def test_late_ones_are_counted_whatever_the_clock_of_their_worker(
    store: Store, home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each row has the time of the machine that wrote it, which may be a day off."""
    letters = [DeadLetter("heatveil/1/x/y/data", "it is late", b"", "late")]
    store.keep([], letters)  # for a round before
    began = rounds.last_refused(store.engine)
    store.keep([], [letters[0]._replace(kind="garbled")])
    opened_with = rounds.last_refused(store.engine)
    real = time.time
    for off_s in (-86400.0, 86400.0):
        monkeypatch.setattr(time, "time", lambda off_s=off_s: real() + off_s)
        store.keep([], letters)
    assert rounds.refusals(store.engine, began, opened_with) == (3, 2)


def test_a_round_that_was_released_is_not_opened_again(store: Store, home: Any) -> None:
    """Two leaders for a moment, as when the database was started anew: what is out is out."""
    round = opened(store, home)
    first, second, *_ = answers(home, round).values()
    mine = part(store)
    mine.keep([first])
    found = rounds.close_and_sum(store.engine, round, FOLD)
    assert store.close_round(round.name, found.release.values, 1)
    rounds.open_round(store.engine, round.name, FOLD)
    with pytest.raises(RoundOver):
        mine.keep([second])

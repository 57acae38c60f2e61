"""A part decides as the one writer of a site does: the same rows, receipts and counts."""

import re
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.dialects import postgresql

from edge import wire
from gateway.service.intake.outcomes import Asked
from gateway.service.intake.writer import Intake
from gateway.service.mqtt.connection import Message
from gateway.service.operate.metrics import Metrics
from gateway.service.operate.quarantine import Guard
from gateway.service.rounds import OpenRound
from gateway.service.workers import folds, rounds
from gateway.service.workers.part import PartIntake
from gateway.service.workers.rounds import PartStore
from gateway.settings.operating import Guard as Settings
from gateway.store import schema
from gateway.store.leases import Leases
from gateway.store.store import Store

FOLD, FLOOD, NUMBER = folds.named("thermal"), 3, 5
TABLES = (schema.reports, schema.heard, schema.newest, schema.alarms, schema.charges)
CLOCKED = {"id", "at_s", "taken_s", "last_s"}


class Wires:
    """Brings messages, and hears what becomes of them."""

    def __init__(self) -> None:
        self.receipts: list[tuple[str, bytes]] = []
        self.settled = 0

    def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
        self.receipts.append((topic, payload))

    def settle(self, receipts: Sequence[tuple[str, bytes]], messages: Sequence[Message]) -> None:
        self.receipts += receipts
        self.settled += len(messages)


def said(home: Any) -> tuple[list[tuple[str, bytes]], list[tuple[str, bytes]]]:
    """Return what devices say in time, and what they say after the round: good and bad."""
    plan, nobody = home.round(NUMBER), b"nonsense"
    topics = {name: wire.topic(home.devices.site, name, "data") for name in home.devices.by_name}
    ada, bob, cy, dee = sorted(topics)
    good = home.answer(ada, plan)
    skipped = home.fresh(bob, 1)
    for number in (NUMBER - 2, NUMBER - 1):  # answers that never come
        skipped.answer(home.message(home.round(number)), lambda _: [1000])
    others = [
        gone.answer(home.message(home.round(NUMBER + more)), lambda _: [1000])
        for gone in [home.fresh(dee, 1)]
        for more in (1, 2, 3)
    ]
    early = home.fresh(cy, 3).answer(home.message(plan), lambda _: [1000])
    again = home.fresh(cy, 2).answer(home.message(plan), lambda _: [1001])
    in_time = [
        (topics[ada], good),
        (topics[ada], good),  # its receipt was lost
        (topics[bob], good),  # another's
        (topics[bob], good[:-1] + bytes([good[-1] ^ 1])),
        (topics[cy], nobody),
        (topics[cy], early),
        (topics[cy], again),  # a memory that went back
        (topics[ada], home.fresh(ada, 1).answer(home.message(plan), lambda _: [1002])),  # changed
        (topics[dee], others[0]),
        (topics[dee], others[2]),  # and one between them never comes
        ("heatveil/1/testsite/stranger/data", nobody),
        (topics[bob], b"x" * 20_000),
    ]
    late = [
        (topics[bob], skipped.answer(home.message(plan), lambda _: [1000])),
        (topics[ada], good),
    ]
    late += [(topics[dee], nobody)] * (FLOOD + 4)
    return in_time, late


def heard(intake: Intake, messages: list[tuple[str, bytes]]) -> Wires:
    """Give an intake one message after the other."""
    wires = Wires()
    for count, (topic, payload) in enumerate(messages, 1):
        intake.put(wires, Message(topic, payload, (1, count)))
        until_s = time.monotonic() + 60
        while wires.settled < count and time.monotonic() < until_s:
            time.sleep(0.001)
        assert wires.settled == count
    return wires


def rows(store: Store) -> dict[str, Any]:
    """Return what is in the tables, but for times and row numbers."""
    found: dict[str, Any] = {}
    with store.engine.connect() as connection:
        for table in (*TABLES, schema.refused):
            wanted = [column for column in table.c if column.name not in CLOCKED]
            lines = [tuple(row) for row in connection.execute(select(*wanted))]
            found[table.name] = sorted(re.sub(r"\d+\.\d s", "", repr(line)) for line in lines)
    return found


def counted(metrics: Metrics) -> dict[str, float]:
    """Return the counters, but for those of commits and times."""
    lines = [line for line in metrics.text().decode().splitlines() if not line.startswith("#")]
    pairs = dict(line.rsplit(" ", 1) for line in lines)
    wanted = ("messages_total", "reports_total", "duplicates", "missing", "refused", "alarms")
    names = tuple(f"heatveil_{name}" for name in (*wanted, "receipts"))
    return {
        name: float(value)
        for name, value in pairs.items()
        if name.startswith(names) and "_created" not in name
    }


@pytest.fixture
def one(tmp_path: Path, home: Any) -> Any:
    """Return the store of a site that has one gateway."""
    store = Store(tmp_path / "heatveil.sqlite", home.devices.site)
    yield store
    store.close()


def through(
    store: Store,
    home: Any,
    messages: Any,
    make: Callable[[Any, Metrics, Guard], Intake],
    close: Callable[[Intake, bytes], Any],
) -> tuple[Any, ...]:
    """Return what is left of a round's messages in the store, on the wire and in the counts."""
    plan = home.round(NUMBER)
    name = wire.name_of(plan)
    asked = Asked(name, name, plan, home.message(plan), Fraction(1, 50))
    assert store.open_round(asked, Fraction(100)) == ""
    places = {who: device.place for who, device in home.devices.by_name.items()}
    settings = Settings(messages_per_s=1e-9, burst=FLOOD + 3, forged=100, quarantine=False)
    metrics, guard = Metrics(), Guard(settings, home.devices.by_name)
    intake = make(OpenRound(plan, name, inf, places), metrics, guard)
    in_time, late = messages
    first = heard(intake, in_time)
    close(intake, name)
    second = heard(intake, late)
    intake.stop()
    return rows(store), first.receipts, second.receipts, counted(metrics)


def test_whatever_comes_is_the_same_to_a_part_and_to_the_only_writer(
    one: Store, cluster: Callable[[], Any], home: Any
) -> None:
    """Counted, absorbed, refused with a reason, charged, suspected, receipted: bit for bit."""

    def alone(round: OpenRound, metrics: Metrics, guard: Guard) -> Intake:
        words: Any = {"metrics": metrics, "guard": guard}
        intake = Intake(one, home.devices, lambda *_: None, lambda _: None, **words)
        intake.open(round)
        return intake

    many = Store(cluster(), home.devices.site)

    def part(round: OpenRound, metrics: Metrics, guard: Guard) -> Intake:
        mine = Leases(many.engine, "ada", 60.0)
        row = {"part": 0, "holder": "", "until_s": 0.0, "epoch": 0}
        with many.engine.begin() as connection:
            connection.execute(postgresql.insert(schema.leases), row)
        rounds.opened(many.engine, round.name, FOLD)
        fenced = PartStore(many, mine.take(1, 1)[0], FOLD, 30.0)
        words: Any = {"metrics": metrics, "guard": guard}
        intake = PartIntake(fenced, home.devices, lambda *_: None, lambda _: None, **words)
        intake.begin()
        return intake

    def closed(_intake: Intake, name: bytes) -> None:
        plan = OpenRound(home.round(NUMBER), name, inf, {})
        assert rounds.close_and_sum(many.engine, plan, FOLD).release.reports == 2

    messages = said(home)
    expected = through(one, home, messages, alone, lambda intake, _: intake.close_round())
    found = through(many, home, messages, part, closed)
    many.close()
    for ours, theirs in zip(found, expected, strict=True):
        assert ours == theirs
    letters, counts = "".join(found[0]["refused"]), found[-1]
    for kind in ("garbled", "forged", "replayed", "changed", "other-round", "unknown", "late"):
        assert f"'{kind}'" in letters, kind
    assert "'flood'" in letters
    assert counts["heatveil_reports_total"] == 2
    assert counts["heatveil_missing_total"] > 0
    assert counts["heatveil_alarms_total"] == 2

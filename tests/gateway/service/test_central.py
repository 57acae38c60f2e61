"""Central trust at the gateway: one release, one charge and one key, whenever it is killed.

The mechanism is the tests' own (`tests/tally.py`): its noise is from sealed entropy, so every draw
differs, and a second draw of one round would show. Devices are real, and outlive the gateway.
"""

import contextlib
import json
import logging
import os
import resource
import shutil
import sqlite3
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import count
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from structlog.testing import capture_logs

from edge.core import wire
from edge.core.budget import Budget
from edge.core.node import Node
from edge.core.records import Reading, Report
from edge.host import post, rootkeys
from edge.host.enrol import Ram, provision
from edge.mechanisms import central, disk_limits
from gateway import mechanisms
from gateway.cli.records import export
from gateway.devices.enrol import enrol
from gateway.faults import OperatorFault, OvertakenFault
from gateway.mechanisms import Verbs
from gateway.mechanisms.record import Exported
from gateway.service import campaign, sealing, steps
from gateway.service.campaign import Campaign
from gateway.service.intake.door import Arrival, authenticate
from gateway.service.intake.outcomes import CountedReport
from gateway.service.intake.writer import Intake
from gateway.service.ledger import Charge
from gateway.service.mqtt.connection import Message
from gateway.service.operate.metrics import Metrics
from gateway.service.outbox import Outbox
from gateway.service.rounds import OpenRound
from gateway.settings import config
from gateway.settings.deployment import Deployment
from gateway.settings.windows import bound_span_s
from gateway.store import sqlite
from gateway.store.reader import Reader
from gateway.store.store import Store
from gateway.web.operations import OPERATIONS
from gateway.web.server import Page
from recovery.maps.guarantee import describe_window
from recovery.maps.heatmap import Heatmap
from tests import tally
from tests.waiting import eventually

SITE, ROUNDS, DEVICES = "central", 40, 3
# Where the devices are; on a grid this wide the cell is 123456789, which nothing else here is.
SHAPE, CELL = (1 << 27, 1), 123456789


class Killed(BaseException):
    """The process ended here: nothing that comes after it is done."""


def plan(query: Any, releases: Any) -> Any:
    """Return the next round of as many as there are, under central trust."""
    if len(releases) == ROUNDS:
        return None
    return tally.a_round(len(releases) + 1, SHAPE)


def release(round: Any, payloads: Any, rng: Any) -> Any:
    """Return how many are in the cell, with noise of scale 100: two draws hardly ever agree."""
    here = sum(payload == [payload[0], CELL] for payload in payloads)
    noisy = tally.release(tally.a_round(1, (1, 1))._replace(params=(1, 100)), [], rng)
    return noisy._replace(round=round, values=[here + noisy.values[0]], reports=len(payloads))


def recover(query: Any, releases: Any) -> Any:
    """Return a map that shows the last value, as its total."""
    columns, rows = query.grid.shape
    mass = np.full((rows, columns), 1 / (rows * columns))
    total = float(abs(releases[-1].values[0]))
    return Heatmap(query.grid, mass, releases[-1].round.guarantee, total, "optimal")


PLANTED = Verbs("tally", plan, lambda *_: [], release, recover)


class Fleet:
    """Devices that go on while gateways die, and the keys of both halves."""

    def __init__(self, allowed: str = "tally") -> None:
        self.made = enrol.enrol_fleet(SITE, DEVICES, central=allowed)
        self.devices = enrol.derive_gateway_half(self.made.secrets)
        self.nodes = [self._node(who, allowed or "tally") for who, _ in self.made.secrets.devices]

    def _node(self, who: Any, mechanism: str) -> Node:
        slots, root = Ram(), self.made.roots[who.name]
        limits = disk_limits.make_limits(1, 1, 2 * ROUNDS)
        provision(slots, who.state_key, rootkeys.first_chain(root), limits)
        budget = Budget(slots, who.state_key)
        budget.boot()
        return Node(who, budget, mechanism=mechanism)

    def frames(self, plan: Any, read: Callable[[Any], Any] = lambda _: (CELL, 0)) -> list[Message]:
        """Return what devices answer to a Round, as it comes off the wire."""
        message = post.pack_round(
            plan, self.devices.site_key, wire.round_topic(SITE, plan.mechanism)
        )
        answers = {one.identity.name: one.answer(message, read) for one in self.nodes}
        return [
            Message(wire.topic(SITE, name, "data"), frame, (0, 0))
            for name, frame in answers.items()
            if frame
        ]

    def take(self, round: OpenRound, store: Store) -> None:
        """Store the devices' answers, as the intake does."""
        for message in self.frames(round.plan):
            one = authenticate(message, self.devices)
            assert isinstance(one, Arrival)
            if round.find_refusal(one.report, 0.0) is None:
                who = one.report.sender, one.report.epoch, one.report.seq
                store.keep_batch(
                    [CountedReport(*who, one.report.round, message.payload, one.key_id)]
                )
                round.add_reports({one.report.sender: one.report})


class Gathering:
    """Has devices answer at once."""

    _round: OpenRound | None = None

    def __init__(self, fleet: Fleet, store: Store) -> None:
        self._fleet, self._store = fleet, store

    def open_round(self, round: OpenRound) -> None:
        self._round = round

    def start(self) -> None: ...

    def wait_complete(self, patience_s: float) -> bool:
        assert self._round is not None
        self._fleet.take(self._round, self._store)
        return True

    def close_round(self) -> OpenRound | None:
        return self._round

    def find_last_round(self) -> OpenRound | None:
        return self._round

    def stop(self) -> None: ...


Dies = Callable[[str], None]


class Process:
    """One life of a gateway on the store, that ends at the wanted call of the wanted step."""

    def __init__(
        self, home: Path, fleet: Fleet, dies: Dies, published: dict[int, set[bytes]] | None = None
    ):
        self.dies, self.fleet, self.dead = dies, fleet, False
        self.published = defaultdict(set) if published is None else published
        home.joinpath("store").mkdir(exist_ok=True)
        self.place = home / "store" / "heatveil.sqlite"
        self.store = Store(self.place, SITE)
        for step in ("open_round", "keep_batch", "close_round", "keep_map", "add_letters"):
            setattr(self.store, step, self.mortal(step, getattr(self.store, step)))
        self.deployment = Deployment(
            site={"name": SITE, "database": self.place},
            room={"cells": 12},
            heat={"spread_m2": 0.05},
            sensors={"count": DEVICES},
            privacy={"epsilon": "10/1", "delta": "1/100000", "readings": ROUNDS},
            rounds={"every_s": 0},
            store={"round_keys": home / "run"},
        )
        self.outbox = Outbox(self.store, self.publish, open=True)

    def mortal(self, step: str, do: Callable[..., Any]) -> Callable[..., Any]:
        """Return a step that may be killed before it or after it."""

        def done(*args: Any, **words: Any) -> Any:
            self.dies(f"before {step}")
            found = do(*args, **words)
            self.dies(f"after {step}")
            return found

        return done

    def publish(self, topic: str, payload: bytes, *, retain: bool = False, on_sent: Any) -> None:
        """Note what a stranger sees; the process may die before the broker says that it has it."""
        if "/map/" in topic:
            event = json.loads(payload)
            self.published[event["number"]].add(payload)
        try:
            self.dies("in publish")
        except Killed:
            self.dead = True  # published, and nobody ever hears of it
        if not self.dead:
            on_sent()

    def wake(self) -> None:
        """Say that something was written: the campaign's outbox."""
        self.outbox.wake()

    def wait_empty(self, patience_s: float) -> bool:
        """Wait for the broker, unless the process has died meanwhile."""
        empty = eventually(lambda: self.dead or self.outbox.wait_empty(0), patience_s)
        if self.dead:
            raise Killed("in publish")
        return empty

    def recover(self, mechanism: str, query: Any, releases: Any) -> Any:
        return recover(query, releases)

    def stop(self) -> None: ...

    def live(self, rounds: int | None = None) -> str:
        """Run until the end, or until death; return why it ended."""
        gathering = Gathering(self.fleet, self.store)
        needs: list[Any] = [self.store, gathering, self, self, lambda _: None]
        try:
            running = Campaign(self.deployment, self.fleet.devices, *needs)
            if running._key is not None:
                for step in ("make_key_pair", "destroy_key"):
                    setattr(running._key, step, self.mortal(step, getattr(running._key, step)))
            return running.run_rounds(rounds)
        except Killed as death:
            return f"killed {death}"
        finally:
            self.outbox._open = False  # who has died publishes nothing more
            self.outbox.close()
            self.store.close()


@pytest.fixture(autouse=True)
def _planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let gateway and devices know the tests' own mechanism."""
    monkeypatch.setattr(central, "module_of", {"tally": tally}.get)
    monkeypatch.setattr(campaign, "find_mechanism", lambda _: PLANTED)
    places = mechanisms.find_mechanism("disk")
    mine = replace(places.serving, payload_fault=lambda plan: lambda payload: "", fold=None)
    monkeypatch.setattr(steps, "find_serving", lambda _: mine)
    monkeypatch.setattr("gateway.service.telling.find_serving", lambda _: mine)
    monkeypatch.setattr("gateway.service.drawing.find_mechanism", lambda _: places)
    monkeypatch.setattr(campaign, "LINGER_S", 60.0)
    monkeypatch.setattr("gateway.service.outbox.END_S", 0.02)
    monkeypatch.setattr(steps, "TICK_S", 0.001)


def never(where: str) -> None:
    """Let a process live."""


def at(wanted: str) -> Dies:
    """Return what kills a process when it comes to a step."""

    def dies(where: str) -> None:
        if where == wanted:
            raise Killed(where)

    return dies


def charged(home: Path) -> tuple[Fraction, ...]:
    store = Store(home / "store" / "heatveil.sqlite", SITE)
    found = tuple(one.rho for one in store.list_charges())
    store.close()
    return found


def rows(home: Path, query: str) -> list[Any]:
    with sqlite3.connect(home / "store" / "heatveil.sqlite") as connection:
        return connection.execute(query).fetchall()


def key_of(home: Path) -> Path:
    (found,) = [*(home / "run").glob("*.roundkey")] or [home / "none"]
    return found


def test_no_window_holds_more_releases_than_it_has_budget_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked as fast as may be, through a death: charged with each release, and it comes back."""
    now_s, promise = [1.8e9], describe_window(24, "4 reports", "epsilon")

    def planned(query: Any, releases: Any) -> Any:
        asked = tally.a_round(len(releases) + 1, SHAPE)
        return asked._replace(guarantee=asked.guarantee._replace(unit=promise))

    def soon(*_: Any) -> float:
        now_s[0] += 600
        return 0.0

    monkeypatch.setattr(time, "time", lambda: now_s[0])
    monkeypatch.setattr(campaign, "find_mechanism", lambda _: replace(PLANTED, plan=planned))
    monkeypatch.setattr(campaign.Pause, "compute_wait_s", soon)
    monkeypatch.setattr(campaign, "GLANCE_S", 1e-9)
    fleet, closed = Fleet(), count(1)
    for dies in (lambda where: where == "before close_round" and next(closed) == 4, never):

        def die(where: str, dies: Callable[[str], Any] = dies) -> None:
            now_s[0] += where == "after keep_batch"  # it gathers for a while
            if dies(where):
                raise Killed(where)

        one = Process(tmp_path, fleet, die)
        privacy = one.deployment.privacy.model_copy(update={"readings": 4, "window_h": 24})
        one.deployment = one.deployment.model_copy(update={"privacy": privacy})
        one.live(6)

    at_s = [row[0] for row in rows(tmp_path, "SELECT at_s FROM charges ORDER BY at_s")]
    assert at_s == [row[0] for row in rows(tmp_path, "SELECT at_s FROM releases ORDER BY at_s")]
    within = [sum(since <= at < since + bound_span_s(24) for at in at_s) for since in at_s]
    assert len(at_s) == len(rows(tmp_path, "SELECT 1 FROM releases")) == 3 + 6
    assert max(within) == 4


def test_no_time_that_is_kept_tells_how_long_a_draw_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its length follows from the noise; API and export show when a round closed."""
    now_s = [1.8e9]

    def draw_slowly(round: Any, payloads: Any, rng: Any) -> Any:
        now_s[0] += 60
        return release(round, payloads, rng)

    monkeypatch.setattr(time, "time", lambda: now_s[0])
    monkeypatch.setattr(
        campaign, "find_mechanism", lambda _: replace(PLANTED, release=draw_slowly)
    )
    Process(tmp_path, Fleet(), never).live(1)

    assert now_s == [1.8e9 + 60]
    for stamps in ("closed_s FROM rounds", "at_s FROM releases", "at_s FROM charges"):
        assert rows(tmp_path, f"SELECT {stamps}") == [(1.8e9,)]


STEPS = [
    *("after make_key_pair", "after open_round", "after keep_batch", "before close_round"),
    *("after close_round", "before destroy_key", "after destroy_key"),
]


@pytest.mark.parametrize("where", STEPS)
def test_killed_anywhere_the_round_goes_on_and_is_charged_once(tmp_path: Path, where: str) -> None:
    """From the key's birth to its end: same Round, same answers, one release, one charge."""
    fleet, died = Fleet(), []

    def once(step: str) -> None:
        if (
            step == where
            and key_of(tmp_path).exists() >= (where != "after destroy_key")
            and not died
        ):
            died.append(step)
            raise Killed(step)

    published: dict[int, set[bytes]] = defaultdict(set)
    assert Process(tmp_path, fleet, once, published).live(1) == f"killed {where}"
    Process(tmp_path, fleet, never, published).live(1 if not charged(tmp_path) else 0)

    assert charged(tmp_path) == (Fraction(1, 2),)
    assert rows(tmp_path, "SELECT number, outcome FROM rounds") == [(1, "closed")]
    assert {number: len(seen) for number, seen in published.items()} == {1: 1}
    assert not key_of(tmp_path).exists()
    assert {one.budget.round for one in fleet.nodes} == {1}


def test_a_round_whose_key_is_lost_is_given_up_and_charged(tmp_path: Path) -> None:
    """A power cut takes what is in /run: nobody opens its reports, and another round is asked.

    It may have been released all the same, if what took the key was a store that was put back.
    """
    fleet = Fleet()
    assert Process(tmp_path, fleet, at("before close_round")).live() == "killed before close_round"
    assert charged(tmp_path) == ()
    key_of(tmp_path).unlink()
    Process(tmp_path, fleet, never).live(1)

    assert rows(tmp_path, "SELECT number, outcome FROM rounds ORDER BY number") == [
        (1, "abandoned"),
        (2, "closed"),
    ]
    assert charged(tmp_path) == (Fraction(1, 2), Fraction(1, 2))
    store = Store(tmp_path / "store" / "heatveil.sqlite", SITE)
    (name,) = rows(tmp_path, "SELECT name FROM rounds WHERE number = 1")[0]
    with pytest.raises(OvertakenFault):
        store.close_round(name, [1], DEVICES, charge=Charge(Fraction(1, 2)))
    store.abandon_round(name, Charge(Fraction(1, 2)))  # nor is it charged again
    store.close()
    assert charged(tmp_path) == (Fraction(1, 2), Fraction(1, 2))
    assert rows(tmp_path, "SELECT count(*) FROM releases") == [(1,)]


def test_a_restored_backup_opens_nothing_and_gives_no_budget_back(tmp_path: Path) -> None:
    """Of before the release: its reports stay shut, and each number is answered and paid once.

    Round 1 was released, as 2 and 3 were: both ledgers, the devices' and this, say three.
    """
    fleet, backup = Fleet(), tmp_path / "backup"
    Process(tmp_path, fleet, at("before close_round")).live()
    shutil.copytree(tmp_path / "store", backup)
    Process(tmp_path, fleet, never).live(1)
    shutil.rmtree(tmp_path / "store")
    shutil.copytree(backup, tmp_path / "store")
    Process(tmp_path, fleet, never).live(2)

    # Round 1 is given up, for its key is gone.
    outcomes = rows(tmp_path, "SELECT number, outcome FROM rounds ORDER BY number")
    assert outcomes == [(1, "abandoned"), (2, "closed"), (3, "closed")]
    assert charged(tmp_path) == (Fraction(1, 2),) * 3
    spent = {one.budget.spent for one in fleet.nodes}
    assert spent == {3 * disk_limits.price(disk_limits.make_limits(1, 1, 1), 1, 1)}


def test_a_store_begun_anew_is_answered_by_nobody(tmp_path: Path) -> None:
    """What it forgot, devices have not: with another key under the old number they say nothing."""
    fleet = Fleet()
    Process(tmp_path, fleet, never).live(2)
    shutil.rmtree(tmp_path / "store")
    Process(tmp_path, fleet, never).live(2)

    assert rows(tmp_path, "SELECT outcome FROM rounds") == [("silent",), ("silent",)]
    assert charged(tmp_path) == ()  # who answers can be seen; nothing else was told


def test_a_round_that_nobody_answers_is_not_asked_again(tmp_path: Path) -> None:
    """To ask another costs nothing: so rounds of before a new store, which all refuse, pass."""
    fleet, seen = Fleet(), list[str]()
    Process(tmp_path, fleet, never).live(1)
    shutil.rmtree(tmp_path / "store")

    def dies(where: str) -> None:
        seen.append(where)
        at("after close_round")(where)

    Process(tmp_path, fleet, dies).live()

    assert rows(tmp_path, "SELECT outcome FROM rounds") == [("silent",)]
    assert seen.count("before open_round") == 1


@pytest.mark.parametrize("fault", ["place", "payload"])
def test_a_report_that_cannot_be_its_devices_is_in_no_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """Sealed with the right keys, for another's place or for none: left out, and not counted."""
    fleet = Fleet()
    if fault == "place":
        fleet.nodes[1].identity = fleet.nodes[1].identity._replace(sensor=0)
    else:
        wrong = {1: "it has no such cell"}
        mine = replace(
            steps.find_serving("tally"),
            payload_fault=lambda plan: lambda one: wrong.get(one[0], ""),
        )
        monkeypatch.setattr(steps, "find_serving", lambda _: mine)
    Process(tmp_path, fleet, never).live(1)

    assert rows(tmp_path, "SELECT reports FROM releases") == [(DEVICES - 1,)]
    ((why,),) = rows(tmp_path, "SELECT why FROM refused WHERE kind = 'sealed'")
    assert "node-1" in why
    assert str(CELL) not in why


@pytest.fixture
def opened(tmp_path: Path) -> tuple[Fleet, sealing.RoundKey, Callable[[int], OpenRound]]:
    """Return devices, the key of a round, and what opens rounds under new keys."""
    fleet = Fleet()
    key = sealing.RoundKey(Process(tmp_path, fleet, never).deployment)

    def a_round(number: int) -> OpenRound:
        asked = steps.sign_round(
            tally.a_round(number, SHAPE), number, fleet.devices, key.make_key_pair()
        )
        return steps.open_round(asked, fleet.devices, [], inf)

    return fleet, key, a_round


Opened = tuple[Fleet, sealing.RoundKey, Callable[[int], OpenRound]]


def reports(fleet: Fleet, round: OpenRound, **how: Any) -> dict[str, Report]:
    found = [authenticate(one, fleet.devices) for one in fleet.frames(round.plan, **how)]
    return {one.report.sender: one.report for one in found if isinstance(one, Arrival)}


@pytest.mark.parametrize("draw_s", [0.125, 0.75, 1.5])
def test_a_release_is_seen_whole_seconds_after_its_round(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, draw_s: float
) -> None:
    """Whoever watches the page or the broker is not to see how long its noise took to draw."""
    (fleet, key, a_round), clock, told_s = opened, [256.0], list[float]()

    def pass_time(seconds: float) -> None:
        clock[0] += seconds

    def draw_slowly(*given: Any) -> Any:
        pass_time(draw_s)
        return release(*given)

    monkeypatch.setattr(steps, "TICK_S", 1.0)
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    round, store = a_round(1), Store(tmp_path / "seen.sqlite", SITE)
    round.add_reports(reports(fleet, round))
    stopping: Any = SimpleNamespace(is_set=lambda: False, wait=pass_time)
    needs: Any = store, None, None, None
    done = steps.Steps(*needs, lambda _: told_s.append(clock[0]), stopping)
    done.release_round(replace(PLANTED, release=draw_slowly), round, fleet.devices, None, key)
    store.close()

    assert told_s == [256.0 + np.ceil(draw_s)]


def test_who_could_not_read_counts_as_an_answer(opened: Opened) -> None:
    """That a device had no place is private: it is an empty payload, and one of the answers."""
    fleet, key, a_round = opened
    round = a_round(1)
    round.add_reports(reports(fleet, round, read=lambda _: 1 // 0))
    found, letters = key.unseal_reports(round, fleet.devices)

    assert [one.payload for one in found.reports.values()] == [[]] * DEVICES
    assert letters == []
    assert all(isinstance(one.payload, bytes) for one in round.reports.values())


def wrong_round(fleet: Fleet, a_round: Callable[[int], OpenRound]) -> tuple[OpenRound, Any]:
    """Sealed to the key of the round before."""
    first = a_round(1)
    old = reports(fleet, first)
    return a_round(2), old


def wrong_device(fleet: Fleet, a_round: Callable[[int], OpenRound]) -> tuple[OpenRound, Any]:
    """Sealed by another device."""
    round = a_round(1)
    names, told = sorted(fleet.devices.by_name), reports(fleet, round)
    turned = names[1:] + names[:1]
    return round, {
        name: told[other]._replace(sender=name) for name, other in zip(names, turned, strict=True)
    }


def wrong_bit(fleet: Fleet, a_round: Callable[[int], OpenRound]) -> tuple[OpenRound, Any]:
    """Changed on the way by whoever has the device's MAC key."""
    round = a_round(1)
    return round, {
        name: one._replace(payload=one.payload[:-1] + bytes([one.payload[-1] ^ 1]))
        for name, one in reports(fleet, round).items()
    }


def wrong_counter(fleet: Fleet, a_round: Callable[[int], OpenRound]) -> tuple[OpenRound, Any]:
    """Under another number of the same device."""
    round = a_round(1)
    return round, {
        name: one._replace(seq=one.seq + 1) for name, one in reports(fleet, round).items()
    }


@pytest.mark.parametrize("bad", [wrong_round, wrong_device, wrong_bit, wrong_counter])
def test_what_is_sealed_for_something_else_is_refused_by_name(opened: Opened, bad: Any) -> None:
    """It opens for this device, this round and this number, or is left out with its reason."""
    fleet, key, a_round = opened
    round, told = bad(fleet, a_round)
    round.add_reports(told)
    found, letters = key.unseal_reports(round, fleet.devices)

    assert found.reports == {}
    assert {one.kind for one in letters} == {"sealed"}
    assert all(any(name in one.why for one in letters) for name in fleet.devices.by_name)


@pytest.mark.parametrize(
    ("sent", "sealed"),
    [
        (lambda payload: payload[:-1], True),
        (lambda payload: payload, False),
        (lambda _: [0, CELL], True),
    ],
    ids=["of another length", "sealed to an open round", "open to a sealed round"],
)
def test_a_report_that_is_not_sealed_as_its_round_asks_is_refused(
    opened: Opened, sent: Callable[[bytes], Any], sealed: bool
) -> None:
    """One length a round; who does not seal would else have told all, and be thanked for it."""
    fleet, _, a_round = opened
    round = a_round(1)
    one = reports(fleet, round)["node-0"]
    assert round.find_refusal(one, 0.0) is None
    round.sealed = round.sealed if sealed else 0
    refused = round.find_refusal(one._replace(payload=sent(one.payload)), 0.0)

    assert refused.kind == "sealed"


def test_a_key_that_goes_while_its_round_is_open_ends_the_gateway_and_loses_nothing(
    tmp_path: Path,
) -> None:
    """Released as of nobody, the round would have cost its devices their answers unnoticed."""
    fleet, taken, paths = Fleet(), tmp_path / "taken", list[Path]()

    def take(step: str) -> None:
        if step == "after keep_batch" and not paths:
            paths.append(key_of(tmp_path))
            paths[0].rename(taken)

    with pytest.raises(OperatorFault, match="put the key back"):
        Process(tmp_path, fleet, take).live(1)
    assert rows(tmp_path, "SELECT outcome FROM rounds") == [(None,)]
    assert charged(tmp_path) == ()
    taken.rename(paths[0])
    Process(tmp_path, fleet, never).live(1)

    assert rows(tmp_path, "SELECT number, outcome, reports FROM rounds, releases") == [
        (1, "closed", DEVICES)
    ]


def test_the_key_is_its_owners_alone_and_gone_after_use(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is destroyed is overwritten first, on the medium; another round's key stays."""
    _, key, a_round = opened
    fsync, synced = os.fsync, list[bytes]()

    def note(fd: int) -> None:
        if (file := Path(f"/proc/self/fd/{fd}")).is_file():
            synced.append(file.read_bytes())
        fsync(fd)

    monkeypatch.setattr(os, "fsync", note)
    first = a_round(1)
    (path,) = sealing.list_key_files(key._deployment)
    assert path.stat().st_mode & 0o777 == 0o600
    second = a_round(2)
    assert key.has_key_of(first.plan)
    assert key.has_key_of(second.plan)
    with path.open("rb") as held:
        key.destroy_key(first.plan)
        assert held.read() == bytes(32)
    assert (key.has_key_of(first.plan), key.has_key_of(second.plan)) == (False, True)
    assert not path.exists()
    assert [one == bytes(32) for one in synced] == [False, False, True]
    path.write_bytes(bytes(32))
    path.chmod(0o644)
    with pytest.raises(OperatorFault, match="other users can read"):
        key.has_key_of(first.plan)


@pytest.mark.parametrize("trust", ["local", "central"])
def test_a_key_that_no_open_round_owns_is_destroyed_at_the_start(
    tmp_path: Path, trust: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A site goes on with a new store: nobody opens any more what was sealed in the old one."""
    fleet = Fleet()
    assert Process(tmp_path, fleet, at("before close_round")).live() == "killed before close_round"
    shutil.rmtree(tmp_path / "store")
    assert key_of(tmp_path).exists()
    if trust == "local":
        monkeypatch.setattr(campaign, "is_paid_at_release", lambda promise: False)
    process = Process(tmp_path, fleet, never)
    assert "as many rounds" in process.live(0)

    assert not key_of(tmp_path).exists()


def test_beside_the_key_of_the_open_round_no_other_outlives_a_start(tmp_path: Path) -> None:
    """Who died between the making of a key and its round's opening made another at the next."""
    fleet = Fleet()
    assert Process(tmp_path, fleet, at("before close_round")).live() == "killed before close_round"
    kept = key_of(tmp_path)
    mark = kept.name.split(".")[-2]
    stray = kept.with_name(kept.name.replace(mark, "0" * len(mark)))
    stray.write_bytes(bytes(range(32)))
    stray.chmod(0o600)
    process = Process(tmp_path, fleet, at("before close_round"))
    assert process.live() == "killed before close_round"

    assert not stray.exists()
    assert key_of(tmp_path) == kept


def test_a_gateway_that_crashes_leaves_nothing_that_it_unsealed(tmp_path: Path) -> None:
    """What a watchdog kills dumps its memory, and with it what devices said and the key."""
    most = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (most, most))
    sealing.RoundKey(Process(tmp_path, Fleet(), never).deployment)

    assert resource.getrlimit(resource.RLIMIT_CORE) == (0, most)


def test_a_key_beside_the_store_or_nowhere_is_refused_at_the_start(tmp_path: Path) -> None:
    """A backup of the store's folder would hold both."""
    whole = Process(tmp_path, Fleet(), never).deployment

    def at_place(folder: Path) -> Deployment:
        return whole.model_copy(
            update={"store": whole.store.model_copy(update={"round_keys": folder})}
        )

    (tmp_path / "file").write_text("")
    for folder, why in (
        (tmp_path / "store", "inside the other's folder"),
        (tmp_path / "store" / "keys", "inside the other's folder"),
        (tmp_path, "inside the other's folder"),
        (tmp_path / "file" / "keys", "not writable"),
    ):
        with pytest.raises(OperatorFault, match=why):
            sealing.RoundKey(at_place(folder))


def test_a_leader_that_was_overtaken_leaves_its_successors_round_alone(tmp_path: Path) -> None:
    """It had planned the round when it lost the lead: the other's key opens the reports."""
    fleet, other = Fleet(), []

    def late(step: str) -> None:
        if step == "before make_key_pair" and not other:
            other.append(Process(tmp_path, fleet, at("before close_round")))
            other.append(other[0].live(1))

    with pytest.raises(OvertakenFault):
        Process(tmp_path, fleet, late).live(1)
    assert other[1] == "killed before close_round"
    Process(tmp_path, fleet, never).live(1)

    assert rows(tmp_path, "SELECT number, outcome, reports FROM rounds, releases") == [
        (1, "closed", DEVICES)
    ]
    assert charged(tmp_path) == (Fraction(1, 2),)


def test_a_fleet_that_was_not_enrolled_for_it_is_not_asked(tmp_path: Path) -> None:
    """Every round would be refused; the gateway says so before it opens one."""
    with pytest.raises(OperatorFault, match="--central tally"):
        Process(tmp_path, Fleet(allowed=""), never).live()


class Live(Intake):
    """An intake to which devices answer as soon as a round is open."""

    fleet: Fleet
    cell: tuple[int, int]

    def open_round(self, round: OpenRound) -> None:
        super().open_round(round)
        for message in self.fleet.frames(round.plan, lambda _: self.cell):
            self.take_message(
                SimpleNamespace(publish=print, acknowledge_batch=lambda *_: None), message
            )


def forms(number: int) -> list[bytes]:
    """Return how a number may stand in a log, a file or a table."""
    big, little = number.to_bytes(4, "big"), number.to_bytes(4, "little")
    texts = str(number).encode(), f"{number:,}".encode(), big.hex().encode(), little.hex().encode()
    return [big, little, b64encode(big)[:5], b64encode(little)[:5], *texts]


def fetch(address: str) -> bytes:
    """Return what a page answers."""
    with contextlib.suppress(urllib.error.HTTPError), urllib.request.urlopen(address) as answer:
        return bytes(answer.read())
    return b""


# A map's shape, and a cell that devices tell of as a number which nothing else here is.
SAID = {"ranks": ((4, 4), (23456, 12345)), "pyramid": ((2, 4096), (1, 3014))}


@pytest.mark.parametrize("name", SAID)
def test_what_a_device_saw_is_in_no_log_metric_export_api_database_or_backup(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """What it reported, in whatever form; but what the round's key opens holds it."""
    monkeypatch.undo()  # here mechanism and recovery are real
    monkeypatch.setattr(campaign, "LINGER_S", 60.0)
    (shape, cell), mechanism = SAID[name], mechanisms.find_mechanism(name)
    fleet, events, metrics = Fleet(name), [], Metrics()
    process, seen = Process(tmp_path, fleet, never), []
    process.deployment = Deployment(
        site={"name": SITE, "database": process.place},
        room={"cells": shape},
        privacy={"epsilon": "1/1", "readings": 1},
        rounds={"mechanism": name, "every_s": 0},
        store={"round_keys": tmp_path / "run"},
        **{name: {"devices": DEVICES, "estimator": "auto" if name == "ranks" else "sparse"}},
    )
    monkeypatch.setattr(
        process, "recover", lambda _, query, releases: mechanism.recover(query, releases)
    )
    plan = mechanisms.plan_first_round(process.deployment, config.make_query(process.deployment))
    planted = mechanism.report(plan, Reading(0, cell), None)[1]
    unseal = sealing.RoundKey.unseal_reports

    def unsealed(*given: Any) -> Any:
        found = unseal(*given)
        seen.append(repr(found).encode())
        return found

    monkeypatch.setattr(sealing.RoundKey, "unseal_reports", unsealed)
    caplog.set_level(logging.DEBUG)
    told: Any = process.store, fleet.devices, lambda *_: None, lambda *_: None
    with capture_logs() as logs:
        intake = Live(*told, metrics=metrics)
        intake.fleet, intake.cell = fleet, cell
        needs: Any = process.store, intake, process, process, events.append
        Campaign(process.deployment, fleet.devices, *needs).run_rounds(1)
        intake.stop()
    sqlite.backup_store(process.place, tmp_path / "backup")
    whole = Exported({}, lambda _: lambda *said: [said], {}, lambda _: lambda said: [said], {})
    given = Reader(process.place), export.TimeSpan(None, None, SITE)
    exported = [
        *export.read_message_rows(*given),
        *export.read_charge_rows(*given),
        *export.read_map_rows(False, None, *given),
    ]
    exported += [*export.read_report_rows(whole, *given), *export.read_release_rows(whole, *given)]
    with Page("127.0.0.1", 0, reader=given[0], metrics=metrics) as page:
        for event in events:
            page.feed.put_event(event)
        paths = [f"api/v1{one.path}" for one in OPERATIONS] + ["metrics"]
        answers = [fetch(page.url + path.format(number=1, name="node-0")) for path in paths]
    given[0].close()
    process.outbox.close()
    process.store.close()
    places = {
        "log": repr([logs, caplog.records, caplog.text]).encode(),
        "events": repr(events).encode(),
        "metrics": metrics.render_fresh(),
        "export": repr(exported).encode(),
        "api": b"".join(answers),
        "map": repr(process.published).encode(),
        "store": b"".join(one.read_bytes() for one in process.place.parent.iterdir()),
        "backup": (tmp_path / "backup").read_bytes(),
    }

    assert planted > 1 << 23
    # No time of what was done with it, either: that is as long as noise is large.
    released = [event for event in events if event["kind"] == "release"]
    assert [one.keys() for one in released] == [{"kind", "number", "reports", "values", "late"}]
    assert [at for at, held in places.items() if any(one in held for one in forms(planted))] == []
    assert all(places.values())
    assert any(one in seen[0] for one in forms(planted))

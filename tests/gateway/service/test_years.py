"""A deployment that lives for long: a round an hour in windows of a day, whatever comes between.

The gateway's own campaign on its own store, and real devices, on a clock that the test turns. True
time is the wall's; devices run as fast as they may.
"""

import random
import time
from contextlib import closing
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from edge.core import wire
from edge.core.node import Node
from edge.core.window import open_budget
from edge.host.enrol import Ram, provision
from edge.host.rootkeys import first_chain
from gateway.devices.enrol import enrol
from gateway.mechanisms import find_mechanism
from gateway.mechanisms.thermal.granting import make_first_limits
from gateway.service import campaign
from gateway.service.campaign import Campaign
from gateway.service.intake.writer import Intake
from gateway.service.ledger import compute_budget_rho, compute_round_rho
from gateway.service.mqtt.connection import Message
from gateway.service.outbox import Outbox
from gateway.settings import config, windows
from gateway.settings.deployment import Deployment
from gateway.store import round_rows
from gateway.store.schema import charges, maps, promises, releases, reports, rounds
from gateway.store.store import Store

SITE, SENSORS, HOUR_S, WINDOW_H = "house", 2, 3600, 24
REPORT_DAYS, KEEP_DAYS = 2, 30


class Cut(BaseException):
    """The power of a device fails."""


class Flash(Ram):
    """Slots whose power may fail in a write."""

    fuse = -1

    def write(self, i: int, data: bytes) -> None:
        if self.fuse == 0:
            self._held[i] = data[: len(data) // 2]
            raise Cut
        self.fuse -= 1
        super().write(i, data)


class House:
    """Gateway and devices, on one clock."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, seed: int) -> None:
        self.at_s, self.fate, self.folder = 1.8e9, random.Random(seed), folder
        self.mapped, self.cuts, self.asked = None, 0, 0
        self.store: Any = None
        patch.setattr(time, "time", lambda: self.at_s)

    def promise(self, epsilon: str) -> None:
        """Enrol devices for a promise of their own; those of before are thrown away."""
        self.deployment = Deployment(
            site={"name": SITE, "database": self.folder / "heatveil.sqlite"},
            room={"cells": 12},
            heat={"spread_m2": 0.05},
            sensors={"count": SENSORS},
            privacy={
                "epsilon": epsilon,
                "delta": "1/100000",
                "readings": windows.count_answers(WINDOW_H, HOUR_S),
                "window_h": WINDOW_H,
            },
            rounds={"gather_s": 0.05, "every_s": HOUR_S},
            store={"keep_days": KEEP_DAYS, "report_days": REPORT_DAYS},
        )
        self.made = enrol.enrol_fleet(SITE, SENSORS)
        self.limits = make_first_limits(config.make_query(self.deployment), HOUR_S)
        self.devices = enrol.derive_gateway_half(self.made.secrets)
        self.flash = {one.identity.name: Flash() for one in self.made.secrets.devices}
        for name, root in self.made.roots.items():
            key = self._identity(name).state_key
            kept = windows.make_window_record(self.deployment, self.limits)
            provision(self.flash[name], key, first_chain(root), self.limits, kept)
        self.nodes: dict[str, Node] = {}
        self.away: dict[str, float] = {}
        self.answers: dict[str, list[float]] = {name: [] for name in self.flash}
        for name in self.flash:
            self.start(name)

    def _identity(self, name: str) -> Any:
        return next(one.identity for one in self.made.secrets.devices if one.identity.name == name)

    def start(self, name: str) -> None:
        """Start a device, with what its slots hold."""
        begun_s = self.at_s

        class Uptime:
            now_ms = staticmethod(lambda: int((self.at_s - begun_s) * 1020))

        self.flash[name].fuse = -1
        who = self._identity(name)
        budget = open_budget(self.flash[name], who.state_key, 8, Uptime())
        budget.boot()
        self.nodes[name] = Node(who, budget)

    def serve(self) -> Campaign:
        """Start the gateway."""
        self.store = Store(self.deployment.site.database, SITE)
        self.intake = Intake(self.store, self.devices, lambda *_: None, lambda _: None)
        self.outbox = Outbox(self.store, self.publish, open=True)
        needs: list[Any] = [self.store, self.intake, self, self.outbox, lambda _: None]
        return Campaign(self.deployment, self.devices, *needs)

    def close(self) -> None:
        """End the gateway, at any moment between two rounds."""
        self.outbox.close()
        self.intake.stop()
        self.store.close()

    def live(self, hours: int) -> None:
        """Serve so many rounds, with starts in between; the gateway is open at the end."""
        while hours > 0:
            some = min(hours, self.fate.randrange(20, 400))
            self.serve().run_rounds(some)
            report_days, keep_days = self.deployment.kept_days
            self.store.forget_older(self.at_s, keep_days, 30, report_days, windowed=True)
            hours -= some
            if self.fate.random() < 0.1:
                self.at_s += 30 * 86_400  # the gateway was away for a month
                for name in self.flash:
                    self.start(name)
            if hours > 0:
                self.close()

    def recover(self, mechanism: str, query: Any, given: Any) -> Any:
        """Draw one map, and show it ever after: what is drawn is not what is tested."""
        assert len(given) <= self.deployment.privacy.readings
        if self.mapped is None:
            self.mapped = find_mechanism(mechanism).recover(query, given)
        return self.mapped

    def stop(self) -> None:
        """Nothing is being drawn elsewhere."""

    def acknowledge_batch(self, receipts: Any, messages: Any) -> None:
        """Nobody waits for a receipt."""

    def publish(self, topic: str, payload: bytes, *, retain: bool = False, on_sent: Any = None):
        """Let devices hear a Round; each answers, if it is there and its budget lets it."""
        if on_sent is not None:
            on_sent()
        if topic != wire.round_topic(SITE, "thermal") or not payload:
            return
        self.asked += 1
        for name in self.flash:
            if self.at_s >= self.away.get(name, 0):
                self.answer(name, payload)

    def answer(self, name: str, payload: bytes) -> None:
        """Let a device answer, and note when; now and then its power fails in it."""
        if self.fate.random() < 0.02:
            self.flash[name].fuse = self.fate.randrange(6)
        read_at: list[float] = []
        try:
            self.nodes[name].budget.age(self.nodes[name].fail)  # type: ignore[attr-defined]
            frame = self.nodes[name].answer(payload, lambda _: read_at.append(self.at_s) or [100])
        except Cut:
            self.cuts += 1
            self.start(name)
            return
        if frame is not None and read_at:
            self.answers[name].append(read_at[0])
            self.intake.take_message(
                self, Message(wire.topic(SITE, name, "data"), bytes(frame), (1, 1))
            )

    def hour(self, *_: Any) -> float:
        """Let an hour pass, and what may come in it; a round may open then."""
        self.at_s += HOUR_S
        for name in self.flash:
            kind = self.fate.random()
            if kind < 0.004:
                self.start(name)  # an upgrade, or somebody pulls the plug
            elif kind < 0.0042:
                self.away[name] = self.at_s + 30 * 86_400
        return 0.0


@pytest.mark.parametrize(
    ("at_start_h", "running_h", "codes"),
    [
        (0, 0, ["spent"]),
        pytest.param(48, 0, ["ahead", "spent"], marks=pytest.mark.long),
        pytest.param(0, 48, ["spent", "ahead", "spent"], marks=pytest.mark.long),
    ],
)
def test_a_window_that_is_spent_is_said_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    at_start_h: int,
    running_h: int,
    codes: list[str],
) -> None:
    """In log, health and Home Assistant; and the ledger is asked again when enough is back.

    While the clock is behind, that is said; and nothing is back before it would be.
    """
    house, said, asked = House(tmp_path, monkeypatch, 7), [(True, "")], []
    to_set_back_h = [running_h]

    def soon(*_: Any) -> float:
        house.at_s += 600
        return 0.0

    def say(part: str, ok: bool, why: str) -> None:
        if said[-1] != (ok, why):
            said.append((ok, why))
        if not ok and to_set_back_h:
            house.at_s -= HOUR_S * to_set_back_h.pop()

    monkeypatch.setattr(campaign.Pause, "compute_wait_s", soon)
    monkeypatch.setattr(campaign, "GLANCE_S", 1e-9)
    house.promise("10/1")
    house.serve().run_rounds(house.deployment.privacy.readings)
    paid = [one.rho for one in house.store.list_charges()]
    back_s = house.store.find_affordable_s(sum(paid), paid[0])
    house.close()
    house.at_s -= HOUR_S * at_start_h
    on = house.serve()
    on.say = say
    open_round = house.store.open_round
    house.store.open_round = lambda *args, **told: (
        asked.append(why := open_round(*args, **told)) or why
    )
    on.run_rounds(4)
    opened_s = house.store.find_opened_s()
    house.close()

    why = [one for ok, one in said if not ok]
    assert [ok for ok, _ in said] == [True, *[False] * len(codes), True]
    assert [one.code for one in why] == [f"rounds.{code}" for code in codes]
    assert all("spent for now" in one for one in why)
    back = f"{datetime.fromtimestamp(back_s).astimezone():%Y-%m-%d %H:%M}"
    assert all(one.fields["back"] == back for one in why)
    assert sum(map(bool, asked)) == 1
    assert opened_s > back_s


@pytest.mark.timeout(3600)  # a year takes some four minutes of CPU, and a disk's time
@pytest.mark.parametrize("hours", [80, pytest.param(8760, marks=pytest.mark.long)])
def test_a_budget_is_exact_for_years_and_storage_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    """Power cuts, upgrades, starts of the gateway, a month away, a new promise: none doubles."""
    house, owed = House(tmp_path, monkeypatch, 7), list[Fraction]()
    monkeypatch.setattr(campaign.Pause, "compute_wait_s", house.hour)
    for epsilon in ("10/1", "8/1"):  # in the middle of the year, and of a window, another promise
        house.promise(epsilon)
        house.live(hours // 2)
        promised = (
            find_mechanism("thermal").plan(config.make_query(house.deployment), []).guarantee
        )
        cost = compute_round_rho(promised)
        owed.append(hours // 2 * cost)
        for times in house.answers.values():
            assert len(times) > hours // 6
            for at, since in enumerate(times):
                within = sum(one <= since + HOUR_S * WINDOW_H for one in times[at : at + 99])
                assert within * cost <= compute_budget_rho(
                    promised, house.deployment.privacy.readings
                )
        assert house.store.end_promise() == (hours // 2, hours // 2 * cost)
        assert house.store.end_promise() is None
        house.close()

    assert house.cuts > hours // 200
    store = Store(house.deployment.site.database, SITE)
    with closing(store), store.engine.connect() as connection:
        count = {
            one.name: connection.scalar(select(func.count()).select_from(one))
            for one in (rounds, charges, releases, reports, maps, promises)
        }
        oldest = connection.scalar(select(func.min(reports.c.taken_s)))
        ended = [paid.spent for *_, paid in round_rows.list_ended_promises(connection)]
        charged = sum(map(Fraction, connection.scalars(select(charges.c.rho))), Fraction(0))
    assert count["rounds"] == count["charges"] == hours == house.asked
    assert count["releases"] <= 24 * (KEEP_DAYS + 1) + 400, "of a life between two chores at most"
    assert (charged, count["promises"], ended) == (sum(owed), 2, owed)
    assert count["reports"] <= SENSORS * 24 * (REPORT_DAYS + 1)
    assert count["maps"] <= 24 * (KEEP_DAYS + 1)
    assert oldest >= house.at_s - (REPORT_DAYS + 1) * 86_400

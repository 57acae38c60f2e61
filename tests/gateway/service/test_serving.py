"""The whole gateway over a real broker: rounds, restarts, budgets, and nothing left behind."""

import json
import sqlite3
import threading
import time
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import structlog.testing
from sqlalchemy.exc import OperationalError

from edge.core import wire
from edge.core.records import Report
from edge.core.window import JUMPED
from gateway.devices.enrol import budgets, enrol
from gateway.devices.fleet.crowd import Crowd
from gateway.faults import ReplacedFault
from gateway.mechanisms import find_mechanism
from gateway.mechanisms.thermal.granting import make_first_limits
from gateway.service.mqtt.connection import Message
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.service.serving import Service
from gateway.settings import config
from gateway.settings.deployment import Deployment, Mqtt
from gateway.store.store import Store
from gateway.web.feed import SHOWN
from physics.fleet import Fleet
from physics.kernel import forward
from physics.sensors import PointSensors
from tests.waiting import eventually, find_kept, hearing

SENSORS = 12
PLACES = np.arange(1, SENSORS + 1) / SENSORS


class Room:
    """A site on the broker with twelve thermometers and one source of warmth."""

    def __init__(self, mqtt: Mqtt, folder: Path, site: str) -> None:
        self.mqtt, self.folder, self.site = mqtt, folder, site
        self.made, self.place = enrol.enrol_fleet(site, SENSORS), budgets.keep_slots_in_memory()
        self.devices = enrol.derive_gateway_half(self.made.secrets)
        # Of what its rounds need, ten times as much and no pace: what the gateway does is tested.
        limits = make_first_limits(config.make_query(self.deployment()), 0.0)
        ample = limits._replace(budget=10 * limits.budget)
        budgets.write_first_budgets(self.made, ample, self.place)
        self.events: list[dict[str, Any]] = []
        self.truth = forward(np.array([0.4]), PLACES, 0.05)[:, 0]

    def deployment(self, **changes: Any) -> Deployment:
        """Return the deployment, with these sections changed."""
        sections: dict[str, Any] = {
            "site": {"name": self.site, "database": self.folder / "heatveil.sqlite"},
            "room": {"cells": 24},
            "heat": {"spread_m2": 0.05},
            "sensors": {"count": SENSORS},
            "privacy": {"epsilon": "10/1", "delta": "1/100000", "readings": 2},
            "rounds": {"gather_s": 60, "every_s": 0, "solve_s": 60},
            "mqtt": self.mqtt,
        }
        for name, section in changes.items():
            sections[name] = {**sections[name], **section}
        return Deployment(**sections)

    def fleet(self) -> Fleet:
        """Return the devices, freshly started."""
        started = budgets.boot_devices(self.made.secrets, self.place).devices
        fleet = Fleet(started, PointSensors(PLACES, 0.0, None), np.random.default_rng(1))
        fleet.set_temperatures(self.truth)
        return fleet

    def nodes(self, fleet: Any = None) -> Crowd:
        """Return the devices on the broker."""
        return Crowd(self.mqtt, fleet or self.fleet())

    def service(self, **changes: Any) -> Service:
        """Return the gateway; what it tells is added to `events`."""
        return Service(self.deployment(**changes), self.devices, on_event=self.events.append)

    def told(self, kind: str) -> list[dict[str, Any]]:
        """Return the events of a kind, in order."""
        return [event for event in self.events if event["kind"] == kind]

    def listener(self, leaf: str) -> AbstractContextManager[list[Message]]:
        """Hear everything below a topic of the site, what is retained first."""
        return hearing(self.mqtt, f"heatveil/1/{self.site}/{leaf}")


@pytest.fixture
def room(mosquitto: Mqtt, tmp_path: Path, request: pytest.FixtureRequest) -> Room:
    """Return a room whose site no other test has."""
    return Room(mosquitto, tmp_path, f"site-{abs(hash(request.node.name)) % 10**9}")


class Here:
    """Draws maps in this process: the worker's second of start is not what most tests are for."""

    def __init__(self, limit_s: float, on_state: Any = None) -> None:
        pass

    def __enter__(self) -> "Here":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def stop(self) -> None:
        pass

    def recover(self, mechanism: str, query: Any, releases: Any) -> Any:
        return find_mechanism(mechanism).recover(query, releases)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let services draw their maps in this process."""
    monkeypatch.setattr("gateway.service.serving.Solver", Here)


@pytest.mark.long
def test_rounds_run_from_the_plan_to_the_published_map(room: Room) -> None:
    """The whole pipeline: every sensor answers, the map is retained, the budget is spent."""
    with room.service() as service, room.nodes():
        why = service.run_rounds()
        ledger = service.read_ledger()
        service.run_rounds()  # which has nothing to add, and tells no map twice

    assert "all 2 rounds" in why
    kinds = [event["kind"] for event in room.events]
    for at in (at for at, kind in enumerate(kinds) if kind == "release"):
        before = [event for event in room.events[:at] if event["kind"] == "reports"]
        assert before[-1]["came"] == SENSORS  # whoever reads the log sees all that answered
    assert room.told("ready")[0]["insecure"] is True  # the page says so
    assert [event["reports"] for event in room.told("release")] == [SENSORS, SENSORS]
    assert ledger.spent == ledger.budget
    maps = room.told("map")
    assert [event["status"] for event in maps] == ["solved", "solved"]
    assert np.shape(maps[-1]["mass"]) == (1, 24)
    assert sum(maps[-1]["mass"][0]) == pytest.approx(1)
    assert room.told("budget")[-1]["epsilon_spent"] == pytest.approx(10, rel=1e-3)
    with room.listener("map/thermal") as retained:
        assert eventually(lambda: retained)
        published = json.loads(retained[0][1])
    assert maps[-1].pop("closed_s") == pytest.approx(time.time(), abs=60)
    assert published == maps[-1]
    assert find_kept(room.mqtt, wire.round_topic(room.site, "thermal")) == []  # nothing is asked


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("lost", [True, False])
def test_threads_that_end_with_a_lost_store_are_no_fault_of_their_own(
    room: Room, lost: bool
) -> None:
    """Who reads the log then is to look at the store, and at nothing else."""
    with room.service() as service:
        if lost:
            with pytest.raises(ReplacedFault):
                service.identity.declare_lost(ReplacedFault("the store is gone"))
        service._outbox.close()  # as it ends where nothing may be stored
        service._look()
        told = [event["parts"]["broker"]["why"] for event in room.told("health")]

    assert any("its thread outbox has ended by a fault" in why for why in told) != lost


@pytest.mark.usefixtures("here")
def test_a_device_whose_clock_jumped_in_its_sleep_is_told_of_once(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its budget comes back later than that of others, and its own words lie at the broker.

    A disk that does not take it is asked again, and ends no start.
    """
    keep_jumped, refused = Store.keep_jumped_clocks, list[Any]()

    def refusing(store: Store, names: Any) -> None:
        if not refused:
            refused.append(names)
            raise OperationalError("INSERT", {}, sqlite3.OperationalError("database is locked"))
        keep_jumped(store, names)

    # They were enrolled without a window, of which no more than the deployment's is looked at.
    monkeypatch.setattr("gateway.service.serving.check_devices_fit", lambda *_: None)
    said = json.dumps({"limits": {"clock": JUMPED}}).encode()
    with structlog.testing.capture_logs() as logs, Pump("test") as pump:
        link = Link(room.mqtt, f"test-{room.site}", pump).wait_connected()
        with room.service(privacy={"window_h": 24}, rounds={"every_s": 50_000}) as service:
            service.wait_connected()
            for name, meta in (("node-01", said), ("node-01", said), ("node-02", b"{}")):
                link.publish(wire.topic(room.site, name, "meta"), meta)
            link.publish(wire.topic(room.site, "node-03", "meta"), said)
            assert eventually(lambda: any(one.get("device") == "node-03" for one in logs))
            assert eventually(
                lambda: service._store.list_jumped_clocks() == {"node-01", "node-03"}
            )
            link.publish(wire.topic(room.site, "node-03", "meta"), b"{}")
            assert eventually(lambda: service._store.list_jumped_clocks() == {"node-01"})
            service._store.keep_jumped_clocks(["node-01", "left"])  # which is enrolled no longer
        monkeypatch.setattr(Store, "keep_jumped_clocks", refusing)
        with room.service(privacy={"window_h": 24}, rounds={"every_s": 50_000}) as service:
            service.wait_connected()
            assert eventually(lambda: service._store.list_jumped_clocks() == {"node-01"})
            for name in ("node-01", "node-02"):
                link.publish(wire.topic(room.site, name, "meta"), said)
            assert eventually(
                lambda: service._store.list_jumped_clocks() == {"node-01", "node-02"}
            )
        with room.service() as service:  # without a window none is looked at
            assert service._store.list_jumped_clocks() == set()
        link.close()
    told = [one for one in logs if one.get("why") == JUMPED]

    assert [(one["device"], one["log_level"]) for one in told] == [
        ("node-01", "warning"),
        ("node-03", "warning"),
        ("node-02", "warning"),
    ]
    assert refused == [{"node-01"}]


@pytest.mark.usefixtures("here")
def test_a_silent_sensor_costs_the_round_its_deadline_and_no_more(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The round closes without it, and the map is drawn from the others."""
    fleet = room.fleet()

    class Deaf:
        names = fleet.names[1:]
        find_member, read = fleet.find_member, fleet.read

    with room.service(rounds={"gather_s": 3600}) as service, room.nodes(Deaf()):
        runner = threading.Thread(target=service.run_rounds, kwargs={"rounds": 1})
        runner.start()
        assert eventually(
            lambda: room.told("reports") and room.told("reports")[-1]["came"] == SENSORS - 1
        )
        assert room.told("release") == []
        assert runner.is_alive()
        clock = SimpleNamespace(time=time.time, monotonic=lambda: time.monotonic() + 3600)
        monkeypatch.setattr("gateway.service.steps.time", clock)
        runner.join()

    # Whoever only looks is told nothing that names a device, least of all who is missing.
    assert not [one for one in room.events if one["kind"] in SHOWN and "node-" in repr(one)]
    (release,) = room.told("release")
    assert release["reports"] == SENSORS - 1
    assert release["values"][0] is None
    assert None not in release["values"][1:]


@pytest.mark.usefixtures("here")
def test_an_interrupted_round_goes_on_after_a_restart_and_is_charged_once(room: Room) -> None:
    """What was asked is asked again with the same bytes; what had come has come."""
    fleet = room.fleet()

    class Half:
        names = fleet.names[:5]
        find_member, read = fleet.find_member, fleet.read

    with room.service() as service, room.nodes(Half()):
        runner = threading.Thread(target=service.run_rounds)
        runner.start()
        assert eventually(lambda: room.told("reports") and room.told("reports")[-1]["came"] == 5)
        charged = service.read_ledger().charges
        service.stop()
        runner.join(30)
        assert room.told("done")[-1]["why"] == "it was stopped"
        assert room.told("release") == []

    class Others:
        names = fleet.names[5:]
        find_member, read = fleet.find_member, fleet.read

    with room.service() as service, room.nodes(Others()):
        service.run_rounds(rounds=1)

        assert service.read_ledger().charges == charged
    assert [event["name"] for event in room.told("round")] == [room.told("round")[0]["name"]] * 2
    assert room.told("release")[0]["reports"] == SENSORS


@pytest.mark.long
@pytest.mark.usefixtures("here")
def test_a_round_that_outlived_its_release_is_taken_back_at_the_next_start(room: Room) -> None:
    """The gateway died between the release and the broker: devices would answer it again."""
    topic = wire.round_topic(room.site, "thermal")
    with room.service() as service, room.nodes():
        service.run_rounds()
    with Pump("stale") as pump:
        stale = Link(room.mqtt, f"stale-{room.site}", pump).wait_connected()
        stale.publish(topic, b"a released round", retain=True)
        assert stale.wait_until_sent(60)
        stale.close()
    with room.service() as service:
        service.run_rounds()
        assert eventually(lambda: not find_kept(room.mqtt, topic))


@pytest.mark.usefixtures("here")
def test_a_device_that_comes_back_from_its_past_is_an_alarm_until_it_has_a_new_key(
    room: Room,
) -> None:
    """Told at once, and told again at every start: a restart at night must not bury it."""
    name, device = next(iter(room.devices.by_name.items()))
    topic = wire.topic(room.site, name, "data")

    def frame(epoch: int, key: bytes) -> bytes:
        report = Report(b"none", name, epoch, 1, [0, 5])
        return bytes(wire.pack_report(report, key, topic, 32))

    with room.service() as service, Pump("past") as pump:
        service._intake.start()
        past = Link(room.mqtt, f"past-{room.site}", pump).wait_connected()
        past.publish(topic, frame(7, device.mac_key))
        past.publish(topic, frame(3, device.mac_key))
        assert eventually(lambda: room.told("alarm"))
        past.close()
    (alarm,) = room.told("alarm")
    room.events = []
    with room.service():
        again = room.told("alarm")
    room.events, key = [], bytes(32)
    renewed = device._replace(key_id=b"new!", mac_key=key)
    room.devices = room.devices._replace(by_name={**room.devices.by_name, name: renewed})
    with room.service() as service, Pump("new") as pump:
        service._intake.start()
        new = Link(room.mqtt, f"new-{room.site}", pump).wait_connected()
        new.publish(topic, frame(1, key))
        assert eventually(
            lambda: room.told("reports") or service._intake._newest.get((name, b"new!"))
        )
        new.close()

    assert [(one["device"], one["times"]) for one in alarm["alarms"]] == [(name, 1)]
    assert "3.1 after 7.1" in alarm["alarms"][0]["why"]
    assert again == [alarm]
    assert room.told("alarm") == []

"""Virtual devices on a real broker: rounds, limits and ends, each on its own topics."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import pytest

from edge.core import cbor, wire
from edge.core.limits import Limits
from edge.host import post
from gateway.devices.enrol import budgets, enrol
from gateway.devices.fleet import crowd
from gateway.devices.fleet.crowd import Crowd
from gateway.faults import LinkFault
from gateway.service.mqtt.connection import Message
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.settings.deployment import Mqtt
from physics.fleet import Fleet
from physics.sensors import PointSensors
from tests.waiting import eventually

LIMITS = Limits(1, 8, 1, 10_000, 2 * 50_000, 0)  # two answers


class Gateway:
    """Whoever holds the site's keys: hears all of the site, thanks, and speaks on any topic."""

    def __init__(self, mqtt: Mqtt, devices: enrol.Devices, pump: Pump) -> None:
        self.devices = devices
        self.heard: list[tuple[str, str, bytes, float]] = []
        name = f"gateway-{devices.site}-{time.monotonic_ns()}"
        root = f"heatveil/1/{devices.site}"
        self._link = Link(mqtt, name, pump, subscribe=[f"{root}/+/+"], on_message=self._take)
        self._link.wait()

    def _take(self, link: Link, message: Message) -> None:
        link.ack(message)
        _, _, _, name, leaf = message.topic.split("/")
        self.heard.append((name, leaf, message.payload, time.monotonic()))
        if leaf == "data":
            body = cbor.decode(message.payload[: -wire.MAC_BYTES])
            where = wire.topic(self.devices.site, name, "receipt")
            key = self.devices.by_name[name].config_key
            link.publish(where, bytes(post.pack_receipt(body[2], body[1], True, key, where)))

    def said(self, leaf: str) -> dict[str, list[bytes]]:
        """Return what every device said on a leaf, in order."""
        found: dict[str, list[bytes]] = {}
        for name, on, payload, _ in list(self.heard):
            if on == leaf:
                found.setdefault(name, []).append(payload)
        return found

    def ask(self, message: bytes) -> None:
        self._link.publish(wire.round_topic(self.devices.site, "thermal"), message)

    def close(self) -> None:
        self._link.close()


@pytest.fixture
def site(home: Any, request: pytest.FixtureRequest) -> enrol.Enrolment:
    """Return an enrolment of four devices, of a site that no other test has."""
    return enrol.enrol_fleet(f"nodes-{abs(hash(request.node.name)) % 10**9}", 4)


Running = Callable[[Mqtt, enrol.Enrolment, Any], AbstractContextManager[Gateway]]


@pytest.fixture
def running() -> Running:
    """Return what runs the fleet and a gateway that has nothing else to do."""

    @contextmanager
    def block(mqtt: Mqtt, made: enrol.Enrolment, place: Any) -> Iterator[Gateway]:
        started = budgets.boot(made.secrets, place)
        fleet = Fleet(started.devices, PointSensors(np.arange(4) / 4), np.random.default_rng(1))
        with Pump("gateway") as pump:
            gateway = Gateway(mqtt, enrol.derive_devices(made.secrets), pump)
            with Crowd(mqtt, fleet, loops=2):
                names = set(gateway.devices.by_name)
                assert eventually(lambda: gateway.said("state").keys() == names)
                yield gateway
            gateway.close()

    return block


def message(home: Any, made: enrol.Enrolment, number: int) -> bytes:
    where = wire.round_topic(made.secrets.site, "thermal")
    return bytes(post.pack_round(home.round(number), made.secrets.site_key, where))


@pytest.mark.long
def test_devices_answer_until_their_budget_is_spent_and_then_say_so(
    mosquitto: Mqtt, running: Running, site: enrol.Enrolment, home: Any
) -> None:
    """Every one of them twice, and never a third time, whoever asks."""
    place = budgets.keep_in_memory()
    budgets.provision(site, LIMITS, place)
    with running(mosquitto, site, place) as gateway:
        for number in (1, 2, 3):
            gateway.ask(message(home, site, number))
            eventually(lambda n=number: sum(map(len, gateway.said("data").values())) >= 4 * n, 2)
        over = eventually(
            lambda: (
                gateway.said("state")
                == {n: [b"ready", b"exhausted"] for n in gateway.devices.by_name}
            )
        )
        metas = [json.loads(said[-1]) for said in gateway.said("meta").values()]

    assert {name: len(set(said)) for name, said in gateway.said("data").items()} == {
        f"node-{i}": 2 for i in range(4)
    }
    assert over
    assert [meta["limits"]["left"] for meta in metas] == [0] * 4


def test_without_a_broker_nothing_is_left_half_started(
    site: enrol.Enrolment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No thread of ours lives on after the one clear line."""
    monkeypatch.setattr(crowd, "PATIENCE_S", 0.3)
    place = budgets.keep_in_memory()
    budgets.provision(site, LIMITS, place)
    started = budgets.boot(site.secrets, place)
    fleet = Fleet(started.devices, PointSensors(np.arange(4) / 4), np.random.default_rng(1))
    threads = set(threading.enumerate())
    with (
        pytest.raises(LinkFault, match="no MQTT broker at 127.0.0.1:1"),
        Crowd(Mqtt(host="127.0.0.1", port=1, insecure=True), fleet, loops=2) as one,
    ):
        one.wait()

    assert set(threading.enumerate()) == threads


def test_devices_say_goodbye_when_they_are_stopped(
    mosquitto: Mqtt, running: Running, site: enrol.Enrolment
) -> None:
    """Or "ready" would stand there for ever, and nobody answer."""
    place = budgets.keep_in_memory()
    budgets.provision(site, LIMITS, place)
    with running(mosquitto, site, place) as gateway:
        listening = gateway
    with Pump("late") as pump:
        gateway = Gateway(mosquitto, listening.devices, pump)
        gone = eventually(
            lambda: (
                gateway.said("state")
                == {name: [b"disconnected"] for name in gateway.devices.by_name}
            )
        )
        gateway.close()

    assert gone

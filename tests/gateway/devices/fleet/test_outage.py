"""A broker that is killed in the middle: what the fleet's sum says is what the gateway has."""

import getpass
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edge.core import cbor, wire
from edge.core.limits import Limits
from edge.core.slots import Files
from edge.host import post
from gateway.devices.broker.embedded import find_free_port
from gateway.devices.enrol import budgets, enrol
from gateway.devices.fleet import children, spool
from gateway.devices.fleet.children import Machines
from gateway.devices.fleet.crowd import Crowd
from gateway.devices.fleet.spool import summarize
from gateway.service.mqtt.connection import Message
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.settings.deployment import Mqtt
from physics.fleet import Fleet
from physics.sensors import PointSensors
from tests import processes
from tests.waiting import eventually

LIMITS = Limits(1, 8, 1, 10_000, 10**9, 0)
DEVICES = 3


class Broker:
    """A mosquitto on one port, that knows who listens after it was killed, as deployed ones do."""

    def __init__(self, program: str, answers: Callable[[int], None], folder: Path) -> None:
        self.port, self._answers = find_free_port(), answers
        (folder / "conf").write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\nuser {getpass.getuser()}\n"
            f"persistence true\npersistence_location {folder}/\n"
            "autosave_on_changes true\nautosave_interval 1\n"
        )
        self._command = [program, "-c", str(folder / "conf")]
        self.start()

    def start(self) -> None:
        self.process = processes.Child(self._command, stderr=subprocess.DEVNULL)
        self._answers(self.port)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def broker(
    need: Callable[[str], str], answers: Callable[[int], None], tmp_path: Path
) -> Iterator[Broker]:
    """Return a broker of this test's own."""
    one = Broker(need("mosquitto"), answers, tmp_path)
    yield one
    one.kill()


@contextmanager
def fleet(vm: str, mqtt: Mqtt, made: Any, folder: Path) -> Iterator[Any]:
    """Run the devices in this process, or each in an interpreter of its own."""
    place = lambda name: Files(str(folder), name)  # noqa: E731
    started = budgets.boot(made.secrets, place).devices if not vm else [
        (secret.identity, None) for secret in made.secrets.devices
    ]  # fmt: skip
    virtual = Fleet(started, PointSensors(np.arange(DEVICES) / 3), np.random.default_rng(1))
    if not vm:
        with Crowd(mqtt, virtual, None, spool.move_to_spools(folder)) as crowd:
            yield crowd
        return
    asking = children.Common(mqtt, folder, dict.fromkeys(virtual.names, ""), None)
    running = children.prepare(vm, folder / "made")
    with Machines(
        running.command, children.describe_devices(virtual, asking), running.path
    ) as machines:
        yield machines


@pytest.mark.parametrize("vm", ["", "micropython-i386"])
def test_a_broker_that_is_killed_in_the_middle_loses_no_frame(
    broker: Broker, need: Callable[[str], str], tmp_path: Path, home: Any, vm: str
) -> None:
    """It had the frames and said so; no receipt came, so they are sent until one does."""
    vm = vm and need(vm)
    mqtt = Mqtt(host="127.0.0.1", port=broker.port, insecure=True)
    made = enrol.enrol_fleet("outage", DEVICES)
    budgets.provision(made, LIMITS, lambda one: Files(str(tmp_path), one))
    keys = {who.name: who.config_key for who, _ in made.secrets.devices}
    had: set[tuple[str, bytes]] = set()
    thanks = [False]

    def came(link: Link, message: Message) -> None:
        link.ack(message)
        name = message.topic.split("/")[3]
        if thanks[0]:
            had.add((name, message.payload))
            body = cbor.decode(message.payload[: -wire.MAC_BYTES])
            where = wire.topic("outage", name, "receipt")
            link.publish(
                where, bytes(post.pack_receipt(body[2], body[1], True, keys[name], where))
            )

    def ask(link: Link, number: int) -> None:
        where = wire.round_topic("outage", "thermal")
        round = home.round(number)
        link.publish(where, bytes(post.pack_round(round, made.secrets.site_key, where)))

    how = {"subscribe": ["heatveil/1/outage/+/data"], "on_message": came}
    with Pump("asks") as pump, fleet(vm, mqtt, made, tmp_path) as devices:
        link = Link(mqtt, "asks-outage", pump, **how).wait()
        assert devices.wait() == {}
        ask(link, 1)
        assert eventually(lambda: devices.counts.acknowledged == DEVICES)
        broker.kill()
        gone = eventually(lambda: not devices.up)
        between = summarize(devices.counts, 0, 0)
        thanks[0] = True
        broker.start()
        assert eventually(lambda: devices.counts.received == DEVICES)
        ask(link, 2)
        assert eventually(lambda: devices.counts.received == 2 * DEVICES)
        eventually(lambda: devices.counts.acknowledged == 2 * DEVICES)
        said = summarize(devices.counts, 0, 0)
        link.close()

    assert gone
    assert between == (
        "3 frames sent, 3 acknowledged by the broker, 0 received by the gateway, 3 waiting, 0 lost"
    )
    assert said == (
        "6 frames sent, 6 acknowledged by the broker, 6 received by the gateway, 0 waiting, 0 lost"
    )
    assert len(had) == 2 * DEVICES

"""kill -9 of the gateway while readings stream in: nothing lost, nothing doubled."""

import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest

from edge.core import wire
from edge.core.limits import Limits
from edge.core.node import Node
from edge.mechanisms import thermal
from edge.net.device import unpack_receipt
from gateway.devices.enrol import budgets, enrol
from gateway.service.mqtt.connection import Message
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.settings.deployment import Mqtt
from gateway.store.store import Store
from tests import processes
from tests.waiting import eventually

SITE = "crashsite"
SENSORS = 240
KILL_AFTER_S = (0.015, 0.03, 0.045)
KILLS = len(KILL_AFTER_S)

GATEWAY = """
import sys
from pathlib import Path
from gateway.devices.enrol import enrol
from gateway.settings.deployment import Deployment
from gateway.service.serving import Service

folder, port, sensors = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
deployment = Deployment(
    site={"name": "crashsite", "database": folder / "heatveil.sqlite"},
    room={"cells": 24},
    heat={"spread_m2": 0.05},
    sensors={"count": sensors},
    privacy={"epsilon": "1/1", "delta": "1/100000"},
    rounds={"gather_s": 120},
    mqtt={"port": port, "insecure": True},
)
devices = enrol.load_devices(folder / "devices.json", "crashsite")
with Service(deployment, devices) as service:
    service.run(rounds=1)
    (folder / "reports").write_text(str(service.state()["release"]["reports"]))
"""


@pytest.mark.long
def test_kill_9_in_mid_stream_loses_no_reading_and_doubles_none(
    mosquitto: Mqtt, tmp_path: Path
) -> None:
    """Three kills while 240 devices answer: every answer is there once, charged once."""
    made, place = enrol.enrol_fleet(SITE, SENSORS), budgets.keep_in_memory()
    secrets = made.secrets
    known = enrol.derive_devices(secrets)
    enrol.save_devices(known, tmp_path / "devices.json")
    path = tmp_path / "heatveil.sqlite"
    heard: set[str] = set()
    rounds: list[bytes] = []

    def take(link: Link, message: Message) -> None:
        link.ack(message)
        if message.topic.endswith("/receipt"):
            name = message.topic.split("/")[3]
            key = known.by_name[name].config_key
            assert unpack_receipt(message.payload, key, message.topic) == (1, 1, True)
            heard.add(name)
        elif message.payload:
            rounds.append(message.payload)

    def gateway() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", GATEWAY]
        command += [str(tmp_path), str(mosquitto.port), str(SENSORS)]
        return processes.Child(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    topics = [wire.round_topic(SITE, "thermal"), wire.topic(SITE, "+", "receipt")]
    with Pump("crash") as pump:
        fleet = Link(mosquitto, "crash-fleet", pump, subscribe=topics, on_message=take).wait()
        child = gateway()
        assert eventually(lambda: rounds)
        asked = wire.unpack_round(rounds[0], secrets.site_key, topics[0])
        plan, params = wire.name_of(asked), thermal.Params(*asked.params)
        limits = Limits(1, params.exponent, 1, params.variance, 10**9, 0)
        budgets.provision(made, limits, place)
        frames = {
            who.name: Node(who, budget).answer(rounds[0], lambda _params: [1000])
            for who, budget in budgets.boot(secrets, place).devices
        }
        names = list(frames)
        for kill in range(KILLS + 1):
            assert eventually(lambda starts=kill + 1: len(rounds) == starts)  # type: ignore[misc]
            for name in names[kill :: KILLS + 1]:
                fleet.publish(wire.topic(SITE, name, "data"), frames[name])
            if kill == KILLS:
                break
            time.sleep(KILL_AFTER_S[kill])  # while they are under way
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
            store = Store(path, SITE)
            committed = {device for device, _ in store.answers(plan)}
            store.close()
            assert heard <= committed, "a receipt went out before its commit"
            child = gateway()
        assert child.wait(timeout=60) == 0
        assert eventually(lambda: heard == set(names), 5)
        fleet.close()

    store = Store(path, SITE)
    assert (tmp_path / "reports").read_text() == str(SENSORS)
    assert dict(store.answers(plan)) == frames
    assert store.refused() == []
    assert [type(charge.rho) for charge in store.charges()] == [Fraction]
    store.close()

"""What a frame of a virtual device costs: CPU of a fleet in one process, on a mosquitto.

Run it: `python tests/bench/bench_fleet.py [devices] [rounds]`. Another process asks Rounds and
signs a Receipt for each frame, as a gateway does. A frame is a whole one: the Round verified, paid
for, read, hidden, signed, kept, sent at QoS 1 and freed by its Receipt. Its peer is one client of
paho that publishes as many bytes at QoS 1, with no device and no link of its own behind each.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from edge.core import wire
from edge.core.budget import Limits
from edge.core.records import Grid, Guarantee, Round
from edge.host import post
from gateway.devices.broker.embedded import run_broker
from gateway.devices.enrol import budgets, enrol
from gateway.devices.fleet.crowd import Crowd, allow_open_files
from gateway.settings.deployment import Mqtt
from physics.fleet import Fleet
from physics.sensors import PointSensors

SITE, GOAL_MS, BYTES = "bench", 0.2, 50
PROMISE = Guarantee((1, 1), (1, 10**5), (1, 50), "a move", "local", "a day", "presence")


def enrolled(devices: int) -> enrol.Enrolment:
    """Return the fleet, the same in both processes."""
    return enrol.enrol_fleet(SITE, devices, fresh=np.random.default_rng(1).bytes)


def ask(port: int, devices: int) -> None:
    """Ask a Round for each line that comes, and print one when each device has answered."""
    keys, taken = enrol.derive_gateway_half(enrolled(devices).secrets), set[str]()
    where = wire.round_topic(SITE, "thermal")

    def came(link: mqtt.Client, _: object, message: mqtt.MQTTMessage) -> None:
        name = message.topic.split("/")[3]
        body, told = wire.decode(message.payload[:-16]), wire.topic(SITE, name, "receipt")
        key = keys.by_name[name].config_key
        link.publish(told, bytes(post.pack_receipt(body[2], body[1], True, key, told)), 1)
        taken.add(name)

    link = mqtt.Client(CallbackAPIVersion.VERSION2, "asker")
    link.on_message = came
    link.connect("127.0.0.1", port)
    link.subscribe(f"heatveil/1/{SITE}/+/data", 1)
    link.loop_start()
    for number in map(int, sys.stdin):
        taken.clear()
        params = (devices, 8, 0, 4096, 10_000, 1, 0)
        asked = Round(number, "thermal", Grid((10, 1), 0), params, PROMISE)
        link.publish(where, bytes(post.pack_round(asked, keys.site_key, where)), 1)
        while len(taken) < devices:
            time.sleep(0.01)
        print(flush=True)


def publish_alone(port: int, count: int) -> float:
    """Return the ms of CPU of a message that one client of paho publishes."""
    link = mqtt.Client(CallbackAPIVersion.VERSION2, "peer")
    link.connect("127.0.0.1", port)
    link.loop_start()
    began_s = time.process_time()
    for _ in range(count):
        link.publish("peer/data", bytes(BYTES), 1).wait_for_publish()
    link.loop_stop()
    return 1000 * (time.process_time() - began_s) / count


def main(devices: int = 1000, rounds: int = 10) -> None:
    """Print what both take."""
    allow_open_files(devices)
    made, place = enrolled(devices), budgets.keep_slots_in_memory()
    budgets.write_first_budgets(made, Limits(1, 8, 1, 10_000, 10**9, 0), place)
    booted = budgets.boot_devices(made.secrets, place).devices
    seen = PointSensors(np.arange(devices) / devices)
    fleet = Fleet(booted, seen, np.random.default_rng(1))
    with run_broker("mosquitto") as broker:
        words = [sys.executable, __file__, "ask", str(broker.port), str(devices)]
        pipe = subprocess.PIPE
        asker = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, bufsize=1)
        settings = Mqtt(host="127.0.0.1", port=broker.port, insecure=True)

        def answer(number: int) -> None:
            asker.stdin.write(f"{number}\n")  # type: ignore[union-attr]
            asker.stdout.readline()  # type: ignore[union-attr]

        with asker, Crowd(settings, fleet, loops=1) as crowd:
            crowd.wait_connected()
            time.sleep(3)  # the first noise is drawn
            answer(1)  # with which is done what is done once
            began_s = time.process_time()
            for number in range(2, rounds + 2):
                answer(number)
            time.sleep(1)  # for the last Receipts
            ours = 1000 * (time.process_time() - began_s) / (devices * rounds)
            counts = crowd.counts
            asker.stdin.close()  # type: ignore[union-attr]
        peer = publish_alone(broker.port, 5000)
    print(f"{devices} devices in one process: {ours:.3f} ms of CPU a frame, goal {GOAL_MS}")
    print(f"paho publishes alone: {peer:.3f} ms; load {os.getloadavg()[0]:.1f}; ", end="")
    print(f"{counts.received} of {counts.sent} frames have a Receipt")


if __name__ == "__main__":
    if sys.argv[1:2] == ["ask"]:
        ask(int(sys.argv[2]), int(sys.argv[3]))
    else:
        main(*map(int, sys.argv[1:]))

"""A whole device on a real broker, its line cut again and again: every answer arrives, in order.

Between the two stands a proxy that cuts each connection after a random number of bytes, in the
middle of whatever is said. At the other end paho asks, listens, and gives receipts.
"""

import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import paho.mqtt.client as mqtt
import pytest

from edge.core import slots
from edge.core.limits import Limits
from edge.core.records import Grid, Guarantee, Round
from edge.core.wire import round_topic, topic
from edge.host import post, rootkeys
from edge.host.enrol import provision
from tests.interpreters.test_mqtt import Broker, Proxy, mosquitto, observed
from tests.waiting import eventually

ROUNDS, CUTS = 25, 20
ROOT, KEY = bytes(range(32)), bytes(range(32, 64))
LIMITS = Limits(1, 8, 500, 250000, 10**10, 0)
PROMISE = Guarantee((1, 1), (1, 100000), (1, 50), "a move", "local", "a day", "presence")

DEVICE = """
import asyncio
from edge.core import keys, slots
from edge.core.budget import Budget
from edge.net.device import Device
from edge.net.mqtt import Client
from edge.net.link import Pauses, sleep_ms
from edge.net.ring import Ring

who, kept = keys.Identity(*{who}), slots.Ram()
kept.write(0, {kept}[0])
kept.write(1, {kept}[1])
budget = Budget(kept, who.state_key)
budget.boot()

async def main():
    client, ring = Client("127.0.0.1", {port}, "soak-" + who.name, wait_s=5), Ring(1024)
    client.pauses = Pauses(10, 40)
    device = Device(who, budget, lambda params: [5000], client, ring, tick_ms=20, diag_s=1)
    tasks = [asyncio.create_task(client.run()), asyncio.create_task(device.run())]
    for _ in range(6000):
        await sleep_ms(10)
        if device.node.ahead.seq == {rounds} and not len(ring):
            break
    print(device.node.ahead.seq, len(ring), ring.overwritten, device.node.forged)
    print(client.reconnects)
    await client.stop()

asyncio.run(main())
"""


class Gateway:
    """Asks the next Round when the last one was answered; `frames` are all that came, by seq."""

    def __init__(self, paho: mqtt.Client, name: str) -> None:
        self.frames: dict[int, list[bytes]] = {}
        self._paho, self._name, self._asked = paho, name, 0
        paho.on_message = self._came

    def ask(self) -> None:
        """Open the next Round, if there is one."""
        if self._asked < ROUNDS:
            self._asked += 1
            params = (9, 8, 0, 10000, 250000, 1, 1)
            plan = Round(self._asked, "thermal", Grid((9, 1), 0), params, PROMISE)
            where = round_topic(self._name, "thermal")
            self._paho.publish(where, post.pack_round(plan, KEY, where), 1, retain=True)

    def _came(self, _client: object, _data: object, message: mqtt.MQTTMessage) -> None:
        frame = bytes(message.payload)
        where = topic(self._name, self._name, "receipt")
        report = post.unpack_report(frame, rootkeys.mac_key(ROOT), message.topic, self._name)
        new = report.seq not in self.frames
        self.frames.setdefault(report.seq, []).append(frame)
        signed = (report.epoch, report.seq, True, rootkeys.config_key(ROOT), where)
        self._paho.publish(where, post.pack_receipt(*signed), 1)
        if new:
            self.ask()


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_a_line_that_is_cut_again_and_again_loses_no_answer(
    interpreter: Any,
    need: Callable[[str], str],
    answers: Callable[[int], None],
    tmp_path: Path,
    seed: int,
) -> None:
    """25 answers through 20 cuts: all there, in order, and what came twice was the same bytes."""
    name = f"{interpreter.name}{seed}"
    who = rootkeys.identity(name, name, ROOT, KEY, 2, "keyholder")
    place = slots.Ram()
    provision(place, who.state_key, rootkeys.first_chain(ROOT), LIMITS)
    with mosquitto(need("mosquitto"), tmp_path, answers, tls=False) as broker:
        proxy = Proxy(broker.port, random.Random(seed), CUTS, 90, 1500)
        with observed(Broker(broker.port, ""), topic(name, name, "data")) as (paho, _):
            gateway = Gateway(paho, name)
            gateway.ask()
            kept = [place.read(i) for i in range(slots.COUNT)]
            script = DEVICE.format(who=tuple(who), kept=kept, port=proxy.port, rounds=ROUNDS)
            # How small a heap may be is the business of test_heap; here are a test's needs too.
            command = [
                re.sub(r"heapsize=\d+k", "heapsize=192k", word) for word in interpreter.command
            ]
            try:
                said, reconnects = replace(interpreter, command=command).run(script).splitlines()
            finally:
                proxy.close()
            assert eventually(lambda: len(gateway.frames) == ROUNDS)

    assert said == f"{ROUNDS} 0 0 0"
    assert int(reconnects) >= CUTS // 2
    assert list(gateway.frames) == list(range(1, ROUNDS + 1))
    assert all(len(set(frames)) == 1 for frames in gateway.frames.values())

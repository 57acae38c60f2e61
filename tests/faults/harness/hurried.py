"""A fleet in a hurry: thousands of devices on one link, with enrolled keys and a spool on disk.

    python hurried.py FOLDER PORT OPTIONS

They answer each round at once, without noise and without a budget: what becomes of a message is
tested with them, not what is in it. Everything else is as devices do it: a frame is written down
before it is sent, one is under way at a time, a receipt frees it, and without one it goes again
with the same bytes. OPTIONS is JSON:

    frees    "receipt"; or "puback" for devices that trust the broker's acknowledgement; or
             "sending" for those that trust the network, and send at QoS 0
    resend_s seconds after which what is not freed is sent again; 0 for never
    names    [first, last): only these devices
    log      the name of the log; "hurried"
    asks_itself  read the round from the store: a broker that was killed has forgotten it
    pace_s   seconds that an answer takes at most: they come spread over it
"""

import hashlib
import json
import os
import queue
import random
import signal
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from edge.core import wire
from edge.core.records import Report
from edge.mechanisms import thermal
from edge.net.device import unpack_receipt
from gateway.devices.enrol import enrol
from gateway.service.mqtt.connection import Message
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.settings.deployment import Mqtt
from harness import truth


class Hurried:
    """The devices, their spools and the log."""

    def __init__(self, folder: Path, port: int, options: dict[str, Any]) -> None:
        site = json.loads((folder / "devices.json").read_text())["site"]
        known = enrol.load_devices(folder / "devices.json", site)
        self.options, self.folder = options, folder
        self.site, self.site_key = site, known.site_key
        self.devices = list(known.by_name.values())[slice(*options.get("names", [None]))]
        self.by_name = {one.name: one for one in self.devices}
        self.frees, self.resend_s = options.get("frees", "receipt"), options.get("resend_s", 2.0)
        self.pace_s = options.get("pace_s", 0.0)
        self.spools: dict[str, deque[tuple[int, int, bytes]]] = {
            one.name: deque() for one in self.devices
        }
        self.sent_s: dict[str, float] = {}
        self.answered: dict[str, int] = {one.name: 0 for one in self.devices}
        self.epoch, self.seq = 1, 0
        self.log_path = folder / f"{options.get('log', 'hurried')}.log"
        self._replay()
        self.log = os.open(self.log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(self.log, f"boot {self.epoch}\n".encode())
        self.inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.pump = Pump("hurried")
        topics = [wire.round_topic(site, "thermal"), wire.topic(site, "+", "receipt")]
        self.link = Link(
            Mqtt(host="127.0.0.1", port=port, insecure=True),
            f"{options.get('log', 'hurried')}-{site}",
            self.pump,
            subscribe=topics,
            on_message=self._came,
        )

    def _replay(self) -> None:
        if not self.log_path.exists():
            return
        for line in self.log_path.read_text().splitlines(keepends=True):
            words = line.split()
            if not line.endswith("\n"):
                continue
            if words[0] == "boot":
                self.epoch = int(words[1]) + 1
            elif words[0] == "+":
                self.spools[words[1]].append(
                    (int(words[2]), int(words[3]), bytes.fromhex(words[5]))
                )
                self.answered[words[1]] = max(self.answered[words[1]], int(words[6]))
            else:
                spool = self.spools[words[1]]
                if spool and spool[0][:2] == (int(words[2]), int(words[3])):
                    spool.popleft()

    def _came(self, link: Any, message: Message) -> None:
        link.acknowledge(message)
        self.inbox.put(message)

    def ask(self) -> None:
        """Take the last round from the gateway's store."""
        words = "SELECT message FROM rounds ORDER BY number DESC LIMIT 1"
        ((message,),) = truth.ask(self.folder / "heatveil.sqlite", words)
        self.inbox.put(Message(wire.round_topic(self.site, "thermal"), message, (0, 0)))

    def run(self) -> None:
        due: list[tuple[float, str, Any]] = []
        while True:
            try:
                message = self.inbox.get(timeout=0.02)
            except queue.Empty:
                message = None
            if message == "stop":
                break
            if isinstance(message, tuple) and message[0] == "puback":
                self._free(*message[1:])
            elif message is not None and message.topic.endswith("/receipt"):
                self._receipt(message)
            elif message is not None and message.payload:
                plan = wire.unpack_round(message.payload, self.site_key, message.topic)
                now_s = time.monotonic()
                names = [n for n in self.by_name if self.answered[n] < plan.number]
                for name in names:
                    self.answered[name] = plan.number
                due += [(now_s + random.random() * self.pace_s, name, plan) for name in names]
            now_s = time.monotonic()
            ready = [one for one in due if one[0] <= now_s]
            if ready:
                due = [one for one in due if one[0] > now_s]
                self._answer([(name, plan) for _, name, plan in ready])
            if self.resend_s:
                for name in [n for n, at in self.sent_s.items() if now_s - at > self.resend_s]:
                    self._send(name)
        self.link.close()
        self.pump.close()

    def _answer(self, asked: list[tuple[str, Any]]) -> None:
        lines = []
        for name, plan in asked:
            one = self.by_name[name]
            self.seq += 1
            # As an empty room would look: noise alone, of the size that the round asks for.
            spread = thermal.Params(*plan.params).variance ** 0.5
            payload = [one.place.sensor, round(random.gauss(0, spread))]
            report = Report(wire.name_of(plan), name, self.epoch, self.seq, payload)
            topic = wire.topic(self.site, name, "data")
            frame = bytes(wire.pack_report(report, one.mac_key, topic, thermal.bits(plan)))
            digest = hashlib.sha256(frame).hexdigest()
            words = f"+ {name} {self.epoch} {self.seq} {digest} {frame.hex()} {plan.number}\n"
            lines.append(words)
            self.spools[name].append((self.epoch, self.seq, frame))
        os.write(self.log, "".join(lines).encode())  # before anything of it is sent
        for name, _ in asked:
            if len(self.spools[name]) == 1:
                self._send(name)

    def _send(self, name: str) -> None:
        if not self.spools[name]:
            self.sent_s.pop(name, None)
            return
        epoch, seq, frame = self.spools[name][0]
        self.sent_s[name] = time.monotonic()
        words: dict[str, Any] = {}
        if self.frees == "puback":
            words["on_sent"] = lambda: self.inbox.put(("puback", name, epoch, seq))
        if self.frees == "sending":
            self.link._client.publish(wire.topic(self.site, name, "data"), frame, qos=0)
            self.pump.wake(self.link._rider)
            self.inbox.put(("puback", name, epoch, seq))
            return
        self.link.publish(wire.topic(self.site, name, "data"), frame, **words)

    def _receipt(self, message: Message) -> None:
        name = message.topic.split("/")[3]
        if name not in self.by_name or self.frees != "receipt":
            return
        key = self.by_name[name].config_key
        epoch, seq, _ = unpack_receipt(message.payload, key, message.topic)
        self._free(name, epoch, seq)

    def _free(self, name: str, epoch: int, seq: int) -> None:
        spool = self.spools[name]
        if spool and spool[0][:2] == (epoch, seq):
            spool.popleft()
            os.write(self.log, f"- {name} {epoch} {seq}\n".encode())
            self._send(name)


if __name__ == "__main__":
    hurried = Hurried(Path(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3]))
    signal.signal(signal.SIGTERM, lambda *_: hurried.inbox.put("stop"))
    if hurried.options.get("asks_itself"):
        hurried.ask()
    for name in hurried.spools:
        hurried._send(name)  # what an earlier process left
    hurried.run()

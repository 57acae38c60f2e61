"""Virtual devices on a real broker: each one its own client, its own session, its own will.

They run the code of `edge`; nothing here knows what they read. One thread moves the bytes of
all, and one does their work: it answers first, then sends what is due, and draws noise ahead
only while nothing waits, so that no device's noise shows in the moment of another's frame.
"""

import queue
import threading
import time
from collections import deque
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import structlog

from edge import wire

from . import access
from .deployment import Mqtt
from .dialogue import LEAVES, Dialogue, Fleet
from .pump import Pump
from .service import Link
from .session import Message

RESEND_S = 5.0

log = structlog.get_logger()


class Heard(NamedTuple):
    """A message for a device, and when it came."""

    name: str
    leaf: str
    payload: bytes
    at_ms: int


class Nodes:
    """A fleet on MQTT; a context manager."""

    def __init__(
        self,
        broker: Mqtt,
        site: str,
        mechanism: str,
        fleet: Fleet,
        passwords: Mapping[str, str] | None = None,
    ) -> None:
        """Connect every device and announce it.

        Args:
            passwords: of each device at the broker; without any, all come as [mqtt] says.

        Raises:
            LinkFault: the broker does not answer or will not have them.
        """
        self._site = site
        self._round_topic = wire.round_topic(site, mechanism)
        self._heard: queue.SimpleQueue[Heard | None] = queue.SimpleQueue()
        self._pump = Pump("nodes")
        self._links: dict[str, Link] = {}
        self._devices: dict[str, Dialogue] = {}
        try:
            for name in fleet.names:
                own = access.as_device(broker, name, passwords[name]) if passwords else broker
                self._links[name] = self._link(own, name)
                self._devices[name] = Dialogue(fleet, name, partial(self._say, name))
            for name, link in self._links.items():
                link.wait()
                self._devices[name].hello()
        except BaseException:
            self._disconnect()
            raise
        self._thread = threading.Thread(target=self._run, name="devices", daemon=True)
        self._thread.start()

    def __enter__(self) -> "Nodes":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Say goodbye for every device, and disconnect."""
        self._heard.put(None)
        self._thread.join()
        for name in self._links:
            self._say(name, "state", b"disconnected", True)
        self._disconnect()

    @property
    def unreceipted(self) -> int:
        """How many devices wait for a receipt."""
        return sum(device.spool is not None for device in self._devices.values())

    def _disconnect(self) -> None:
        for link in self._links.values():
            link.close()
        self._pump.close()

    def _link(self, broker: Mqtt, name: str) -> Link:
        own = [wire.topic(self._site, name, leaf) for leaf in LEAVES]
        will = (wire.topic(self._site, name, "state"), b"lost")
        return Link(
            broker,
            f"heatveil-{self._site}-{name}",
            self._pump,
            subscribe=[self._round_topic, *own],
            on_message=partial(self._came, name),
            will=will,
        )

    def _say(self, name: str, leaf: str, payload: bytes, retain: bool) -> None:
        self._links[name].publish(wire.topic(self._site, name, leaf), payload, retain=retain)

    def _came(self, name: str, link: Link, message: Message) -> None:
        """Note a message and its moment; on the pump's thread, so the work is left to ours."""
        link.ack(message)
        leaf = message.topic.removeprefix(wire.topic(self._site, name, ""))
        if message.topic == self._round_topic:
            leaf = "round"
        self._heard.put(Heard(name, leaf, message.payload, _now_ms()))

    def _run(self) -> None:
        resend_at_ms = _now_ms() + 1000 * RESEND_S
        waiting: dict[str, int] = {}  # whose frame goes out when
        idle = deque(self._devices)  # whose noise may not lie ready
        while True:
            until_ms = min([resend_at_ms, *waiting.values()])
            patience_s = 0 if idle and not waiting else max(until_ms - _now_ms(), 0) / 1000
            try:
                heard = self._heard.get(timeout=patience_s)
            except queue.Empty:
                if idle and not waiting:
                    self._look(idle.popleft(), waiting)
            else:
                if heard is None:
                    return
                self._hear(heard, waiting)
            for name in [name for name, due_ms in waiting.items() if _now_ms() >= due_ms]:
                self._look(name, waiting)
                idle.append(name)
            if _now_ms() >= resend_at_ms:
                resend_at_ms = _now_ms() + 1000 * RESEND_S
                for name in self._devices.keys() - waiting.keys():
                    self._devices[name].resend()

    def _hear(self, heard: Heard, waiting: dict[str, int]) -> None:
        try:
            self._devices[heard.name].hear(heard.leaf, heard.payload, heard.at_ms)
        except Exception:  # one broken device must not silence the others
            log.exception("a device could not answer", device=heard.name)
        if heard.leaf == "round":
            self._look(heard.name, waiting)  # settles the tick

    def _look(self, name: str, waiting: dict[str, int]) -> None:
        waiting.pop(name, None)
        try:
            self._devices[name].look(_now_ms())
        except Exception:
            log.exception("a device could not be looked at", device=name)
        if (due_ms := self._devices[name].due_ms) is not None:
            waiting[name] = due_ms


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000

"""Virtual devices on a real broker: each one its own client, its own session, its own will.

They run the code of `edge`; nothing here knows what they read. A frame is kept until the
gateway's receipt for it has come, and sent again with the same bytes when it does not: noise
drawn anew for the same reading could be averaged away.
"""

import json
import queue
import threading
import time
from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

import structlog

from edge import cbor, wire

from .deployment import Mqtt
from .pump import Pump
from .service import Link
from .session import Message

RESEND_S = 5.0

log = structlog.get_logger()


class Fleet(Protocol):
    """Devices by name, without any transport."""

    @property
    def names(self) -> Sequence[str]: ...

    def answer(self, name: str, round_message: bytes) -> bytes | None: ...

    def meta(self, name: str) -> dict[str, Any]: ...


class Nodes:
    """A fleet on MQTT; a context manager. One thread moves the bytes, one draws the noise."""

    def __init__(self, broker: Mqtt, site: str, mechanism: str, fleet: Fleet) -> None:
        """Connect every device and announce it.

        Raises:
            LinkFault: the broker does not answer or will not have them.
        """
        self._site, self._fleet = site, fleet
        self._round_topic = wire.round_topic(site, mechanism)
        self._rounds: queue.SimpleQueue[tuple[str, bytes] | None] = queue.SimpleQueue()
        self._spool: dict[str, bytes] = {}  # what each device has no receipt for
        self._pump = Pump("nodes")
        self._links: dict[str, Link] = {}
        try:
            for name in fleet.names:
                self._links[name] = self._link(broker, name)
            for name, link in self._links.items():
                link.wait()
                meta = json.dumps(fleet.meta(name)).encode()
                link.publish(wire.topic(site, name, "meta"), meta, retain=True)
                link.publish(wire.topic(site, name, "state"), b"ready", retain=True)
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
        self._rounds.put(None)
        self._thread.join()
        for name, link in self._links.items():
            link.publish(wire.topic(self._site, name, "state"), b"disconnected", retain=True)
        self._disconnect()

    def _disconnect(self) -> None:
        for link in self._links.values():
            link.close()
        self._pump.close()

    def _link(self, broker: Mqtt, name: str) -> Link:
        topics = [self._round_topic, wire.topic(self._site, name, "receipt")]
        will = (wire.topic(self._site, name, "state"), b"lost")
        taker = partial(self._came, name)
        client_id = f"heatveil-{self._site}-{name}"
        return Link(broker, client_id, self._pump, subscribe=topics, on_message=taker, will=will)

    def _came(self, name: str, link: Link, message: Message) -> None:
        """Take a round or a receipt; on the pump's thread, so the work is left to ours."""
        link.ack(message)
        if message.topic != self._round_topic:
            frame = self._spool.get(name)
            if frame is not None and _numbers(frame) == _receipted(message.payload):
                del self._spool[name]
        elif message.payload:  # an empty one: nothing is asked at present
            self._rounds.put((name, message.payload))

    def _run(self) -> None:
        resend_at_s = time.monotonic() + RESEND_S
        while True:
            try:
                asked = self._rounds.get(timeout=RESEND_S)
            except queue.Empty:
                asked = ("", b"")
            if asked is None:
                return
            if asked[0]:
                self._answer(*asked)
            if time.monotonic() >= resend_at_s:
                resend_at_s = time.monotonic() + RESEND_S
                for name, frame in list(self._spool.items()):
                    self._send(name, frame)

    def _answer(self, name: str, round_message: bytes) -> None:
        try:
            frame = self._fleet.answer(name, round_message)
        except Exception:  # one broken device must not silence the others
            log.exception("a device could not answer")
            return
        if frame is not None:
            self._spool[name] = frame
            self._send(name, frame)

    def _send(self, name: str, frame: bytes) -> None:
        self._links[name].publish(wire.topic(self._site, name, "data"), frame)


def _numbers(frame: bytes) -> tuple[int, int]:
    """Return (epoch, seq) of a frame of our own."""
    body = cbor.decode(frame[: -wire.MAC_BYTES])
    return body[2], body[1]


def _receipted(payload: bytes) -> tuple[int, int] | None:
    """Return (epoch, seq) that a receipt is for; None for what is no receipt."""
    try:
        receipt = json.loads(payload)
        return receipt["epoch"], receipt["seq"]
    except (ValueError, KeyError, TypeError):
        return None

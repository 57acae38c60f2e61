"""Virtual devices on a real broker: each one its own client, its own session, its own will.

They run the code of `edge`; nothing here knows what they read. A frame is kept until the
gateway's receipt for it has come, and sent again with the same bytes when it does not: noise
drawn anew for the same reading could be averaged away.
"""

import json
import queue
import threading
import time
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

import structlog

from edge import cbor, wire

from .deployment import Mqtt
from .pump import Pump
from .service import Link
from .session import Message

# A frame goes out this long after its Round came in, whatever its noise took to draw: the time
# of drawing tells how large the noise is.
TICK_S = 0.1
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
        self._rounds: queue.SimpleQueue[tuple[str, bytes, float] | None] = queue.SimpleQueue()
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
            self._rounds.put((name, message.payload, time.monotonic() + TICK_S))

    def _run(self) -> None:
        resend_at_s = time.monotonic() + RESEND_S
        due: deque[tuple[float, str]] = deque()  # when whose frame goes out, in that order
        while True:
            until_s = due[0][0] if due else resend_at_s
            try:
                asked = self._rounds.get(timeout=max(until_s - time.monotonic(), 0))
            except queue.Empty:
                pass
            else:
                if asked is None:
                    return
                name, round_message, due_s = asked
                if self._answer(name, round_message):
                    due.append((due_s, name))
            while due and time.monotonic() >= due[0][0]:
                self._send(due.popleft()[1])
            if time.monotonic() >= resend_at_s:
                resend_at_s = time.monotonic() + RESEND_S
                for name in set(self._spool) - {name for _, name in due}:
                    self._send(name)

    def _answer(self, name: str, round_message: bytes) -> bool:
        """Make the frame that answers; True when there is one to be sent."""
        try:
            frame = self._fleet.answer(name, round_message)
        except Exception:  # one broken device must not silence the others
            log.exception("a device could not answer")
            return False
        if frame is not None:
            self._spool[name] = frame
        return frame is not None

    def _send(self, name: str) -> None:
        frame = self._spool.get(name)
        if frame is not None:
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

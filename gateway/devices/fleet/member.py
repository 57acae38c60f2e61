"""One device of a fleet: `edge.net.device`, as on a board, among others in one process.

What a fleet adds: whoever draws noise holds the others up, and how long shows how large it is. So
noise is drawn ahead only while no frame of any device waits for its moment.
"""

import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from edge.core import wire
from edge.net.device import Device
from edge.net.mqtt import Client

from ...logs import log
from ...service.secure_sum import ciphers
from .spool import FrameCounts

TICK_MS = 100  # nothing is read or written here that takes long


class Uptime:
    """What `compat.Uptime` says, of a clock that is one for all devices of this process."""

    EARLY_MS = 0

    def now_ms(self) -> int:
        """Return milliseconds that only go forward; Linux counts them from its start."""
        return time.monotonic_ns() // 1_000_000

    def block_until(self, due_ms: int) -> None:
        """Return: the loop has waited long enough already."""


class SharedState:
    """What the devices of a fleet share, beside their loop.

    Whose frames wait for their moment: a device is in here until soon after it was sent. And what
    the site asked last: all are asked the same, and come to the same of the same bytes under the
    same key, so one of them opens a Round for all. What does not verify each looks at by itself.
    """

    def __init__(self) -> None:
        self._waiting: set[str] = set()
        self.enter, self.leave = self._waiting.add, self._waiting.discard
        self.uptime = Uptime()
        self._asked: tuple[Any, Any] = None, None

    def open_round(self, site_key: bytes, message: bytes, where: str) -> tuple[Any, bytes]:
        """Return the Round in a message and its name, as `Node.open_round` does.

        Raises:
            wire.Fault: as `wire.unpack_round`.
        """
        asked = (bytes(message), site_key, where)
        held, found = self._asked
        if held != asked:
            round = wire.unpack_round(message, site_key, where)
            found = round, wire.name_of(round)
            self._asked = asked, found
        return found

    @property
    def calm(self) -> bool:
        """Whether nobody's frame waits."""
        return not self._waiting


class Member(Device):
    """A device that draws ahead in a calm moment, and logs what it refuses."""

    def __init__(self, hall: SharedState, identity: Any, *parts: Any, **more: Any) -> None:
        more |= {"tick_ms": TICK_MS, "uptime": hall.uptime, "suite": ciphers}
        super().__init__(identity, *parts, **more)
        self._hall, self._name, self._refused = hall, identity.name, ""
        if not hasattr(identity, "roster"):
            opened: Any = partial(hall.open_round, identity.site_key)
            self.node.open_round = opened

    def prepare(self) -> None:
        """Draw ahead, if that is in nobody's way; else a second later."""
        self._hall.leave(self._name)  # the ticker asks when it holds nothing
        if self._hall.calm:
            self.node.prepare()

    def _hear(self, topic: str, payload: bytes, at_ms: int) -> None:
        super()._hear(topic, payload, at_ms)
        self._log_refusal()

    def _log_refusal(self) -> None:
        if self.node.refusal and self.node.refusal != self._refused:
            log.info("a virtual device refuses a round", device=self._name, why=self.node.refusal)
        self._refused = self.node.refusal

    def answer(self, message: bytes, read: Any, now_ms: int) -> bytes | None:
        """Return the frame, which is kept by then, or None."""
        frame: bytes | None = super().answer(message, read, now_ms)
        if frame is not None:
            self._hall.enter(self._name)
        self._log_refusal()
        return frame


class Line(Client):
    """A device's client, which counts frames and tells whether it is up."""

    def __init__(
        self,
        name: str,
        counts: FrameCounts,
        turned: Callable[[bool], None],
        *where: Any,
        **how: Any,
    ) -> None:
        self._name, self._counts, self._turned = name, counts, turned
        self._listener: Callable[[bool], None] | None = None
        super().__init__(*where, **how)

    @property
    def on_state(self) -> Callable[[bool], None]:
        """Hears whether the link is up."""
        return self._report_link_state

    @on_state.setter
    def on_state(self, listener: Callable[[bool], None] | None) -> None:
        self._listener = listener

    async def publish(
        self, topic: str, payload: bytes, qos: int = 0, retain: bool = False
    ) -> bool:
        """Return True when the broker has it."""
        leaf = topic.rpartition("/")[2]
        if leaf == "data":
            self._counts.count_once("sent", payload)
        taken: bool = await super().publish(topic, payload, qos, retain)
        if taken and leaf == "data":
            self._counts.count_once("acknowledged", payload)
        if taken and leaf == "ack":
            said = json.loads(payload)
            log.info(
                "a virtual device received new limits",
                device=self._name,
                taken=said["taken"],
                why=said["why"],
            )
        return taken

    def _report_link_state(self, connected: bool) -> None:
        self._turned(connected)
        if self._listener is not None:
            self._listener(connected)

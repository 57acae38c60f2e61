"""What one virtual device hears and says: rounds, receipts and limits in, frames and words out.

No socket in here and no clock. A frame is in the spool before it goes out and until the gateway's
receipt for it has come, and is sent again with the same bytes when it does not: noise drawn anew
for the same reading could be averaged away. When a frame goes out is the ticker's business, and
not the noise's.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import structlog

from edge import cbor, receipts, wire
from edge.ticker import Ticker

from .spool import Spool

TICK_MS = 100  # nothing is read or written here that takes long

# Leaves of a device's own topics that it listens to, beside the round's.
LEAVES = ("receipt", "cmd/limits")

log = structlog.get_logger()


class Fleet(Protocol):
    """Devices by name, without any transport."""

    @property
    def names(self) -> Sequence[str]: ...

    def node(self, name: str) -> Any: ...

    def read(self, name: str, params: Any) -> Sequence[int]: ...


class Spooling:
    """A node whose frames are in the spool before anybody else has them."""

    def __init__(self, node: Any, spool: Spool, name: str) -> None:
        self._node, self._spool, self._name = node, spool, name
        self._last: bytes | None = None
        self.prepare = node.prepare

    def answer(self, message: bytes, read: Any, now_ms: int) -> bytes | None:
        """Return the node's frame, kept; the same one when the same Round comes again."""
        frame: bytes | None = self._node.answer(message, read, now_ms=now_ms)
        if frame is not None and frame != self._last:
            before = self._spool.overwritten
            self._spool.put(frame)
            self._last = frame
            if self._spool.overwritten > before:
                lost = self._spool.overwritten
                log.warning("a frame without a receipt made room", device=self._name, lost=lost)
        return frame


class Dialogue:
    """One device between its ticker and its topics.

    Args:
        say: takes the leaf of a topic of the device's, a payload, and whether it is retained.
        spool: what there is no receipt for, from an earlier process too; None for an empty one.
    """

    def __init__(
        self,
        fleet: Fleet,
        name: str,
        say: Callable[[str, bytes, bool], None],
        spool: Spool | None = None,
    ) -> None:
        self._name, self._say = name, say
        self._node, self._read = fleet.node(name), partial(fleet.read, name)
        self.spool = Spool() if spool is None else spool
        self._ticker = Ticker(Spooling(self._node, self.spool, name), TICK_MS)
        self._state = ""
        self._acks: list[bytes] = []  # that are said when the frame has gone

    @property
    def due_ms(self) -> int | None:
        """When a frame goes out; None while nothing waits for its moment."""
        return self._ticker.due_ms

    @property
    def waits(self) -> bool:
        """Whether a frame is there that has not gone out."""
        return self._ticker.waits

    def hello(self) -> None:
        """Say who the device is and how it is, for whoever comes later too."""
        self._say("meta", json.dumps(self._node.meta()).encode(), True)
        self._state = self._node.state()
        self._say("state", self._state.encode(), True)

    def hear(self, leaf: str, payload: bytes, now_ms: int) -> None:
        """Take a message that came at `now_ms`; leaf is "round" or one of `LEAVES`."""
        if not payload:  # what was retained is gone: nothing is asked at present
            return
        if leaf == "receipt":
            oldest, heard = self.spool.oldest, receipts.heard(payload, self._node.identity)
            if oldest is not None and heard is not None and _numbers(oldest) == heard[:2]:
                self.spool.free()
                self.resend()  # the next one's turn
            return
        if leaf == "cmd/limits":
            ack = self._node.tighten(payload)
            self._acks.append(json.dumps(ack).encode())
            log.info("limits came", device=self._name, taken=ack["taken"], why=ack["why"])
            self._tell()
            return
        self._ticker.came(payload, self._read, now_ms)
        if self._node.refusal:
            log.info("a round is refused", device=self._name, why=self._node.refusal)
            self._tell()

    def look(self, now_ms: int) -> None:
        """Send the frame whose moment has come; with nothing to send, draw noise ahead."""
        frame = self._ticker.due(now_ms)
        if frame is not None:
            if self.spool.oldest is None:  # asked again after its receipt
                self._say("data", frame, False)
            self.resend()
            self._tell()

    def _tell(self) -> None:
        """Say what came of limits, and how the device is when that has changed.

        Never between a round and its frame: said as soon as the frame is made, it would show how
        long the noise took. Anybody may send what is answered here right behind a round.
        """
        if self.waits:
            return
        acks, self._acks = self._acks, []
        for ack in acks:
            self._say("ack", ack, False)
        if acks or self._node.state() != self._state:
            self.hello()

    def resend(self) -> None:
        """Send the oldest that there is no receipt for, as it is; never one before its tick."""
        oldest = self.spool.oldest
        if oldest is not None and not (self.waits and len(self.spool) == 1):
            self._say("data", oldest, False)


def _numbers(frame: bytes) -> tuple[int, int]:
    """Return (epoch, seq) of a frame of our own."""
    body = cbor.decode(frame[: -wire.MAC_BYTES])
    return body[2], body[1]

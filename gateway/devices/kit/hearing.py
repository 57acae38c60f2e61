"""What is heard of a device at the broker, as its gateway's user hears it.

What the broker retained of an earlier life says nothing of this one, so what comes counts from
the start of the board on: its `meta`, and frames that its MAC key proves. Nothing that a frame
holds is looked at but its counters.
"""

import json
import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from edge import wire
from edge.host import post
from edge.keys import Identity

from ...mqtt.pump import Pump
from ...mqtt.service import Link
from ...mqtt.session import Message
from ...operating import Mqtt

HEARD = ("data", "meta", "state", "diag")
WORDS = ("ready", "sleeping", "alert", "exhausted", "disconnected", "lost")
BYTES = 4096  # of what is no frame
LATE_S = 2.0  # what was retained has come by then


class Frame(NamedTuple):
    """A genuine frame: which it is, and its bytes as they came."""

    epoch: int
    seq: int
    body: bytes

    @property
    def bytes(self) -> int:
        """Return how long it is."""
        return len(self.body)


class Heard(NamedTuple):
    """What came. boot: that its meta names, 0 for none. forged: frames under another key.

    failed: how often its sensor failed, as its diag says.
    """

    boot: int = 0
    state: str = ""
    frame: Frame | None = None
    forged: int = 0
    failed: int = 0


class Ear:
    """Listens for one device, which had this boot before; filled on the pump's thread."""

    def __init__(self, who: Identity, after: int) -> None:
        self._who, self._after = who, after
        self._changed = threading.Condition()
        self._began_s = math.inf
        self.heard = Heard()
        self._frames: dict[tuple[int, int], Frame] = {}  # that came, in this order

    def begin(self) -> None:
        """Count what comes from now on: the board is about to be started."""
        with self._changed:
            self._began_s, self.heard = time.monotonic(), Heard()
            self._frames.clear()

    def take(self, link: Link, message: Message) -> None:
        """Take what came, if it is this device's and of this life."""
        link.ack(message)
        leaf = message.topic.rpartition("/")[2]
        with self._changed:
            if leaf == "data":
                self._data(message)
            elif leaf == "meta":
                self._meta(message.payload)
            elif leaf == "diag":
                self._diag(message.payload)
            elif leaf == "state" and (word := message.payload.decode("utf-8", "replace")) in WORDS:
                self.heard = self.heard._replace(state=word)
            self._changed.notify_all()

    def wait_there(self, patience_s: float) -> Heard:
        """Return what was heard once the device is at the broker, or has no patience left."""
        return self._wait(lambda: bool(self.heard.boot or self.heard.frame), patience_s)

    def wait_frame(self, patience_s: float) -> Heard:
        """Return what was heard once there is a frame, or none will come, or patience ends."""
        done = ("alert", "exhausted")
        return self._wait(
            lambda: bool(self.heard.frame or (self.heard.boot and self.heard.state in done)),
            patience_s,
        )

    def wait_more(self, known: int, patience_s: float) -> list[Frame]:
        """Return the frames after the first `known`, once there is one or patience ends."""
        self._wait(lambda: len(self._frames) > known, patience_s)
        with self._changed:
            return list(self._frames.values())[known:]

    def _wait(self, reached: Any, patience_s: float) -> Heard:
        with self._changed:
            self._changed.wait_for(reached, patience_s)
            return self.heard

    def _data(self, message: Message) -> None:
        try:
            report = post.unpack_report(
                message.payload, self._who.mac_key, message.topic, self._who.name
            )
        except ValueError:
            self.heard = self.heard._replace(forged=self.heard.forged + 1)
            return
        if self._live_s() >= 0:
            found = Frame(report.epoch, report.seq, bytes(message.payload))
            self._frames.setdefault((report.epoch, report.seq), found)
            self.heard = self.heard._replace(frame=self.heard.frame or found)

    def _meta(self, payload: bytes) -> None:
        try:
            said = json.loads(payload[:BYTES])
            boot, key = int(said["boot"]), str(said["key"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return
        # One that sleeps deeply may go on with a boot that was reserved; then it takes a while.
        live = self._live_s() >= (0 if boot > self._after else LATE_S)
        if live and key == self._who.key_id.hex():
            self.heard = self.heard._replace(boot=boot, state="")

    def _diag(self, payload: bytes) -> None:
        try:
            failed = int(json.loads(payload[:BYTES])["faults"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return
        self.heard = self.heard._replace(failed=failed)

    def _live_s(self) -> float:
        return time.monotonic() - self._began_s


@contextmanager
def listening(broker: Mqtt, who: Identity, after: int) -> Iterator[Ear]:
    """Listen for a device that had this boot, for as long as the block lasts.

    Raises:
        LinkFault: the broker does not answer, or will not have the gateway's user.
    """
    ear = Ear(who, after)
    with Pump("listen") as pump:
        link = Link(
            broker,
            f"heatveil-{who.site}-listen",
            pump,
            subscribe=[wire.topic(who.site, who.name, leaf) for leaf in HEARD],
            on_message=ear.take,
            lasting=False,
        ).wait()
        try:
            yield ear
        finally:
            link.close()

"""A board that has all it needs, started; and looked for at the broker, till its first frame.

The frame that is waited for is one that the gateway asked for anyway: nothing is spent for the
sake of looking. What the broker retained of an earlier life says nothing of this one, so what
counts are the `meta` of this start and frames that its MAC key proves; nothing that a frame holds
is looked at but its counters. Whether a frame counts or is a dead letter is on the gateway's
disk, and asked by the frame's own bytes.
"""

import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from sqlalchemy import select

from edge.core import wire
from edge.core.entropy import Identity
from edge.host import post

from ...faults import LinkFault, OperatorFault
from ...service.mqtt.connection import Message
from ...service.mqtt.service import Link, open_link
from ...settings.deployment import Deployment, Mqtt
from ...store.message_rows import EVIDENCE_BYTES
from ...store.places import find_place, has_store
from ...store.reader import open_read_engine
from ...store.schema import refused, reports
from ..enrol.check import check_budget_window
from . import boards, link
from .boards import Board
from .state import WAITS

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


class HeardDevice(NamedTuple):
    """What came. boot: that its meta names, 0 for none. forged: frames under another key.

    failed: how often its sensor failed, as its diag says. window_s: that its meta says it counts
    for, 0 for its life.
    """

    boot: int = 0
    state: str = ""
    frame: Frame | None = None
    forged: int = 0
    failed: int = 0
    window_s: int = 0


class Listener:
    """Listens for one device, which had this boot before; filled on the pump's thread."""

    def __init__(self, who: Identity, after: int) -> None:
        self._who, self._after = who, after
        self._changed = threading.Condition()
        self._began_s = math.inf
        self.heard = HeardDevice()
        self._frames: dict[tuple[int, int], Frame] = {}  # that came, in this order

    def start_counting(self) -> None:
        """Count what comes from now on: the board is about to be started."""
        with self._changed:
            self._began_s, self.heard = time.monotonic(), HeardDevice()
            self._frames.clear()

    def take_message(self, link: Link, message: Message) -> None:
        """Take what came, if it is this device's and of this life."""
        link.acknowledge(message)
        leaf = message.topic.rpartition("/")[2]
        with self._changed:
            if leaf == "data":
                self._take_report(message)
            elif leaf == "meta":
                self._take_meta(message.payload)
            elif leaf == "diag":
                self._take_diag(message.payload)
            elif leaf == "state" and (word := message.payload.decode("utf-8", "replace")) in WORDS:
                self.heard = self.heard._replace(state=word)
            self._changed.notify_all()

    def wait_connected(self, patience_s: float) -> HeardDevice:
        """Return what was heard once the device is at the broker, or has no patience left."""
        return self._wait(lambda: bool(self.heard.boot or self.heard.frame), patience_s)

    def wait_frame(self, patience_s: float) -> HeardDevice:
        """Return what was heard once there is a frame, or none will come, or patience ends."""
        done = ("alert", "exhausted")
        return self._wait(
            lambda: bool(self.heard.frame or (self.heard.boot and self.heard.state in done)),
            patience_s,
        )

    def wait_more_frames(self, known: int, patience_s: float) -> list[Frame]:
        """Return the frames after the first `known`, once there is one or patience ends."""
        self._wait(lambda: len(self._frames) > known, patience_s)
        with self._changed:
            return list(self._frames.values())[known:]

    def _wait(self, reached: Any, patience_s: float) -> HeardDevice:
        with self._changed:
            self._changed.wait_for(reached, patience_s)
            return self.heard

    def _take_report(self, message: Message) -> None:
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

    def _take_meta(self, payload: bytes) -> None:
        try:
            said = json.loads(payload[:BYTES])
            boot, key = int(said["boot"]), str(said["key"])
            window_s = int(said["limits"].get("window_s", 0))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return
        # One that sleeps deeply may go on with a boot that was reserved; then it takes a while.
        live = self._live_s() >= (0 if boot > self._after else LATE_S)
        if live and key == self._who.key_id.hex():
            self.heard = self.heard._replace(boot=boot, state="", window_s=window_s)

    def _take_diag(self, payload: bytes) -> None:
        try:
            failed = int(json.loads(payload[:BYTES])["faults"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return
        self.heard = self.heard._replace(failed=failed)

    def _live_s(self) -> float:
        return time.monotonic() - self._began_s


@contextmanager
def listen_for_device(broker: Mqtt, who: Identity, after: int) -> Iterator[Listener]:
    """Listen for a device that had this boot, for as long as the block lasts.

    Raises:
        LinkFault: the broker does not answer, or will not have the gateway's user.
    """
    ear, topics = Listener(who, after), [wire.topic(who.site, who.name, leaf) for leaf in HEARD]
    with open_link(broker, f"heatveil-{who.site}-listen", topics, ear.take_message):
        yield ear


LOOK_S = 0.2


class FrameFate(NamedTuple):
    """What the gateway made of a frame. kind and why: "" where it counts."""

    kind: str = ""
    why: str = ""


def find_frame_fate(
    deployment: Deployment, who: Identity, frame: Frame, patience_s: float
) -> FrameFate | None:
    """Return what became of a frame, or None while the gateway has none of it.

    Raises:
        OperatorFault: the store cannot be read.
    """
    until_s = time.monotonic() + patience_s
    columns = reports.c
    counts = select(columns.seq).where(
        columns.device == who.name,
        columns.key_id == who.key_id,
        columns.epoch == frame.epoch,
        columns.seq == frame.seq,
    )
    letters = select(refused.c.kind, refused.c.why).where(
        refused.c.topic == wire.topic(who.site, who.name, "data"),
        refused.c.size == frame.bytes,
        refused.c.frame == frame.body[:EVIDENCE_BYTES],
    )
    letters = letters.order_by(refused.c.id.desc()).limit(1)
    engine = open_read_engine(find_place(deployment))
    try:
        while True:
            with engine.connect() as connection:
                if connection.execute(counts).first() is not None:
                    return FrameFate()
                if (letter := connection.execute(letters).first()) is not None:
                    return FrameFate(letter.kind, letter.why)
            if time.monotonic() > until_s:
                return None
            time.sleep(LOOK_S)
    finally:
        engine.dispose()


Say = Callable[[str], None]
TAKEN_S = 5.0  # for a gateway to have a frame on its disk
MARGIN_S = 15.0  # over the pause between two rounds
LONGEST_S = 120.0  # that a round is waited for
OVER = ("late", "other-round")  # kinds of refusals that the next round ends
# Kinds of refusals that a reload ends: the ear has held a frame's MAC against the newest keys.
NOT_YET = ("unknown", "forged")
NOT_TAKEN = (
    "has not taken it. It takes up a new device or new keys at its start or, when told to reload "
    "(SIGHUP), once the open round is over; till then the board keeps the frame. See it come with "
    "heatveil device list: to provision again would start the board again, which costs answers"
)
NOTHING = (
    "Tried from the board, the broker can be reached and lets it in: it may need longer (--wait), "
    "or stop in its start, which `mpremote repl` and Ctrl-D show"
)


def start_board(
    board: Board, deployment: Deployment, who: Identity, after: int, wait_s: float, say: Say
) -> None:
    """Start a board, and say what is seen of it: at the broker, a frame, at the gateway.

    Args:
        after: the boot that it had before.
        wait_s: how long to wait for it at the broker; 0 to start it and leave it.

    Raises:
        OperatorFault: it was not seen, and the likeliest reason why not; or it is, and counts for
            another window than is promised.
    """
    if not wait_s:
        board.restart()
        say("at broker    not waited for")
        return
    begun = False
    try:
        with listen_for_device(deployment.mqtt, who, after) as ear:
            begun = True
            ear.start_counting()
            board.restart()
            heard = _at_broker(ear, who, wait_s, say)
            if heard is not None and hasattr(who, "roster"):
                say("secure sum   it takes part in the next round: heatveil show")
                return
            if heard is not None:
                if heard.boot:  # else its meta has not come
                    check_budget_window(
                        deployment.privacy.window_h, {who.name: heard.window_s / 3600}
                    )
                _tell_first_frame(ear, deployment, who, say)
                return
    except LinkFault as fault:
        if not begun:
            board.restart()
        raise OperatorFault(
            f"{who.name} was provisioned and started, but whether it reports could not be "
            f"checked: {fault}. To skip the check, add --wait 0"
        ) from fault
    raise OperatorFault(_explain_silence(board, who, wait_s))


def _at_broker(ear: Listener, who: Identity, wait_s: float, say: Say) -> HeardDevice | None:
    say(
        f"at broker    looking for {who.name}, for {wait_s:.0f} s at most (Ctrl-C: it runs anyway)"
    )
    heard = ear.wait_connected(wait_s)
    if not heard.boot and heard.frame is None:
        return None
    boot = heard.frame.epoch if heard.frame else heard.boot
    say(f"at broker    {who.name} is there, boot {boot}")
    return heard


def _tell_first_frame(ear: Listener, deployment: Deployment, who: Identity, say: Say) -> None:
    """Say what came of the first Round that it was asked."""
    every_s = deployment.rounds.every_s
    heard = ear.wait_frame(min(every_s, LONGEST_S) + MARGIN_S)
    if heard.frame is not None:
        found = heard.frame
        say(f"first frame  {found.bytes} bytes of boot {found.epoch}, and its MAC is right")
        _follow_frames(ear, deployment, who, every_s, say)
        return
    if heard.forged:
        raise OperatorFault(
            f"{heard.forged} frames came in the name of {who.name} under another key, and the "
            "gateway refuses them. An older board may still run under this name: switch it off"
        )
    if heard.state == "exhausted" and deployment.privacy.window_h:
        say(f"first frame  none yet: {WAITS}")
        return
    if heard.state in ("alert", "exhausted"):
        raise OperatorFault(
            f"{who.name} is in state {heard.state!r} and answers no round; heatveil doctor says "
            "why"
        )
    if heard.failed:
        raise OperatorFault(
            f"{who.name} is at the broker and its sensor failed {heard.failed} times, so there is "
            "no reading to blur and no frame. heatveil doctor says how it fails"
        )
    say(
        "first frame  none yet: a board speaks when a round is asked. Does `heatveil serve` run, "
        f"not paused, with readings left of its budget? It asks every {every_s:g} s"
    )


def _follow_frames(
    ear: Listener, deployment: Deployment, who: Identity, every_s: float, say: Say
) -> None:
    """Say what the gateway made of each frame, until one counts or it was long enough.

    Raises:
        OperatorFault: what came was refused, and not because its round was over.
    """
    if not has_store(deployment):
        say("gateway      none has run here yet; start it: heatveil serve")
        return
    until_s = time.monotonic() + min(every_s, LONGEST_S) + MARGIN_S
    known, last = 0, FrameFate()
    while frames := ear.wait_more_frames(known, until_s - time.monotonic()):
        known += len(frames)
        for frame in frames:
            found = find_frame_fate(deployment, who, frame, TAKEN_S)
            if found is None or found.kind in NOT_YET:
                say(f"gateway      {NOT_TAKEN}")
                return
            if not found.why:
                say("gateway      has it on its disk; its receipt is on its way to the board")
                return
            last = found
            say(f"gateway      refused: {found.why}. Waiting for its next frame")
    if last.kind in OVER:
        say(
            f"gateway      none that counts yet; it asks every {every_s:g} s: heatveil device list"
        )
        return
    raise OperatorFault(
        f"the gateway refused the frames of {who.name}: {last.why}; so nothing of it is in the "
        "map. heatveil device list shows whether later ones count, heatveil doctor how the board "
        "is"
    )


def _explain_silence(board: Board, who: Identity, wait_s: float) -> str:
    """Return why a board is not heard; it is stopped for that, asked, and started again."""
    said = board.read_last_line() if hasattr(board, "read_last_line") else ""
    boards.stop_board(board)
    try:
        why = link.diagnose_link(board)
    finally:
        boards.resume_board(board)
    tried = f"Tried from the board: {why}" if why else NOTHING
    if said:
        tried += f". The last that it said: {said!r}"
    return (
        f"{who.name} has all it needs and was not heard at the broker within {wait_s:.0f} s; till "
        f"it is, its place in the room has no reading. {tried}"
    )

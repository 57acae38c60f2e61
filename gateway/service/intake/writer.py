"""The writer: one thread that takes what came off the wire, decides, commits, then lets go.

It works in batches: one commit for many messages costs what one for one does. A batch makes
thousands of records, none of which refers back to another, and lets go of all of them: Python is
told to look for garbage less often, which would cost as much as their MACs do.

The order is the promise: commit, then the receipt to the device, then the acknowledgement to
the broker. A kill between any two steps loses nothing: what was not acknowledged comes again
with the same bytes, and what is in the store already is absorbed and gets its receipt again.
One poison message never stops a good one: it becomes a dead letter with a reason.

A receipt goes out at QoS 0, so that a broker need not acknowledge each. One that is lost costs no
reading: its device sends the report again, which is absorbed, and then the receipt goes out at
QoS 1, for a device that was away when the first one came; once in a while, for who sends a report
again and again would else fill our memory with what the broker has not acknowledged yet.
"""

import gc
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Any, ParamSpec, Protocol, TypeVar

from sqlalchemy.exc import DatabaseError

from edge.core import wire
from recovery.maps.sentence import Wording

from ...devices.enrol.enrol import Devices
from ...faults import ReplacedFault
from ...logs import log
from ...store.places import Stopped, describe_fault, retry_until_stored
from ...store.store import Store
from ..mqtt.connection import Message
from ..operate.health import Health
from ..operate.metrics import Metrics
from ..rounds import OpenRound
from .door import Door, Guard, Sifted, TopicMac, make_receipt
from .judge import (
    Foresight,
    Numbers,
    Verdict,
    check_unknown_rounds,
    judge_reports,
    read_known,
    reload_newest_numbers,
)
from .outcomes import Alarm, DeadLetter, Receipt, Who


class Gatherer(Protocol):
    """Takes the answers to one round at a time."""

    def open_round(self, round: OpenRound) -> None:
        """Take reports for this round from now on."""

    def start(self) -> None:
        """Start to decide; until then what comes waits."""

    def wait_complete(self, patience_s: float) -> bool:
        """Wait until every enrolled device has answered; False when patience ended before."""

    def close_round(self) -> OpenRound | None:
        """Return the round as it stands, all of it committed; what comes now is late."""

    def find_last_round(self) -> OpenRound | None:
        """Return the round that was opened last, open or closed, or None before the first."""

    def stop(self) -> None:
        """Commit and let go of what has come so far, and end."""


BETWEEN = (10_000, 20, 20)  # records made and not let go of, before one looks: two megabytes


def collect_garbage_seldom() -> None:
    """Look seldom from now on, and never again at what is there; call it when all is loaded."""
    gc.freeze()
    gc.set_threshold(*BETWEEN)


BATCH = 500
LINGER_S = 0.04  # how long the first message of a batch waits for others
QUIET_S = 0.02  # a gap this long ends the batch sooner
END_S = 0.8  # how long messages are still given out after the end was asked for

_UNTAKEN = Wording("store.refuses", "the store does not take what came: {why}")


class Bearer(Protocol):
    """Whoever brought a message, lets go of it and carries the receipt."""

    def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> None: ...

    def acknowledge_batch(
        self, receipts: Sequence[tuple[str, bytes]], messages: Sequence[Message]
    ) -> None: ...


Arrived = tuple[Bearer, Message]


class Inbox:
    """Messages in the order they came; any thread puts, one takes."""

    def __init__(self) -> None:
        self._queue: deque[Arrived | None] = deque()
        self._came, self._idle = threading.Event(), False
        self._open = threading.Event()
        self._open.set()
        self._held = False
        self._until_s = inf

    def put(self, arrived: Arrived) -> None:
        """Take a message; returns at once."""
        self._queue.append(arrived)
        if self._idle:
            self._came.set()

    def set_held(self, held: bool) -> None:
        """Give nothing out while held; who brings messages must bound how many wait."""
        self._held = held
        if held:
            self._open.clear()
        else:
            self._open.set()

    def end_after_waiting(self) -> None:
        """Let the batch that reaches this point be the last; those behind it are let fall.

        So are those that cannot be given out in time: the broker still has them.
        """
        self._until_s = time.monotonic() + END_S
        self._queue.append(None)
        self._came.set()
        self._open.set()

    @property
    def waiting(self) -> int:
        """How many messages wait."""
        return len(self._queue)

    def take_batch(self) -> tuple[list[Arrived], bool]:
        """Wait for messages; return a batch of them, and whether it is the last."""
        self._wait()
        batch: list[Arrived] = []
        while self._queue and len(batch) < BATCH:
            arrived = self._queue.popleft()
            if arrived is None:
                return ([] if self._held else batch), True
            batch.append(arrived)
        self._open.wait()
        if self._held or time.monotonic() >= self._until_s:
            return [], True
        return batch, False

    def _wait(self) -> None:
        """Return when a batch is there: full, or with a gap behind it, or late enough."""
        queue = self._queue
        while not queue:
            self._idle = True  # from here on who puts something in says so
            if not queue:
                self._came.wait()
            self._came.clear()
        self._idle = False
        until_s, count = time.monotonic() + LINGER_S, 0
        while count < len(queue) < BATCH and queue[-1] is not None:
            count = len(queue)
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                break
            time.sleep(min(QUIET_S, left_s))


P = ParamSpec("P")
T = TypeVar("T")


class IntakeCounts:
    """Counts for metrics and health, either of which may be missing."""

    def __init__(self, metrics: Metrics | None, health: Health | None) -> None:
        self._metrics, self._health = metrics, health

    def count_arrived(self, messages: int, waiting: int) -> None:
        """So many messages are about to be decided, and so many wait behind them."""
        if self._metrics is not None:
            self._metrics.received.inc(messages)
            self._metrics.waiting.set(waiting)

    def count_stored(self, verdict: Verdict, unheard: Counter[str], seconds: float) -> None:
        """A batch is committed, so long after its first message was taken."""
        metrics = self._metrics
        if metrics is None:
            return
        metrics.batches.inc()
        metrics.batch_seconds.observe(seconds)
        metrics.committed.inc(len(verdict.kept))
        metrics.absorbed.inc(len(verdict.again))
        metrics.missing.inc(verdict.missing)
        metrics.alarms.inc(len(verdict.alarms))
        metrics.receipts.inc(len(verdict.receipts) + len(verdict.again))
        for kind, count in (unheard + Counter(one.kind for one in verdict.letters)).items():
            metrics.refused.labels(kind).inc(count)

    def watch_store(self, do: Callable[P, T]) -> Callable[P, T]:
        """Return the same function, which says how it went with the store."""

        def watched(*args: P.args, **words: P.kwargs) -> T:
            try:
                found = do(*args, **words)
            except DatabaseError as fault:
                if self._metrics is not None:
                    self._metrics.store_retries.inc()
                self._say(False, _UNTAKEN(why=describe_fault(fault)))
                raise
            self._say(True)
            return found

        return watched

    def _say(self, ok: bool, why: str = "") -> None:
        if self._health is not None:
            self._health.set_part("store", ok, why)


ANEW_S = 10.0  # how soon one device gets another receipt at QoS 1


class ReceiptPacker:
    """Packs receipts for the devices of a fleet."""

    def __init__(self, devices: Devices) -> None:
        self._surely_s: dict[str, float] = {}
        self._ways: dict[str, tuple[str, TopicMac]] = {}
        for name, device in devices.by_name.items():
            topic = wire.topic(devices.site, name, "receipt")
            self._ways[name] = topic, TopicMac(device.config_key, topic)

    def pack_receipts(self, receipts: Sequence[Receipt]) -> list[tuple[str, bytes]]:
        """Return the topics of receipts and their bytes, of devices that are still enrolled."""
        said = []
        for name, epoch, seq, taken in receipts:
            if way := self._ways.get(name):
                topic, mac = way
                said.append((topic, make_receipt(epoch, seq, taken, mac)))
        return said

    def split_by_qos(self, again: Sequence[Receipt]) -> tuple[list[Receipt], list[Receipt]]:
        """Return which of these receipts go out at QoS 1, and which like any other."""
        surely, plainly, now_s = [], [], time.monotonic()
        for one in again:
            if now_s - self._surely_s.get(one.device, -ANEW_S) < ANEW_S:
                plainly.append(one)
            else:
                self._surely_s[one.device] = now_s
                surely.append(one)
        return surely, plainly


def acknowledge_verdict(batch: Sequence[Arrived], verdict: Verdict, packer: ReceiptPacker) -> None:
    """Send the receipts of a batch that is committed, and then let go of its messages."""
    surely, plainly = packer.split_by_qos(verdict.again)
    for topic, payload in packer.pack_receipts(surely):
        batch[0][0].publish(topic, payload)
    said = packer.pack_receipts([*verdict.receipts, *plainly])
    brought: dict[int, tuple[Bearer, list[Message]]] = {}
    for bearer, message in batch:
        brought.setdefault(id(bearer), (bearer, []))[1].append(message)
    for bearer, messages in brought.values():
        bearer.acknowledge_batch(said, messages)
        said = []


MOST = 10  # devices of one batch that have a line of their own
UNKNOWN, OTHERS = "unknown", "others"


def summarise_refusals(
    letters: Iterable[DeadLetter], whose: Callable[[str], str]
) -> list[dict[str, Any]]:
    """Return what a line of the log holds, for each device, those with the most messages first.

    Args:
        whose: returns the enrolled device of a topic, or "" where it is nobody's.
    """
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for letter in letters:
        kinds[whose(letter.topic) or UNKNOWN][letter.kind] += 1
    named = sorted(kinds.items(), key=lambda one: (-one[1].total(), one[0]))
    rest = sum((of for _, of in named[MOST:]), Counter[str]())
    rows = [*named[:MOST], *([(OTHERS, rest)] if rest else [])]
    return [
        {
            "device": name,
            "messages": of.total(),
            "kinds": ", ".join(f"{kind} {count}" for kind, count in sorted(of.items())),
        }
        for name, of in rows
    ]


class Intake:
    """The thread, its inbox, and the round that is open."""

    def __init__(
        self,
        store: Store,
        devices: Devices,
        progress: Callable[[OpenRound | None, int], None],
        alarm: Callable[[Sequence[Alarm]], None],
        *,
        metrics: Metrics | None = None,
        guard: Guard | None = None,
        health: Health | None = None,
        foreseen: Foresight = lambda name, first: None,
    ) -> None:
        """Start the thread.

        Args:
            progress: hears, after a batch and at the close, how the round stands and how many
                were refused since the start.
            alarm: hears, after a batch, of devices that need a new key.
            foreseen: knows the rounds that are still to be asked.
        """
        self._store, self._devices, self._packer = store, devices, ReceiptPacker(devices)
        self._progress, self._alarm, self._foreseen = progress, alarm, foreseen
        self._inbox, self._door = Inbox(), Door(devices, guard)
        self._counting = IntakeCounts(metrics, health)
        self._decide = self._counting.watch_store(self._judge_and_commit)
        self._newest = store.read_newest_numbers()
        self._back: dict[Who, tuple[Numbers, Numbers]] = {}  # of devices that went back
        self._round: OpenRound | None = None
        self._changed, self._refused = threading.Condition(), 0
        self._begun, self._stopping = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="intake", daemon=True)
        self._thread.start()

    def take_message(self, bearer: Bearer, message: Message) -> None:
        """Take a message; returns at once."""
        self._inbox.put((bearer, message))

    def open_round(self, round: OpenRound) -> None:
        """Take reports for this round from now on."""
        with self._changed:
            self._round = round
        self.start()

    def set_held(self, held: bool) -> None:
        """Decide and acknowledge nothing while held: the broker keeps what comes."""
        self._inbox.set_held(held)

    def set_devices(self, devices: Devices) -> None:
        """Take reports of these devices from now on, and of no others."""
        self._devices, self._packer = devices, ReceiptPacker(devices)
        self._door.set_devices(devices)

    def start(self) -> None:
        """Start to decide; until then what comes waits: we have not found its round yet."""
        self._begun.set()

    def wait_complete(self, patience_s: float) -> bool:
        """Wait until every enrolled device has answered; False when patience ended before."""
        with self._changed:
            return self._changed.wait_for(self._is_wait_over, patience_s)

    def close_round(self) -> OpenRound | None:
        """Return the round as it stands, all of it committed; what comes now is late."""
        with self._changed:
            if self._round is not None:
                self._round.closes_s = min(self._round.closes_s, time.monotonic())
            closed, refused = self._round, self._refused
        # Of its last batch the thread tells after the receipts: a release may be told before.
        self._progress(closed, refused)
        return closed

    def find_last_round(self) -> OpenRound | None:
        """Return the round that was opened last, open or closed, or None before the first."""
        return self._round

    def stop(self) -> None:
        """Commit and let go of what has come so far, and end the thread."""
        self._stopping.set()  # not under the lock, which a batch holds while it is written
        with self._changed:
            self._changed.notify_all()
        self._inbox.end_after_waiting()
        self._begun.set()
        self._thread.join()

    def _is_wait_over(self) -> bool:
        return self._stopping.is_set() or (self._round is not None and self._round.complete)

    def _run(self) -> None:
        self._begun.wait()
        ended = self._stopping.is_set() and self._round is None  # the broker keeps it all
        while not ended:
            batch, ended = self._inbox.take_batch()
            try:
                if batch:
                    self._handle(batch)
            except Stopped:
                pass  # not acknowledged, so the broker keeps it for us
            except ReplacedFault:  # no receipt where what was charged is, or would be, forgotten
                return
            except Exception:  # not the disk's fault: find the one that cannot be stored
                log.exception(
                    "a batch of messages could not be stored; storing them one by one",
                    messages=len(batch),
                )
                reload_newest_numbers(self._stopping, self._store, self._newest)
                for arrived in batch:
                    self._handle_alone(arrived)

    def _handle(self, batch: Sequence[Arrived], *, again: bool = False) -> None:
        """Decide, commit, send receipts, acknowledge: in this order."""
        began_s = time.monotonic()
        self._counting.count_arrived(len(batch), self._inbox.waiting)
        messages = [message for _, message in batch]
        sifted = self._door.sift_messages(messages, began_s, guarded=not again)
        # Without the lock while it waits for the disk: a round must close, and we must stop.
        verdict = retry_until_stored(self._stopping, self._decide, sifted)
        self._counting.count_stored(verdict, sifted.unheard, time.monotonic() - began_s)
        acknowledge_verdict(batch, verdict, self._packer)
        for line in summarise_refusals(verdict.letters, self._door.find_device_name):
            log.warning("messages refused", **line)
        if verdict.alarms:
            self._alarm(verdict.alarms)
        self._progress(verdict.round, self._refused)

    def _judge_and_commit(self, sifted: Sifted) -> Verdict:
        """Return the verdict on a batch, committed, while no round opens or closes."""
        arrivals = sifted.arrivals
        with self._changed:
            now_s = time.monotonic()
            known = read_known(self._store, arrivals, self._round, self._newest, now_s)
            check_unknown_rounds(self._store, arrivals, self._round, known, self._foreseen)
            verdict = judge_reports(arrivals, self._round, self._newest, known, now_s, self._back)
            verdict.letters[:0] = sifted.letters
            self._store.keep_batch(
                verdict.kept, verdict.letters, verdict.extra, verdict.heard, verdict.alarms
            )
            verdict.apply(self._newest)
            self._back.update(verdict.back)
            self._refused += len(verdict.letters) + sifted.unheard.total()
            self._changed.notify_all()
        return verdict

    def _handle_alone(self, arrived: Arrived) -> None:
        """Handle one message of a batch that failed; it must not stop the others, nor us."""
        bearer, (topic, payload, *_) = arrived
        try:
            try:
                self._handle([arrived], again=True)
            except (Stopped, ReplacedFault):
                raise
            except Exception as fault:
                log.exception("a message could not be stored; it is refused")
                why = f"it could not be stored: {type(fault).__name__}"
                letter = DeadLetter(topic, why, payload, "unstorable")
                retry_until_stored(self._stopping, self._store.keep_batch, [], [letter])
                bearer.acknowledge_batch((), [arrived[1]])
        except (Stopped, ReplacedFault):
            return
        except Exception:  # not acknowledged: the broker hands it over again at the next start
            log.exception(
                "a message could be neither stored nor refused; a restart brings it again"
            )

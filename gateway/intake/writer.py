"""The writer: one thread that takes what came off the wire, decides, commits, then lets go.

The order is the promise: commit, then the receipt to the device, then the acknowledgement to
the broker. A kill between any two steps loses nothing: what was not acknowledged comes again
with the same bytes, and what is in the store already is absorbed and gets its receipt again.
One poison message never stops a good one: it becomes a dead letter with a reason.
"""

import threading
import time
from collections.abc import Callable, Sequence

import structlog

from ..devices.enrol.enrol import Devices
from ..faults import ReplacedFault
from ..mqtt.session import Message
from ..operate.health import Health
from ..operate.metrics import Metrics
from ..rounds import OpenRound
from ..storage.patience import Stopped, patiently
from ..storage.store import Store
from . import doubts, receipts, refused
from .batches import Arrived, Bearer, Inbox
from .counting import Counting
from .door import Door, Guard, Sifted
from .judge import Verdict, judge
from .outcomes import Alarm, DeadLetter

log = structlog.get_logger()


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
        foreseen: doubts.Foresight = lambda name, first: None,
    ) -> None:
        """Start the thread.

        Args:
            progress: hears, after a batch, how the round stands and how many were refused.
            alarm: hears, after a batch, of devices that need a new key.
            foreseen: knows the rounds that are still to be asked.
        """
        self._store, self._devices, self._packer = store, devices, receipts.Packer(devices)
        self._progress, self._alarm, self._foreseen = progress, alarm, foreseen
        self._inbox, self._door = Inbox(), Door(devices, guard)
        self._counting = Counting(metrics, health)
        self._decide = self._counting.watched(self._decided)
        self._newest = store.newest()
        self._round: OpenRound | None = None
        self._changed, self._refused = threading.Condition(), 0
        self._begun, self._stopping = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="intake", daemon=True)
        self._thread.start()

    def put(self, bearer: Bearer, message: Message) -> None:
        """Take a message; returns at once."""
        self._inbox.put((bearer, message))

    def open(self, round: OpenRound) -> None:
        """Take reports for this round from now on."""
        with self._changed:
            self._round = round
        self.begin()

    def hold(self, held: bool) -> None:
        """Decide and acknowledge nothing while held: the broker keeps what comes."""
        self._inbox.hold(held)

    def know(self, devices: Devices) -> None:
        """Take reports of these devices from now on, and of no others."""
        self._devices, self._packer = devices, receipts.Packer(devices)
        self._door.know(devices)

    def begin(self) -> None:
        """Start to decide; until then what comes waits: we have not found its round yet."""
        self._begun.set()

    def wait_complete(self, patience_s: float) -> bool:
        """Wait until every enrolled device has answered; False when patience ended before."""
        with self._changed:
            return self._changed.wait_for(self._done, patience_s)

    def close_round(self) -> OpenRound | None:
        """Return the round as it stands, all of it committed; what comes now is late."""
        with self._changed:
            if self._round is not None:
                self._round.closes_s = min(self._round.closes_s, time.monotonic())
            return self._round

    def standing(self) -> OpenRound | None:
        """Return the round that was opened last, open or closed, or None before the first."""
        return self._round

    def stop(self) -> None:
        """Commit and let go of what has come so far, and end the thread."""
        self._stopping.set()  # not under the lock, which a batch holds while it is written
        with self._changed:
            self._changed.notify_all()
        self._inbox.end()
        self._begun.set()
        self._thread.join()

    def _done(self) -> bool:
        return self._stopping.is_set() or (self._round is not None and self._round.complete)

    def _run(self) -> None:
        self._begun.wait()
        ended = self._stopping.is_set() and self._round is None  # the broker keeps it all
        while not ended:
            batch, ended = self._inbox.batch()
            try:
                if batch:
                    self._handle(batch)
            except Stopped:
                pass  # not acknowledged, so the broker keeps it for us
            except ReplacedFault:  # no receipt where what was charged is, or would be, forgotten
                return
            except Exception:  # not the disk's fault: find the one that cannot be stored
                log.exception("a batch could not be stored", messages=len(batch))
                doubts.recall(self._stopping, self._store, self._newest)
                for arrived in batch:
                    self._handle_alone(arrived)

    def _handle(self, batch: Sequence[Arrived], *, again: bool = False) -> None:
        """Decide, commit, send receipts, acknowledge: in this order."""
        began_s = time.monotonic()
        self._counting.came(len(batch), self._inbox.waiting)
        messages = [message for _, message in batch]
        sifted = self._door.sift(messages, began_s, guarded=not again)
        # Without the lock while it waits for the disk: a round must close, and we must stop.
        verdict = patiently(self._stopping, self._decide, sifted)
        self._counting.stored(verdict, sifted.unheard, time.monotonic() - began_s)
        receipts.settle(batch, verdict, self._packer)
        for line in refused.told(verdict.letters, self._door.whose):
            log.warning("messages refused", **line)
        if verdict.alarms:
            self._alarm(verdict.alarms)
        self._progress(verdict.round, self._refused)

    def _decided(self, sifted: Sifted) -> Verdict:
        """Return the verdict on a batch, committed, while no round opens or closes."""
        arrivals = sifted.arrivals
        with self._changed:
            now_s = time.monotonic()
            known = doubts.known(self._store, arrivals, self._round, self._newest, now_s)
            doubts.hold_against(self._store, arrivals, self._round, known, self._foreseen)
            verdict = judge(arrivals, self._round, self._newest, known, now_s)
            verdict.letters[:0] = sifted.letters
            self._store.keep(
                verdict.kept, verdict.letters, verdict.extra, verdict.heard, verdict.alarms
            )
            verdict.settle(self._newest)
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
                log.exception("a message could not be stored")
                why = f"it could not be stored: {type(fault).__name__}"
                letter = DeadLetter(topic, why, payload, "unstorable")
                patiently(self._stopping, self._store.keep, [], [letter])
                bearer.settle((), [arrived[1]])
        except (Stopped, ReplacedFault):
            return
        except Exception:  # not acknowledged: the broker hands it over again at the next start
            log.exception("a message could not even be refused")

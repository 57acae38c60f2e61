"""Quarantine: which devices are shut out, at the broker and in the store, and let back.

The guard decides, with no I/O and no clock: `now_s` comes in, of a monotonic clock. Each device
has a bucket of tokens: `burst` of them at most, `messages_per_s` come back, a message takes one,
and one more for each 16 kB, the longest report. Without a token a message does not pass. It is not
lost: an honest device sends it again until it has its receipt. Names that are not enrolled share
one bucket, so whatever topics come, memory is bounded by the fleet.

Asked on the intake's thread for every message; anybody may shut, free and ask for verdicts.

The store is the truth: what is in it is shut out after every start, and whoever frees a device
there, from another process too, has it freed here within seconds. The broker is told at once,
before the disk is, since a flood does not wait; what it was not told while it was away, it is
told when it is back. A device that the operator shut out at the broker is left as it is.

Broker and store are told on a thread of its own; intake and pump only wake it.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import Any, NamedTuple

from sqlalchemy.exc import SQLAlchemyError

from edge.host.post import REPORT_BYTES
from recovery.maps.sentence import Wording, recognise

from ...devices.broker import dynamic
from ...devices.broker.control import BrokerControl, NoAnswerFault, check_answers
from ...faults import OperatorFault
from ...logs import log
from ...settings.deployment import Deployment
from ...settings.deployment import Guard as Settings
from ...store.store import Store
from ..mqtt.pump import Pump
from ..telling import make_quarantine_event

MINUTE_S = 60.0
BACKLOG = 100_000  # what a broker keeps for an absent gateway, of all devices
# Why a device is shut out; the store keeps these as text.
OUT = (
    Wording("out.flood", "it sent more than [guard] messages_per_s and burst allow"),
    Wording(
        "out.forged",
        "it sent more messages that are not its own frames than [guard] forged allows a minute",
    ),
    Wording(
        "out.lied",
        "it gave false shares in a secure sum, to more of its neighbours than may lie themselves",
    ),
    Wording("out.hand", "by hand"),
)
FLOOD, FORGED, LIED, _ = (one() for one in OUT)


class Verdict(NamedTuple):
    """A device found guilty just now, and of what."""

    device: str
    why: str


class _Bucket:
    """What is known of one device."""

    __slots__ = ("at_s", "forged", "minute_s", "since", "tokens", "why")

    def __init__(self, tokens: float, since: float) -> None:
        self.tokens, self.since = tokens, since
        self.at_s = self.minute_s = -1.0  # before the first message, and the first forged one
        self.forged = 0
        self.why = ""  # it is shut out


class Guard:
    """The buckets of a fleet, and who is shut out.

    Args:
        devices: the names that are enrolled.
        attributable: the broker lets a device write under its own name alone; else anybody may
            have sent what comes under it, and whoever did could have it shut out.
    """

    def __init__(
        self, settings: Settings, devices: Iterable[str], *, attributable: bool = True
    ) -> None:
        self._lock = threading.Lock()
        self._verdicts: list[Verdict] = []
        self._waited = 0.0  # messages that a device may have sent while we were away
        self._attributable = attributable
        self._of: dict[str, _Bucket] = {}
        self._strangers = _Bucket(settings.burst, 0.0)
        self.wake: Callable[[], None] = lambda: None  # called when there is a verdict
        self.replace_limits(settings, devices)

    def replace_limits(self, settings: Settings, devices: Iterable[str]) -> None:
        """Take other limits, or another fleet; who is shut out stays so."""
        self._rate, self._burst = settings.messages_per_s, float(settings.burst)
        self._forged = settings.forged
        self._shutting = settings.quarantine
        old = self._of
        self._of = {name: old.get(name) or _Bucket(self._burst, self._waited) for name in devices}

    def allow_backlog(self, seconds: float) -> None:
        """Allow for what waited at the broker while nobody took it: it all comes at once.

        A device that has no receipt sends its frame again and again, and the broker keeps each.
        """
        self._waited += min(max(seconds, 0.0) * self._rate, BACKLOG)

    def may_pass(self, device: str, size: int, now_s: float) -> bool:
        """Return whether to listen to a message of so many bytes."""
        bucket = self._of.get(device, self._strangers)
        if bucket.why:
            return False
        tokens = bucket.tokens
        if bucket.since != self._waited:
            tokens += self._waited - bucket.since
            bucket.since = self._waited
        elapsed_s = now_s - bucket.at_s
        if elapsed_s > 0:
            if bucket.at_s >= 0 and tokens < self._burst:
                tokens = min(tokens + elapsed_s * self._rate, self._burst)
            bucket.at_s = now_s
        if size >= REPORT_BYTES:
            tokens -= size // REPORT_BYTES
        if tokens < 1:
            bucket.tokens = max(tokens, 0)
            self._convict_device(device, bucket, FLOOD)
            return False
        bucket.tokens = tokens - 1
        return True

    def count_forged(self, device: str, now_s: float) -> None:
        """Count a message that is no frame of the device on whose topic it came."""
        bucket = self._of.get(device, self._strangers)
        if bucket.minute_s < 0 or now_s - bucket.minute_s >= MINUTE_S:
            bucket.minute_s, bucket.forged = now_s, 0
        bucket.forged += 1
        if bucket.forged > self._forged:
            self._convict_device(device, bucket, FORGED)

    def shut_out_guilty(self, device: str, why: str) -> None:
        """Shut a device out for what it signed, which nobody else can have sent."""
        bucket = self._of.get(device, self._strangers)
        self._convict_device(device, bucket, why, signed=True)

    def explain_block(self, device: str) -> str:
        """Return why a device is shut out, or nothing."""
        bucket = self._of.get(device)
        return bucket.why if bucket is not None else ""

    def shut_out(self, device: str, why: str) -> None:
        """Listen to a device no longer."""
        if (bucket := self._of.get(device)) is not None:
            bucket.why = why or "it is shut out"

    def let_back(self, device: str) -> None:
        """Listen to a device again, as if it had never said a word."""
        if device in self._of:
            self._of[device] = _Bucket(self._burst, self._waited)

    def pop_verdicts(self) -> list[Verdict]:
        """Return the devices found guilty since this was asked last, each once."""
        with self._lock:
            found, self._verdicts = self._verdicts, []
        return found

    def _convict_device(
        self, device: str, bucket: _Bucket, why: str, *, signed: bool = False
    ) -> None:
        """Shut a device out, and have it told; a stranger is only not listened to."""
        judging = self._shutting and (self._attributable or signed)
        if not judging or bucket.why or bucket is self._strangers:
            return
        bucket.why = why
        with self._lock:
            self._verdicts.append(Verdict(device, why))
        self.wake()


LOOK_S = 2.0  # how often the store is asked whether somebody else has freed a device
AGAIN_S = 30.0  # how often a broker that does not answer is asked again
BEHIND = "the quarantine could not be brought to broker and store; trying again"
MISSING = "Client not found"


class Quarantine:
    """Who is shut out; a context manager whose thread runs as long as the block lasts."""

    def __init__(
        self,
        store: Store,
        control: BrokerControl | None,
        guard: Guard,
        on_event: Callable[[dict[str, Any]], None],
        *,
        minutes: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Shut out whom the store names, and begin to listen to the guard.

        Args:
            control: of a broker that may have dynamic security; None refuses at the gateway only.
            on_event: hears of every change, on our thread.
            minutes: after which a device may come back by itself; None for never.
            clock: seconds that nobody can set; minutes count from when this gateway saw a device
                shut out, so a start begins them anew, and no clock of the wall ends them early.
        """
        self._store, self._control, self._guard = store, control, guard
        self._on_event, self._minutes, self._clock = on_event, minutes, clock
        self._seen_s: dict[tuple[str, float], float] = {}  # by name and since when, by the clock
        self._kept = store.list_quarantined()
        for name, (why, _) in self._kept.items():
            guard.shut_out(name, why)
        self._unkept: dict[str, str] = {}  # found guilty, and not on the disk yet
        self._disabled: set[str] | None = None  # by us, at the broker; None when it is not known
        self._again_s = 0.0  # when the broker, which did not answer, is asked again
        self._mute = False  # that it does not answer has been said
        self._down_s: float | None = None  # since when the broker has been away
        self._told: dict[str, tuple[str, float]] = {}
        self._woken, self._stopping = threading.Event(), threading.Event()
        guard.wake = self._woken.set
        if control is not None:
            control.on_state = self._take_link_state
        self._thread = threading.Thread(target=self._run, name="quarantine", daemon=True)
        self._thread.start()

    def __enter__(self) -> "Quarantine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the thread; who is shut out stays so."""
        self._stopping.set()
        self._woken.set()
        self._thread.join()

    def shut_out(self, name: str, why: str) -> None:
        """Shut a device out by hand; returns at once."""
        self._guard.shut_out(name, why)
        self._unkept[name] = why
        self._woken.set()

    def _take_link_state(self, up: bool) -> None:
        """Note that the broker is there or away; on the pump's thread."""
        now_s = time.monotonic()
        if up:
            if self._down_s is not None:
                self._guard.allow_backlog(now_s - self._down_s)  # what waited there comes at once
            self._down_s, self._disabled, self._again_s = None, None, 0.0
            self._woken.set()
        elif self._down_s is None:
            self._down_s = now_s

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._look()
            except OSError as fault:  # the broker is in trouble: the guard holds meanwhile
                log.warning(BEHIND, why=str(fault))
            except SQLAlchemyError as fault:  # the store is
                log.warning(BEHIND, why=type(fault).__name__)
            except Exception:
                log.exception(BEHIND)
            self._woken.wait(LOOK_S)
            self._woken.clear()

    def _look(self) -> None:
        """Bring guard, broker and store to agree."""
        for name, why in self._guard.pop_verdicts():
            log.error(
                "put a device into quarantine: its messages are refused", device=name, why=why
            )
            self._unkept[name] = why
        self._tell_broker(self._kept.keys() | self._unkept.keys())
        for name, why in list(self._unkept.items()):
            self._store.quarantine(name, why)
            self._unkept.pop(name)
        kept = self._store.list_quarantined()
        if self._minutes is not None:
            now_s, ours = self._clock(), {(name, since_s) for name, (_, since_s) in kept.items()}
            self._seen_s = {one: self._seen_s.get(one, now_s) for one in ours}
            for (name, _), seen_s in self._seen_s.items():
                if now_s - seen_s >= 60 * self._minutes:
                    self._store.let_back(name)
                    del kept[name]
        for name in self._kept.keys() - kept.keys() - self._unkept.keys():
            log.warning("released a device from quarantine", device=name)
            self._guard.let_back(name)
        for name, (why, _) in kept.items():
            self._guard.shut_out(name, why)
        self._kept = kept
        self._tell_broker(kept.keys() | self._unkept.keys())
        if kept != self._told:
            self._told = kept
            told = {name: (recognise(why, OUT), at_s) for name, (why, at_s) in kept.items()}
            self._on_event(make_quarantine_event(told))

    def _tell_broker(self, wanted: set[str]) -> None:
        """Let the broker shut out exactly these, of those that are ours to shut out."""
        if self._control is None or not self._control.up or time.monotonic() < self._again_s:
            return
        # Beforehand: a link that is lost and back before it fails has it asked again at once.
        self._again_s = time.monotonic() + AGAIN_S
        try:
            if (disabled := self._disabled) is None:
                rows = self._control.list_clients().items()
                self._disabled = disabled = {name for name, row in rows if _is_shut_out_by_us(row)}
                self._mute = False
            for name in wanted - disabled:
                check_answers(self._control.run_commands(dynamic.compose_disabling(name)), MISSING)
                disabled.add(name)
            for name in disabled - wanted:
                check_answers(self._control.run_commands(dynamic.compose_enabling(name)), MISSING)
                disabled.discard(name)
            self._again_s = 0.0
        except NoAnswerFault as fault:
            self._disabled = None
            if self._control.up and not self._mute:
                self._mute = True
                log.warning(
                    "the broker does not answer requests to block devices; the gateway alone "
                    "ignores those shut out, and asks again",
                    why=str(fault),
                )
        except OperatorFault as fault:
            self._disabled = None
            log.error(
                "the broker refused to change whom it blocks; trying again",
                why=str(fault),
            )


def _is_shut_out_by_us(row: Mapping[str, Any]) -> bool:
    return bool(row.get("disabled")) and row.get("textdescription") == dynamic.MARK


AWAY_S = 3600.0  # a gateway that was away for longer has no broker that kept it all


def make_guard(
    deployment: Deployment, devices: Iterable[str], last_s: float | None = None
) -> Guard:
    """Return the guard of a fleet.

    Args:
        last_s: when the gateway was last at work, by `time.time`; what devices sent since then is
            no flood. None where it never was.
    """
    # Without names at the broker anybody may write under any, and could have others shut out.
    named = deployment.mqtt.username is not None
    guard = Guard(deployment.guard, devices, attributable=named)
    if last_s is not None:
        guard.allow_backlog(min(time.time() - last_s, AWAY_S))
    return guard


def start_quarantine(
    stack: ExitStack,
    deployment: Deployment,
    store: Store,
    guard: Guard,
    pump: Pump,
    on_event: Callable[[dict[str, Any]], None],
) -> Quarantine:
    """Return the quarantine of a deployment, which ends with the stack."""
    control = None
    if deployment.mqtt.username is not None and deployment.guard.quarantine:
        control = BrokerControl(deployment.mqtt, f"heatveil-{deployment.site.name}-control", pump)
        stack.callback(control.close)
    minutes = deployment.guard.minutes
    return stack.enter_context(Quarantine(store, control, guard, on_event, minutes=minutes))

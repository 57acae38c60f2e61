"""Shuts out devices that were found guilty, and lets them back: at the broker and in the store.

The store is the truth: what is in it is shut out after every start, and whoever frees a device
there, from another process too, has it freed here within seconds. The broker is told at once,
before the disk is, since a flood does not wait; what it was not told while it was away, it is
told when it is back. A device that the operator shut out at the broker is left as it is.

Everything is done on a thread of its own; intake and pump only wake it.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import Any, Protocol

import structlog
from sqlalchemy.exc import SQLAlchemyError

from ..deployment import Deployment
from ..devices.broker import dynamic
from ..devices.broker.control import Control, Silence, expect
from ..faults import OperatorFault
from ..mqtt.pump import Pump
from ..telling import shut_out
from .guard import Guard

LOOK_S = 2.0  # how often the store is asked whether somebody else has freed a device
AGAIN_S = 30.0  # how often a broker that does not answer is asked again
MISSING = "Client not found"

log = structlog.get_logger()


class Keeper(Protocol):
    """The store, as far as it is needed here."""

    def quarantine(self, name: str, why: str) -> None: ...

    def free(self, name: str) -> None: ...

    def quarantined(self) -> dict[str, tuple[str, float]]: ...


class Quarantine:
    """Who is shut out; a context manager whose thread runs as long as the block lasts."""

    def __init__(
        self,
        store: Keeper,
        control: Control | None,
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
        self._kept = store.quarantined()
        for name, (why, _) in self._kept.items():
            guard.shut(name, why)
        self._unkept: dict[str, str] = {}  # found guilty, and not on the disk yet
        self._disabled: set[str] | None = None  # by us, at the broker; None when it is not known
        self._again_s = 0.0  # when the broker, which did not answer, is asked again
        self._mute = False  # that it does not answer has been said
        self._down_s: float | None = None  # since when the broker has been away
        self._told: dict[str, tuple[str, float]] = {}
        self._woken, self._stopping = threading.Event(), threading.Event()
        guard.wake = self._woken.set
        if control is not None:
            control.on_state = self._linked
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

    def shut(self, name: str, why: str) -> None:
        """Shut a device out by hand; returns at once."""
        self._guard.shut(name, why)
        self._unkept[name] = why
        self._woken.set()

    def _linked(self, up: bool) -> None:
        """Note that the broker is there or away; on the pump's thread."""
        now_s = time.monotonic()
        if up:
            if self._down_s is not None:
                self._guard.away(now_s - self._down_s)  # what waited there comes at once
            self._down_s, self._disabled, self._again_s = None, None, 0.0
            self._woken.set()
        elif self._down_s is None:
            self._down_s = now_s

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._look()
            except OSError as fault:  # the broker is in trouble: the guard holds meanwhile
                log.warning("the quarantine could not be kept", why=str(fault))
            except SQLAlchemyError as fault:  # the store is
                log.warning("the quarantine could not be kept", why=type(fault).__name__)
            except Exception:
                log.exception("the quarantine could not be kept")
            self._woken.wait(LOOK_S)
            self._woken.clear()

    def _look(self) -> None:
        """Bring guard, broker and store to agree."""
        for name, why in self._guard.verdicts():
            log.error("a device is shut out", device=name, why=why)
            self._unkept[name] = why
        self._tell_broker(self._kept.keys() | self._unkept.keys())
        for name, why in list(self._unkept.items()):
            self._store.quarantine(name, why)
            self._unkept.pop(name)
        kept = self._store.quarantined()
        if self._minutes is not None:
            now_s, ours = self._clock(), {(name, since_s) for name, (_, since_s) in kept.items()}
            self._seen_s = {one: self._seen_s.get(one, now_s) for one in ours}
            for (name, _), seen_s in self._seen_s.items():
                if now_s - seen_s >= 60 * self._minutes:
                    self._store.free(name)
                    del kept[name]
        for name in self._kept.keys() - kept.keys() - self._unkept.keys():
            log.warning("a device is let back", device=name)
            self._guard.free(name)
        for name, (why, _) in kept.items():
            self._guard.shut(name, why)
        self._kept = kept
        self._tell_broker(kept.keys() | self._unkept.keys())
        if kept != self._told:
            self._told = kept
            self._on_event(shut_out(kept))

    def _tell_broker(self, wanted: set[str]) -> None:
        """Let the broker shut out exactly these, of those that are ours to shut out."""
        if self._control is None or not self._control.up or time.monotonic() < self._again_s:
            return
        try:
            if self._disabled is None:
                rows = self._control.clients().items()
                self._disabled = {name for name, row in rows if _ours(row)}
                self._mute = False
            for name in wanted - self._disabled:
                expect(self._control.ask(dynamic.compose_disable(name)), MISSING)
                self._disabled.add(name)
            for name in self._disabled - wanted:
                expect(self._control.ask(dynamic.compose_enable(name)), MISSING)
                self._disabled.discard(name)
        except Silence as fault:
            self._disabled, self._again_s = None, time.monotonic() + AGAIN_S
            if self._control.up and not self._mute:
                self._mute = True
                log.warning("the broker shuts nobody out, we only do not listen", why=str(fault))
        except OperatorFault as fault:
            self._disabled, self._again_s = None, time.monotonic() + AGAIN_S
            log.error("the broker did not shut a device out", why=str(fault))


def _ours(row: Mapping[str, Any]) -> bool:
    return bool(row.get("disabled")) and row.get("textdescription") == dynamic.MARK


AWAY_S = 3600.0  # a gateway that was away for longer has no broker that kept it all


def guard_of(deployment: Deployment, devices: Iterable[str], last_s: float | None = None) -> Guard:
    """Return the guard of a fleet.

    Args:
        last_s: when the gateway was last at work, by `time.time`; what devices sent since then is
            no flood. None where it never was.
    """
    # Without names at the broker anybody may write under any, and could have others shut out.
    named = deployment.mqtt.username is not None
    guard = Guard(deployment.guard, devices, attributable=named)
    if last_s is not None:
        guard.away(min(time.time() - last_s, AWAY_S))
    return guard


def quarantine_of(
    stack: ExitStack,
    deployment: Deployment,
    store: Keeper,
    guard: Guard,
    pump: Pump,
    on_event: Callable[[dict[str, Any]], None],
) -> Quarantine:
    """Return the quarantine of a deployment, which ends with the stack."""
    control = None
    if deployment.mqtt.username is not None and deployment.guard.quarantine:
        control = Control(deployment.mqtt, f"heatveil-{deployment.site.name}-control", pump)
        stack.callback(control.close)
    minutes = deployment.guard.minutes
    return stack.enter_context(Quarantine(store, control, guard, on_event, minutes=minutes))

"""A fleet of `edge.device` on a broker, any number of them in one process.

Some threads share the devices, each with an event loop: an answer is paid for on the disk, and a
disk flushes for several in the time that it takes for one.
"""

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import wait
from contextlib import ExitStack
from typing import Any

from ...faults import LinkFault
from ...mqtt import access
from ...mqtt.connection import TWICE
from ...operating import Mqtt
from ..enrol.budgets import WRITERS
from . import litter
from .arriving import arrivals
from .counts import Counts, added
from .entrance import entrance
from .life import Fleet, Ground, Life, log
from .loops import Loop
from .member import Hall
from .spool import Spool, in_memory

PATIENCE_S = 3.0  # till the first of them is on the broker
OFTEN, OFTEN_S = 3, 5.0  # losses of one device: a network does not fail like that


class Crowd:
    """The devices; a context manager."""

    def __init__(
        self,
        broker: Mqtt,
        fleet: Fleet,
        passwords: Mapping[str, str] | None = None,
        spools: Callable[[str, bytes], Spool] = in_memory,
        boot: Callable[[str], Any] | None = None,
        loops: int = WRITERS,
    ) -> None:
        """Open what devices have kept; they start when the block begins.

        Args:
            passwords: of each device at the broker; without any, all come as [mqtt] says.
            spools: gives the spool of a device by its name and key id.
            boot: gives a device that died its budget, booted once more.
            loops: how many threads share them.

        Raises:
            OperatorFault: a file that [mqtt] names cannot be used.
        """
        self.up: set[str] = set()
        self._losses: dict[str, list[float]] = {}
        self._told, self._boot, self._closing = False, boot, False
        door = entrance(broker)
        ground = Ground(broker, door, fleet, spools, Hall(), self._turned)
        self.lives: dict[str, Life] = {}
        for name in fleet.names:
            own = access.as_device(broker, name, passwords[name]) if passwords else broker
            self.lives[name] = Life(name, own, ground)
        self._loops: list[Loop] = []
        self._of: dict[str, Loop] = {}
        self._count = min(loops, len(self.lives))
        self._own = ExitStack()

    def __enter__(self) -> "Crowd":
        self._own.enter_context(litter.seldom())
        self._loops = [Loop(f"devices {number}") for number in range(self._count)]
        self._of = {name: self._loops[i % self._count] for i, name in enumerate(self.lives)}
        try:
            self._all(Life.begin)
        except BaseException:
            self.close()  # nobody else will
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait(
        self,
        tell: Callable[[int], None] = lambda up: None,
        over: threading.Event | None = None,
        patience_s: float | None = None,
    ) -> dict[str, str]:
        """Return who is still not on the broker once nobody comes any more, and why.

        Args:
            tell: hears from time to time how many are.
            over: ends the wait, and says nothing of who is missing.
            patience_s: how long nobody may come.

        Raises:
            LinkFault: none of them is.
        """
        patience_s = patience_s or PATIENCE_S
        if not arrivals(len(self.lives), lambda: len(self.up), patience_s, tell, over):
            return {}
        missing = {name: life.trouble for name, life in self.lives.items() if not life.up}
        if len(missing) == len(self.lives):
            raise LinkFault(next(iter(missing.values())))
        return missing

    def die(self, name: str) -> None:
        """End one device without a goodbye."""
        self._of[name].do(self.lives[name].die()).result()

    def again(self, name: str) -> None:
        """Let one that died come back."""
        if self._boot is not None:
            self._of[name].do(self.lives[name].again(self._boot(name))).result()

    @property
    def names(self) -> list[str]:
        """Who is in the fleet."""
        return list(self.lives)

    @property
    def counts(self) -> Counts:
        """What has become of all frames."""
        return added([life.counted() for life in self.lives.values()])

    @property
    def unreceipted(self) -> int:
        """How many devices wait for a receipt."""
        return sum(life.counts.waiting > 0 for life in self.lives.values())

    def close(self) -> None:
        """Say goodbye for every device, and disconnect."""
        if not self._closing:
            self._closing = True
            self._all(Life.leave)
            for loop in self._loops:
                loop.close()
            self._own.close()

    def _all(self, act: Callable[[Life], Any]) -> None:
        done = [self._of[name].do(act(life)) for name, life in self.lives.items()]
        for one in wait(done).done:
            one.result()

    def _turned(self, name: str, up: bool) -> None:
        """Note whose link is up; on the device's own thread."""
        if up:
            self.up.add(name)
            return
        self.up.discard(name)
        if self._closing or self.lives[name].dead:
            return
        lost, now_s = self._losses.setdefault(name, []), time.monotonic()
        lost[:] = [*lost[1 - OFTEN :], now_s]
        log.warning("the broker is lost; connecting again", device=name)
        if len(lost) == OFTEN and now_s - lost[0] <= OFTEN_S and not self._told:
            self._told = True
            log.warning(TWICE)

"""Devices that die without a goodbye and come back a while later: `heatveil fleet --churn`."""

import random
import threading
from collections.abc import Sequence
from typing import Protocol

import structlog

from ...faults import OperatorFault

AWAY_S = (1.0, 10.0)  # how long one is gone, at least and at most

log = structlog.get_logger()


class Mortal(Protocol):
    """A fleet whose devices can die."""

    @property
    def names(self) -> Sequence[str]: ...

    def die(self, name: str) -> None: ...

    def again(self, name: str) -> None: ...


class Churn:
    """So many deaths a minute, at random moments; a context manager."""

    def __init__(self, fleet: Mortal, per_minute: float) -> None:
        self._fleet, self._pause_s = fleet, 60 / per_minute if per_minute > 0 else None
        self.deaths = self.returns = 0
        self._over = threading.Event()
        self._away: dict[str, float] = {}  # who, and for how many seconds more
        self._lost: set[str] = set()  # who cannot come back
        self._thread = threading.Thread(target=self._run, name="churn", daemon=True)

    def __enter__(self) -> "Churn":
        if self._pause_s is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Let nobody die any more; who is away stays away."""
        self._over.set()
        if self._pause_s is not None:
            self._thread.join()

    def _run(self) -> None:
        mean_s = self._pause_s or 0.0
        next_s = random.expovariate(1) * mean_s
        while True:
            wait_s = min([next_s, *self._away.values()])
            if self._over.wait(wait_s):
                return
            next_s -= wait_s
            self._away = {name: left_s - wait_s for name, left_s in self._away.items()}
            for name in [name for name, left_s in self._away.items() if left_s <= 0]:
                del self._away[name]
                self._return(name)
            if next_s <= 0:
                next_s = random.expovariate(1) * mean_s
                self._kill()

    def _kill(self) -> None:
        gone = self._away.keys() | self._lost
        alive = [name for name in self._fleet.names if name not in gone]
        if alive:
            name = random.choice(alive)
            self._fleet.die(name)
            self.deaths += 1
            self._away[name] = random.uniform(*AWAY_S)

    def _return(self, name: str) -> None:
        try:
            self._fleet.again(name)
            self.returns += 1
        except OperatorFault as fault:
            self._lost.add(name)
            log.error("a device that died does not come back", device=name, why=str(fault))

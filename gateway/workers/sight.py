"""Whether a worker sees the broker, on a link of its own: one that does not is of no use.

It would else keep its share of the parts from those who can reach the broker, for as long as it
can reach the database.
"""

import threading
import time
from collections.abc import Callable

from ..deployment import Deployment
from ..mqtt.pump import Pump
from ..mqtt.service import Link
from .part import GOODBYE_S


class Sight:
    """The link, which takes nothing and says nothing; begins at once, ends with `close`."""

    def __init__(
        self,
        deployment: Deployment,
        holder: str,
        pump: Pump,
        say: Callable[[str, bool, str], object],
        away: Callable[[float], None],
    ) -> None:
        """Begin to look.

        Args:
            say: hears how the part "broker" is.
            away: hears, before anything else comes, how many seconds we have seen nothing: what
                devices said meanwhile comes at once, and is no flood.
        """
        self._say, self._away = say, away
        self._lock = threading.Lock()
        self._lost_s: float | None = None  # since when no link of ours is what it should be
        self._blind_s: float | None = time.monotonic()  # since when the broker does not have us
        name = f"heatveil-{deployment.site.name}-worker-{holder}"
        self._link = Link(deployment.mqtt, name, pump, lasting=False, on_state=self._linked)

    def blind_for(self, seconds: float) -> bool:
        """Return whether the broker has not had us for so long."""
        since_s = self._blind_s
        return since_s is not None and time.monotonic() - since_s >= seconds

    def heard(self, up: bool) -> None:
        """Note how any link of this worker is; all are lost with the broker, and one is first."""
        now_s = time.monotonic()
        with self._lock:
            lost_s, self._lost_s = self._lost_s, None if up else self._lost_s or now_s
        if up and lost_s is not None:
            self._away(now_s - lost_s)

    def close(self) -> None:
        """Say goodbye."""
        self._link.close(GOODBYE_S)

    def _linked(self, up: bool, why: str) -> None:
        self.heard(up)
        self._blind_s = None if up else self._blind_s or time.monotonic()
        self._say("broker", up, "" if up else why or "the broker is not there")

"""Who hears of events: the log, the page, whoever else; and what was said last of each kind."""

from collections.abc import Callable, Mapping, Sequence

import structlog

from . import telling
from .intake.outcomes import Alarm, Who
from .rounds import OpenRound

# What of an event is too long for a log, or shown elsewhere.
DULL = {"guarantee", "kind", "alarms", "parts", "devices"}
# What follows from readings: it is public, and still would make a log of years a log of people.
TOLD = {"values", "mass", "sd", "total", "credible", "certified", "verdict"}
RESULT = TOLD | {"why", "chosen"}  # of a map: with which chance nobody was there
# Of a budget: what the promise is not told in.
OTHER = {"rho": {"epsilon_left"}, "epsilon": {"budget", "spent", "left", "delta"}}

log = structlog.get_logger()

Listener = Callable[[telling.Event], None]


class Teller:
    """Tells everybody; any thread may."""

    def __init__(self, *listeners: Listener | None) -> None:
        """Begin.

        Args:
            listeners: hear every event, on the thread that tells it; they must return at once.
        """
        self.last: dict[str, telling.Event] = {}
        self._listeners = [hear for hear in listeners if hear is not None]
        self._alarms: dict[Who, tuple[str, int]] = {}

    def listen(self, hear: Listener) -> None:
        """Let another one hear what comes from now on."""
        self._listeners.append(hear)

    def tell(self, event: telling.Event) -> None:
        """Remember an event, log what it is, and pass it on."""
        self.last[event["kind"]] = event
        left = DULL | (RESULT if event["kind"] == "map" else TOLD)
        if event["kind"] == "budget":
            left = left | OTHER[event.get("unit", "rho")]
        log.info(event["kind"], **{key: event[key] for key in event if key not in left})
        if event["kind"] == "release" and not event["reports"]:
            log.warning(telling.SILENCE, number=event["number"])
        for hear in self._listeners:
            try:
                hear(event)
            except Exception:  # who listens must not stop who works
                log.exception("a listener failed")

    def progress(self, round: OpenRound | None, refused: int) -> None:
        """Tell how a round stands."""
        if round is not None:
            self.tell(telling.came(round, refused))

    def begin(self, ready: telling.Event, alarms: Mapping[Who, tuple[str, int]]) -> None:
        """Tell what we are, and of devices that have needed a new key since before this start."""
        self.tell(ready)
        self._alarms = dict(alarms)
        if alarms:
            self.tell(telling.alarmed(self._alarms))

    def alarmed(self, raised: Sequence[Alarm]) -> None:
        """Tell of devices that need a new key."""
        for device, key_id, why in raised:
            log.error("alarm", device=device, why=why)
            _, times = self._alarms.get((device, key_id), ("", 0))
            self._alarms[device, key_id] = why, times + 1
        self.tell(telling.alarmed(self._alarms))

"""Who tells Home Assistant: once what there is to see, then each result.

Which retained messages went out is noted in a small file beside the database, so that a gateway
whose site was renamed, or that is to be announced no longer, takes them back by itself.
"""

import json
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog

from ...settings.deployment import Deployment
from . import discovery, state

Publish = Callable[[str, bytes, bool], Any]  # topic, payload, whether it is retained

log = structlog.get_logger()


class Announcer:
    """What of a gateway goes to Home Assistant; any thread may call it. Nothing here raises.

    Where it is not enabled it takes back what was announced before, and says nothing more.
    """

    def __init__(self, deployment: Deployment, publish: Publish) -> None:
        """Begin; `online` is to be called when the broker has us.

        Args:
            publish: sends now or when the broker is back, in order; it must not wait.
        """
        self._deployment, self._publish = deployment, publish
        self._lock = threading.Lock()
        self._results = state.Results(deployment.room.grid)
        self._drawn_s: float | None = None
        self._health: dict[str, Any] | None = None
        site, database = deployment.site.name, deployment.site.database
        self._note = database.with_name(f"{database.name}.announced")
        self._config = discovery.config_topic(deployment)
        self._result, self._healthy = discovery.result_topic(site), discovery.health_topic(site)
        self._available = discovery.availability_topic(site)
        self.enabled = deployment.homeassistant.enabled
        self.births = discovery.births(deployment.homeassistant.prefix) if self.enabled else ()
        self.will = (self._available, discovery.OFFLINE) if self.enabled else None

    def online(self) -> None:
        """Announce everything: when the broker has us, and when Home Assistant says it is back.

        The latter, a message on one of `births` that reads `online`, `heard` sees to.
        """
        with self._lock:
            self._tidy()
            if not self.enabled:
                return
            self._send(self._config, discovery.message(self._deployment))
            self._publish(self._available, discovery.ONLINE, True)
            if self._health is not None:
                self._send(self._healthy, self._health)
            if self._drawn_s is not None and not self._expired():
                self._send(self._result, self._results.values)

    def heard(self, topic: str, payload: bytes) -> None:
        """Take a message that came; it matters when Home Assistant has just started."""
        if topic in self.births and payload.strip() == discovery.ONLINE:
            self.online()

    def event(self, event: state.Event) -> None:
        """Take one of the service's events, and pass on what is to be seen of it."""
        if not self.enabled:
            return
        with self._lock:
            if event["kind"] == "health":
                found = state.health(event)
                if found != self._health:
                    self._health = found
                    self._send(self._healthy, found)
            elif self._results.take(event, datetime.now(UTC), time.monotonic()):
                if event["kind"] == "map":
                    self._drawn_s = time.monotonic()
                if self._drawn_s is not None and not self._expired():
                    self._send(self._result, self._results.values)

    def offline(self) -> None:
        """Say goodbye, before the link is closed; what was shown turns unavailable."""
        if self.enabled:
            self._publish(self._available, discovery.OFFLINE, True)

    def remove(self) -> None:
        """Take everything back: to Home Assistant the site has never been."""
        with self._lock:
            for topic in self._topics():
                self._publish(topic, b"", True)
            self._write([])

    def _topics(self) -> list[str]:
        return [self._config, self._available, self._healthy, self._result]

    def _expired(self) -> bool:
        """Whether the last result would be taken for a new one if it were sent again."""
        after_s = self._deployment.homeassistant.expire_s
        passed_s = time.monotonic() - (self._drawn_s or 0.0)
        return after_s is not None and passed_s > after_s

    def _tidy(self) -> None:
        """Take back what is announced no longer, and note what is."""
        wanted = self._topics() if self.enabled else []
        noted = _noted(self._note)
        if gone := [topic for topic in noted if topic not in wanted]:
            log.info("Home Assistant is told to forget", topics=len(gone))
        for topic in gone:
            self._publish(topic, b"", True)
        if noted != wanted:
            self._write(wanted)

    def _write(self, topics: list[str]) -> None:
        try:
            if topics:
                self._note.write_text(json.dumps(topics), "utf-8")
            else:
                self._note.unlink(missing_ok=True)
        except OSError as fault:
            log.warning("what was announced cannot be noted", why=fault.strerror)

    def _send(self, topic: str, value: Any) -> None:
        self._publish(topic, json.dumps(value, allow_nan=False).encode(), True)


def _noted(path: Path) -> list[str]:
    """Return the retained topics that a gateway on this database has sent before."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return []
    return found if isinstance(found, list) and all(isinstance(one, str) for one in found) else []

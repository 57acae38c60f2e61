"""What the page shows of a gateway; each part may come after the page is up, or never."""

from dataclasses import dataclass, field
from typing import Any

from ..operate.counted import Counted
from ..operate.health import Health
from ..operate.metrics import Metrics
from .feed import Feed


@dataclass
class Parts:
    """The feed, and what reads the store, the health and the counts, once they are there."""

    feed: Feed = field(default_factory=Feed)
    reader: Any = None  # `storage.reader.Reader`
    health: Health | None = None
    metrics: Metrics | None = None

    def attach(
        self,
        *,
        reader: Any = None,
        health: Health | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        """Take what is given and keep what is not; any thread may."""
        self.reader = reader or self.reader
        self.health = health or self.health
        self.metrics = metrics or self.metrics
        if metrics is not None:
            self.feed.hear = Counted(metrics).hear

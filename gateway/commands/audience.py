"""Shows in a terminal what the service tells, and keeps what a report needs at the end."""

import time
from types import TracebackType
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from ..telling import Event
from .summary import most_of


class Audience:
    """Hears events on any thread; a context manager that shows a bar of reports meanwhile."""

    def __init__(self, console: Console, grid: Any, rounds: int) -> None:
        self._console, self._grid, self._rounds = console, grid, rounds
        self._began_s = time.perf_counter()
        columns = (TextColumn("  {task.description}"), BarColumn(), MofNCompleteColumn())
        self._progress = Progress(*columns, console=console, transient=True)
        self._task = self._progress.add_task("asking", total=None)
        self.releases: list[Event] = []
        self.budget: Event | None = None
        self.best: Event | None = None  # the last round's map that is one

    def __enter__(self) -> "Audience":
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Take the bar away."""
        self._progress.stop()

    def hear(self, event: Event) -> None:
        """Take an event of the service."""
        if event["kind"] == "reports":
            self._progress.update(
                self._task,
                description=f"round {event['number']} of {self._rounds}, reports",
                completed=event["came"],
                total=event["enrolled"],
            )
        elif event["kind"] == "release":
            self.releases.append(event)
        elif event["kind"] == "budget":
            self.budget = event
        elif event["kind"] == "map":
            self._map(event)

    def _map(self, event: Event) -> None:
        found = str(event["why"])
        if event["mass"] is not None and event["total"] > 0:
            self.best = event
            found = most_of(np.array(event["mass"]), self._grid)
        took_s = time.perf_counter() - self._began_s
        self._console.print(
            f"  round {event['number']} of {self._rounds} after {took_s:.1f} s: {found}",
            highlight=False,
        )

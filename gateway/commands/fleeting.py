"""What a fleet shows while it runs: who comes, what goes out, and what became of it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..virtual.churning import Churn
from ..virtual.counts import summary

NAMED = 5  # devices that are missing; of more only the number is said


@contextmanager
def coming(devices: int, said: str = "") -> Iterator[Callable[[int], None]]:
    """Give what shows how many of them are on the broker; nothing is seen but on a terminal.

    said: how they run, which stands beside.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda up: None
        return
    words = f"devices on the broker{', ' * bool(said)}{said}"
    columns = TextColumn(words, markup=False), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("", total=devices)
        yield lambda up: progress.update(bar, completed=up)


def run_until(over: threading.Event, crowd: Any, churn: Churn) -> None:
    """Return once it is over; on a terminal the counts are shown until then."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        over.wait()
        return
    with console.status("") as status:
        while not over.wait(1.0):
            said = summary(crowd.counts, churn.deaths, churn.returns)
            status.update(f"{len(crowd.up):,} devices; {said}")


def absent(missing: dict[str, str]) -> list[str]:
    """Return sentences on the devices that are not on the broker."""
    said = [
        f"device {name} is not on the broker: {why}" for name, why in [*missing.items()][:NAMED]
    ]
    if len(missing) > NAMED:
        said.append(f"nor are {len(missing) - NAMED} others; they go on trying")
    return said

"""What a long play is doing at the moment, told to a terminal and to nothing else.

A plane of some thousand cells takes a minute; whoever waits in silence takes it for dead.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Stage = Callable[[str], None]


@contextmanager
def stages() -> Iterator[Stage]:
    """Yield what takes the name of a stage; it is shown until the next, and goes at the end.

    On standard error, and only where that is a terminal: results and logs hold none of it.
    """
    if not sys.stderr.isatty():
        yield lambda stage: None
        return
    # Imported here alone: a script has no use for it.
    from rich.console import Console

    shown = ""
    with Console(stderr=True).status("") as status:

        def stage(name: str) -> None:
            nonlocal shown
            if name != shown:  # there is a report of every sensor
                shown = name
                status.update(f"{name} ...")

        yield stage

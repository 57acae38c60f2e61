"""What a command leaves and shows: files, all whole or none, their colours, the stage it is at."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from .faults import OperatorFault

# The colours of pictures: what is true, what was sent, what was found, what is faint.

TRUE, SENT, FOUND, FAINT = "#3b3355", "#c2410c", "#8f1d5b", "#b9b3c6"


# Files that a command leaves: all of them whole, or none.

Writer = Callable[[Path], None]


def make_folder(folder: Path) -> None:
    """Make a folder where there is none.

    Raises:
        OperatorFault: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise OperatorFault(
            f"the folder {folder} for the results cannot be made ({fault.strerror}). Name "
            "another one"
        ) from fault


def check_writable(paths: list[Path], inputs: Iterable[Path] = ()) -> None:
    """Check, before anything is computed, that files can be written to these places.

    Raises:
        OperatorFault: a folder is missing or closed to us, a path is no plain file, or two are
            one, be it a file that is read.
    """
    for path in paths:
        if why := _explain_unfit_path(path):
            raise OperatorFault(f"no result can be written to {path}: {why}. Nothing was computed")
    named = [*paths, *inputs]
    if len({path.resolve() for path in named}) < len(named):
        raise OperatorFault(
            f"{' and '.join(map(str, named))} are not all different; each result needs a file of "
            "its own, or one would overwrite another. Give each its own path"
        )


def _explain_unfit_path(path: Path) -> str:
    """Return why no result can be moved to this place, and what to do; "" where it can."""
    folder = path.absolute().parent
    if path.is_dir():
        return "it is a folder; name a file in it"
    if path.is_symlink() or (path.exists() and not path.is_file()):
        return "it is a link, a pipe or a device, which a result would replace; name another file"
    if not folder.is_dir():
        return f"there is no folder {folder}; make it, or name another file"
    if not os.access(folder, os.W_OK):
        return f"you may not write to the folder {folder}; name a file in another one"
    return ""


def write_all(writers: Mapping[Path, Writer]) -> None:
    """Write every file beside its place first, and move them there when all are whole.

    Raises:
        OperatorFault: one cannot be written; then none is.
    """
    halves = {path: path.with_name(f".{path.name}.{os.getpid()}.part") for path in writers}
    with ExitStack() as stack:
        for half in halves.values():
            stack.callback(half.unlink, missing_ok=True)
        try:
            for path, writer in writers.items():
                writer(halves[path])
            for half in halves.values():
                with half.open("rb") as file:  # on the disk before it has its name
                    os.fsync(file.fileno())
            for path, half in halves.items():
                os.replace(half, path)
        except OSError as fault:
            raise OperatorFault(
                f"{fault.filename or 'a result'} cannot be written ({fault.strerror or fault}); "
                "no result was left half done. Make room for it, or give another path"
            ) from fault


def make_text_writer(text: str) -> Writer:
    """Return the writer of a text."""

    def write(path: Path) -> None:
        path.write_text(text, "utf-8")

    return write


def make_json_writer(value: Any) -> Writer:
    """Return the writer of a value as JSON; NaN and infinity are refused, for JSON has none."""
    return make_text_writer(json.dumps(value, indent=2, allow_nan=False) + "\n")


def format_duration(seconds: float) -> str:
    """Return a time as one says it.

    >>> [format_duration(seconds) for seconds in (90, 3600, 86_400, 30 * 86_400, 0.5)]
    ['90 s', '1 h', '24 h', '30 days', '0.5 s']
    """
    for unit, size in (("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size or (seconds == size and size < 86_400):
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds:g} s"


def format_days(days: float) -> str:
    """Return a number of days as one says it.

    >>> format_days(1), format_days(30), format_days(0.5)
    ('1 day', '30 days', '0.5 days')
    """
    return f"{days:g} day{'s' * (days != 1)}"


# What a long play is doing at the moment, told to a terminal; elsewhere only if that is asked for.
#
# A plane of some thousand cells takes a minute; whoever waits in silence takes it for dead.

Stage = Callable[[str], None]
SILENT_S = 30.0


@contextmanager
def show_stages(in_lines: bool = False) -> Iterator[Stage]:
    """Yield what takes the name of a stage; it is shown until the next, and goes at the end.

    On standard error, where that is a terminal: results and logs hold none of it. Elsewhere what
    takes long is a line from time to time.

    Args:
        in_lines: elsewhere each stage is a line, without the numbers behind its comma.
    """
    if not sys.stderr.isatty():
        begun: set[str] = set()
        last_s = time.monotonic()

        def begin(name: str) -> None:
            nonlocal last_s
            short = name.partition(",")[0]
            if in_lines and short not in begun:
                begun.add(short)
                sys.stderr.write(f"{short} ...\n")
            elif time.monotonic() - last_s > SILENT_S:
                sys.stderr.write(f"{name} ...\n")
            else:
                return
            last_s = time.monotonic()

        yield begin
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

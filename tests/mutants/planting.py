"""A copy of the source, and the one mistake that is made in it."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

ROOT = Path(__file__).resolve().parents[2]


class Row(Protocol):
    """Where a mistake is made, and how."""

    @property
    def file(self) -> str: ...
    @property
    def old(self) -> str: ...
    @property
    def new(self) -> str: ...


def copied(folder: Path, packages: Sequence[str]) -> None:
    """Make a copy of these packages, of hard links: nothing there is written in place."""
    for package in packages:
        shutil.copytree(ROOT / package, folder / package, copy_function=os.link)


def plant(folder: Path, row: Row) -> None:
    """Make a mistake in a copy.

    Raises:
        AssertionError: the text is not there exactly once, so the row is stale.
    """
    path = folder / row.file
    source = path.read_text("utf-8")
    count = source.count(row.old)
    assert count == 1, (
        f"{row.file} holds {row.old!r} {count} times but must hold it once, or this is not the "
        "mistake that is meant. Mend the row"
    )
    changed = source.replace(row.old, row.new)
    compile(changed, row.file, "exec")
    path.unlink()  # a hard link to the checkout's own
    path.write_text(changed, "utf-8")

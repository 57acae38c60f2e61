"""A room file, read: what it says, or the line in which it says something wrong."""

from pathlib import Path

from .build import build
from .check import check
from .records import Room
from .source import read_source


def read(path: str | Path) -> Room:
    """Return the room that a file tells of.

    Raises:
        ValueError: the first thing in it that cannot be: the file, the line, what was given,
            what was expected and why, and an example of the right thing.
    """
    source = read_source(Path(path))
    room = build(source)
    check(room, source)
    return room


def sample() -> str:
    """Return the text of the sample room, every key of which is explained."""
    return (Path(__file__).parent / "office.toml").read_text(encoding="utf-8")

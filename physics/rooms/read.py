"""A room file, read: what it says, or the lines in which it says something wrong."""

import tomllib
from collections.abc import Sequence
from pathlib import Path

from .reading import lines
from .reading.build import build
from .reading.check import check
from .reading.source import Source, example_of, untidy
from .records import Room

# A fault often brings others with it; who has mended so many reads the file again.
_AT_ONCE = 5


def read(path: str | Path) -> Room:
    """Return the room that a file tells of.

    Raises:
        ValueError: what in it cannot be, five faults at most, in the order of their lines as
            far as they were found together: the file, the line, what was given, what was
            expected and why, and an example of the right thing.
    """
    source = _source(Path(path))
    _tell(source.faults())
    room = build(source)
    _tell(check(room, source))
    return room


def sample() -> str:
    """Return the text of the sample room, every key of which is explained."""
    return (Path(__file__).parent / "office.toml").read_text(encoding="utf-8")


def _tell(faults: Sequence[ValueError]) -> None:
    if faults:
        more = len(faults) - _AT_ONCE
        rest = [f"and {more} more"] if more > 0 else []
        raise ValueError("\n".join([*map(str, faults[:_AT_ONCE]), *rest]))


def _source(path: Path) -> Source:
    try:
        raw = path.read_bytes()
    except FileNotFoundError as error:
        raise _missing(path) from error
    except OSError as error:
        raise _unread(path, f"it cannot be read ({error.strerror})") from error
    try:
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        wide = b"\0" in raw[:4]
        line = 1 if wide else raw[: error.start].count(b"\n") + 1
        what = "it is UTF-16" if wide else f"a byte {raw[error.start]:#04x} is no UTF-8"
        raise _unread(path, what, line) from error
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise untidy(path, text, error) from error
    return Source(path, document, lines.find(text))


def _missing(path: Path) -> ValueError:
    shown = example_of("room").replace("\n", "\n    ")
    return ValueError(
        f"{path}: there is no such file, but a room file must be there, for the room is built "
        "from it. Give the path of one, or begin with the sample. For example, in a file "
        f"{path.name}:\n    {shown}"
    )


def _unread(path: Path, given: str, line: int = 1) -> ValueError:
    shown = example_of("room").replace("\n", "\n    ")
    return ValueError(
        f"{path} line {line}: {given}, but a room file must be a text in UTF-8, for the room is "
        f"built from it. Save it as UTF-8, or begin with the sample. For example:\n    {shown}"
    )

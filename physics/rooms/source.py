"""A room file with the line of everything in it, and how a fault in it is told.

`tomllib` reads the values and forgets the lines; the scan here reads the lines and forgets the
values. The text must be one that `tomllib` has read without complaint.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

# Names of tables and keys, and numbers, from 0, of elements: ("person", 1, "path", 3).
Where: TypeAlias = tuple[str | int, ...]

_TOKEN = re.compile(
    r'(?P<text>"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\')'
    r"|(?P<comment>\#[^\n]*)|(?P<newline>\n)|(?P<mark>[][{},=])|(?P<word>[^][{},=\#\s\"']+)",
    re.DOTALL,
)


def find_lines(text: str) -> dict[Where, int]:
    """Return the line, from 1, of everything in a TOML text; of the text itself, (), it is 1.

    >>> text = '[[door]]\\nwidth_m = 1\\n[[door]]\\nopen = [\\n  ["08:00", "18:00"],\\n]'
    >>> lines = find_lines(text)
    >>> lines["door", 1], lines["door", 1, "open", 0]
    (3, 5)
    """
    return _Scan(text).document()


def describe_table(where: Where) -> str:
    """Return a table as one would say it.

    >>> describe_table(("wall", 1)), describe_table(("room",))
    ('[[wall]] 2', '[room]')
    """
    return f"[[{where[0]}]] {int(where[1]) + 1}" if len(where) > 1 else f"[{where[0]}]"


def xy(x: float, y: float) -> str:
    """Return a place as a room file writes it."""
    return f"[{x:.4g}, {y:.4g}]"


@dataclass(frozen=True, slots=True)
class Source:
    """A file, what it holds, and in which line each part of it stands."""

    path: Path
    document: dict[str, Any]
    lines: dict[Where, int]

    def find_line(self, where: Where) -> int:
        """Return the line of a place, or of the nearest thing around it that has one."""
        if where[:1] == ("thermometers",) and isinstance(self.document["thermometers"], dict):
            where = ("thermometers", *where[2:])  # of these one table is the usual
        while where not in self.lines:
            where = where[:-1]
        return self.lines[where]

    def make_fault(self, where: Where, given: str, expected: str, why: str) -> ValueError:
        """Return a fault: file and line, what was given, what is needed, and why."""
        return ValueError(
            f"{self.path} line {self.find_line(where)}: {given}, but {expected}, for {why}."
        )


class _Scan:
    """The tokens of a text, taken one after the other."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str, int]] = []
        line = 1
        for match in _TOKEN.finditer(text):
            self.tokens.append((match.lastgroup or "", match.group(), line))
            line += match.group().count("\n")
        self.next = 0
        self.lines: dict[Where, int] = {(): 1}
        self.many: dict[Where, int] = {}  # how many there are so far of each [[table]]

    def document(self) -> dict[Where, int]:
        table: Where = ()
        while self.next < len(self.tokens):
            kind, token, line = self.tokens[self.next]
            if kind in ("newline", "comment"):
                self.next += 1
            elif token == "[":
                table = self.header(line)
            else:
                self.pair(table)
        return self.lines

    def header(self, line: int) -> Where:
        self.next += 1
        repeated = self.tokens[self.next][1] == "["
        self.next += repeated
        *parents, name = self.key("]")
        self.next += 1 + repeated
        table: Where = ()
        for parent in parents:
            table = self.latest((*table, parent))
        table = (*table, name)
        if repeated:
            self.many[table] = self.many.get(table, 0) + 1
            self.lines.setdefault(table, line)
            table = self.latest(table)
        self.lines[table] = line
        return table

    def latest(self, table: Where) -> Where:
        return (*table, self.many[table] - 1) if table in self.many else table

    def key(self, end: str) -> list[str]:
        """Take the tokens of a key and leave what ends it."""
        written = ""
        while self.tokens[self.next][1] != end:
            written += self.tokens[self.next][1]
            self.next += 1
        inner: Any = tomllib.loads(f"{written} = 0")
        parts = []
        while isinstance(inner, dict):
            (part, inner), *_ = inner.items()
            parts.append(part)
        return parts

    def pair(self, table: Where) -> None:
        line = self.tokens[self.next][2]
        for part in self.key("="):
            table = (*table, part)
            self.lines.setdefault(table, line)
        self.next += 1
        self.value(table)

    def value(self, where: Where) -> None:
        token = self.tokens[self.next][1]
        self.next += 1
        if token in ("[", "{"):
            self.inside(where, "]" if token == "[" else "}")
            return
        # A date may be followed by its time, after a space.
        while self.next < len(self.tokens) and self.tokens[self.next][0] == "word":
            self.next += 1

    def inside(self, where: Where, end: str) -> None:
        index = 0
        while self.tokens[self.next][1] != end:
            kind, token, line = self.tokens[self.next]
            if kind in ("newline", "comment") or token == ",":
                self.next += 1
            elif end == "}":
                self.pair(where)
            else:
                self.lines[*where, index] = line
                self.value((*where, index))
                index += 1
        self.next += 1

"""A room file and its lines, and how a fault in it is told."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from . import lines
from .kinds import REQUIRED, Key, Wrong
from .lines import Where
from .tables import TABLES

# What is said of a text that is no TOML: the row in which it went wrong, and how it is right.

_TEXT = re.compile(r'"(?:\\.|[^"\\])*"|\'[^\']*\'')
_BEGINS = re.compile(r"\s*(?:\[{1,2}\s*[A-Za-z_][\w.-]*|([\w.-]+)\s*=)")
_TABLE = re.compile(r"\s*(\[\[?)\s*([\w.-]+)\s*\]")


def untidy(path: Path, text: str, error: tomllib.TOMLDecodeError) -> ValueError:
    """Return the fault of a text that `tomllib` refused with this error."""
    # The line is at the end of what tomllib says; at the end of the file it names none.
    says, _, place = str(error).partition(" (at ")
    words = place.removesuffix(")").replace(",", "").split()
    rows = text.split("\n")
    line = int(words[1]) if words[:1] == ["line"] else len(rows)
    row = rows[line - 1].strip()
    table = _TABLE.match(row)
    expected, example = "it must be TOML, key = value", 'name = "office"\n    size_m = [6.0, 4.0]'
    unclosed = _unclosed(rows, line)
    if unclosed:
        line, expected, example = unclosed
        row = rows[line - 1].strip()
    elif table and says.startswith("Cannot"):
        line, expected, example = _twice(rows, line, table[2])
        row = rows[line - 1].strip()
    elif says == "Cannot overwrite a value":
        expected, example = "each key may be there once in its table", row
    elif set(row) & set("\u201c\u201d\u201e"):
        expected, example = "quotes are straight ones", 'name = "office"'
    elif ":" in row.partition("=")[2]:
        expected, example = "a time of day stands in quotes", 'start = "08:00"'
    elif row.partition("=")[2].strip()[:1] in [*"+-.0123456789"]:
        expected, example = "a number has a point and no unit", "height_m = 2.7"
    return ValueError(
        f"{path} line {line}: {row[:60]!r} cannot be read ({says}), but {expected}, for the room "
        f"is built from it. For example:\n    {example}"
    )


def _twice(rows: list[str], line: int, name: str) -> tuple[int, str, str]:
    """Return the line of a table that is there twice, or once in each kind of bracket."""
    if name not in TABLES or not TABLES[name].many:
        if rows[line - 1].strip()[:2] == "[[":
            return line, f"it must be written [{name}], for there is only one", f"[{name}]"
        return line, f"[{name}] may be there once", f"[{name}]"
    single = re.compile(rf"\s*\[\s*{re.escape(name)}\s*\]")
    wrong = next((at for at, row in enumerate(rows, 1) if single.match(row)), line)
    return wrong, f"it must be written [[{name}]], for there may be several", f"[[{name}]]"


def _unclosed(rows: list[str], line: int) -> tuple[int, str, str] | None:
    """Return the line, at a fault or before it, whose bracket or quote does not close, or None."""
    bare = _bare(rows[line - 1])
    if bare.count('"') == 1:
        row = rows[line - 1].split("#")[0].strip()
        simple = re.search(r'=\s*"[^"]*$', row)
        shown = f'{row}"' if simple else 'path = [["08:30", 0.3, 3.8], ["12:00", "stay"]]'
        return line, "a quote that begins must end", _right(shown)
    if _BEGINS.match(bare) and "=" not in bare and _depth(bare) > 0:
        return line, "a bracket that opens must close", _right(bare.strip() + "]" * _depth(bare))
    first = line - 1
    while first and not _BEGINS.match(rows[first - 1]):
        first -= 1
    deep = [_depth(_bare(row)) for row in rows[max(first - 1, 0) : line - 1]]
    # What begins anew in the middle of a list, or the end of the file, is not what is wrong.
    anew = _BEGINS.match(rows[line - 1]) or not "".join(rows[line - 1 :]).strip()
    before = next((at for at in range(len(deep) - 1, 0, -1) if rows[first + at - 1].strip()), 0)
    inner = before and deep[before] > 0 and rows[first + before - 1].rstrip()[-1] not in "[,"
    if not first or sum(deep) <= 0 or not (anew or inner):
        return None
    odd = before if inner else next((at for at, one in enumerate(deep) if at and one > 0), 0)
    begins = _BEGINS.match(rows[first - 1])
    key = (begins[1] if begins else None) or "size_m"
    row = rows[first + odd - 1].split("#")[0].strip().rstrip(",")
    closed = row + "]" * deep[odd]
    known = next((it.keys[key].example for it in TABLES.values() if key in it.keys), "[6.0, 4.0]")
    shown = f"{key} = [{closed}]" if odd else closed
    if not odd and len(deep) > 1 and row.endswith("["):
        shown = f"{key} = {known}"
    return first + odd, "a bracket that opens must close", _right(shown, f"{key} = {known}")


def _bare(row: str) -> str:
    """Return a row without its texts and its comment."""
    return _TEXT.sub("", row).split("#")[0]


def _depth(bare: str) -> int:
    return bare.count("[") - bare.count("]")


def _right(*examples: str) -> str:
    """Return the first of these that can be read, or another one."""
    for example in examples:
        try:
            tomllib.loads(example)
        except tomllib.TOMLDecodeError:
            continue
        return example
    return "size_m = [6.0, 4.0]"


# Words of a fault: how a table is called, an example of it, and which key was meant.

# Of keys that exclude each other, the one that is shown.
_CHOSEN = {
    **dict.fromkeys(("person", "walker", "arrivals"), "activity"),
    "thermometers": "count",
    "heater": "rect_m",
}
# What a key may end in after its own name; the longest first.
UNITS = (
    *("m2_per_s", "w_per_m2k", "m_per_s", "per_h", "per_s", "m2", "min", "mm", "cm", "px"),
    *("m", "w", "kw", "c", "k", "f", "s", "h"),
)


def told(where: Where) -> str:
    """Return a table as one would say it.

    >>> told(("wall", 1)), told(("room",))
    ('[[wall]] 2', '[room]')
    """
    return f"[[{where[0]}]] {int(where[1]) + 1}" if len(where) > 1 else f"[{where[0]}]"


def example_of(name: str) -> str:
    """Return a table with every key that it must have, one of each choice."""
    table = TABLES[name]
    head = f"[[{name}]]" if table.many else f"[{name}]"
    needed = [
        f"{key} = {spec.example}"
        for key, spec in table.keys.items()
        if spec.default is REQUIRED or key == _CHOSEN.get(name)
    ]
    return "\n".join([head, *needed])


def meant(key: str, keys: list[str]) -> tuple[str, str]:
    """Return the key that was meant, or "", and what is wrong with its unit, or ""."""
    for known in keys:
        if known.startswith(f"{key}_") and known.removeprefix(f"{key}_") in UNITS:
            return known, f"{key} has no unit"
    for unit in UNITS:
        stem = key.removesuffix(f"_{unit}")
        for known in keys:
            if stem != key and (
                known == stem
                or (known.startswith(f"{stem}_") and known.removeprefix(f"{stem}_") in UNITS)
            ):
                return known, f"{key} is in another unit"
    near = get_close_matches(key, keys, 1)
    return (near[0] if near else ""), ""


def xy(x: float, y: float) -> str:
    """Return a place as a room file writes it."""
    return f"[{x:.4g}, {y:.4g}]"


# What people switch or open: never public, so never read.
_ANSWERS = re.compile(r"thermostat|setpoint|contact|presence|(^|_)meter")


@dataclass(frozen=True, slots=True)
class Source:
    """A file, what it holds, and in which line each part of it stands."""

    path: Path
    document: dict[str, Any]
    lines: dict[Where, int]

    def fault(self, where: Where, given: str, expected: str, why: str, example: str) -> ValueError:
        """Return a fault: file and line, what was given, what is needed and why, an example."""
        shown = "".join(f"\n    {row}" for row in example.splitlines())
        return ValueError(
            f"{self.path} line {self.line(where)}: {given}, but {expected}, for {why}. "
            f"For example:{shown}"
        )

    def line(self, where: Where) -> int:
        """Return the line of a place in the file."""
        return lines.line_of(self.lines, where)

    def table(self, name: str) -> dict[str, Any] | None:
        """Return the values of a table that may be there once, or None."""
        if name not in self.document:
            return None
        return self._values(name, self.document[name], (name,))

    def tables(self, name: str) -> tuple[dict[str, Any], ...]:
        """Return the values of all tables of a name."""
        given = self.document.get(name, [])
        if isinstance(given, dict):  # of thermometers one kind is the usual
            return (self._values(name, given, (name,)),)
        return tuple(self._values(name, one, (name, at)) for at, one in enumerate(given))

    def group(self, index: int) -> Where:
        """Return where a group of thermometers is: a table, or one of several."""
        many = isinstance(self.document["thermometers"], list)
        return ("thermometers", index) if many else ("thermometers",)

    def faults(self) -> list[ValueError]:
        """Return every table and key that is unknown, missing or of another kind, by line."""
        found: list[tuple[int, ValueError]] = []
        stray = [name for name, it in self.document.items() if not isinstance(it, dict | list)]
        for name, given in self.document.items():
            if name in stray[1:]:
                continue  # above all tables; the first is enough
            for where, one in self._apart(name, given):
                if one is None:
                    found.append((self.line(where), self._odd_table(name)))
                else:
                    found += list(self._odd_keys(name, one, where))
        return [fault for _, fault in sorted(found, key=lambda pair: pair[0])]

    def one_of(self, name: str, where: Where, values: dict[str, Any], *keys: str) -> None:
        """Refuse a table that has none, or more than one, of the keys that say the same.

        Raises:
            ValueError: that is so.
        """
        found = [key for key in keys if values[key] is not None]
        if len(found) != 1:
            example = f"{keys[0]} = {TABLES[name].keys[keys[0]].example}"
            raise self.fault(
                (*where, found[1]) if found else where,
                f"{told(where)} has {' and '.join(found) or f'no {keys[0]}'}",
                f"exactly one of {' and '.join(keys)} is needed",
                TABLES[name].keys[keys[0]].why,
                example,
            )

    def _apart(self, name: str, given: Any) -> list[tuple[Where, dict[str, Any] | None]]:
        """Return each table of a name, and where; None where it is not written as one."""
        if name in TABLES:
            many = TABLES[name].many
            if isinstance(given, dict) and (not many or name == "thermometers"):
                return [((name,), given)]
            if many and isinstance(given, list) and all(isinstance(one, dict) for one in given):
                return [((name, at), one) for at, one in enumerate(given)]
        return [((name,), None)]

    def _odd_keys(
        self, name: str, given: dict[str, Any], where: Where
    ) -> Iterator[tuple[int, ValueError]]:
        keys = TABLES[name].keys
        instead = {meant(key, list(keys))[0] for key in given if key not in keys}
        for key in given:
            if key not in keys:
                yield self.line((*where, key)), self._unknown_key(name, key, where)
        for key, spec in keys.items():
            if key in given or key not in instead:  # told already, by another name
                try:
                    self._value(key, spec, given, where)
                except ValueError as fault:
                    yield self.line((*where, key)), fault

    def _values(self, name: str, given: dict[str, Any], where: Where) -> dict[str, Any]:
        return {
            key: self._value(key, spec, given, where) for key, spec in TABLES[name].keys.items()
        }

    def _value(self, key: str, spec: Key, given: dict[str, Any], where: Where) -> Any:
        if key not in given:
            if spec.default is REQUIRED:
                raise self.fault(
                    where,
                    f"{told(where)} has no {key}",
                    f"it needs {spec.kind.expected}",
                    spec.why,
                    f"{key} = {spec.example}",
                )
            return spec.default
        try:
            return spec.kind.read(given[key])
        except Wrong as wrong:
            raise self.fault(
                (*where, key, *wrong.at),
                f"{key} of {told(where)} has {wrong.given}"
                if wrong.given
                else f"{key} of {told(where)} is {given[key]!r}",
                f"must be {wrong.expected or spec.kind.expected}",
                wrong.why or spec.why,
                f"{key} = {wrong.example or spec.example}",
            ) from wrong

    def _unknown_key(self, name: str, key: str, where: Where) -> ValueError:
        keys = TABLES[name].keys
        right, given = meant(key, list(keys))
        expected = (
            f"the key must be {right}" if right in keys else f"the keys are {', '.join(keys)}"
        )
        right = right or next(iter(keys))
        why = (
            "a number without its unit is taken for another"
            if given
            else "it answers people: what it tells of them the promise does not count"
            if _ANSWERS.search(key)
            else "what is not understood would be left out of the room"
        )
        return self.fault(
            (*where, key),
            given or f"{told(where)} has an unknown key {key}",
            expected,
            why,
            f"{right} = {keys[right].example}",
        )

    def _odd_table(self, name: str) -> ValueError:
        if name not in TABLES:
            near = get_close_matches(name.lower(), TABLES, 1) or ["room"]
            return self.fault(
                (name,),
                f"there is a table or key {name!r}",
                f"the tables are {', '.join(TABLES)}",
                "what is not understood would be left out of the room",
                example_of(near[0]),
            )
        many = TABLES[name].many
        return self.fault(
            (name,),
            f"{name} is written {'as if there were one' if many else 'as if there were several'}",
            f"it must be written {f'[[{name}]]' if many else f'[{name}]'}",
            "there may be several" if many else "there is only one",
            example_of(name),
        )

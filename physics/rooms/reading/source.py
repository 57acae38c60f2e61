"""A room file and its lines, and how a fault in it is told."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from . import lines
from .keys import REQUIRED, Key
from .kinds import Wrong
from .lines import Where
from .tables import TABLES
from .wording import example_of, meant, told

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

"""Every row of the tables is a mistake that can be made, found wherever the code went.

This takes seconds, where trying them all takes minutes: whoever changes a line that a row is
about learns it here.
"""

import ast
import re
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.mutants import changes, survey, trial
from tests.mutants.planting import ROOT, node_id, planted, spans


class Row(NamedTuple):
    """A mistake, without what must see it."""

    where: str
    old: str
    new: str = ""


def test_every_row_is_about_code_that_is_there_once() -> None:
    """A row whose code is gone would be a trap that nobody watches any more."""
    stale = []
    for table in sorted(set(Path(__file__).parent.rglob("*.toml")) - {changes.DATA}):
        for guard, rows in tomllib.loads(table.read_text("utf-8")).items():
            for row in rows:
                try:
                    planted(Row(row["where"], row["old"], row.get("new", "")))
                    node_id(guard) if table.parent.name == "safety" else None
                except (AssertionError, SyntaxError) as fault:
                    stale.append(f"{table.name}: {row['trap']}: {fault}")

    assert stale == []


def test_code_is_found_however_it_is_laid_out() -> None:
    """A formatter, a comment or another indentation must not make a row stale."""
    text = 'if not (one  # why\n        or two):\n    go("a  b")\n'

    assert list(spans(text, 'if not (one or two): go("a  b")', 0, len(text))) == [(0, 50)]
    assert not list(spans(text, 'go("a b")', 0, len(text)))


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (Row("Budget.charge", "return True or False"), "0 times"),
        (Row("Budget.charge", "self"), r"\d\d times"),
        (Row("claims", "effort"), r"the end of \d\d names"),
        (Row("Budget.nothing", "self"), "the end of 0 names"),
    ],
)
def test_a_row_that_is_about_nothing_or_about_several_places_is_stale(row: Row, why: str) -> None:
    """Else another mistake would be tried than the one that is meant."""
    with pytest.raises(AssertionError, match=why):
        planted(row)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("return 1", "return 2", ["f"]),
        ("return 1", "# why\n    return 1", []),
        ("A, B = 3, 4", "A, B = 3, 5", ["<module>"]),
        ("B=7", "B=8", ["<module>"]),
        ("C = 5", "C = 6", ["D"]),
        ("lambda: 6", "lambda: 7", ["D.g"]),
    ],
)
def test_what_a_mistake_changed_is_known(old: str, new: str, what: list[str]) -> None:
    """Only the code of a function may be exchanged; else a mistake would be tried by half."""
    text = "A, B = 3, 4\ndef f(x, B=7):\n    return 1\n"
    text += "class D:\n    C = 5\n    def g(self):\n        return lambda: 6\n"
    codes = (compile(one, "file.py", "exec") for one in (text, text.replace(old, new)))

    assert [one.co_qualname for one, _ in trial.changes(*codes)] == what


def list_alternatives(rule: str) -> list[str]:
    """Return the rule, and the rule with one alternative alone, for each that it has."""
    found, open_groups = [rule], list[list[int]]()
    for mark in re.finditer(r"\\.|\[[^]]*\]|[(|)]", rule):
        if mark[0] == "(":
            open_groups.append([mark.end()])
        elif mark[0] == "|":
            open_groups[-1] += mark.span()
        elif mark[0] == ")":
            ends = [*open_groups.pop(), mark.start()]
            for start, end in zip(ends[::2], ends[1::2], strict=True):
                found.append(rule[: ends[0]] + rule[start:end] + rule[ends[-1] :])
    return found


def test_an_alternative_of_a_rule_is_a_rule() -> None:
    """Of a group within another too; a bracket that is meant as such opens none."""
    assert list_alternatives(r"a(b|c(d|[|]))\(e") == [
        r"a(b|c(d|[|]))\(e",
        r"a(b|c(d))\(e",
        r"a(b|c([|]))\(e",
        r"a(b)\(e",
        r"a(c(d|[|]))\(e",
    ]


def test_what_is_surveyed_is_there() -> None:
    """A module that moved would be left out in silence, and a rule about nothing is not read."""
    data, every, aside = changes.surveyed()
    told = {"where": [one.code for one in aside], "changes": [one.key for one in every]}

    assert all((ROOT / test).is_file() for test in data["tests"])
    assert set(data["skipped"]) <= {guard.name for guard in survey.layers()}
    assert [
        rule
        for kind, name in (("aside", "where"), ("harmless", "changes"))
        for row in data[kind]
        for whole in row[name]
        for rule in list_alternatives(whole)
        if not any(map(re.compile(rule).search, told[name]))
    ] == []
    assert all(row["why"] for kind in ("aside", "harmless") for row in data[kind])


def test_a_survey_changes_operators_and_numbers_and_no_words() -> None:
    """Each change once, in code that runs; what an annotation or an error says is no code."""
    text = "def f(a: 'x < 1') -> 2:\n    if a <= 3 and not a:\n        raise ValueError(4)\n"
    starts = [0, *(i + 1 for i, letter in enumerate(text) if letter == "\n")]
    made = {
        text[:start] + new + text[end:]
        for start, end, new in changes.changes(ast.parse(text), text, starts)
    }
    head, tail = text.splitlines()[0], text.splitlines()[2]

    assert made == {
        f"{head}\n    if {test}:\n{tail}\n"
        for test in ("a < 3 and not a", "a <= 4 and not a", "a <= 3 or not a", "a <= 3 and a")
    }

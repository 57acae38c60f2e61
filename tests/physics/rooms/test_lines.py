"""Where things stand in a TOML text, held against the text itself."""

import tomllib
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from physics.rooms import read
from physics.rooms.source import find

AWKWARD = '''\
# [not.a.table] x = 1
title = "a [[person]] # no comment"

[[person]]   # the first
name = 'one'
path = [ # many lines
    ["08:30", 1, 2],

    ["08:31",
     3, 4], ]
[person.home]
at_m = [1.0,
  2.0]
[[person]]
"na me" = """
two
[[person]]
name = 3"""
dotted.key."with dot.s" = { a = 1, b = [2,
3] }
since = 1979-05-27 07:32:00
[[person.child]]
x = 1
[[person.child]]
x = -0.5e1
'''


def leaves(
    value: Any, where: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield every place of a document and what is there."""
    if where:
        yield where, value
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, part in items:
        yield from leaves(part, (*where, key))


def test_an_awkward_text_is_counted_right() -> None:
    """Strings that look like tables, nested and dotted keys: the lines were counted by hand."""
    found = find(AWKWARD)

    assert found["title",] == 2
    assert (found["person", 0], found["person", 1]) == (4, 14)
    assert [found["person", 0, "path", at] for at in (0, 1)] == [7, 9]
    assert found["person", 0, "path", 1, 1] == 10
    assert (found["person", 0, "home"], found["person", 0, "home", "at_m", 1]) == (11, 13)
    assert found["person", 1, "na me"] == 15
    assert found["person", 1, "dotted", "key", "with dot.s", "b", 1] == 20
    assert found["person", 1, "since"] == 21
    assert [found["person", 1, "child", at, "x"] for at in (0, 1)] == [23, 25]


def test_everything_in_the_sample_is_found_where_it_is_written() -> None:
    """The oracle is the text: each number and word stands in the line that is given for it."""
    text = read.sample()
    found = find(text)
    rows = text.split("\n")
    seen = 0
    for where, value in leaves(tomllib.loads(text)):
        assert where in found
        if isinstance(value, str | int | float):
            written = str(value).lower() if isinstance(value, bool) else str(value)
            assert written in rows[found[where] - 1]
            seen += 1

    assert seen > 250


words = st.text(st.sampled_from("ab[]{}#=,.\"'\\ \n"), max_size=6)
scalars = st.one_of(words, st.integers(-9, 9), st.booleans())

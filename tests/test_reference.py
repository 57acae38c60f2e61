"""What is to be looked up holds all that there is, and each of it with words."""

import re
from typing import Any

import pytest

import heatveil
from gateway.cli import COMMANDS, load_all
from gateway.settings import config
from gateway.web.operations import OPERATIONS
from heatveil.reference import pages

PAGES = pages()


def _options(command: Any, words: str) -> list[tuple[str, str]]:
    """Return each option of a command and of those below it, with the words that call it."""
    found = [(words, name) for one in command.params for name in one.opts if name.startswith("--")]
    for name, below in getattr(command, "commands", {}).items():
        found += _options(below, f"{words} {name}")
    return found


def test_every_command_and_every_option_stands_there_with_words() -> None:
    """What is left out is found by reading the source, or never."""
    parts = re.split(r"(?m)^#+ `(heatveil[^`]*)`", PAGES["commands.md"])
    said = dict(zip(parts[1::2], parts[2::2], strict=True))
    options = _options(load_all(), "heatveil")

    assert {f"heatveil {name}" for name in COMMANDS} <= said.keys()
    assert [
        (words, name)
        for words, name in options
        if not re.search(rf"(?m)^\* `[^`]*{name}\b[^`]*`(, `[^`]*`)*: \S", said[words])
    ] == []


@pytest.mark.parametrize("mechanism", ["thermal", "disk", "ranks"])
def test_every_key_of_a_sample_stands_there(mechanism: str) -> None:
    """A deployment file is written by whoever has the sample and this page."""
    table = ""
    for line in config.sample(mechanism).splitlines():
        if found := re.match(r"\[([a-z_.]+)\]", line):
            table = PAGES["deployment.md"].partition(f"## [{found[1]}]")[2].partition("\n## ")[0]
        if found := re.match(r"(?:# )?([a-z0-9_]+) = .*?\s# ", line):
            assert re.search(rf"\| `{found[1]}` \| \S", table), line


def test_every_address_and_every_public_name_stands_there() -> None:
    """With its sentence, which is the docstring's or the operation's own."""
    assert [
        one.path for one in OPERATIONS if f"{one.path}\n\n{one.says}" not in PAGES["http.md"]
    ] == []
    assert [name for name in heatveil.__all__ if f"\n## {name}\n" not in PAGES["python.md"]] == []
    assert "numpy._typing" not in PAGES["python.md"]

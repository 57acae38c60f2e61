"""The commands that look: they change nothing, and leave with a status that a script can trust."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Heatveil = Callable[..., Any]

LOOKS = [
    ("check",),
    ("ledger",),
    ("show",),
    ("health",),
    ("check", "--json"),
    ("ledger", "--json"),
    ("show", "--json"),
    ("health", "--json"),
]


def contents(folder: Path) -> dict[str, str]:
    """Return a digest of every file."""
    files = [one for one in folder.rglob("*") if one.is_file()]
    return {str(one): hashlib.sha256(one.read_bytes()).hexdigest() for one in files}


@pytest.mark.long
@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
def test_who_looks_changes_nothing(kept: Any, heatveil: Heatveil, words: tuple[str, ...]) -> None:
    """Not one byte, no log of SQLite's, no lock: a look as root must not lock the gateway out."""
    before = contents(kept.path.parent)
    said = heatveil(words[0], "--config", kept.path, *words[1:])

    assert contents(kept.path.parent) == before
    assert said.status == (words[0] == "health")  # nobody serves here
    if "--json" in words:
        assert isinstance(json.loads(said.out), dict)
        assert said.out.count("\n") == 1


@pytest.mark.parametrize("name", ["check", "ledger", "show", "health"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = [", "must be TOML"),
        ("", "[room] is missing"),
        ("\x00", "must be TOML"),
        ("[room]\ncells = 1", "[privacy] is missing"),
        ("[room]\ncells = 1\n[privacy]\nepsilon = '1/1'", "[heat] is missing"),
        (None, "No such file"),
    ],
)
def test_a_wrong_file_is_one_line_whatever_looks_at_it(
    tmp_path: Path, heatveil: Heatveil, name: str, text: str | None, words: str
) -> None:
    """On standard error, or as the one finding of a check; never a traceback."""
    path = tmp_path / "gateway.toml"
    if text is not None:
        path.write_text(text)
    said = heatveil(name, "--config", path)

    assert said.status == 1
    assert words in (said.out if name == "check" else said.err)
    assert (said.out + said.err).count("\n") == (2 if name == "check" else 1)

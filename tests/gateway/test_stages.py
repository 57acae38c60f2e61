"""What a play tells while it works: something to a terminal, nothing to a file."""

import io
from collections.abc import Callable
from typing import Any

import pytest

from gateway.commands import playing
from gateway.commands.choices_thermal import query


class Terminal(io.StringIO):
    """A standard error that somebody looks at."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_is_told_and_a_file_is_not(
    heatveil: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Silence of a minute looks like death; a log wants no spinner."""
    words = ("play", "thermal", "--sources-random", 1, "--sensors", 5, "--seed", 1)
    assert heatveil(*words).err == ""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    assert heatveil(*words).status == 0

    assert "writing the files and the promise ..." in terminal.getvalue()


def test_every_verb_is_a_stage() -> None:
    """The long ones are the noise and the map, and which of them runs is what one asks."""
    told: list[str] = []
    playing.play(
        "thermal",
        lambda: query(sensors="5"),
        sources=None,
        sources_random=1,
        seed=1,
        files=playing.Files(),
        stage=told.append,
    )

    assert list(dict.fromkeys(told)) == [
        "working out the noise",
        "blurring the readings",
        "gathering the reports",
        "drawing the map",
        "holding the map against the truth",
        "working out how near any map could come",
        "writing the files and the promise",
    ]

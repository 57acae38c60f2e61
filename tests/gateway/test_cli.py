"""The command as one types it: what it answers to, and how it leaves."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway import cli
from gateway.commands import playing

COMMANDS = ("demo", "serve", "fleet", "play", "recover", "calibrate")
PROGRAM = Path(sys.executable).with_name("heatveil")


def test_help_names_every_command(heatveil: Callable[..., Any]) -> None:
    """Whoever types the bare name finds the way from there."""
    said = heatveil("--help")

    assert said.status == 0
    assert [name for name in COMMANDS if f"\n  {name} " not in said.out] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_each_of_its_flags(
    heatveil: Callable[..., Any], command: str
) -> None:
    """A flag without a word of help is a riddle."""
    said = heatveil(command, "--help")
    flags = [line.split() for line in said.out.splitlines() if line.startswith("  --")]

    assert said.status == 0
    assert all(len(words) > 2 for words in flags)


def test_help_does_not_wait_for_numpy() -> None:
    """The analyst's libraries take seconds to import on a small machine; help needs none."""
    looked = subprocess.run(
        [sys.executable, "-c", "import sys, gateway.cli; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )

    heavy = {"numpy", "scipy", "cvxpy", "matplotlib", "sqlalchemy", "uvicorn"}
    assert heavy.isdisjoint(looked.stdout.split())


@pytest.mark.parametrize(
    "words",
    [
        ["plai"],
        ["play"],
        ["play", "thermal", "--colour", "red"],
        ["play", "thermal", "--spread", "wide"],
        ["demo", "--sensors", "1"],
        ["serve"],
    ],
)
def test_a_wrong_usage_leaves_with_two(heatveil: Callable[..., Any], words: list[str]) -> None:
    """A script can tell a typing error (2) from a fault of the data (1)."""
    said = heatveil(*words)

    assert said.status == 2
    assert said.out == ""
    assert "Usage:" in said.err


def test_our_own_faults_show_their_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A bug dressed up as the operator's fault would never be reported."""

    def broken(*_: object, **__: object) -> list[str]:
        raise ZeroDivisionError

    monkeypatch.setattr(playing, "play", broken)

    with pytest.raises(ZeroDivisionError):
        cli.main(["play", "thermal"])


def test_the_installed_program_is_the_same_command() -> None:
    """What pip put on the path runs without any of the tests' help."""
    ran = subprocess.run(
        [PROGRAM, "play", "thermal", "--sources-random", "0"], capture_output=True, text=True
    )

    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("heatveil: 0 sources were asked for")
    assert ran.stderr.count("\n") == 1

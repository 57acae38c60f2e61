"""The command as one types it: what it answers to, and how it leaves."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway import cli
from gateway.cli import COMMANDS as TABLE
from gateway.cli import load_all, play
from tests import processes

TOP: Any = load_all()
COMMANDS = sorted(name for name, one in TOP.commands.items() if not hasattr(one, "commands"))
PROGRAM = Path(sys.executable).with_name("heatveil")


def test_help_names_every_command(heatveil: Callable[..., Any]) -> None:
    """Whoever types the bare name finds the way from there."""
    said = heatveil("--help")

    assert said.status == 0
    assert len(COMMANDS) > 15
    assert "Exit status: 0 done; 1 what you can mend" in " ".join(said.out.split())
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


@pytest.mark.parametrize("command", TABLE)
def test_a_line_of_the_help_is_of_a_command_that_explains_itself(command: str) -> None:
    """The lines stand apart from the commands, which are not loaded for them."""
    loaded = TOP.commands[command]

    assert loaded.name == command
    assert loaded.help
    assert len(TABLE[command][2]) < 66  # or it is cut


def test_help_does_not_wait_for_numpy() -> None:
    """The analyst's libraries take seconds to import on a small machine; help needs none."""
    looked = processes.run(
        [sys.executable, "-c", "import sys, gateway.cli; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )

    heavy = {"numpy", "scipy", "cvxpy", "matplotlib", "sqlalchemy", "uvicorn"}
    assert heavy.isdisjoint(looked.stdout.split())


def test_our_own_faults_show_their_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A bug dressed up as the operator's fault would never be reported."""

    def broken(*_: object, **__: object) -> list[str]:
        raise ZeroDivisionError

    monkeypatch.setattr(play, "play", broken)

    with pytest.raises(ZeroDivisionError):
        cli.main(["play", "thermal"])


def test_a_machine_that_is_too_small_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, heatveil: Callable[..., Any]
) -> None:
    """A room of 40,000 sensors and 160,000 cells asks for 47.7 GiB: no bug of ours."""

    def large(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 47.7 GiB")

    monkeypatch.setattr(play, "play", large)
    said = heatveil("play", "thermal")

    assert said.status == 1
    assert "47.7 GiB" in said.err
    assert said.err.count("\n") == 1


@pytest.mark.long
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is Linux's")
def test_a_full_disk_under_what_is_printed_is_said_in_one_line() -> None:
    """Half a sample, half a ledger: whoever redirected it must hear of it."""
    with Path("/dev/full").open("w") as full:
        ran = processes.run(
            [PROGRAM, "config", "--sample"], stdout=full, stderr=subprocess.PIPE, text=True
        )

    assert ran.returncode == 1
    assert "full" in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_a_level_that_is_none_is_refused_by_every_command(
    monkeypatch: pytest.MonkeyPatch, heatveil: Callable[..., Any]
) -> None:
    """Also by one that writes no log: else a typing error is found at the next fault."""
    monkeypatch.setenv("HEATVEIL_LOG", "info")  # so that what the flag sets is forgotten after
    said = heatveil("--log", "loud", "config")

    assert (said.status, said.out) == (1, "")
    assert "HEATVEIL_LOG is 'loud' but must be one of debug, info, warning, error" in said.err
    assert said.err.count("\n") == 1


@pytest.mark.long
def test_the_installed_program_is_the_same_command() -> None:
    """What pip put on the path runs without any of the tests' help."""
    ran = processes.run(
        [PROGRAM, "play", "thermal", "--sources-random", "0"], capture_output=True, text=True
    )

    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("heatveil: 0 sources were asked for")
    assert ran.stderr.count("\n") == 1

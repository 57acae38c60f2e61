"""A rotation that goes on where it was cut off does what it is asked now, or says why not."""

from pathlib import Path
from typing import Any

import pytest

from gateway.cli import devices
from gateway.cli.provision import kept

NAME = "attic"
READINGS = 3  # of the deployment


@pytest.fixture
def made(desk: Any) -> tuple[object, ...]:
    """Return the words that name a stand-in which is the device attic."""
    desk.board()
    where = ("--board", f"folder:{desk.path.parent / 'board'}")
    assert desk.run("provision", NAME, *where, "--settings", desk.own).status == 0
    return where


def budget(desk: Any) -> int:
    held = kept(desk.path, NAME, desk.path.with_name(f"{NAME}.device.json"))
    assert held is not None
    return int(held.limits.budget)


def files(desk: Any) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in desk.path.parent.glob("*.json")}


@pytest.mark.long
def test_keys_that_wait_with_less_are_not_taken_for_a_new_budget(
    desk: Any, made: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a board goes silent early which somebody believes has all of it. Each step is said."""
    whole = budget(desk)
    paid = whole // READINGS
    monkeypatch.setattr(devices, "spent", lambda *_: paid)
    assert desk.run("device", "rotate", NAME, "--keys").status == 0
    assert budget(desk) == whole - paid
    before = files(desk)

    refused = desk.run("rotate", NAME, *made, "--keys", "--new-budget")
    assert refused.status == 1
    for words in ("--new-budget was given", f"{paid} nano-rho", "Run this without --new-budget"):
        assert words in refused.err
    assert files(desk) == before

    assert desk.run("rotate", NAME, *made, "--keys").status == 0
    assert budget(desk) == whole - paid
    assert desk.run("rotate", NAME, *made, "--keys", "--new-budget").status == 0
    assert budget(desk) == whole


@pytest.mark.long
@pytest.mark.parametrize("more", [(), ("--new-budget",)])
def test_keys_that_wait_with_all_of_one_are_brought(
    desk: Any, made: tuple[object, ...], monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    """The control: the same command goes on, and none is made twice."""
    whole = budget(desk)
    monkeypatch.setattr(devices, "spent", lambda *_: whole // READINGS)
    assert desk.run("device", "rotate", NAME, "--keys", "--new-budget").status == 0
    waiting = files(desk)[desk.path.with_name("devices.json")]

    said = desk.run("rotate", NAME, *made, "--keys", *more)
    assert said.status == 0, said.err
    assert budget(desk) == whole
    assert files(desk)[desk.path.with_name("devices.json")] == waiting

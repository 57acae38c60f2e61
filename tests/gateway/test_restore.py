"""An old copy of the store brought back: what its ledger has forgotten, devices have not."""

import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from edge import wire
from gateway import asking, cli
from gateway.storage import files
from gateway.storage.store import Store
from tests import processes

PAGE = (Path(cli.__file__).parent / "README.md").read_text("utf-8")
RHO = Fraction(1, 50)


def asked(home: Any, store: Store, plan: int) -> Any:
    """Open the next round as a campaign does, and return what goes out."""
    planned = home.round(plan)
    one = asking.signed(planned, store.number_of(wire.name_of(planned)), home.devices)
    assert store.open_round(one, 8 * RHO, enrolled=4) == ""
    return one


@pytest.fixture
def copied() -> Callable[[Path, Path], None]:
    """Return what copies a store while it is open, as a backup does."""

    def copy(source: Path, target: Path) -> None:
        with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
            old.backup(new)

    return copy


def test_forgotten_rounds_are_asked_again_and_nobody_answers_them_anew(
    home: Any, tmp_path: Path, copied: Callable[[Path, Path], None]
) -> None:
    """Rounds 1 to 3 are answered; the copy is of after round 1.

    What the page for operators says of a restore: the ledger says less than was spent, the
    devices refuse what they have passed and pay nothing, and after the forgotten rounds have
    been asked again the ledger is what it would have been.
    """
    node = next(iter(home.nodes.values()))
    whole = node._budget.left
    store = Store(tmp_path / "live.sqlite", "testsite")
    frames = []
    for plan in (1, 2, 3):
        one = asked(home, store, plan)
        frames.append(node.answer(one.message, lambda _: [1000]))
        if plan == 1:
            copied(tmp_path / "live.sqlite", tmp_path / "copy.sqlite")
    spent = sum((charge.rho for charge in store.charges()), Fraction(0))
    store.close()
    left = node._budget.left

    restored = Store(tmp_path / "copy.sqlite", "testsite")
    forgot = sum((charge.rho for charge in restored.charges()), Fraction(0))
    again = [asked(home, restored, plan) for plan in (2, 3, 4)]
    answers = [node.answer(one.message, lambda _: [2000]) for one in again]
    found = sum((charge.rho for charge in restored.charges()), Fraction(0))
    restored.close()

    assert (spent, forgot, found) == (3 * RHO, RHO, 4 * RHO)
    assert answers[0] is None  # round 2: passed
    assert answers[1] == frames[2]  # round 3: the very bytes that it said before
    assert answers[2] not in (None, *frames)
    # One answer more was paid for, of four in all: what was asked again cost nothing.
    assert 3 * (left - node._budget.left) == whole - left


def lost(home: Any, folder: Path) -> Path:
    """Return a folder as a crash leaves it: a copy of after round 1, rounds 1 to 3 in the store.

    Its newest rounds are in the log beside it, as they are while a gateway runs.
    """
    live, crashed = folder / "live", folder / "crashed"
    live.mkdir()
    store = Store(live / "heatveil.sqlite", "testsite")
    asked(home, store, 1)
    files.backup(live / "heatveil.sqlite", live / "copy-1.sqlite")
    for plan in (2, 3):
        asked(home, store, plan)
    shutil.copytree(live, crashed)
    store.close()
    assert (crashed / "heatveil.sqlite-wal").stat().st_size > 0
    return crashed


def charged(place: Path) -> Fraction:
    """Return what is in the ledger of a store."""
    store = Store(place, "testsite")
    found = sum((charge.rho for charge in store.charges()), Fraction(0))
    store.close()
    return found


def test_the_restore_that_the_page_tells_brings_the_copy_back_and_nothing_else(
    home: Any, tmp_path: Path
) -> None:
    """Its very lines, in a shell. The control: an old log that stays is read into the copy."""
    block = PAGE[PAGE.index("**Restore only") :]
    lines = re.findall(r"^((?:mkdir lost|cp copy-1).*?)(?: {2,}#.*)?$", block, re.M)
    assert len(lines) == 2
    (tmp_path / "told").mkdir()
    told = lost(home, tmp_path / "told")
    for line in lines:
        processes.run(["sh", "-ec", line], cwd=told, check=True)
    (tmp_path / "careless").mkdir()
    careless = lost(home, tmp_path / "careless")
    processes.run(["sh", "-ec", lines[1]], cwd=careless, check=True)

    assert charged(told / "heatveil.sqlite") == RHO
    assert charged(told / "lost" / "heatveil.sqlite") == 3 * RHO
    assert charged(careless / "heatveil.sqlite") != RHO

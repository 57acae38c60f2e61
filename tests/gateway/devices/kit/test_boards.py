"""What a board says of itself, and files that go there: on a real MicroPython, and on bad ones."""

from pathlib import Path
from typing import Any

import pytest

from gateway.devices.kit import connect, interpreter, selftest
from gateway.devices.kit.boards import (
    BoardFault,
    copy_files,
    hash_files,
    list_files,
    read_file,
    remove_files,
)
from gateway.devices.kit.connect import open_board
from gateway.faults import OperatorFault


class Otherwise:
    """A board on which some lines of the code read otherwise: as a worse one would have it."""

    def __init__(self, board: Any, **changes: str) -> None:
        self.where, self._board = board.where, board
        self._changes = list(changes.values())

    def run(self, code: str) -> str:
        for change in self._changes:
            before, _, after = change.partition(" => ")
            assert before in code, before
            code = code.replace(before, after)
        return str(self._board.run(code))

    def put(self, path: str, data: bytes) -> None:
        self._board.put(path, data)

    def restart(self) -> None:
        self._board.restart()


def test_a_real_interpreter_passes(desk) -> None:
    """Big integers, hashes, a heap that edge fits into."""
    found = interpreter.examine(desk.board(heap_kb=160))
    assert found.heap > 100 * 1024
    assert bytes.fromhex(found.chip) == b"board"
    assert found.entropy


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("(1 << 70) >> 69 == 2 => False", "no big integers"),
        ("(1 << 63) * 3 == 27670116110564327424 => int('x')", "no big integers"),
        ('sys.implementation[0]) => "circuitpython")', "wrong firmware: it is 'circuitpython'"),
        ("sys.implementation[1][:3] => (1, 19, 1)", "MicroPython 1.19.1"),
        ("import hashlib => import hashlip", "no sha256"),
        ("import asyncio => import asincio", "no asyncio"),
        ("machine.unique_id() => machine.serial()", "unique_id"),
        ("gc.mem_free() => 20000", "19 KB of heap"),
        ("import sys => import sis", "ImportError"),
        ("print => printf", "NameError"),
    ],
)
def test_a_board_that_cannot_is_named(desk, change: str, says: str) -> None:
    """One line for whoever holds it: what it is, and what to flash instead."""
    with pytest.raises(OperatorFault, match=says) as refused:
        interpreter.examine(Otherwise(desk.board(), change=change))
    assert "lash" in str(refused.value) or "Take a board" in str(refused.value)


def test_a_heap_too_small_is_said(desk) -> None:
    """By the board itself, when it comes to it: MicroPython's own MemoryError."""
    with pytest.raises(BoardFault, match="memory"):
        selftest.check_frame(desk.board(heap_kb=24))


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("noise.py", "def dgauss", "def other"),
        ("keys.py", 'b"heatveil-noise-v1"', 'b"heatveil-noise-v2"'),
        ("veil.py", "+ z", "+ 2 * z"),
        ("cbor.py", "def ", "def x"),
    ],
)
def test_other_noise_fails_the_self_test(desk, file: str, before: str, after: str) -> None:
    """A module that is not ours makes another frame, or none."""
    board = desk.board()
    selftest.check_frame(board)
    place = desk.path.parent / "board" / "edge" / file
    assert before in place.read_text()
    place.write_text(place.read_text().replace(before, after))

    with pytest.raises(BoardFault):
        selftest.check_frame(board)


def test_files_go_there_once(desk) -> None:
    """Folders are made, what is the same is left, what is spoilt is written again."""
    board = desk.board(bare=True)
    files = {"a/b/c.py": b"x = 1\n", "a/d": bytes(range(256)) * 5, "e": b""}
    assert copy_files(board, files) == list(files)
    assert copy_files(board, files) == []
    assert read_file(board, "a/d") == files["a/d"]
    assert read_file(board, "e") == b""
    assert list_files(board, "a") == {"b": list_files(board, "a")["b"], "d": 1280}
    assert list_files(board, "none") == {}
    board.put("a/d", b"spoilt")
    assert copy_files(board, files) == ["a/d"]
    remove_files(board, ["a/d", "a/d"])
    assert list(hash_files(board, files)) == ["a/b/c.py", "e"]


def test_a_full_flash_is_said(desk) -> None:
    """With the size that is needed; and half a file is not taken for a whole one."""
    board = desk.board(bare=True, flash=1000)
    with pytest.raises(BoardFault, match="flash is full.*1100 bytes"):
        copy_files(board, {"a": bytes(100), "b": bytes(1000)})
    roomy = desk.board()
    assert copy_files(roomy, {"a": bytes(100), "b": bytes(1000)}) == ["b"]


class Worn:
    """A flash that keeps something else than it was given."""

    def __init__(self, board: Any) -> None:
        self.where, self.run, self._board = board.where, board.run, board

    def put(self, path: str, data: bytes) -> None:
        self._board.put(path, data[:-1] + b"?")

    def restart(self) -> None:
        raise AssertionError("nothing to start")


def test_a_flash_that_forgets_is_noticed(desk) -> None:
    """A bit that falls over is another noise, or none."""
    with pytest.raises(BoardFault, match="is not what was written"):
        copy_files(Worn(desk.board()), {"a": b"123"})


def test_a_stand_in_runs_what_the_checkout_fetched(desk, monkeypatch, tmp_path: Path) -> None:
    """`make tools` puts it there and on no PATH; where there is none the sentence names both."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(connect, "TOOLS", Path(desk.program).parent)
    assert open_board(f"folder:{tmp_path / 'flash'}").run("print(1)") == "1\n"
    monkeypatch.setattr(connect, "TOOLS", tmp_path)
    with pytest.raises(OperatorFault, match=r"neither on PATH nor in .*make tools"):
        open_board(f"folder:{tmp_path / 'flash'}")


def test_looking_makes_no_board(desk) -> None:
    """A folder that somebody mistyped is no bare board, and is not one afterwards."""
    folder = desk.path.parent / "typo"
    said = desk.run("doctor", "--board", f"folder:{folder}")
    assert (said.status, f"{folder} is not there" in said.err) == (1, True)
    assert not folder.exists()


def test_the_flash_of_a_stand_in_is_for_its_owner_alone(desk, monkeypatch, tmp_path: Path) -> None:
    """There are keys on it as on a board, and on this machine there are others."""
    monkeypatch.setenv("PATH", str(Path(desk.program).parent))
    board = open_board(f"folder:{tmp_path / 'flash'}")
    board.put("heatveil.json", b"{}")
    assert (tmp_path / "flash").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "flash" / "heatveil.json").stat().st_mode & 0o777 == 0o600

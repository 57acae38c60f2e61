"""The real mpremote, over a socket, to the raw REPL of a real MicroPython: every command whole."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.devices.build import parts
from gateway.devices.kit import connect, interpreter, selftest, standin
from gateway.devices.kit.boards import BoardFault, copy_files, hash_files, read_file
from gateway.devices.kit.connect import Remote
from tests.gateway.devices.kit.rawrepl import RawRepl


@pytest.fixture
def cable(
    desk: Any,
    template: Path,
    need: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Iterator[str]:
    """Return the address of a board that has the modules of edge already."""
    need("mpremote")
    monkeypatch.setattr(connect, "RESET_S", 0.0)
    folder = tmp_path / "flash"
    shutil.copytree(template, folder)
    for name, text in standin.make_firmware(b"at a socket").items():
        (folder / name).write_text(text)
    with RawRepl(desk.program, folder) as repl:
        yield f"socket://127.0.0.1:{repl.port}"


@pytest.mark.long
def test_code_files_and_faults_go_over_the_cable(cable: str, tmp_path: Path) -> None:
    """Each run begins afresh; bytes come back as they went; an exception is its last line."""
    board = Remote(cable)
    found = interpreter.examine(board)
    assert bytes.fromhex(found.chip) == b"at a socket"
    board.run("x = 1")
    with pytest.raises(BoardFault, match="NameError"):
        board.run("print(x)")
    data = {"new/deep/file": bytes(range(256)) * 3, "empty": b""}
    assert copy_files(board, data) == list(data)
    assert read_file(board, "new/deep/file") == data["new/deep/file"]
    assert len(hash_files(board, data)) == 2
    board.restart()
    assert selftest.check_frame(board).heap > 0


@pytest.mark.long
def test_a_device_is_made_over_the_cable(cable: str, desk: Any, tmp_path: Path) -> None:
    """From nothing to ready, by the same few commands with which the doctor asks."""
    text = desk.path.read_text().replace("[mqtt]", '[mqtt]\nhost = "10.9.8.7"')
    desk.path.write_text(text)
    done = desk.run("provision", "attic", "--board", cable, "--settings", desk.own)
    assert done.status == 0, done.err
    assert "the same on CPython" in done.out
    assert "at broker    not waited for" in done.out
    assert (tmp_path / "flash" / parts.SLOTS[0]).stat().st_size > 0


@pytest.mark.long
def test_a_broker_on_this_machine_alone_is_refused_for_a_board(cable: str, desk: Any) -> None:
    """To the board 127.0.0.1 is the board; nobody would ever hear it, nor know why."""
    said = desk.run("provision", "attic", "--board", cable, "--settings", desk.own)
    assert said.status == 1
    assert "is the board itself" in said.err


def test_no_board_at_an_address_is_said(need: Callable[[str], str]) -> None:
    """In one line, with what to do."""
    need("mpremote")
    with pytest.raises(BoardFault) as refused:
        Remote("/dev/ttyNONE").run("pass")
    assert "\n" not in str(refused.value)

"""A board that is looked at and not changed goes on with what it did, whatever came in between."""

import time
from pathlib import Path
from typing import Any

import pytest

from gateway.cli import devices
from gateway.cli.provision import rotate
from gateway.devices.kit import boards
from gateway.devices.kit.boards import Board, BoardFault
from gateway.faults import LinkFault, OperatorFault

NAME = "attic"
BEAT = b"import time\nwhile True:\n    open('/beat', 'w').close()\n    time.sleep_ms(20)\n"


def down(*_: object) -> None:
    raise LinkFault("no MQTT broker at 127.0.0.1:1")


def beats(folder: Path) -> bool:
    """Return whether the board's own program runs, within the time that its start takes."""
    (folder / "beat").unlink(missing_ok=True)
    until_s = time.monotonic() + 60
    while not (folder / "beat").exists() and time.monotonic() < until_s:
        time.sleep(0.05)
    return (folder / "beat").exists()


def rotated(desk: Any, board: Board, *, keys: bool, name: str = NAME) -> None:
    rotate(desk.path, name, board, None, None, None, keys, keys, 0, lambda _: None)


@pytest.fixture
def made(desk: Any) -> Path:
    """Return the folder of a board that is a device."""
    desk.board()
    folder = desk.path.parent / "board"
    words = ("--board", f"folder:{folder}", "--settings", desk.own)
    assert desk.run("provision", NAME, *words).status == 0
    return Path(folder)


@pytest.mark.long
@pytest.mark.parametrize("main", ["main.py", "main.off"])
@pytest.mark.parametrize("keys", [False, True])
def test_without_a_broker_a_rotation_leaves_the_board_at_its_work(
    desk: Any, made: Path, monkeypatch: pytest.MonkeyPatch, keys: bool, main: str
) -> None:
    """Nothing came of it, so the old password counts; a board at its prompt would be silent."""
    (made / "main.py").unlink()
    (made / main).write_bytes(BEAT)
    before = {file: file.read_bytes() for file in desk.path.parent.glob("*.json")}
    monkeypatch.setattr(devices, "at_broker", down)
    board = desk.board(lives=True)
    try:
        with pytest.raises(LinkFault, match="no MQTT broker"):
            rotated(desk, board, keys=keys)

        assert (made / "main.py").exists()
        assert (board.starts, beats(made)) == (1, True)
    finally:
        board.stop()
    assert before == {file: file.read_bytes() for file in desk.path.parent.glob("*.json")}


class Gone:
    """A board whose cable was pulled: nobody answers, and each try takes its time."""

    where, tries = "the board", 0

    def run(self, code: str) -> str:
        self.tries += 1
        raise BoardFault("no board is there")

    def put(self, path: str, data: bytes) -> None:
        raise AssertionError("nothing is written")

    def restart(self) -> None:
        raise AssertionError("there is nothing to start")


def test_who_is_not_there_is_not_started() -> None:
    """Another wait would follow the first. Where it went in between, that is said as well."""
    board = Gone()
    with pytest.raises(BoardFault, match="no board is there"), boards.resume_on_fault(board):
        board.run("pass")
    assert board.tries == 1
    late = pytest.raises(OperatorFault, match=r"too late.*could not be set going again")
    with late, boards.resume_on_fault(board):
        raise OperatorFault("it is too late")

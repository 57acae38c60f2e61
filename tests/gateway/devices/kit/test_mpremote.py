"""The child process that speaks to a board: its words, and what its complaints mean.

mpremote itself needs a serial port; here a program of its command line stands in, which runs
what it is given on a real MicroPython. Its complaints are mpremote's own, word for word.
"""

import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.devices.kit import connect, interpreter, selftest
from gateway.devices.kit.boards import BoardFault, copy_files, read_file
from gateway.devices.kit.connect import Remote
from gateway.faults import OperatorFault
from tests import processes
from tests.waiting import eventually

STANDS_IN = """
import shutil, subprocess, sys
from pathlib import Path
program, folder, said = sys.argv[1:4]
words = sys.argv[4:]
with open(Path(folder, "words"), "a") as file:
    print(*words[:3], file=file)
assert words[0] == "connect", words
if words[1] != "COM7":
    sys.exit("mpremote: failed to access " + words[1] + " (it may be in use by another program)")
if said:
    print(said)
    sys.exit(1)
if words[2] == "run":
    ran = subprocess.run([program, "-X", "heapsize=200k", "-c", Path(words[3]).read_text()],
                         cwd=folder, env={"MICROPYPATH": ".:.frozen"}, capture_output=True)
    sys.stdout.buffer.write((ran.stdout + ran.stderr).replace(b"\\n", b"\\r\\n"))
    sys.exit(ran.returncode)
if words[2:4] == ["fs", "cp"]:
    for at in range(2, len(words), 5):
        assert words[at : at + 2] == ["fs", "cp"], words
        assert words[at + 3].startswith(":")
        assert words[at + 4 : at + 5] in ([], ["+"])
        shutil.copyfile(words[at + 2], Path(folder, words[at + 3][1:]))
        print("cp", *words[at + 2 : at + 4])
elif words[2] != "reset":
    sys.exit("mpremote: '" + words[2] + "' is not a command")
"""
CLOSING = """
import sys
from pathlib import Path
from gateway import cli
from gateway.devices.kit import connect
connect.MEMORY = Path(sys.argv[1])
slow = [sys.executable, "-c", "import time; time.sleep(60)"]
with cli._politely():
    connect.Remote("auto", slow).put("heatveil.json", b"a key")
"""


@pytest.fixture
def remote(desk, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Remote]:
    """Return the function that opens a board; `said` is what mpremote complains of instead."""
    desk.board()
    monkeypatch.setattr(connect, "RESET_S", 0.0)
    script = desk.path.with_name("stands_in.py")
    script.write_text(STANDS_IN)

    def opened(said: str = "", address: str = "COM7") -> Remote:
        folder = desk.path.parent / "board"
        command = [sys.executable, str(script), desk.program, str(folder), said]
        return Remote(address, command)

    return opened


def test_a_board_by_mpremote(desk, remote) -> None:
    """Code runs, files come and go, the frame is the one that it must be."""
    board = remote()
    assert interpreter.examine(board).version.startswith("1.")
    assert copy_files(board, {"a/b": bytes(range(256))}) == ["a/b"]
    assert read_file(board, "a/b") == bytes(range(256))
    assert selftest.check_frame(board).heap > 0
    board.restart()
    words = (desk.path.parent / "board" / "words").read_text().splitlines()
    assert words[-1] == "connect COM7 reset"


def test_no_key_stands_in_a_list_of_processes(desk, remote) -> None:
    """What is run and what is copied goes by files that only their owner can read."""
    board = remote()
    board.run("print(12345)")
    words = (desk.path.parent / "board" / "words").read_text()
    assert "12345" not in words


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ("mpremote: no device found", "cable that carries data"),
        ("mpremote: no device with serial number 123", "no board was found"),
        ("mpremote.transport.TransportError: could not enter raw repl", "Flash MicroPython"),
        ("mpremote: failed to access COM7 (it may be in use by another program)", "no board"),
        ("Traceback (most recent call last):\nMemoryError: memory allocation failed", "memory"),
        ("Traceback (most recent call last):\nOSError: [Errno 5] EIO", "stopped with OSError"),
        ("", "nothing"),
        ("something new", "something new"),
    ],
)
def test_every_complaint_is_one_sentence(remote, said: str, says: str) -> None:
    """What it was, and what to do with the thing in one's hand."""
    with pytest.raises(BoardFault, match=says) as refused:
        remote(said or " ").run("print(1)")
    assert "\n" not in str(refused.value)


def test_a_full_flash_comes_through(remote) -> None:
    """By the number that littlefs gives it."""
    board, full = remote(), remote("mpremote: OSError: [Errno 28] ENOSPC")

    class Full:
        where, run, restart, put = board.where, board.run, board.restart, full.put

    with pytest.raises(BoardFault, match="flash is full"):
        copy_files(Full(), {"a": b"1"})


def test_another_port_is_busy(remote, tmp_path: Path) -> None:
    """The words are mpremote's."""
    port = tmp_path / "ttyACM0"
    port.touch()
    with pytest.raises(BoardFault, match="group dialout"):
        remote(address=str(port)).run("print(1)")


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("/dev/ttyNONE", "cable that carries data"),
        ("COM8", "no board was found"),
        ("socket://127.0.0.1:1", "nobody answers"),
    ],
)
def test_a_port_that_is_not_there_is_not_called_busy(remote, address: str, says: str) -> None:
    """mpremote has the same words for both."""
    with pytest.raises(BoardFault, match=says):
        remote(address=address).run("print(1)")


def test_without_mpremote_it_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With the words that install it; and a program that is none is said too."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(connect, "find_spec", lambda _: None)
    with pytest.raises(OperatorFault, match=r"heatveil\[kit\]"):
        connect.find_program()
    with pytest.raises(OperatorFault, match="cannot be run"):
        Remote("auto", [str(tmp_path / "none")]).run("print(1)")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_terminal_that_closes_leaves_no_keys(tmp_path: Path, number: signal.Signals) -> None:
    """What is on its way to a board lies in a file, which must not outlive the command."""
    words = [sys.executable, "-c", CLOSING, str(tmp_path)]
    with processes.Child(words) as child:
        there = eventually(lambda: list(tmp_path.glob("heatveil-*/0")))
        child.send_signal(number)
    assert there
    assert child.returncode == 128 + number
    assert list(tmp_path.iterdir()) == []


def test_faults_of_a_release_are_told_by_their_sentence(remote) -> None:
    """There they are called after their modules, too."""
    said = 'Traceback (most recent call last):\n  File "core", in a\nPacketsFault: cut short'
    with pytest.raises(BoardFault, match="stopped with PacketsFault: cut short") as refused:
        remote(said).run("print(1)")
    assert refused.value.raised == "PacketsFault: cut short"

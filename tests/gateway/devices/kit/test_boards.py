"""A board: what it says of itself, files that go there, and its self-test; on a real MicroPython.

The real mpremote speaks over a socket to the raw REPL of one, as MicroPython's manual has it:
Ctrl-A enters, Ctrl-B leaves, Ctrl-C interrupts, Ctrl-D runs what came, or resets where nothing
did; the answer is OK, what was printed, Ctrl-D, the traceback, Ctrl-D and a prompt.
"""

import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer import BadParameter

from gateway.devices import bundle
from gateway.devices.kit import connect, modules, selftest
from gateway.devices.kit.boards import BoardFault, copy_files, hash_files, read_file
from gateway.devices.kit.connect import RemoteBoard, lend_board, open_board
from gateway.faults import OperatorFault
from tests import processes
from tests.waiting import eventually


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
    found = modules.read_interpreter(desk.board(heap_kb=160))
    assert found.heap > 100 * 1024
    assert bytes.fromhex(found.chip).endswith(b"/board")
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
        modules.read_interpreter(Otherwise(desk.board(), change=change))
    assert "lash" in str(refused.value) or "Take a board" in str(refused.value)


def test_a_heap_too_small_is_said(desk) -> None:
    """By the board itself, when it comes to it: MicroPython's own MemoryError."""
    with pytest.raises(BoardFault, match="memory"):
        selftest.compare_frame(desk.board(heap_kb=24))


def check_places(board: Any) -> object:
    """Return what the self-test says, of places that are the same each time."""
    return selftest.compare_answers(board, bytes(32))


def check_sums(board: Any) -> object:
    """Return what the self-test says, of sums that are the same each time."""
    with pytest.MonkeyPatch.context() as patch:  # of some seeds all noise is nought either way
        patch.setattr(selftest, "os", SimpleNamespace(urandom=lambda size: bytes(range(size))))
        return selftest.compare_masks(board)


@pytest.mark.parametrize(
    ("check", "file", "before", "after"),
    [
        (selftest.compare_frame, "core/noise.py", "def dgauss", "def other"),
        (selftest.compare_frame, "core/entropy.py", "heatveil-noise-v1", "heatveil-noise-v2"),
        (selftest.compare_frame, "mechanisms/thermal_half.py", r"\) \+ (\w+\[)", r") + 2 * \1"),
        (
            selftest.compare_answers,
            "mechanisms/disk_half.py",
            r"below\((\w+)\.total\)",
            r"below(\1.inner)",
        ),
        (check_places, "mechanisms/disk_half.py", r"(\w+) = -\1\b", r"\1 = \1"),
        (check_places, "mechanisms/disk_half.py", r"\.mode !=", ".mode =="),
        (selftest.compare_masks, "mechanisms/crypto.py", r"return cipher\(.*\)", "raise OSError"),
        (check_sums, "core/shares.py", r"(\w+\.below)", r"0 * \1"),
    ],
)
def test_other_noise_fails_the_self_test(
    desk, check: Callable[[Any], Any], file: str, before: str, after: str
) -> None:
    """A module that is not ours makes another frame or draws another law; a board may lack AES.

    before: a pattern, for a board's modules have short names; its first place is changed.
    """
    board = desk.board()
    check(board)
    place = desk.path.parent / "board" / "edge" / file
    text, found = re.subn(before, after, place.read_text(), count=1)
    assert found == 1
    place.write_text(text)

    with pytest.raises(BoardFault):
        check(board)


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
    with pytest.raises(BoardFault, match="not read back"):
        copy_files(Worn(desk.board()), {"a": b"123"})


def test_the_flash_of_a_stand_in_is_for_its_owner_alone(desk, monkeypatch, tmp_path: Path) -> None:
    """There are keys on it as on a board, and on this machine there are others."""
    monkeypatch.setenv("PATH", str(Path(desk.program).parent))
    board = open_board(f"folder:{tmp_path / 'flash'}")
    board.put("heatveil.json", b"{}")
    assert (tmp_path / "flash").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "flash" / "heatveil.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("fault", [OperatorFault, BoardFault, KeyboardInterrupt, BadParameter])
@pytest.mark.parametrize("written", [False, True])
def test_a_failed_block_leaves_no_folder_or_says_that_it_is_left(
    desk, monkeypatch, tmp_path: Path, written: bool, fault: type[BaseException]
) -> None:
    """A folder that nobody made knowingly is taken for a device later."""
    monkeypatch.setenv("PATH", str(Path(desk.program).parent))
    folder = tmp_path / "flash"

    def refuse() -> None:
        with lend_board(f"folder:{folder}", False) as board:
            board.run("pass")
            if written:
                board.put("boot.py", b"")
            raise fault("no sensor is free")

    with pytest.raises(fault) as refused:
        refuse()

    told = written and issubclass(fault, OperatorFault)
    assert refused.type is fault
    assert folder.exists() == written
    assert ("What was written to" in str(refused.value)) == told


def test_a_folder_of_other_files_is_no_board(desk, tmp_path: Path) -> None:
    """Its owner's main.py would be replaced by a board's."""
    own = tmp_path / "own"
    own.mkdir()
    (own / "machine.py").write_text("mine = True")
    with pytest.raises(OperatorFault, match="folder with other files"):
        open_board(f"folder:{own}")

    assert [file.read_text() for file in own.iterdir()] == ["mine = True"]


BANNER = b"raw REPL; CTRL-B to exit\r\n"
WORKER = """
import sys
names = {"__name__": "__main__"}
while True:
    size = sys.stdin.buffer.readline()
    if not size:
        break
    code = sys.stdin.buffer.read(int(size))
    why = None
    try:
        exec(code, names)
    except BaseException as fault:
        why = fault
    sys.stdout.write("\\x04")
    if why is not None and not isinstance(why, SystemExit):
        sys.print_exception(why, sys.stdout)
    sys.stdout.write("\\x04")
    sys.stdout.flush() if hasattr(sys.stdout, "flush") else None
    if isinstance(why, SystemExit):
        break
"""


class RawRepl:
    """The board; a context manager. `port` is where it listens."""

    def __init__(self, program: str, folder: Path) -> None:
        self._command = [program, "-X", "heapsize=320k", "-c", WORKER]
        self._folder = folder
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.resets = 0
        self._worker: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> "RawRepl":
        self._reset()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)
        self._end()

    def _serve(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            with link, suppress(OSError):
                link.sendall(b"\r\n>>> ")
                self._speak(link)

    def _speak(self, link: socket.socket) -> None:
        raw, code = False, b""
        while came := link.recv(4096):
            for byte in came:
                letter = bytes([byte])
                if letter == b"\x01":
                    if not code.endswith(b"\x05A"):
                        raw, code = True, b""
                        link.sendall(BANNER + b">")
                    else:  # the faster way to paste, which this one knows and has not
                        code = b""
                        link.sendall(b"R\x00")
                elif letter == b"\x02":
                    raw, code = False, b""
                    link.sendall(b"\r\n>>> ")
                elif letter == b"\x03":
                    code = b""
                elif letter == b"\x04" and raw and not code.strip():
                    self._reset()
                    link.sendall(b"OK\r\nMPY: soft reboot\r\n" + BANNER + b">")
                elif letter == b"\x04" and raw:
                    link.sendall(b"OK" + self._ran(code) + b">")
                    code = b""
                elif raw:
                    code += letter

    def _ran(self, code: bytes) -> bytes:
        worker = self._worker
        assert worker.stdout is not None
        worker.stdin.write(b"%d\n" % len(code) + code)
        worker.stdin.flush()
        said = b""
        while said.count(b"\x04") < 2:
            letter = worker.stdout.read(1)
            if not letter:  # it was reset, by what it ran
                self._reset()
                return said + b"\x04" * (2 - said.count(b"\x04"))
            said += letter
        return said.replace(b"\n", b"\r\n")

    def _reset(self) -> None:
        self._end()
        self.resets += 1
        self._worker = processes.Child(
            self._command,
            cwd=self._folder,
            env={"MICROPYPATH": ".:.frozen"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
        )

    def _end(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()
            worker.communicate()


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
    for name, text in connect.make_stand_in_firmware(b"at a socket").items():
        (folder / name).write_text(text)
    with RawRepl(desk.program, folder) as repl:
        yield f"socket://127.0.0.1:{repl.port}"


@pytest.mark.long
def test_code_files_and_faults_go_over_the_cable(cable: str, tmp_path: Path) -> None:
    """Each run begins afresh; bytes come back as they went; an exception is its last line."""
    board = RemoteBoard(cable)
    found = modules.read_interpreter(board)
    assert bytes.fromhex(found.chip) == b"at a socket"
    board.run("x = 1")
    with pytest.raises(BoardFault, match="NameError"):
        board.run("print(x)")
    data = {"new/deep/file": bytes(range(256)) * 3, "empty": b""}
    assert copy_files(board, data) == list(data)
    assert read_file(board, "new/deep/file") == data["new/deep/file"]
    assert len(hash_files(board, data)) == 2
    board.restart()
    assert selftest.compare_frame(board).heap > 0


@pytest.mark.long
def test_a_device_is_made_over_the_cable(cable: str, desk: Any, tmp_path: Path) -> None:
    """From nothing to ready, by the same few commands with which the doctor asks."""
    text = desk.path.read_text().replace("[mqtt]", '[mqtt]\nhost = "10.9.8.7"')
    desk.path.write_text(text)
    done = desk.run("provision", "attic", "--board", cable, "--settings", desk.own)
    assert "the same on CPython" in done.success
    assert "at broker    not waited for" in done.out
    assert (tmp_path / "flash" / bundle.SLOTS[0]).stat().st_size > 0


def test_a_broker_on_this_machine_alone_is_refused_for_a_board(cable: str, desk: Any) -> None:
    """To the board 127.0.0.1 is the board; nobody would ever hear it, nor know why."""
    said = desk.run("provision", "attic", "--board", cable, "--settings", desk.own)
    assert "the board itself" in said.refusal


COMPLAINS = """
import sys
from pathlib import Path
Path(sys.argv[2]).write_text(" ".join(sys.argv[3:]))
sys.exit(sys.argv[1])
"""
CLOSING = """
import sys
from pathlib import Path
from gateway import cli
from gateway.devices.kit import connect
connect.MEMORY = Path(sys.argv[1])
slow = [sys.executable, "-c", "import time; time.sleep(60)"]
with cli._exit_on_end_signals():
    connect.RemoteBoard("auto", slow).put("heatveil.json", b"a key")
"""


def remote(tmp_path: Path, said: str) -> RemoteBoard:
    """Return a board whose mpremote notes its words, and complains."""
    return RemoteBoard("COM7", [sys.executable, "-c", COMPLAINS, said, str(tmp_path / "words")])


def test_no_key_stands_in_a_list_of_processes(tmp_path: Path) -> None:
    """What is run and what is copied goes by files that only their owner can read."""
    board = remote(tmp_path, "busy")
    for do in (lambda: board.run("print(12345)"), lambda: board.put("a", b"12345")):
        with pytest.raises(BoardFault):
            do()
        words = (tmp_path / "words").read_text()
        assert words.startswith("connect COM7")
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
def test_every_complaint_is_one_sentence(tmp_path: Path, said: str, says: str) -> None:
    """What it was, and what to do with the thing in one's hand; the words are mpremote's own."""
    with pytest.raises(BoardFault, match=says) as refused:
        remote(tmp_path, said or " ").run("print(1)")
    assert "\n" not in str(refused.value)


def test_without_mpremote_it_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With the words that install it; and a program that is none is said too."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(connect, "find_spec", lambda _: None)
    with pytest.raises(OperatorFault, match=r"\.\[kit\]"):
        connect.find_mpremote()
    with pytest.raises(OperatorFault, match="cannot be run"):
        RemoteBoard("auto", [str(tmp_path / "none")]).run("print(1)")


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

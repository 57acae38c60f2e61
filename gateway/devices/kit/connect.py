"""From an address to a board: by `mpremote`, or a stand-in in a folder of this PC.

mpremote leaves with 0 where all went well and with 1 else, whatever it was; what went wrong has
to be read off what it prints. It makes a soft reset before it runs anything, and does not start
main.py, so each run begins afresh.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from ...faults import OperatorFault
from .. import bundle
from . import modules
from .boards import RAISED, Board, BoardFault, describe_failure
from .standin import StandIn

LONGEST_S = 120
MEMORY = Path("/dev/shm")  # where a system has a folder in memory: nothing stays on a disk
RESET_S = 2.0
ABSENT = ("no device found", "no device with serial number", "could not open port")
BUSY = ("failed to access", "in use by another program")
SILENT = ("could not enter raw repl", "timeout waiting for", "could not exec command")


def find_program() -> list[str]:
    """Return how mpremote is called here.

    Raises:
        OperatorFault: it is not installed.
    """
    if found := shutil.which("mpremote"):
        return [found]
    if find_spec("mpremote") is not None:
        return [sys.executable, "-m", "mpremote"]
    raise OperatorFault(
        "mpremote is not installed; it is what speaks to a board over USB, and nothing else here "
        "can. Install it: pip install 'heatveil[kit]'"
    )


class Remote:
    """A board at an address: "auto", /dev/ttyACM0, COM3, id:SERIAL, socket://HOST:PORT."""

    def __init__(self, address: str = "auto", command: list[str] | None = None) -> None:
        self.where = "the board" if address == "auto" else f"the board at {address}"
        self._address, self._command = address, command or find_program()

    def run(self, code: str) -> str:
        """Return what the code prints; it goes as a file that only its owner can read."""
        with _folder() as folder:
            script = Path(folder, "step.py")
            script.write_text(code, encoding="utf-8")
            return self._call("run", str(script)).replace("\r\n", "\n")

    def put(self, path: str, data: bytes) -> None:
        """Write a file, and the bytes lie on this machine no longer than that takes."""
        self.put_all({path: data})

    def put_all(self, files: Mapping[str, bytes]) -> None:
        """Write files one after the other, with one start of mpremote, which takes longest."""
        with _folder() as folder:
            words: list[str] = []
            for number, (path, data) in enumerate(files.items()):
                file = Path(folder, str(number))
                with open(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as opened:
                    opened.write(data)
                words += ["+", "fs", "cp", str(file), f":{path}"]
            self._call(*words[1:])

    def restart(self) -> None:
        """Reset the board; mpremote does not wait for it, so till its port is gone we do."""
        self._call("reset")
        time.sleep(RESET_S)

    def _call(self, *words: str) -> str:
        command = [*self._command, "connect", self._address, *words]
        try:
            ran = subprocess.run(
                command, capture_output=True, timeout=LONGEST_S, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired as fault:
            raise BoardFault(
                f"{self.where} did not answer within {LONGEST_S} s; every step takes a few, so it "
                "hangs. Press its reset button, and run this again"
            ) from fault
        except OSError as fault:
            raise OperatorFault(
                f"{command[0]} cannot be run ({fault.strerror}); it is what speaks to a board. "
                "Install it again: pip install 'heatveil[kit]'"
            ) from fault
        said = ran.stdout.decode("utf-8", "replace")
        if ran.returncode == 0:
            return said
        raise self._fault(said + ran.stderr.decode("utf-8", "replace"), words[0])

    def _fault(self, said: str, what: str) -> BoardFault:
        low = said.lower()
        busy = any(word in low for word in BUSY)
        if busy and self._address.startswith("socket:"):
            return BoardFault(
                f"nobody answers at {self._address}, where a board's console must be; without it "
                "nothing can be done there. Start the emulator, or look at its port"
            )
        # Of a port that is not there mpremote says the same; only Windows' own are no files.
        there = os.name == "nt" or "://" in self._address or Path(self._address).exists()
        gone = busy and not there and ":" not in self._address and self._address != "auto"
        if busy and not gone:
            return BoardFault(
                f"{self.where} cannot be opened; one program at a time may speak to "
                "it. Close what has it open (an editor, another terminal); on Linux your user "
                "must be in the group dialout"
            )
        if gone or any(word in low for word in ABSENT):
            return BoardFault(
                f"no board was found (looked for: {self.where}); one with MicroPython must be "
                "plugged in, by a cable that carries data. `mpremote devs` lists what is there; "
                "name it with --board"
            )
        raised = RAISED.findall(said.replace("\r", ""))
        if raised and not any(word in low for word in SILENT):
            return describe_failure(self.where, raised[-1])
        if any(word in low for word in SILENT):
            return BoardFault(
                f"{self.where} is there but gives no MicroPython prompt; its raw REPL is how "
                "everything gets there. Flash MicroPython 1.22 or later (micropython.org/"
                "download), press reset, and run this again"
            )
        last = said.strip().splitlines()[-1:] or ["nothing"]
        return BoardFault(
            f"mpremote {what} failed for {self.where} and said {last[0]!r}; that must go well, or "
            "nobody knows what is on it. Press its reset button, and run this again"
        )


def _folder() -> "tempfile.TemporaryDirectory[str]":
    """Return a folder for its owner alone, to be entered; what is in it may be keys."""
    memory = MEMORY if os.access(MEMORY, os.W_OK) else None
    return tempfile.TemporaryDirectory(prefix="heatveil-", dir=memory)


FOLDER = "folder:"
TOOLS = Path(__file__).resolve().parents[3] / ".tools"  # of a checkout, by `make tools`


def open_board(address: str, lives: bool = False, fresh: bool = True) -> Board:
    """Return the board at an address: auto, a port, socket://HOST:PORT, or folder:PATH.

    Args:
        lives: a stand-in runs its program once it is started; a board always does.
        fresh: a stand-in's folder that is not there is made.

    Raises:
        OperatorFault: what speaks to it is not installed, or there is no such folder.
    """
    if not address.startswith(FOLDER):
        return Remote(address)
    folder = Path(address.removeprefix(FOLDER))
    places = os.pathsep.join([os.environ.get("PATH", ""), str(TOOLS)])
    program = shutil.which("micropython", path=places)
    if program is None:
        raise OperatorFault(
            f"{address} is a stand-in for a board, and micropython is neither on PATH nor in "
            f"{TOOLS}; it is the real interpreter that runs in it. Install it (apt-get install "
            "micropython; in a checkout also make tools), or name a board's port"
        )
    if not fresh and not folder.is_dir():
        raise OperatorFault(
            f"{folder} is not there; it must be the folder of a stand-in, or there is no board to "
            "look at. Name the one that heatveil provision was given"
        )
    folder.mkdir(0o700, parents=True, exist_ok=True)  # its flash, with keys on it
    # Its name among boards: a folder that is copied is another board, as it must be.
    return StandIn(program, folder, chip=str(folder.resolve()).encode(), lives=lives)


@contextmanager
def lend_board(address: str, lives: bool) -> Iterator[Board]:
    """Lend a board for as long as the block lasts; then a stand-in has no power any more.

    Raises:
        OperatorFault: what speaks to it is not installed.
    """
    board = open_board(address, lives)
    try:
        yield board
    finally:
        if isinstance(board, StandIn):
            board.stop()


def load_modules(mpy: bool, release: Path | None) -> dict[str, bytes] | None:
    """Return the modules of edge for a board: compiled here, or of a release; None as it has them.

    Raises:
        OperatorFault: the compiler is not installed, or the release is not whole.
    """
    if release is not None:
        return bundle.read_compiled(release)
    return modules.compile_modules() if mpy else None

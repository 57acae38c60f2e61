"""From an address to a board: by `mpremote`, or a stand-in in a folder of this PC.

mpremote leaves with 0 where all went well and with 1 else, whatever it was; what went wrong has
to be read off what it prints. It makes a soft reset before it runs anything, and does not start
main.py, so each run begins afresh.

A stand-in for a board: a real MicroPython for PCs in a folder, which is its flash.

It has as much heap and flash as a board. Its Wi-Fi is the PC's own network, its clock is right,
its pins go nowhere, and its sensors are those of `StandIn.answers`: they say 25 degrees or the
Brandenburg Gate. What it sends is as blurred as any board's. Where it `lives`,
a restart runs what is in the folder until it is spoken to again or the command ends.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from ...faults import OperatorFault
from .. import bundle
from .boards import RAISED, Board, BoardFault, make_code_fault

# How the program is started that lives in the folder: its flash is the root of all paths, as on a
# board. A reset ends it with status 0, and then it starts again; a fault ends it for good.
START = """
import os, sys
os.umount("/")
os.mount(os.VfsPosix(%r), "/")
os.chdir("/")
sys.path[:] = ["/", ".frozen"]
for name in ("boot.py", "main.py"):
    if name in os.listdir("/"):
        with open(name) as file:
            text = file.read()
        exec(text, {"__name__": "__main__"})
"""

MACHINE = """# a stand-in's; no board has this file
import time


def unique_id():
    return %r


def reset():
    raise SystemExit


def deepsleep(ms):
    time.sleep_ms(ms)
    raise SystemExit


class Pin:
    IN, OUT = 0, 1

    def __init__(self, name, mode=0):
        pass

    def value(self, level=None):
        return 0


class ADC:
    def __init__(self, pin):
        pass

    def read_u16(self):
        return 14895


class UART:
    said = b"$GPGGA,120000.00,5230.97800,N,01322.66200,E,1,08,1.0,40.0,M,45.0,M,,*51\\r\\n"

    def __init__(self, number=1, baudrate=9600, tx=None, rx=None, timeout=0, rxbuf=256):
        self._last = time.ticks_add(time.ticks_ms(), -1000)

    def readinto(self, buffer):
        if time.ticks_diff(time.ticks_ms(), self._last) < 1000:
            return None
        self._last = time.ticks_ms()
        buffer[: len(self.said)] = self.said
        return len(self.said)

    def write(self, data):
        return len(data)


class I2C:
    def __init__(self, number=0, freq=100000, sda=None, scl=None):
        pass

    def readfrom_mem_into(self, address, register, buffer, addrsize=8):
        if address != 0x48:
            raise OSError(19)
        buffer[:] = {0x00: b"\\x0c\\x80", 0x0F: b"\\x01\\x17"}[register]
"""

NETWORK = """# a stand-in's; no board has this file
STA_IF = 0


def country(code):
    pass


class WLAN:
    def __init__(self, mode=STA_IF):
        pass

    def active(self, on=True):
        return True

    def connect(self, ssid, password=None):
        pass

    def disconnect(self):
        pass

    def isconnected(self):
        return True
"""

ONEWIRE = """# a stand-in's; no board has this file
class OneWire:
    def __init__(self, pin):
        pass
"""

# 25 degrees in twelve bits, and the CRC of it.
DS18X20 = """# a stand-in's; no board has this file
class DS18X20:
    def __init__(self, wire):
        pass

    def scan(self):
        return [b"\\x28standin"]

    def convert_temp(self):
        pass

    def read_scratch(self, rom):
        return b"\\x90\\x01\\x4b\\x46\\x7f\\xff\\x0c\\x10\\x33"

    def write_scratch(self, rom, data):
        pass
"""

NTPTIME = """# a stand-in's; no board has this file
def settime():
    pass
"""


def _is_stand_in(folder: Path) -> bool:
    """Return whether a folder holds a stand-in's firmware, so all of it is that board's."""
    with suppress(OSError):
        found = (folder / "machine.py").read_text("utf-8", "replace")
        return found.partition("\n")[0] == MACHINE.partition("\n")[0]
    return False


def make_stand_in_firmware(chip: bytes) -> dict[str, str]:
    """Return the modules by their path; chip: what the board says as its unique id."""
    return {
        "machine.py": MACHINE % chip,
        "network.py": NETWORK,
        "onewire.py": ONEWIRE,
        "ds18x20.py": DS18X20,
        "ntptime.py": NTPTIME,
    }


# A reset or a sleep that is over starts it again. Its standard input is ours: when this process
# ends, however it does, that closes, and the power is off.
AGAIN = """\
exec 3<&0
{ read -r _ <&3; kill -9 0; } &
while "$0" -X "heapsize=$1" -c "$2" </dev/null; do :; done
"""
CONSOLE, LINE = "console.txt", 300


class StandInBoard:
    """A MicroPython in a folder. chip: what it says as its unique id. flash: bytes, or None.

    heap_kb: with words of 64 bits all objects are twice as large as on a board.
    """

    here = True  # so loopback is this machine for it too
    runs_on = False  # when the command is over
    answers = (
        "; on a board in a folder only these answer: ds18b20 on any pin, tmp117 at address 72, "
        "yours as it comes (a TMP36), and gps, fixed for a place"
    )

    def __init__(
        self,
        program: str | Path,
        folder: Path,
        heap_kb: int = 320,
        chip: bytes = b"stand-in",
        flash: int | None = None,
        lives: bool = False,
    ) -> None:
        self.where = f"the stand-in in {folder}"
        self.starts = 0
        self._program, self._folder = str(program), folder
        self._heap_kb, self._flash, self._lives = heap_kb, flash, lives
        self._running: subprocess.Popen[bytes] | None = None
        self._firmware = make_stand_in_firmware(chip)
        for name, text in self._firmware.items():
            (folder / name).write_text(text)

    def run(self, code: str) -> str:
        """Return what the code prints."""
        self.stop()
        command = [self._program, "-X", f"heapsize={self._heap_kb}k", "-c", code]
        ran = subprocess.run(
            command,
            cwd=self._folder,
            env=self._make_environment(),
            capture_output=True,
            text=True,
            timeout=120,
        )
        if ran.returncode == 0:
            return ran.stdout
        said = ran.stdout + ran.stderr
        raised = RAISED.findall(said)
        raise make_code_fault(
            self.where, raised[-1] if raised else f"exit status {ran.returncode}"
        )

    def put(self, path: str, data: bytes) -> None:
        """Write a file, as far as the flash goes."""
        self.stop()
        file = self._folder / path
        if self._flash is not None:
            own = [self._folder / name for name in (*self._firmware, path)]
            files = [one for one in self._folder.rglob("*") if one.is_file() and one not in own]
            held = sum(one.stat().st_size for one in files)
            if held + len(data) > self._flash:
                _write_private(file, data[: max(0, self._flash - held)])
                raise BoardFault(f"{self.where} is full", "OSError: 28")
        _write_private(file, data)

    def restart(self) -> None:
        """Start anew; where it lives, with what its main.py does."""
        self.starts += 1
        self.stop()
        if self._lives:
            start = START % str(self._folder.resolve())
            words = [self._program, f"{self._heap_kb}k", start]
            with open(self._folder / CONSOLE, "wb") as console:
                self._running = subprocess.Popen(
                    ["/bin/sh", "-c", AGAIN, *words],
                    cwd=self._folder,
                    env=self._make_environment(),
                    stdin=subprocess.PIPE,
                    stdout=console,
                    stderr=console,
                    start_new_session=True,
                )

    def read_last_line(self) -> str:
        """Return the last line that its program wrote, since its last start."""
        text = (self._folder / CONSOLE).read_text("utf-8", "replace") if self._lives else ""
        return text.strip().rpartition("\n")[2][:LINE]

    def remove(self) -> bool:
        """Remove its folder if nothing but its firmware is in it; say whether it is gone."""
        if {file.name for file in self._folder.iterdir()} - {*self._firmware}:
            return False
        shutil.rmtree(self._folder)
        return True

    def stop(self) -> None:
        """Take its power away, if it runs."""
        running, self._running = self._running, None
        if running is not None:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            running.communicate()

    def _make_environment(self) -> dict[str, str]:
        return {"PATH": os.environ.get("PATH", ""), "MICROPYPATH": ".:.frozen"}


def _write_private(file: Path, data: bytes) -> None:
    """Write a file for its owner alone: it may hold keys."""
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as opened:
        opened.write(data)


LONGEST_S = 120
MEMORY = Path("/dev/shm")  # where a system has a folder in memory: nothing stays on a disk
RESET_S = 2.0
ABSENT = ("no device found", "no device with serial number", "could not open port")
BUSY = ("failed to access", "in use by another program")
SILENT = ("could not enter raw repl", "timeout waiting for", "could not exec command")


def find_mpremote() -> list[str]:
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
        "can. Install it: pip install -e '.[kit]' in heatveil's checkout"
    )


class RemoteBoard:
    """A board at an address: "auto", /dev/ttyACM0, COM3, id:SERIAL, socket://HOST:PORT."""

    def __init__(self, address: str = "auto", command: list[str] | None = None) -> None:
        self.where = "the board" if address == "auto" else f"the board at {address}"
        self._address, self._command = address, command or find_mpremote()

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
                _write_private(file, data)
                words += ["+", "fs", "cp", str(file), f":{path}"]
            self._call(*words[1:])

    def write_romfs(self, image: bytes) -> None:
        """Write an image of ROMFS into the board's partition; it runs it from its next start."""
        with _folder() as folder:
            file = Path(folder, bundle.IMAGE)
            file.write_bytes(image)
            self._call("romfs", "deploy", str(file))

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
                f"{self.where} did not answer within {LONGEST_S} s and seems to hang. Press its "
                "reset button, and run this again"
            ) from fault
        except OSError as fault:
            raise OperatorFault(
                f"{command[0]} cannot be run ({fault.strerror}); it is what speaks to a board. "
                "Install it again: pip install -e '.[kit]' in heatveil's checkout"
            ) from fault
        said = ran.stdout.decode("utf-8", "replace")
        if ran.returncode == 0:
            return said
        raise self._make_call_fault(said + ran.stderr.decode("utf-8", "replace"), words[0])

    def _make_call_fault(self, said: str, what: str) -> BoardFault:
        low = said.lower()
        busy, silent = (any(word in low for word in words) for words in (BUSY, SILENT))
        if busy and self._address.startswith("socket:"):
            return BoardFault(
                f"no board's console answers at {self._address}. Start the emulator, or correct "
                "its port"
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
        if raised and not silent:
            return make_code_fault(self.where, raised[-1])
        if silent:
            return BoardFault(
                f"{self.where} is there but gives no MicroPython prompt; its raw REPL is how "
                "everything gets there. Flash MicroPython 1.22 or later (micropython.org/"
                "download), press reset, and run this again"
            )
        last = said.strip().splitlines()[-1:] or ["nothing"]
        return BoardFault(
            f"mpremote {what} failed for {self.where} and said {last[0]!r}, so this step is not "
            "complete. Press its reset button, and run this again"
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
        OperatorFault: what speaks to it is not installed, or the folder is not there, or another.
    """
    if not address.startswith(FOLDER):
        return RemoteBoard(address)
    folder = Path(address.removeprefix(FOLDER))
    if folder.is_dir() and any(folder.iterdir()) and not _is_stand_in(folder):
        raise OperatorFault(
            f"{address} is no stand-in for a board but a folder with other files in it, which "
            "would be replaced by a board's. Name a folder that is empty, or that is not there yet"
        )
    places = os.pathsep.join([os.environ.get("PATH", ""), str(TOOLS)])
    program = shutil.which("micropython", path=places)
    if program is None:
        raise OperatorFault(
            f"{address} is a simulated board, which runs in micropython, and that is neither on "
            f"PATH nor in {TOOLS}. Install it (apt-get install micropython; in a checkout also "
            "make tools), or name a board's port"
        )
    if not fresh and not folder.is_dir():
        raise OperatorFault(
            f"the folder {folder} does not exist, so there is no stand-in for a board. Name the "
            "folder that heatveil provision was given"
        )
    folder.mkdir(0o700, parents=True, exist_ok=True)  # its flash, with keys on it
    # Its name among boards: a folder that is copied is another board, as it must be.
    return StandInBoard(program, folder, chip=str(folder.resolve()).encode(), lives=lives)


@contextmanager
def lend_board(address: str, lives: bool) -> Iterator[Board]:
    """Lend a board for as long as the block lasts; then a stand-in has no power any more.

    A stand-in that was made for a block which fails goes with it, if nothing was written.

    Raises:
        OperatorFault: what speaks to it is not installed; or the block's own, with what is left.
    """
    new = not Path(address.removeprefix(FOLDER)).exists()
    board = open_board(address, lives)
    if not isinstance(board, StandInBoard):
        yield board
        return
    try:
        yield board
    except BaseException as fault:  # Control-C too
        board.stop()
        if new and not board.remove() and isinstance(fault, OperatorFault):
            fault.args = (
                f"{fault}. What was written to {board.where} stays, as it would on a board; "
                "remove the folder if you do not go on with it",
            )
        raise
    finally:
        board.stop()

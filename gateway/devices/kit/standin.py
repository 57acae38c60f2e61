"""A stand-in for a board: a real MicroPython for PCs in a folder, which is its flash.

It has as much heap and flash as a board. Its Wi-Fi is the PC's own network, its clock is right,
its pins go nowhere, and its sensors say 25 degrees (DS18B20, TMP36, TMP117) or the Brandenburg
Gate (a receiver on any serial line). What it sends is as blurred as any board's. Where it `lives`,
a restart runs what is in the folder until it is spoken to again or the command ends.
"""

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from .boards import RAISED, BoardFault, describe_failure

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

    def readfrom_mem_into(self, address, register, buffer):
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


def make_firmware(chip: bytes) -> dict[str, str]:
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


class StandIn:
    """A MicroPython in a folder. chip: what it says as its unique id. flash: bytes, or None.

    heap_kb: with words of 64 bits all objects are twice as large as on a board.
    """

    here = True  # so loopback is this machine for it too

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
        self._firmware = make_firmware(chip)
        for name, text in self._firmware.items():
            (folder / name).write_text(text)

    def run(self, code: str) -> str:
        """Return what the code prints."""
        self.stop()
        command = [self._program, "-X", f"heapsize={self._heap_kb}k", "-c", code]
        ran = subprocess.run(
            command,
            cwd=self._folder,
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=120,
        )
        if ran.returncode == 0:
            return ran.stdout
        said = ran.stdout + ran.stderr
        raised = RAISED.findall(said)
        raise describe_failure(
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
                self._write(file, data[: max(0, self._flash - held)])
                raise BoardFault(f"{self.where} is full", "OSError: 28")
        self._write(file, data)

    def _write(self, file: Path, data: bytes) -> None:
        """Write a file for its owner alone: it may hold keys."""
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as opened:
            opened.write(data)

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
                    env=self._environment(),
                    stdin=subprocess.PIPE,
                    stdout=console,
                    stderr=console,
                    start_new_session=True,
                )

    def console(self) -> str:
        """Return the last line that its program wrote, since its last start."""
        text = (self._folder / CONSOLE).read_text("utf-8", "replace") if self._lives else ""
        return text.strip().rpartition("\n")[2][:LINE]

    def stop(self) -> None:
        """Take its power away, if it runs."""
        running, self._running = self._running, None
        if running is not None:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            running.communicate()

    def _environment(self) -> dict[str, str]:
        return {"PATH": os.environ.get("PATH", ""), "MICROPYPATH": ".:.frozen"}

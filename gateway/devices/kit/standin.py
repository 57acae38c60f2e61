"""A stand-in for a board: a real MicroPython for PCs in a folder, which is its flash.

Whoever has no board at hand, or tests this kit, gets the real interpreter, with as much heap and
flash as a board has. Its pins, its radio and its sensors are those of `firmware`. Where it
`lives`, a restart runs what is in the folder, over this machine's network, until it is spoken to
again or the command ends: like a board that has its power from the cable.
"""

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from . import firmware
from .board import RAISED, BoardFault, failed

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
        self._firmware = firmware.files(chip)
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
        raise failed(self.where, raised[-1] if raised else f"exit status {ran.returncode}")

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
            start = firmware.START % str(self._folder.resolve())
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

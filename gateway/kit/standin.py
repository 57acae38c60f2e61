"""A stand-in for a board: a real MicroPython for PCs in a folder, which is its flash.

Whoever has no board at hand, or tests this kit, gets the real interpreter, with as much heap and
flash as a board has. It has neither pins nor a radio.
"""

import os
import subprocess
from pathlib import Path

from .board import BoardFault
from .mpremote import RAISED, failed

# A module `machine` of its own: what a board says of itself.
MACHINE = "def unique_id():\n    return %r\n\n\ndef reset():\n    pass\n"


class StandIn:
    """A MicroPython in a folder. chip: what it says as its unique id. flash: bytes, or None."""

    def __init__(
        self,
        program: str | Path,
        folder: Path,
        heap_kb: int = 160,
        chip: bytes = b"stand-in",
        flash: int | None = None,
    ) -> None:
        self.where = f"the stand-in in {folder}"
        self.starts = 0
        self._program, self._folder = str(program), folder
        self._heap_kb, self._flash = heap_kb, flash
        (folder / "machine.py").write_text(MACHINE % chip)

    def run(self, code: str) -> str:
        """Return what the code prints."""
        command = [self._program, "-X", f"heapsize={self._heap_kb}k", "-c", code]
        path = {"PATH": os.environ.get("PATH", ""), "MICROPYPATH": ".:.frozen"}
        ran = subprocess.run(
            command, cwd=self._folder, env=path, capture_output=True, text=True, timeout=120
        )
        if ran.returncode == 0:
            return ran.stdout
        said = ran.stdout + ran.stderr
        raised = RAISED.findall(said)
        raise failed(self.where, raised[-1] if raised else f"exit status {ran.returncode}")

    def put(self, path: str, data: bytes) -> None:
        """Write a file, as far as the flash goes."""
        file = self._folder / path
        if self._flash is not None:
            held = sum(one.stat().st_size for one in self._folder.rglob("*") if one.is_file())
            if held + len(data) > self._flash:
                file.write_bytes(data[: max(0, self._flash - held)])
                raise BoardFault(f"{self.where} is full", "OSError: 28")
        file.write_bytes(data)

    def restart(self) -> None:
        """Count a start; what main.py would do here, nobody can see."""
        self.starts += 1

"""Processes that a test starts, freezes, kills and starts again, and nobody else's."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests import processes

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
MB = 1 << 20


class Child:
    """One process after the other, by the same command; a context manager that leaves none."""

    def __init__(
        self,
        command: Sequence[str | Path],
        log: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.command, self.log = [str(word) for word in command], log
        self.environment = dict(environment or {})
        self.how: dict[str, Any] = {"cwd": ROOT}  # as whom and where it runs
        self.starts = 0
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self, *words: str, **environment: str) -> "Child":
        """Start it, with these words more."""
        assert not self.alive, "it runs already"
        self.starts += 1
        around = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        around |= self.environment | environment
        with self.log.open("ab") as log:
            self._process = processes.Child(
                [*self.command, *words],
                env=around,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **self.how,
            )
        return self

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """kill -9: no goodbye, no flush."""
        if self.alive:
            os.kill(self.pid, signal.SIGKILL)
            self._process.wait()

    def stop(self, patience_s: float = 20.0) -> float:
        """SIGTERM, and wait; return how long that took."""
        began_s = time.monotonic()
        with suppress(ProcessLookupError):
            self._process.terminate()
        self._process.wait(patience_s)
        return time.monotonic() - began_s

    def wait(self, patience_s: float) -> int:
        """Wait until it ends by itself; return its status."""
        return self._process.wait(patience_s)

    def freeze(self) -> None:
        """SIGSTOP: its sockets stay open, and nobody is there."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def said(self) -> str:
        """Return everything that it has said so far, over all starts."""
        return self.log.read_text("utf-8", "replace") if self.log.exists() else ""

    def resident_mb(self) -> float:
        """Return how much memory it holds now."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / MB

    def cpu_s(self) -> float:
        """Return the processor time that it has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def python(script: str, *words: str | Path) -> list[str | Path]:
    """Return the command that runs a script of this folder."""
    return [sys.executable, "-P", HERE / script, *words]

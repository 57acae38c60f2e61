"""A PostgreSQL of a test's own, with one database in it, on a free port; killed at will."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg

from tests import processes
from tests.processes import find_free_port
from tests.waiting import eventually

from .children import Child


class Cluster(Child):
    """The server and its processes; `start` returns once it takes statements."""

    def __init__(self, program: str, *settings: str) -> None:
        """Make its files, in a folder that its user may read; settings as name=value."""
        programs, self.port = Path(program).resolve().parent, find_free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="heatveil-faults-"))
        who: dict[str, Any] = {"cwd": self.folder}
        if os.getuid() == 0:  # it refuses to be run by root
            shutil.chown(self.folder, "postgres")
            who["user"] = "postgres"
        made = [programs / "initdb", "-D", self.folder / "data", "-U", "postgres", "-A", "trust"]
        processes.run([*made, "--no-sync"], check=True, stdout=subprocess.DEVNULL, **who)
        options = f"-c unix_socket_directories={self.folder} -c listen_addresses=127.0.0.1"
        run = [programs / "postgres", "-D", self.folder / "data", *options.split()]
        more = [word for setting in settings for word in ("-c", setting)]
        super().__init__([*run, "-p", str(self.port), *more], self.folder / "postgres.txt")
        self.how = who
        self.words = f"host=127.0.0.1 port={self.port} user=postgres dbname=postgres"

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, *words: str, **environment: str) -> "Cluster":
        until_s = time.monotonic() + 30
        while time.monotonic() < until_s:
            if not self.alive:  # as when the memory of one that was killed is still held
                super().start(*words, **environment)
            if answers(self.words):
                return self
            time.sleep(0.02)
        raise RuntimeError(f"PostgreSQL does not come up: {self.said()[-1000:]}")

    def kill(self) -> None:
        """kill -9 of the server and of everything it has begun, in mid-batch or not."""
        if not self.alive:
            return
        begun = self._begun()
        super().kill()
        for pid in begun | self._begun():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in begun))

    def _begun(self) -> set[int]:
        """Return the processes that the server has begun."""
        found = set()
        for place in Path("/proc").iterdir():
            with suppress(OSError, ValueError, IndexError):
                parent = int((place / "stat").read_text().rsplit(")", 1)[1].split()[1])
                if parent == self.pid:
                    found.add(int(place.name))
        return found


@contextmanager
def postgresql(program: str) -> Iterator[str]:
    """Run a server for as long as the block lasts; give libpq's words for its database."""
    with Cluster(program) as cluster:
        yield cluster.start().words


def answers(words: str) -> bool:
    """Return whether the server takes statements."""
    try:
        psycopg.connect(words, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True

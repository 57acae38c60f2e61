"""Processes that tests start, and the ports they listen on.

Each ends with its test, whatever becomes of either, and no other file of the tests starts one. A
child leads a process group, so what it starts in turn ends with it; and should this process be
killed, a guardian ends the groups that are left.
"""

import atexit
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

PATIENCE_S = 240.0  # the longest that any of them is waited for, where nothing else is said

# Each group is named to it twice: when it is made, and when it is gone.
GUARDIAN = """
import os, signal, sys
groups = set()
for line in sys.stdin:
    groups ^= {int(line)}
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
"""

Words = Sequence[str | Path]
_living: "list[Child]" = []


class Child(subprocess.Popen[Any]):
    """A process in a group of its own, every wait for which is bounded.

    Its block waits for it at the end, or kills its group at once where the block was left by an
    exception. Without a block it is killed at the end of the test that started it.

    Raises:
        subprocess.TimeoutExpired: it did not end in time; it and its group are killed then.
    """

    def __init__(self, command: Words, **options: Any) -> None:
        super().__init__(command, **options, start_new_session=True)
        _living.append(self)
        _tell_guardian(self.pid)

    def wait(self, timeout: float | None = PATIENCE_S) -> int:
        return super().wait(timeout)

    def communicate(
        self, input: str | bytes | None = None, timeout: float | None = PATIENCE_S
    ) -> tuple[Any, Any]:
        return super().communicate(input, timeout)

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self._close()
                self.wait()
        finally:
            self.end()

    def end(self) -> None:
        """Kill it and all of its group that is left."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._close()
        self.wait()
        if self in _living:
            _living.remove(self)
            _tell_guardian(self.pid)

    def _close(self) -> None:
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()


def run(
    command: Words,
    *,
    timeout: float = PATIENCE_S,
    check: bool = False,
    capture_output: bool = False,
    **options: Any,
) -> "subprocess.CompletedProcess[Any]":
    """Return how a command ended, as `subprocess.run` does; nothing that it started is left.

    Raises:
        subprocess.TimeoutExpired: it took longer; it is killed, and so is its group.
        subprocess.CalledProcessError: it ended badly, and is to be checked.
    """
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Child(command, **options) as child:
        said, complained = child.communicate(timeout=timeout)
    ended = subprocess.CompletedProcess(command, child.returncode, said, complained)
    if check:
        ended.check_returncode()
    return ended


@contextmanager
def ended() -> Iterator[None]:
    """Kill, at the end of the block, every child that was started in it and still lives."""
    before = list(_living)
    try:
        yield
    finally:
        for child in [child for child in _living if child not in before]:
            child.end()


@cache
def _guardian() -> "subprocess.Popen[str]":
    """Start who kills the groups that outlive this process; it is in none of them."""
    guardian = subprocess.Popen(
        [sys.executable, "-S", "-c", GUARDIAN],
        stdin=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )

    @atexit.register
    def leave() -> None:
        guardian.communicate(timeout=PATIENCE_S)

    return guardian


def _tell_guardian(group: int) -> None:
    pipe = _guardian().stdin
    assert pipe is not None
    print(group, file=pipe, flush=True)


def _own_ports() -> Iterator[int]:
    """Give out ports of blocks that no other process of the tests takes while this one lives."""
    lowest, size, blocks = 16_384, 64, 256  # below what Linux gives out by itself, 32768 and up
    for turn in range(blocks):
        first = lowest + size * ((os.getpid() + turn) % blocks)
        with socket.socket(type=socket.SOCK_DGRAM) as mark, suppress(OSError):
            mark.bind(("127.0.0.1", first))
            mark.detach()  # it stays open, and marks the block as ours
            yield from range(first, first + size)


_ports = _own_ports()


def find_free_port() -> int:
    """Return a loopback port that nobody listens on, and that nobody else will be given."""
    for port in _ports:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("no port is free")

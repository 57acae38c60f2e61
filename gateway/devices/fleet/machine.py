"""One virtual device in an interpreter of its own: the process, what it says, and what it hears.

Whoever owns the pipes calls `hear` with what came of them (`machines`).
"""

import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import structlog

from .counts import Counts

log = structlog.get_logger()


class Asked(NamedTuple):
    """What one interpreter is told: its first line, and who reads for it in that grain."""

    told: bytes
    read: Callable[[int], Any]


class Machine:
    """One interpreter, over all its lives."""

    def __init__(self, name: str, asked: Asked) -> None:
        self.name, self.asked, self.counts = name, asked, Counts()
        self.up, self.meant = False, False  # on the broker; and whether its end is
        self.process: subprocess.Popen[bytes] | None = None
        self.last = ""  # line that it complained with
        self._part = b""
        self._refused = 0  # in earlier lives

    def start(self, command: list[str], environment: dict[str, str]) -> int:
        """Start it and say who it is; return the descriptor on which it speaks."""
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command,
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.STDOUT,
            bufsize=0,
            env=environment,
            start_new_session=True,  # Ctrl-C is for us alone: we say when it is over
        )
        self.meant, self.last, self._part = False, "", b""
        self._refused = self.counts.refused
        self.say(self.asked.told + b"\n")
        return self.process.stdout.fileno()  # type: ignore[union-attr]

    def hear(self, data: bytes) -> None:
        """Take what it says."""
        *lines, self._part = (self._part + data).split(b"\n")
        for line in lines:
            said = line.decode("ascii", "replace").strip()
            try:
                self._take(*said.partition(" ")[::2])
            except ValueError:  # half a line of one that was killed: no reason to hear nobody
                self.last = said

    def _take(self, word: str, more: str) -> None:
        """Take one line.

        Raises:
            ValueError: a number is none.
        """
        match word:
            case "up" | "down":
                self.up = word == "up"
            case "made" | "received":
                setattr(self.counts, word, getattr(self.counts, word) + 1)
            case "sent" | "acknowledged":
                self.counts.once(word, more.encode())
            case "refused":
                self.counts.refused = self._refused + int(more)
            case "lost":
                self.counts.lost += int(more)
            case "found" if not (self.counts.found or self.counts.made):
                self.counts.found = int(more)
            case "read":
                self.answer(int(more))
            case "why":
                self.last = more
            case "":
                pass
            case _:  # what an interpreter says of a fault
                self.last = f"{word} {more}"

    def gone(self) -> None:
        """Its pipe has ended, and so has it."""
        process, self.process, self.up = self.process, None, False
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
            process.wait()
        if not self.meant:
            log.error("a device's interpreter has ended", device=self.name, why=self.last)

    def answer(self, exponent: int) -> None:
        """Give it what its sensors see; an empty line where they see nothing."""
        try:
            seen = " ".join(str(int(value)) for value in self.asked.read(exponent))
        except Exception as fault:  # never with the number in it
            log.warning("a sensor fails", device=self.name, why=type(fault).__name__)
            seen = ""
        self.say(seen.encode() + b"\n")

    def say(self, line: bytes) -> None:
        """Write a line to it, if it is there."""
        if self.process is not None and self.process.stdin is not None:
            with suppress(OSError, ValueError):
                os.write(self.process.stdin.fileno(), line)

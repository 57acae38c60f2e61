"""The files of a broker: none is overwritten, and all that are missing are made, or none."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ..faults import OperatorFault


class Files:
    """A folder as it is, and what is to be added to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self._made: dict[str, tuple[bytes, bool]] = {}

    def read(self, name: str) -> bytes:
        """Return what a file holds, or will hold.

        Raises:
            OperatorFault: it cannot be read.
        """
        if name in self._made:
            return self._made[name][0]
        try:
            return (self.folder / name).read_bytes()
        except OSError as fault:
            raise self.unfit(name, f"cannot be read ({fault.strerror})") from fault

    def add(self, name: str, content: bytes, *, private: bool = False) -> None:
        """Plan a file; private: for its owner alone."""
        self._made[name] = content, private

    def text(self, name: str, make: Callable[[], str], *, private: bool = False) -> str:
        """Return a file's text; where it is missing, it is made and planned."""
        if self.lack(name):
            self.add(name, make().encode(), private=private)
        try:
            return self.read(name).decode()
        except UnicodeDecodeError as fault:
            raise self.unfit(name, "is no text") from fault

    def lack(self, *names: str) -> list[str]:
        """Return which of these are neither there nor planned."""
        return [n for n in names if n not in self._made and not os.path.lexists(self.folder / n)]

    def refuse_half(self, one: str, other: str, why: str) -> None:
        """Raise OperatorFault when one of the two is there and the other is not."""
        if len(missing := self.lack(one, other)) == 1:
            there = other if missing[0] == one else one
            raise self.unfit(there, f"is there without {missing[0]}, and {why}")

    def unfit(self, name: str, why: str, *also: str) -> OperatorFault:
        """Return the fault of a file that is there and cannot stay."""
        names = " and ".join((name, *also))
        return OperatorFault(
            f"{self.folder / name} {why}; all files of a broker must fit each other, or nobody "
            f"could connect, and none is overwritten. Put right what is wrong, or move {names} "
            "away and run this again. Nothing was written"
        )

    def write(self, inner: str) -> None:
        """Write what is planned, and make an inner folder; after a fault nothing of it stays.

        Raises:
            OperatorFault: there is no room, or we may not.
        """
        begun: list[Path] = []
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self.folder / inner).mkdir(mode=0o700, exist_ok=True)
            for name, (content, private) in self._made.items():
                path = self.folder / name
                mode = 0o600 if private else 0o644
                with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                    begun.append(path)
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
        except OSError as fault:
            for path in begun:
                with suppress(OSError):
                    path.unlink()
            raise OperatorFault(
                f"{fault.filename or self.folder} cannot be written ({fault.strerror}); a broker "
                "needs all its files or none. Give another place with --folder, or make room"
            ) from fault

    def told(self) -> str:
        """Return what was written, in a sentence."""
        if not self._made:
            return f"All files of a broker are in {self.folder} already; nothing was written."
        return f"Written to {self.folder}: {', '.join(self._made)}."

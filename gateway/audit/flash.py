"""Three slots on a flash that loses its power, or its mind, at a chosen write.

What a power cut leaves of a write is anything between nothing and all of it: the new bytes up to
some place, and then the old ones, none, erased ones or noise. What was not flushed vanishes.
"""

from typing import Any

from edge.slots import COUNT

ERASED = b"\xff"
ENDINGS = ("old", "none", "erased", "noise")


class PowerCut(BaseException):
    """The device is off in the middle of a write. No handler of errors may see this."""


class Flash:
    """Slots as `edge.slots` wants them, kept through any number of power cuts.

    kept is what is on the medium. writes counts the writes begun. `fuse` is how many more of
    them are whole before the one in which the power fails; below 0, it does not fail. `drops`
    is how many are done before the flash, worn out, takes no more and does not say so. `rng`
    has the one method `below(n)`.
    """

    def __init__(self, rng: Any) -> None:
        self.kept = [b""] * COUNT
        self.writes = 0
        self.fuse = -1
        self.drops = -1
        self._rng = rng

    def read(self, i: int) -> bytes:
        """Return what slot i holds."""
        return self.kept[i]

    def write(self, i: int, data: bytes) -> None:
        """Write slot i through to the medium, or lose power in the middle of it."""
        self.writes += 1
        if self.fuse == 0:
            self.kept[i] = self.torn(self.kept[i], data)
            raise PowerCut
        self.fuse -= 1
        if self.drops != 0:
            self.kept[i] = bytes(data)
            self.drops -= 1

    def torn(self, old: bytes, new: bytes) -> bytes:
        """Return what a cut may leave of a write, drawn from `rng`: cut at any byte."""
        place = self._rng.below(len(new) + 1)
        rest = len(new) - place
        ending = ENDINGS[self._rng.below(len(ENDINGS))]
        if ending == "old":
            return new[:place] + old[place:]
        if ending == "none":
            return new[:place]
        if ending == "erased":
            return new[:place] + ERASED * rest
        return new[:place] + self._rng.below(1 << (8 * rest)).to_bytes(rest, "big")


class Unflushed:
    """The same flash behind a cache that nobody flushes: read-back sees what a cut forgets."""

    def __init__(self, flash: Flash) -> None:
        self._flash = flash
        self._cached: dict[int, bytes] = {}

    def read(self, i: int) -> bytes:
        """Return what slot i seems to hold."""
        return self._cached.get(i, self._flash.read(i))

    def write(self, i: int, data: bytes) -> None:
        """Put data into the cache, where it stays."""
        self._cached[i] = bytes(data)
        self._flash.writes += 1
        if self._flash.fuse == 0:
            raise PowerCut
        self._flash.fuse -= 1

"""Who listens at the one door for random bits: every block of noise, and what it was made for.

A stream of noise is HMAC-SHA256 over a prefix and a counter. While a Blocks is open it hears the
input of every HMAC that edge.entropy computes, so that a block which serves two frames cannot
hide behind numbers that only look random.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from edge import entropy

Block = tuple[bytes, bytes]  # key, and prefix with counter


class Blocks:
    """The blocks of noise computed, and those that went into a frame which was published.

    deaf: keys of streams that belong to the audit itself.
    """

    def __init__(self, deaf: frozenset[bytes] = frozenset()) -> None:
        self.fresh: set[Block] = set()  # computed since the last frame was published
        self.count = 0  # of all blocks computed
        self.published: dict[Block, bytes] = {}  # and by which frame
        self.frames: set[bytes] = set()
        self.twice = 0  # blocks that two different frames were made of
        self._deaf = deaf

    def heard(self, key: bytes, data: bytes) -> None:
        """Note one block."""
        if key not in self._deaf:
            self.count += 1
            self.fresh.add((key, data))

    def publish(self, frame: bytes) -> None:
        """Note that a frame left the device; the same bytes again are no second use."""
        if frame in self.frames:
            return
        self.frames.add(frame)
        for block in self.fresh:
            self.twice += self.published.setdefault(block, frame) != frame
        self.fresh.clear()


@contextmanager
def listening(*deaf: Any) -> Iterator[Blocks]:
    """Give a Blocks that hears all of edge.entropy but these streams of the audit's own."""
    blocks = Blocks(frozenset(stream._key for stream in deaf))
    whole = vars(entropy)["hmac_sha256"]

    def heard(key: bytes, data: bytes) -> bytes:
        blocks.heard(bytes(key), bytes(data))
        digest: bytes = whole(key, data)
        return digest

    with replaced(entropy, "hmac_sha256", heard):
        yield blocks


@contextmanager
def replaced(module: Any, name: str, value: Any) -> Iterator[None]:
    """Put another thing in the place of a module's, and the old one back."""
    whole = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, whole)

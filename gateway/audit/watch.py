"""Who listens at the one door for random bits: every block of noise, and what it was made for.

A stream of noise is HMAC-SHA256 over a prefix and a counter. While a Blocks is open it hears the
input of every HMAC that edge.entropy computes, so that a block which serves two frames cannot
hide behind numbers that only look random. It counts the numbers drawn as well: a block holds many
small ones, and a frame for which none was drawn is made of another one's.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from edge import entropy

Block = tuple[bytes, bytes]  # key, and prefix with counter


class Blocks:
    """The blocks of noise computed, and those that went into a frame which was published."""

    def __init__(self) -> None:
        self.fresh: set[Block] = set()  # computed since the last frame was published
        self.count = 0  # of all blocks computed
        self.published: dict[Block, bytes] = {}  # and by which frame
        self.frames: set[bytes] = set()
        self.twice = 0  # blocks that two different frames were made of
        self.numbers = 0  # drawn since the last frame was published
        self.bare = 0  # frames for which no number was drawn

    def heard(self, key: bytes, data: bytes) -> None:
        """Note one block."""
        self.count += 1
        self.fresh.add((key, data))

    @property
    def faults(self) -> list[str]:
        """What is wrong with what was published, in words, once for each time."""
        return ["a block of noise was used twice"] * self.twice + [
            "a frame was made without a draw of its own"
        ] * self.bare

    def publish(self, frame: bytes) -> None:
        """Note that a frame left the device; the same bytes again are no second use."""
        if frame in self.frames:
            return
        self.frames.add(frame)
        self.bare += not self.numbers
        self.numbers = 0
        for block in self.fresh:
            self.twice += self.published.setdefault(block, frame) != frame
        self.fresh.clear()


@contextmanager
def listening(*deaf: Any) -> Iterator[Blocks]:
    """Give a Blocks that hears all of edge.entropy but these streams of the audit's own.

    A block is heard where its HMAC is computed: as one, or by its two hashes, of which the outer
    one is known by the digest of the inner one at its end.
    """
    blocks, inner = Blocks(), [b""]
    names: dict[str, Any] = vars(entropy)
    hmac, sha256, stream_of = names["hmac_sha256"], names.get("sha256"), names["Stream"]
    bits, below = stream_of.bits, stream_of.below
    own = [False]  # whether a stream of the audit's own is at work

    def heard(key: bytes, data: bytes) -> bytes:
        if not own[0]:
            blocks.heard(bytes(key), bytes(data))
        digest: bytes = hmac(key, data)
        return digest

    def hashed(data: bytes) -> bytes:
        if not own[0] and data[-len(inner[0]) :] != inner[0]:
            blocks.heard(b"", bytes(data))
        inner[0] = sha256(data) if sha256 else b""
        return inner[0]

    def worked(stream: Any, count: int) -> int:
        before, own[0] = own[0], any(stream is one for one in deaf)
        try:
            found: int = bits(stream, count)
        finally:
            own[0] = before
        return found

    def drawn(stream: Any, n: int) -> int:
        blocks.numbers += all(stream is not one for one in deaf)
        number: int = below(stream, n)
        return number

    with ExitStack() as stack:
        stack.enter_context(replaced(entropy, "hmac_sha256", heard))
        if sha256:
            stack.enter_context(replaced(entropy, "sha256", hashed))
        stack.enter_context(replaced(stream_of, "bits", worked))
        stack.enter_context(replaced(stream_of, "below", drawn))
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

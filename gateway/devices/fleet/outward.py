"""What a device in an interpreter of its own tells of its frames; the words are those of `inside`.

One source for MicroPython and CPython, as edge.
"""

import sys

from edge.mqtt import Client
from edge.spill import File


def say(*words: object) -> None:
    """Tell the process that started us."""
    sys.stdout.write(" ".join([str(word) for word in words]) + "\n")
    if hasattr(sys.stdout, "flush"):
        sys.stdout.flush()


class Kept:
    """Frames without a receipt, in a file before anybody else has them."""

    def __init__(self, path: str, size: int) -> None:
        self._file = File(path, size)
        self.overwritten, self.size, self.trouble = 0, size // 4, ""
        say("found", len(self._file))

    def __len__(self) -> int:
        return len(self._file)

    def put(self, frame: bytes) -> None:
        """Keep a frame; what it pushes out, or that it cannot be kept, is counted."""
        say("made")
        try:
            lost = self._file.put(frame)
        except OSError:
            lost = 1
        if lost:
            self.overwritten += lost
            say("lost", lost)

    def oldest(self) -> bytes | None:
        """Return the frame that waits longest, or None."""
        frame: bytes | None = self._file.oldest()
        return frame

    def free(self, frame: bytes | None = None) -> bool:
        """Forget the oldest, if it is this one where one is given; say whether it was."""
        held = self._file.oldest()
        if held is None or (frame is not None and frame != held):
            return False
        self._file.free()
        say("received")
        return True


class Line(Client):
    """A client that tells what it sends, and which of it the broker has."""

    async def publish(
        self, topic: str, payload: bytes, qos: int = 0, retain: bool = False
    ) -> bool:
        """Return True when the broker has it."""
        frame = topic.endswith("/data")
        if frame:
            say("sent", hash(bytes(payload)))
        taken = await super().publish(topic, payload, qos, retain)
        if frame and taken:
            say("acknowledged", hash(bytes(payload)))
        return bool(taken)

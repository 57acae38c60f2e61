"""Frames that have no receipt yet: noised, signed, and sent again as they are, oldest first.

In memory of a fixed size; what has no room there any more goes to the spill (`spill.File`), or is
lost and counted. What is in here has the noise on it already.
"""


class Ring:
    """Frames in `size` bytes of memory, two more for each, and behind them in a File or None."""

    def __init__(self, size, spill=None):
        # Frames that are lost, at least: for there was no room, or the medium does not have them.
        self.overwritten = spill.torn if spill is not None else 0
        self.trouble = "flash" if self.overwritten else ""  # or "full"; till a receipt comes
        self.size = size
        self.bytes_used = 0
        self.spill = spill
        self._held = bytearray(size)
        self._first = self._count = 0

    def __len__(self):
        return self._count + (len(self.spill) if self.spill else 0)

    def put(self, frame):
        """Take a frame in; where there is no room the oldest ones make it."""
        size = len(frame) + 2
        if size > len(self._held):
            raise ValueError(
                "a frame of %d bytes came to a ring of %d; it must fit with two bytes more, or it "
                "could not be sent again. Make a larger Ring" % (len(frame), len(self._held))
            )
        while self.bytes_used + size > len(self._held):
            self._move()
        self._write(bytes((len(frame) >> 8, len(frame) & 255)))
        self._write(frame)
        self._count += 1

    def oldest(self):
        """Return the bytes of the frame that waits longest, or None."""
        spilled = self._spilled() if self.spill else None
        if spilled is not None or not self._count:
            return spilled
        return self._read(2, self._size())

    def drop_oldest(self, frame=None):
        """Forget the oldest; where a frame is given, only if it is that one. Say whether it was.

        While a frame was under way it may have had to make room, and then the oldest is another.
        """
        held = self.oldest()
        if held is None or (frame is not None and held != frame):
            return False
        if self.spill and len(self.spill):
            self.spill.drop_oldest()
        else:
            self._drop()
        self.trouble = ""
        return True

    def save(self):
        """Bring all of them to the spill, before a sleep that memory does not outlive."""
        while self.spill is not None and self._count:  # an empty one counts as false
            self._move()

    def _spilled(self):
        """Return the oldest frame of the spill; those that it passes over are lost."""
        held = len(self.spill)
        frame = self.spill.oldest()
        if len(self.spill) < held:
            self.overwritten += held - len(self.spill)
            self.trouble = "flash"
        return frame

    def _move(self):
        """Bring the oldest in memory to the spill; count it where that cannot be."""
        lost, trouble = 1, "full"
        try:
            if self.spill is not None:
                lost = self.spill.put(self._read(2, self._size()))
        except OSError:  # the flash is full or gone; the newest readings are worth more
            trouble = "flash"
        if lost:
            self.overwritten += lost
            self.trouble = trouble
        self._drop()

    def _size(self):
        head = self._read(0, 2)
        return head[0] << 8 | head[1]

    def _drop(self):
        size = self._size() + 2
        self._first = (self._first + size) % len(self._held)
        self.bytes_used -= size
        self._count -= 1

    def _read(self, at, size):
        start = (self._first + at) % len(self._held)
        piece = bytes(memoryview(self._held)[start : start + size])
        return piece + bytes(memoryview(self._held)[: size - len(piece)])

    def _write(self, data):
        start = (self._first + self.bytes_used) % len(self._held)
        fits = min(len(data), len(self._held) - start)
        self._held[start : start + fits] = data[:fits]
        self._held[: len(data) - fits] = data[fits:]
        self.bytes_used += len(data)


def File(path, size):
    """Return a `spill.File`, which is loaded only where there is one."""
    from .spill import File as Made

    return Made(path, size)

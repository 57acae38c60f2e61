"""Frames on flash, for an outage that is longer than memory, or for a sleep.

Two files take turns, and each byte is written once before its file begins anew, so the wear is
that of the frames. That one was freed is not noted on the medium until its whole file is: after a
power cut it may come again, and the gateway, which knows it by its number, says again that it has
it. Frames have the noise on them already: who reads the flash learns what was on the wire.

Layout of a file: records of [length 2][CRC-32 4][data], the first of which is the number of its
turn. What a power cut leaves of a record is not taken for one, and nothing is added behind it.
"""

from binascii import crc32

from ..core.compat import add_durably, read_whole, write_durably

HEAD = 6  # bytes before the data of a record


class File:
    """Frames in two files of half of `size` bytes each, path.0 and path.1, oldest first."""

    def __init__(self, path, size):
        self._paths = (path + ".0", path + ".1")
        self._most = size // 2
        self._turn = [0, 0]  # number of the turn, 0 where nothing is held
        self._at = [0, 0]  # where the oldest record is
        self._end = [0, 0]  # where the next one goes; beyond `size` where none may
        self._count = [0, 0]
        self.torn = 0  # places where something lay that cannot be read
        for i in (0, 1):
            try:
                self._scan(i)
            except OSError:  # what does not go by itself will not go when it is written either
                self.torn += 1

    def __len__(self):
        return self._count[0] + self._count[1]

    def put(self, frame):
        """Add a frame and return when it is on the medium: how many had to make room for it.

        Raises OSError where it cannot be written.
        """
        i, lost = self._newest(), 0
        record = _record(frame)
        if HEAD + 4 + len(record) > self._most:
            return 1
        if self._turn[i] and self._end[i] + len(record) <= self._most:
            self._end[i], end = self._most + 1, self._end[i]  # till it is written whole
            add_durably(self._paths[i], record)
            self._end[i] = end + len(record)
        else:
            turn = self._turn[i] + 1
            if self._count[i]:
                i = 1 - i
            lost = self._count[i]
            self._turn[i] = self._count[i] = 0
            head = _record(turn.to_bytes(4, "big"))
            write_durably(self._paths[i], head + record)
            self._turn[i], self._at[i] = turn, len(head)
            self._end[i] = len(head) + len(record)
        self._count[i] += 1
        return lost

    def oldest(self):
        """Return the bytes of the oldest frame or None; what cannot be read is passed over."""
        for _ in (0, 1):
            i = self._oldest()
            if not self._count[i]:
                break
            try:
                with open(self._paths[i], "rb") as file:
                    file.seek(self._at[i])
                    frame = _next(file, self._most)
            except OSError:
                frame = None
            if frame is not None:
                return frame
            self._count[i] = 0
            self._end[i] = self._most + 1
        return None

    def drop_oldest(self):
        """Forget the oldest frame, which `oldest` returned."""
        frame = self.oldest()
        if frame is None:
            return
        i = self._oldest()
        self._at[i] += HEAD + len(frame)
        self._count[i] -= 1
        if not self._count[i]:
            try:
                write_durably(self._paths[i], b"")
                self._turn[i] = 0
            except OSError:  # it begins anew another time
                self._end[i] = self._most + 1

    def _newest(self):
        return 1 if self._turn[1] > self._turn[0] else 0

    def _oldest(self):
        i = 1 - self._newest()
        return i if self._count[i] else 1 - i

    def _scan(self, i):
        """Find what a file holds, up to where it is not whole."""
        if not read_whole(self._paths[i], 1):
            return
        with open(self._paths[i], "rb") as file:
            turn = _next(file, 4)
            if turn is None or len(turn) != 4:
                self.torn += 1
                return
            self._turn[i] = int.from_bytes(turn, "big")
            self._at[i] = end = HEAD + 4
            while True:
                frame = _next(file, self._most)
                if frame is None:
                    break
                self._count[i] += 1
                end += HEAD + len(frame)
            file.seek(end)
            self._end[i] = end
            if file.read(1):
                self.torn += 1
                self._end[i] = self._most + 1


def _record(data):
    return len(data).to_bytes(2, "big") + crc32(data).to_bytes(4, "big") + data


def _next(file, most):
    """Return the data of the record at which a file stands, or None where there is none whole."""
    head = file.read(HEAD)
    if len(head) < HEAD:
        return None
    size = int.from_bytes(head[:2], "big")
    try:
        data = file.read(size) if 0 < size <= most else b""
    except MemoryError:  # no frame of ours: what stands there is rubbish, and no reason to stop
        return None
    return data if data and _record(data)[:HEAD] == head else None

"""The slots of a budget bound to one board: a copy of its flash in another answers nothing.

Two boards of one budget would use the same noise, and their readings would lie open. So a record
that a board writes names that board, in place of the magic number that `core.budget` gives it:

    0xB2 | 3 bytes of HMAC(state key, "heatveil-board-v1" and the board's own number)

and its MAC is over that. A record as an earlier version wrote it is believed as it is, and bound
when it is next written; a board that naps may take sixteen wakes. One that names another board is
evidence, and is left as it lies; one that a power cut tore names nobody.

A copy says `alert` once, and leaves: it has the name of a device that may be at work.
"""

from ..core.budget import COUNT, MAC_BYTES, MAGIC
from ..core.compat import hmac_pads, hmac_sha256, same_bytes

LABEL = b"heatveil-board-v1"
BOUND = b"\xb2"
COPIED = (
    "its budget is bound to another board, computer or folder, and two of one would use the same "
    "noise. Put it back where it was, or make new keys: heatveil "
    "device rotate NAME --keys"
)


def board_number():
    """Return what tells this board from all others; b"" where the firmware cannot say it."""
    try:
        import machine

        return bytes(machine.unique_id())
    except (ImportError, AttributeError):
        return b""


class Bound:
    """Slots for one board alone. number: what tells it from all others; others: its further ones.

    A record is written with the first, and believed with any: a computer may begin to tell one.
    """

    def __init__(self, slots, state_key, number, *others):
        self._slots = slots
        self._key = hmac_pads(state_key)  # once: on a board it takes as long as hashing
        self._ours = [self._name(one) for one in (number,) + others]

    def read(self, i):
        """Return what slot i holds, as `core.budget` packs it where it is this board's."""
        data = self._slots.read(i)
        return self._sign(MAGIC, data) if self._names(data) in self._ours else data

    def write(self, i, data):
        """Write a record into slot i, bound to this board."""
        self._slots.write(i, self._sign(self._ours[0], data))

    def is_copied(self):
        """Say whether the slots are another board's: one is, and none is of this."""
        found = b""
        for i in range(COUNT):
            try:
                name = self._names(self._slots.read(i))
            except OSError:
                continue
            if name in self._ours:
                return False
            found = found or name
        return bool(found)

    def _name(self, number):
        return BOUND + hmac_sha256(self._key, LABEL + number)[:3]

    def _names(self, data):
        """Return what names the board of a record, b"" where none does, or it is not whole."""
        whole = data[:1] == BOUND and same_bytes(data, self._sign(bytes(data[:4]), data))
        return bytes(data[:4]) if whole else b""

    def _sign(self, name, data):
        body = name + bytes(data[4:-MAC_BYTES])
        return body + hmac_sha256(self._key, body)[:MAC_BYTES]

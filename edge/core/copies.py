"""Three slots that hold the same record, signed: no power cut can harm more than one of them.

    magic 4 | counter 8 | epoch 8 | spent 8 | round + 1, 8 | chain key 32 | limits 33 | MAC 16

117 bytes. All numbers are big-endian; the MAC is the start of HMAC-SHA256 over all before it,
under the device's state key.

Each change is written to one slot, flushed and read back, then to the next; the counter rises
by one with each write. Nothing is used before all slots allow it. So a power cut leaves at least
two slots that verify, less than three counters apart, and the newer of them says at least what
was used.

One slot is never believed by itself: it may be an old copy that the medium brought back, and what
was spent since, and the epochs with their noise, would come again. With two slots a cut can leave
just that, one old and one torn; with three it cannot, so it ends the key. An old copy beside a
true one is too far behind it, or says less than the true one, which counts.

Devices that were enrolled with two slots have a third that is empty, and write it at their next
start.
"""

from collections import namedtuple

from . import limits
from .compat import hmac_sha256, same_bytes
from .slots import COUNT

MAGIC = b"hvb1"
MAC_BYTES = 16
SIZE = 4 + 4 * 8 + 32 + limits.BYTES + MAC_BYTES

# counter rises with each write. epoch counts boots. spent is in nano-rho, up to the end of the
# lease. round is the newest one charged when this was written, or -1. chain is the chain key.
Record = namedtuple("Record", ("counter", "epoch", "spent", "round", "chain", "limits"))


class Lost(ValueError):
    """The slots cannot be trusted or cannot be written: nothing may be answered."""


class Copies:
    """Slots under one state key, used as one: `newest` first, or `put` into empty ones."""

    def __init__(self, slots, key):
        self.mended = ""  # which slot did not verify, when the others did
        self._slots = slots
        self._key = key
        self._held = [b""] * COUNT  # what the slots hold, byte by byte; None: it cannot be read
        self._order = list(range(COUNT))  # to write them in: torn ones first, then the older
        self._counter = 0

    def newest(self):
        """Return the newest Record; Lost where two do not tell it, or contradict each other."""
        self._held = [self._look(i) for i in range(COUNT)]
        found = [unpack(data or b"", self._key) for data in self._held]
        order = sorted(range(COUNT), key=lambda i: found[i].counter if found[i] else -1)
        torn, record = found.count(None), found[order[-1]]
        if torn > 1:
            raise self._lost("fewer than two slots verify", found)
        for at in range(torn + 1, COUNT):
            old, new = found[order[at - 1]], found[order[at]]
            if not old.counter < new.counter < found[order[torn]].counter + COUNT:
                raise self._lost("the counters do not follow each other", found)
            if not (new.epoch >= old.epoch and new.spent >= old.spent and new.round >= old.round):
                raise self._lost("the state went backwards", found)
            if new.limits.version < old.limits.version:
                raise self._lost("the limits went backwards", found)
        if torn:
            self.mended = self._says(order[0], None) + ", and is written again"
        self._order, self._counter = order, record.counter
        return record

    def put(self, epoch, spent, round, chain, limits):
        """Write a Record into every slot and read each back; Lost where that fails."""
        for i in self._order:
            if self._look(i) != self._held[i]:
                raise _stopped("slot %d was changed by somebody else" % i)
            record = Record(self._counter + 1, epoch, spent, round, chain, limits)
            data = pack(record, self._key)
            try:
                self._slots.write(i, data)
            except OSError as why:
                raise _stopped("slot %d cannot be written (%s)" % (i, why)) from None
            if self._look(i) != data:
                raise _stopped("slot %d does not hold what was written to it" % i)
            self._held[i] = data
            self._counter += 1

    def _look(self, i):
        try:
            return self._slots.read(i)
        except OSError:
            return None

    def _says(self, i, record):
        if record is not None:
            return "slot %d says counter %d, epoch %d, spent %d, round %d, limits %d" % (
                (i,) + tuple(record[:4]) + (record.limits.version,)
            )
        if self._held[i] is None:
            return "slot %d cannot be read" % i
        return "slot %d holds %d bytes that do not verify" % (i, len(self._held[i]))

    def _lost(self, what, found):
        return Lost(
            "%s: %s; two that verify and follow each other are needed, for one alone may be an "
            "old copy, and nothing else knows what was answered. Look who wrote there, or whether "
            "the flash is worn, then enrol the device again, with a new key"
            % (what, "; ".join([self._says(i, found[i]) for i in range(COUNT)]))
        )


def _stopped(what):
    return Lost(
        "%s; it must be on the medium before it is used, or a power cut would forget what was "
        "answered. Free or mend the flash, let one process alone keep it, then start the device "
        "again" % what
    )


def pack(record, key):
    """Return the bytes of a Record, signed with the state key."""
    body = MAGIC
    for number in (record.counter, record.epoch, record.spent, record.round + 1):
        body += number.to_bytes(8, "big")
    body += record.chain + limits.to_bytes(record.limits)
    return body + hmac_sha256(key, body)[:MAC_BYTES]


def unpack(data, key):
    """Return the Record in a slot, or None where it is cut short, torn or forged."""
    if len(data) != SIZE or data[:4] != MAGIC:
        return None
    body = bytes(data[:-MAC_BYTES])
    if not same_bytes(data[-MAC_BYTES:], hmac_sha256(key, body)[:MAC_BYTES]):
        return None
    numbers = [int.from_bytes(body[at : at + 8], "big") for at in (4, 12, 20, 28)]
    return Record(*(numbers[:3] + [numbers[3] - 1, body[36:68], limits.from_bytes(body[68:])]))

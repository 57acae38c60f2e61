"""What a start alone needs of a budget: its slots read, judged, and the newest believed.

How they are written, and why one of them is never believed by itself, is said in `budget`.
"""

from .budget import BYTES, COUNT, LEAST, MAC_BYTES, MAGIC, SIZE, WIDTHS, Limits, Lost, Record
from .compat import hmac_sha256, same_bytes


def find_newest(look, key):
    """Return the newest Record, what slots hold, in which order to write them, and what was torn.

    look(i) gives the bytes of slot i, None where it cannot be read. Lost where two slots do not
    tell the newest, or contradict each other.
    """
    held = [look(i) for i in range(COUNT)]
    found = [unpack(data or b"", key) for data in held]
    order = sorted(range(COUNT), key=lambda i: found[i].counter if found[i] else -1)
    torn, record = found.count(None), found[order[-1]]
    if torn > 1:
        raise _lost("fewer than two slots verify", found, held)
    for at in range(torn + 1, COUNT):
        old, new = found[order[at - 1]], found[order[at]]
        if not old.counter < new.counter < found[order[torn]].counter + COUNT:
            raise _lost("the counters do not follow each other", found, held)
        went = new.epoch >= old.epoch and new.spent >= old.spent and new.round >= old.round
        if not (went and new.window[:8] >= old.window[:8]):  # which it counts its hours in
            raise _lost("the state went backwards", found, held)
        if new.limits.version < old.limits.version:
            raise _lost("the limits went backwards", found, held)
    mended = _describe(order[0], None, held) + ", and is written again" if torn else ""
    return record, held, order, mended


def unpack(data, key):
    """Return the Record in a slot, or None where it is cut short, torn or forged."""
    if len(data) < SIZE or data[:4] != MAGIC:
        return None
    body = bytes(data[:-MAC_BYTES])
    if not same_bytes(data[-MAC_BYTES:], hmac_sha256(key, body)[:MAC_BYTES]):
        return None
    numbers = [int.from_bytes(body[at : at + 8], "big") for at in (4, 12, 20, 28)]
    numbers[3] -= 1
    return Record(*(numbers + [body[36:68], from_bytes(body[68:]), body[68 + BYTES :]]))


def from_bytes(packed):
    """Return the Limits that `budget.to_bytes` stored."""
    numbers, at = [], 0
    for width in WIDTHS:
        numbers.append(int.from_bytes(packed[at : at + width], "big"))
        at += width
    numbers[1] += LEAST[1]
    return Limits(*numbers)


def _describe(i, record, held):
    if record is not None:
        return "slot %d says counter %d, epoch %d, spent %d, round %d, limits %d" % (
            (i,) + tuple(record[:4]) + (record.limits.version,)
        )
    if held[i] is None:
        return "slot %d cannot be read" % i
    return "slot %d holds %d bytes that do not verify" % (i, len(held[i]))


def _lost(what, found, held):
    return Lost(
        "%s: %s; two that verify and follow each other are needed, for one alone may be an "
        "old copy, and nothing else knows what was answered. Look who wrote there, or whether "
        "the flash is worn, then enrol the device again, with a new key"
        % (what, "; ".join([_describe(i, found[i], held) for i in range(COUNT)]))
    )

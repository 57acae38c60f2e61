"""Which release a board starts: what its host gave it, or one that came over the air.

The base is what `heatveil provision` wrote (or is in the firmware), and nothing from the air
touches it. Two folders hold what came later; the one that runs is never written. Which starts
stands in a record of one line, twice: the newest whole one counts and the other is written next,
so a cut at any byte leaves the old record or the new one.

    seq slot number tries back back_number newest | checksum

slot, number: of the release that starts, 0 for the base. tries: less by one with each start of
its trial, which ends at 1; 0 once it is confirmed. back, back_number: where it goes back to.
newest: the greatest number that was ever started here; only greater ones are taken.

A trial ends by itself: each start takes a try, on the medium before anything of the release is
loaded, and where the board has a timer the base's own code goes back when the time is over, even
if the release hangs. No record: no trial, and nothing of this is loaded.
"""

import sys
from binascii import hexlify
from collections import namedtuple

from ..core.compat import read_whole, sha256, write_durably

ROOTS = ("", "/release.a", "/release.b")
RECORD = "/release."  # and 0 or 1
TRIES = 5  # at the start after so many less one a trial is over
TRIAL_MS = 1800000  # nor does one start of it last longer
TIMERS = (-1, 3, 1)  # a virtual one, else one that nothing else here uses

Record = namedtuple("Record", ("seq", "slot", "number", "tries", "back", "back_number", "newest"))
NONE = Record(0, 0, 0, 0, 0, 0, 0)
_timer = []  # type: ignore[var-annotated]  # of a trial: what nobody holds is collected


def replace(record, **more):
    """Return a Record with other values in it; boards have no `_replace`."""
    names = ("seq", "slot", "number", "tries", "back", "back_number", "newest")
    return Record(*[more.get(name, value) for name, value in zip(names, record)])


def pack(record):
    """Return the line of a record."""
    line = " ".join([str(value) for value in record]).encode()
    return line + b"|" + hexlify(sha256(line)[:4])


def unpack(data):
    """Return the Record of a line, or None where it is none; a later one may say more."""
    line, _, sum = bytes(data).partition(b"|")
    if hexlify(sha256(line)[:4]) != sum:
        return None
    try:
        return Record(*[int(word) for word in line.decode().split()[: len(NONE)]])
    except (ValueError, TypeError):
        return None


def _newest():
    """Return the newest Record, and which of the two it is: 1 where there is none."""
    found, at = NONE, 1
    for i in (0, 1):
        try:
            record = unpack(read_whole(RECORD + str(i), 128))
        except OSError:
            continue
        if record is not None and record.seq > found.seq:
            found, at = record, i
    return found, at


def read():
    """Return the Record in force, `NONE` where nothing came over the air."""
    return _newest()[0]


def is_on_trial(record):
    """Say whether the release of a Record is on trial, and is what runs."""
    return record.tries > 0 and sys.path[:1] == [ROOTS[record.slot]]


def write(record):
    """Put a Record in force; cut off, the one before it is."""
    held, at = _newest()
    write_durably(RECORD + str(1 - at), pack(replace(record, seq=held.seq + 1)))


def go_back(record):
    """Return the Record of a trial that has failed."""
    return replace(record, slot=record.back, number=record.back_number, tries=0)


def give_up():
    """Go back and start again, if what runs is on trial."""
    record = read()
    if record.tries:
        import machine

        write(go_back(record))
        machine.reset()


def choose():
    """Return whether another release than the base starts, which is what imports find then."""
    record = read()
    if record.tries:
        record = _try(record)
    if not record.slot:
        return False
    sys.path.insert(0, ROOTS[record.slot])  # before the flash, what is frozen, and ROMFS
    for name in list(sys.modules):
        if name == "edge" or name.startswith("edge."):
            del sys.modules[name]
    return True


def _try(record):
    """Return what starts while a release is on trial; that this start counts is on the medium."""
    record = go_back(record) if record.tries == 1 else replace(record, tries=record.tries - 1)
    try:
        write(record)
    except OSError:  # a trial that cannot be counted would have no end
        return go_back(record)
    if record.tries:
        _limit()
    return record


def _limit():
    """Go back when the time of the trial is over, whatever the release does, where that works."""
    import machine

    for number in TIMERS if hasattr(machine, "Timer") else ():
        for soft in ({"hard": False}, {}):  # a hard one may not even read a file; some ports
            try:  # have no other, and some do not know the word
                timer = machine.Timer(number)
                when = {"mode": machine.Timer.ONE_SHOT, "period": TRIAL_MS}
                when.update(soft)  # MicroPython has no ** in a dict
                timer.init(callback=lambda timer: give_up(), **when)
                _timer.append(timer)
                return
            except (AttributeError, ValueError, TypeError, OSError):
                pass

"""What a device may still answer: one ledger for all mechanisms."""

# It counts nano-rho, the price of an answer in zero-concentrated differential privacy, which adds
# up whatever the mechanism. It is for the life of the key, or, where the device was enrolled with
# one, for any `window` of so many hours. What it allows is in all three slots (`Copies`) before it
# is used:
#
#     boot      raises the epoch and ratchets the chain key, so the key before is erased
#     charge    spends from a lease; when that ends, the end of the next one is written
#     tighten   takes limits that protect more
#     age       with a window: counts the device's own uptime, once a bucket on the medium
#
# A power cut costs what was left of the lease, at most `lease` answers. An answer costs three
# writes divided by `lease`, and three for BEHIND numbers of Rounds at the least, or for each where
# none may be answered again; as each is paid for, a budget for life bounds the wear of the flash.
# With a window there are three more a bucket, for ever: a short one needs littlefs, which spreads
# them.
# Without a window there is no way to get anything back, and no clock; with one, by the uptime
# that the device has counted itself alone. Slots restored together from a copy cannot be told
# from the truth by the device itself; whoever receives its frames sees the epoch fall back, and
# must say so.
#
# Three slots that hold the same record, signed: no power cut can harm more than one of them.
#
#     magic 4 | counter 8 | epoch 8 | spent 8 | round + 1, 8 | chain key 32 | limits 33 | MAC 16
#
# 117 bytes; with a window 254, for what `window` keeps stands before the MAC.
# All numbers are big-endian; the MAC is the start of HMAC-SHA256 over all before it, under the
# device's state key.
#
# Each change is written to one slot, flushed and read back, then to the next; the counter rises
# by one with each write. Nothing is used before all slots allow it. So a power cut leaves at least
# two slots that verify, less than three counters apart, and the newer of them says at least what
# was used.
#
# One slot is never believed by itself: it may be an old copy that the medium brought back, and
# what was spent since, and the epochs with their noise, would come again. With two slots a cut can
# leave just that, one old and one torn; with three it cannot, so it ends the key. An old copy
# beside a true one is too far behind it, or says less than the true one, which counts.
#
# Devices that were enrolled with two slots have a third that is empty, and write it at their next
# start.

from collections import namedtuple

from .compat import hmac_pads, hmac_sha256, read_whole, same_bytes, write_durably
from .entropy import check_key, ratchet
from .wire import Fault

# What a device will do at most: given when it is enrolled, and over the air only made tighter.
#
#     Limits(version, exponent, square, variance, budget, pace_ms)
#
#     version   rises with every change
#     exponent  the coarsest grain it answers in, 2**-exponent kelvin
#     square    squared sensitivity: how far the worst move changes all readings together, in
#               grains squared
#     variance  the least variance of noise it answers with, in grains squared
#     budget    nano-rho for the life of its key, all mechanisms together
#     pace_ms   the least time between two fresh answers
#
# Whole numbers only, so that every device reckons the same price. In zero-concentrated
# differential privacy an answer costs rho = square / (2 variance), and costs add up.
# Source: Canonne, Kamath and Steinke 2020, Theorem 14.

NAMES = ("version", "exponent", "square", "variance", "budget", "pace_ms")
Limits = namedtuple("Limits", ("version", "exponent", "square", "variance", "budget", "pace_ms"))

# The least and the most of each, in order: what fits its place in a slot of the budget.
LEAST = (1, -64, 1, 1, 0, 0)
MOST = ((1 << 32) - 1, 64, (1 << 63) - 1, (1 << 63) - 1, (1 << 63) - 1, (1 << 32) - 1)
FIELDS = len(NAMES)
BYTES = 33
WIDTHS = (4, 1, 8, 8, 8, 4)  # of each in a slot
NANO = 1000000000


def objection(limits):
    """Return why these are no limits at all, or "" where they are."""
    for i in range(FIELDS):
        if not isinstance(limits[i], int) or not LEAST[i] <= limits[i] <= MOST[i]:
            return (
                "the %s of the limits is no whole number from %d to %d, and a device cannot hold "
                "to what it cannot reckon with; give one that is" % (NAMES[i], LEAST[i], MOST[i])
            )
    return ""


def price(limits, exponent, variance):
    """Return the nano-rho of one answer, rounded up, in grains of 2**-exponent kelvin.

        10**9 * square / (2 * variance)

    with both in kelvin squared: each is a whole number of its own grains squared, and grains
    are powers of two apart, so the quotient is exact until it is rounded.
    """
    if variance < 1:
        raise ValueError(
            "a variance of %d is no noise; it must be at least 1, or an answer has no price. Ask "
            "with more noise" % variance
        )
    cost, noise = align_grains(NANO * limits.square, limits.exponent, 2 * variance, exponent)
    return -(cost // -noise)


def to_bytes(limits):
    """Return the 33 bytes by which limits are stored; the exponent counts from -64."""
    packed = bytearray()
    for i in range(FIELDS):
        number = limits[i] - LEAST[1] if i == 1 else limits[i]
        packed.extend(number.to_bytes(WIDTHS[i], "big"))
    return packed


def from_bytes(packed):
    """Return the Limits that `to_bytes` stored."""
    numbers, at = [], 0
    for width in WIDTHS:
        numbers.append(int.from_bytes(packed[at : at + width], "big"))
        at += width
    numbers[1] += LEAST[1]
    return Limits(*numbers)


def align_grains(a, a_exponent, b, b_exponent):
    """Return two numbers of grains squared as numbers of the finer of their grains squared."""
    if a_exponent < b_exponent:
        return a << (2 * (b_exponent - a_exponent)), b
    return a, b << (2 * (a_exponent - b_exponent))


COUNT = 3
PAGE = 256  # bytes that are read of a slot at most
MAGIC = b"hvb1"
MAC_BYTES = 16
SIZE = 4 + 4 * 8 + 32 + BYTES + MAC_BYTES

# counter rises with each write. epoch counts boots. spent is in nano-rho, up to the end of the
# lease. round is the newest one charged when this was written, or -1. chain is the chain key.
# window is what `window.Hours` keeps, b"" for none.
Record = namedtuple("Record", ("counter", "epoch", "spent", "round", "chain", "limits", "window"))

UNBOOTED = "it has not started, so nothing says what is left; call boot first"
UNFINISHED = "a write was not finished, so what the slots hold is not known; start it again"
BEHIND = 8  # so many numbers of Rounds may be answered again after a power cut, if not `once`
# The same words whatever was seen, for everybody may hear them.
EXHAUSTED = (
    "its budget is spent, and with it what was promised for the life of its key; enrol the "
    "device again, with a new key and a new promise"
)
ASLEEP = "it sleeps, and what it had left is the next boot's; start it again"


class Budget:
    """The ledger of one device. Make it, `boot` it once, then `charge` each answer.

    For the life of its key; slots with a window need a `window.WindowBudget`.

    slots, state_key: where it is kept, and what signs it. lease: how many answers are paid
    for at a time.

    epoch, chain, limits: of this boot. spent: nano-rho charged, with what power cuts cost.
    round: the newest round charged, or -1; after a power cut, a lease before that at worst.
    frames, stream: how many of this boot were given their noise, and the noise of a sealed
    device; `node.Ahead` keeps them here, for all who have this budget.
    fault: why it has stopped, or "". mended: which slot was found torn at boot, or "".
    window: a `window.Hours`; None where there is none, False until such a budget has booted.
    """

    def __init__(self, slots, state_key, lease=8, window=None):
        if lease < 1:
            raise ValueError(
                "a lease of %d answers pays for none; it must be at least 1. 8 spares the flash "
                "and loses at most 8 answers in a power cut" % lease
            )
        self.window = window
        self.epoch = 0
        self.chain = b""
        self.limits = Limits(0, 0, 0, 0, 0, 0)  # allow nothing until they are known
        self.spent = 0
        self.round = -1
        self.frames = 0
        self.stream = None
        self.mended = ""
        self.fault = UNBOOTED
        self._copies = Copies(slots, check_key(state_key, "state key"))
        self._lease = lease
        self._end = 0  # of the lease: what all slots say is spent
        self._kept = -1  # the newest round that all slots say
        self._reserved = None  # the last epoch and chain key that all slots allow, if not these

    @property
    def left(self):
        """Return the nano-rho that may still be spent."""
        return max(self.limits.budget - self.spent, 0)

    @property
    def exhausted(self):
        """Say whether nothing is left: it stays so for the life of the key."""
        return self.spent >= self.limits.budget

    @property
    def why(self):
        """Return why nothing is answered when it is exhausted."""
        return EXHAUSTED

    def describe(self):
        """Return what `meta` says of it."""
        return {"left": self.left}

    def boot(self, nap=None):
        """Start a new epoch with a chain key of its own, on the medium before anything else.

        nap: a `power.Nap`, of a device that sleeps deeply and reserves epochs ahead, or None.

        Lost where the slots cannot be trusted or written. Slots that contradict each other are
        left as they are, as evidence.
        """
        if self.fault != UNBOOTED:
            raise ValueError(
                "this budget was started already; each start makes one of its own, or two streams "
                "of noise could share an epoch. Make a new Budget"
            )
        try:
            record = self._copies.read_newest()
        except Lost as why:
            self.fault = str(why)
            raise
        if record.window and self.window is None:
            raise Lost("it has a window: open_budget opens it")
        self.mended = self._copies.mended
        woken = None if nap is None else nap.take(record)
        paid = woken.spent if woken else record.spent
        if woken and woken.epoch <= record.epoch and not self.mended:
            self._reserved, self._end = (record.epoch, record.chain), record.spent
            self._kept = record.round
            self.epoch, self.chain, self.limits = woken.epoch, woken.chain, record.limits
            self.spent, self.round, self.fault = paid, woken.round, ""
            return
        chain = ratchet(record.chain) if record.epoch else record.chain
        epoch = record.epoch + 1
        if nap is not None:
            self._reserved = nap.find_reserve(epoch, chain)
        self.spent = paid  # what is paid for already is not lost with the last epoch reserved
        self._put(epoch, record.spent, record.round, chain, record.limits)
        self.epoch, self.chain, self.limits = epoch, chain, record.limits
        self.round = woken.round if woken else record.round

    def charge(self, price, round, once=False):
        """Return True when an answer at this price is paid for, False when the budget is out.

        price is in nano-rho, round the number of the Round. once: no number may be answered again,
        not after a power cut either, so each is written, and paid for by itself. When True
        returns, all slots count the answer already. False depends on public numbers alone, and is
        for ever. Lost where it cannot be kept: then nothing may be answered.
        """
        self._ready()
        if price < 1 or round < 0:
            raise ValueError(
                "an answer to round %d at %d nano-rho cannot be charged; every answer costs at "
                "least 1 and rounds count from 0. Reckon the price again" % (round, price)
            )
        if price > self.left:
            if not self.exhausted:  # what is left would pay for no such answer: close for good
                end = max(self._end, self.limits.budget)
                self._put(self.epoch, end, self.round, self.chain, self.limits)
                self.spent = end
            return False
        newest = max(round, self.round)
        if once or self.spent + price > self._end or newest - self._kept >= BEHIND:
            answers = 1 if once else min(self._lease, self.left // price)
            end = max(self._end, self.spent + answers * price)
            self._put(self.epoch, end, newest, self.chain, self.limits)
        self.spent += price
        self.round = newest
        return True

    def tighten(self, limits):
        """Take limits that protect more, for good; the same again is no change.

        Fault where they protect less. Lost where they cannot be kept.
        """
        self._ready()
        if limits == self.limits:
            return
        from .tightening import explain_loosening  # seldom needed, and memory is short

        if why := explain_loosening(self.limits, limits):
            raise Fault(why)
        self._put(self.epoch, self._end, self.round, self.chain, limits)
        self.limits = limits

    def sleep(self, nap):
        """Leave to the next boot what all slots allow and this did not use; answer no more."""
        self._ready()
        self.fault = ASLEEP
        if self._reserved is not None:
            last, own = self._reserved[0], self.limits
            nap.save(last, self.epoch, self.spent, self.round, self.chain, own, self.window)

    def _ready(self):
        if self.fault:
            raise Lost(self.fault)

    def _put(self, epoch, spent, round, chain, limits):
        self.fault = UNFINISHED  # and stays so, whatever comes in between
        epoch, chain = self._reserved or (epoch, chain)
        try:
            self._copies.put(epoch, spent, round, chain, limits)
        except Lost as why:
            self.fault = str(why)
            raise
        self._end, self._kept = spent, round
        self.fault = ""


class Lost(ValueError):
    """The slots cannot be trusted or cannot be written: nothing may be answered."""


class Copies:
    """Slots under one state key, used as one: `read_newest` first, or `put` into empty ones."""

    def __init__(self, slots, key):
        self.mended = ""  # which slot did not verify, when the others did
        self._slots = slots
        self._key = hmac_pads(key)
        self._held = [b""] * COUNT  # what the slots hold, byte by byte; None: it cannot be read
        self._order = list(range(COUNT))  # to write them in: torn ones first, then the older
        self._counter = 0
        self.window = b""  # what the next Records hold of one

    def read_newest(self):
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
            went = new.epoch >= old.epoch and new.spent >= old.spent and new.round >= old.round
            if not (went and new.window[:8] >= old.window[:8]):  # which it counts its hours in
                raise self._lost("the state went backwards", found)
            if new.limits.version < old.limits.version:
                raise self._lost("the limits went backwards", found)
        if torn:
            self.mended = self._says(order[0], None) + ", and is written again"
        self._order, self._counter, self.window = order, record.counter, record.window
        return record

    def put(self, epoch, spent, round, chain, limits):
        """Write a Record into every slot and read each back; Lost where that fails."""
        body = _body_of(Record(0, epoch, spent, round, chain, limits, self.window))
        for i in self._order:
            if self._look(i) != self._held[i]:
                raise _stop("slot %d was changed by somebody else" % i)
            body[4:12] = (self._counter + 1).to_bytes(8, "big")
            data = _sign(body, self._key)
            try:
                self._slots.write(i, data)
            except OSError as why:
                raise _stop("slot %d cannot be written (%s)" % (i, why)) from None
            if self._look(i) != data:
                raise _stop("slot %d does not hold what was written to it" % i)
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


def _stop(what):
    return Lost(
        "%s; it must be on the medium before it is used, or a power cut would forget what was "
        "answered. Free or mend the flash, let one process alone keep it, then start the device "
        "again" % what
    )


def pack(record, key):
    """Return the bytes of a Record, signed with the state key."""
    return _sign(_body_of(record), key)


def _body_of(record):
    body = bytearray(MAGIC)
    for number in (record.counter, record.epoch, record.spent, record.round + 1):
        body.extend(number.to_bytes(8, "big"))
    body.extend(record.chain)
    body.extend(to_bytes(record.limits))
    body.extend(record.window)
    return body


def _sign(body, key):
    return body + hmac_sha256(key, body)[:MAC_BYTES]


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


# Whatever keeps slots has these two methods. `read(i)` gives b"" where nothing was ever written;
# `write(i, data)` returns when the data is on the medium. When the power fails in the middle of a
# write, slot i may hold anything at all, but the other slots must be as they were. What was tried,
# with the power cut within each erasure and each program of a block
# (tests/interpreters/test_budget.py):
#
#     on littlefs2    safe; the old chain key lies in its log until that is compacted, some forty
#                     writes later with blocks of 4 KB, for who reads the bare chip
#     on FAT, where the medium writes a sector whole or not at all: safe
#     on FAT on bare flash, which erases a sector before it writes: all slots can be lost, for one
#                     sector names all the files. Nothing is answered then, ever: the device must
#                     be enrolled again. Use littlefs2 there
#
# littlefs2 with blocks of 4 KB erases one block in five leases, and takes turns among those that
# are free: with leases of 8 and an answer a minute, 13,000 erasures a year among them all. Longer
# leases spare nothing, for the slots are never more than 8 numbers of Rounds behind. On a PC they
# are as safe as its file system and disk keep what `fsync` was told.


class Files:
    """Files in a folder: `name`.0 to `name`.2, at most 254 bytes each."""

    def __init__(self, folder, name):
        self._paths = ["%s/%s.%d" % (folder, name, i) for i in range(COUNT)]

    def read(self, i):
        """Return what slot i holds; OSError where it cannot be read."""
        return read_whole(self._paths[i], PAGE)

    def write(self, i, data):
        """Write slot i through to the medium; OSError where it cannot be written."""
        write_durably(self._paths[i], data)

"""A sensor device without its radio: a Round comes in, a signed frame of blur goes out."""

# An answer is made in this order, and the order is the point of it:
#
#     verify    what the site did not sign is not looked at
#     object    a Round beyond the device's limits is refused: nothing charged, nothing read
#     charge    the budget is written down before it is used; no write, no answer
#     noise     drawn ahead, for this frame and no other
#     read      only now is the sensor asked
#     veil      clamp, and add the noise
#     pack      sign; the bytes are kept, and sent again as they are
#
# A Round that comes again gets the same bytes and costs nothing. How long that took must not show
# in when the frame goes out: see `ticker`, which every device needs around this.
#
# `Ahead`: the noise of the next frame, drawn before there is a reading that it will hide.
#
# Noise depends on the key, the boot, the number of the frame and the variance, and on no reading.
# So it can lie ready when a Round comes: the time that a draw takes, which tells how large the
# noise is, then lies between two frames and not between a Round and its answer.
#
#     prepare   draw for frame seq + 1, if that is not done
#     take      give that noise out, once, and with it the number of its frame
#
# Where a Round asks for another variance, or for tables where exact noise lies ready,
# that is thrown away and drawn again. A keyed stream is then read once more from its start:
# nothing that was drawn from it was ever used.

from .. import mechanisms
from . import entropy, wire
from .budget import NAMES
from .entropy import epoch_key
from .records import Reading, Report

VERSION = "0.1.0"


class Node:
    """One device: who it is, what it may still spend, and the last frame it made.

    identity: an `entropy.Identity`. budget: its own `budget.Budget`, booted. step: of its
    converter, (num, den) of a kelvin, or None below any grain. follower: a new
    `background.Follower` or None.
    tables: whether noise may come from tables, where a Round asks for that.
    mechanism: what it answers all its life, None for the usual one; one of central trust it
    refuses unless its identity names that.
    """

    def __init__(self, identity, budget, step=None, follower=None, tables=False, mechanism=None):
        if budget.fault:
            raise ValueError(
                "the budget of %s cannot be used (%s); without one nobody knows which noise is "
                "fresh. Boot it, or give the device a new key" % (identity.name, budget.fault)
            )
        if budget.window and follower:
            raise ValueError(budget.FOLLOWS % identity.name)
        self.identity = identity
        self.recorded_ms = None  # when its level was recorded, where somebody knows: for `meta`
        self.refusal = ""  # why the last Round was not answered
        self.faults = 0  # times in a row that the sensor gave nothing
        self.forged = 0  # messages that were not signed, or by somebody else
        self.budget = budget
        self._follower = follower
        self.ahead = Ahead(identity, budget)
        self._warm = mechanisms.find_reads(mechanism) == "temperature"
        self._has = (step, (tables, self.ahead.build)) if self._warm else ()
        # What is drawn ahead: of a temperature variance and tables' bits. Till a Round came, which
        # tells the next.
        self._like = budget.limits.variance, 0
        if self._warm:
            self.half = mechanisms.module_of(mechanism)
        else:
            self.half, self._like = mechanisms.make_half(
                mechanism, identity, step, follower, tables
            )
        self._seals = hasattr(self.half, "seal_report")
        self._asks = wire.round_topic(identity.site, self.half.NAME)
        self._site_key = wire.signer(identity.site_key, self._asks)
        self._data = wire.topic(identity.site, identity.name, "data")
        self._mac_key = wire.signer(identity.mac_key, self._data)
        self._round = self._name = self._frame = None  # of the last answer
        # Of the last charge: the Round, till it is answered (its short name can be forged); when.
        self._paid = self._paid_ms = None
        self.alert = ""

    def prepare(self):
        """Draw the noise of the next frame, if it is not there; call it when nothing is due."""
        if self._like and self.state() == "ready":
            try:
                self.ahead.prepare(self.half, *self._like)
            except MemoryError:
                pass  # where it does not fit for good, the Round that asks for it hears of it

    def answer(self, message, read, mechanism=None, now_ms=None):
        """Return the frame that answers a Round's message, or None and say why in `refusal`.

        read(params) must return one whole number a sensor, in grains (params as in
        `thermal_half.Params`); where a place is read, read(grid) the cell (x, y). A Round that was
        answered does not call it again; one whose read failed does, when it comes again.
        mechanism: on whose topic it came, its own if None. now_ms, of a clock that only goes
        forward, is when: answers are then kept apart as the limits say.
        """
        self.refusal = ""
        try:
            where = wire.round_topic(self.identity.site, mechanism) if mechanism else self._asks
            mechanism = mechanism or self.half.NAME
            round, name = self.open_round(message, where)
            if name == self._name:
                return self._frame
            if self.budget.window and self.budget.has_lapsed(round.number):
                self._paid = None
            if round != self._paid:  # else the sensor failed, after all else was settled
                self.refusal = self._objection(round, mechanism, now_ms) or self._charge(round)
        except wire.Fault as why:
            self.refusal = str(why)
            self.forged += 1
        except wire.BROKEN as why:
            self.refusal = "it cannot be read on this device (%s)" % type(why).__name__
        if self.refusal:
            return None
        if round != self._paid:
            self._paid, self._paid_ms = round, now_ms
        try:
            frame = self._fresh(round, name, read)
            if self._follower is not None:
                self._follower.follow()  # only now: an answer that was not made moves nothing
        except KeyboardInterrupt:  # of who tries it at a terminal
            raise
        except BaseException:  # whatever a driver does, ends itself too; never with the number
            self.faults += 1
            count = self.identity.sensors if self._warm else 2
            self.refusal = "the sensor did not give %d whole numbers" % count
            if self._seals:  # which it does whatever the sensor gave
                self.refusal = "its report could not be sealed"
            return None
        self.faults = 0
        if self.budget.window and self.budget.has_lapsed(round.number):
            self.refusal = self.budget.LAPSED
            return None
        self._round, self._name, self._frame, self._paid = round, name, frame, None
        return frame

    def open_round(self, message, where):
        """Return the Round that the site signed in a message to that topic, and its name."""
        key = self._site_key if where == self._asks else self.identity.site_key
        round = wire.unpack_round(message, key, where)
        return round, wire.name_of(round)

    def tighten(self, message):
        """Take tighter limits from a message of the config key; return what to say of it on `ack`.

        They are on the medium before this returns. A message that comes again changes nothing.
        """
        from . import tightening  # seldom needed, and memory is short

        asked, why = tightening.take_limits(message, self.identity, self.budget.limits, self.half)
        if not why:
            if asked != self.budget.limits:  # what was paid for under the old limits is
                self._paid = None  # not answered under them
            try:
                self.budget.tighten(asked)
            except Exception as fault:
                why = self.fail(fault)
        version = None if asked is None else asked.version
        return {"verb": "limits", "version": version, "taken": not why, "why": why}

    def state(self):
        """Return "ready", "exhausted" as long as the budget is, or "alert" when it is lost."""
        if self.alert:
            return "alert"
        return "exhausted" if self.budget.exhausted else "ready"

    def meta(self):
        """Return what the device says of itself, for its retained `meta` topic: nothing it saw."""
        return describe_device(
            self.identity, self.budget, self._round, self.half, self.recorded_ms
        )

    def _objection(self, round, mechanism, now_ms):
        if self.alert:
            return self.alert
        if self.budget.exhausted:
            return self.budget.why
        if mechanism != self.half.NAME or round.mechanism != mechanism:
            return "it asks for %s, which this device does not have" % round.mechanism
        held = self.budget.limits
        if None not in (now_ms, self._paid_ms) and now_ms - self._paid_ms < held.pace_ms:
            return "it comes before the %d ms between two answers are over" % held.pace_ms
        return self.half.objection(round, self.identity, held, self.budget.round, *self._has)

    def _charge(self, round):
        """Pay for an answer; return nothing, or why it cannot be paid for."""
        cost = self.half.cost(self.budget.limits, round)
        try:
            # To whom it is sealed is in its Round: under another key it would be told twice.
            once = self._seals
            return "" if self.budget.charge(cost, round.number, once) else self.budget.why
        except Exception as fault:
            return self.fail(fault)

    def fail(self, fault):
        self._paid = None
        self.alert = "its budget cannot be kept (%s), so nothing is answered any more" % fault
        return self.alert

    def _fresh(self, round, name, read):
        half = self.half
        if self._seals:
            read = half.guard(read)
        params, self._like = half.params_of(round), half.find_law(round)
        noise = self.ahead.take(half, *self._like)
        values = tuple(read(params))
        if self._follower is not None:
            values = self._follower.subtract(values, params.exponent)
        payload = half.veil(round, Reading(self.identity.sensor, values), noise)
        report = Report(name, self.identity.name, self.budget.epoch, self.ahead.seq, payload)
        if self._seals:
            report = half.seal_report(round, report, noise)
        return wire.pack_report(report, self._mac_key, self._data, half.bits(round))


class Ahead:
    """The frame counter of one boot, and the noise of the frame to come.

    identity: an `entropy.Identity`. budget: its `budget.Budget`, for the keys of this boot and for
    what was used of them: a second node on one budget goes on where the first one is, and does
    not read the same streams again.
    """

    def __init__(self, identity, budget):
        self.seq = 0  # of the last frame whose noise was given out
        self.drawn = 0  # times; that it was, and when, must not show in what goes out
        self._identity = identity
        self._budget = budget
        self._epoch = budget.epoch
        self._noise = None
        self._for = None  # the variance and the tables' bits that it was drawn for
        self._tables = self._tables_for = None
        if identity.mode == "sealed":  # one stream for the whole boot, never repeated
            stamp = budget.epoch.to_bytes(8, "big")
            if budget.stream is None:
                budget.stream = self._sealed = entropy.sealed(budget.chain, stamp)
            self._sealed = budget.stream
        else:
            self._sealed = None
            self._epoch_key = epoch_key(budget.chain, budget.epoch)
            self._stream()  # refuses now what it would refuse later

    def prepare(self, mechanism, variance, table_bits=0):
        """Draw the noise of the next frame, unless it is there; variance in grains squared.

        table_bits: bits of the tables that the Round asks for, 0 where it asks for exact noise.
        """
        if self.seq != self._budget.frames:  # another node was here
            self.seq, self._noise = self._budget.frames, None
        law = variance, table_bits
        if self._noise is None or self._for != law:
            self._noise = None  # a draw that breaks off must not leave what another needs
            self.drawn += 1
            self.build(variance, table_bits)
            more = () if self._tables is None else (self._tables,)
            stream = self._stream()
            self._noise = mechanism.draw(variance, self._identity.sensors, stream, *more)
            self._for = law

    def build(self, variance, table_bits):
        """Have the tables that noise is drawn from, or none; MemoryError where they do not fit."""
        if self._tables_for == (variance, table_bits):
            return
        self._tables = self._tables_for = None  # first, to make room
        if table_bits:
            from . import table

            self._tables = table.find_tables(variance, table_bits, self._identity.sensors)
        self._tables_for = (variance, table_bits)

    def take(self, mechanism, variance, table_bits=0):
        """Return the noise of frame `seq`, which this call raises by one."""
        self.prepare(mechanism, variance, table_bits)
        noise = self._noise
        self._noise = None  # whatever happens to the frame, no second one gets it
        self.seq += 1
        self._budget.frames = self.seq
        return noise

    def _stream(self):
        if self._sealed is not None:
            return self._sealed
        who = self._identity
        return entropy.open_epoch(self._epoch_key, who.name, self._epoch, self.seq + 1, who.sensor)


def describe_device(identity, budget, round, half, recorded_ms=None):
    """Return the device's `meta`; round is the last one it answered, or None.

    half: of its mechanism, as `Node` has it. recorded_ms: when the level that is
    taken off its readings was recorded, in milliseconds of the epoch; None where nobody knows.
    """
    held = dict(zip(NAMES, budget.limits))
    held.update(budget.describe())
    said = {
        "schema": wire.VERSION,
        "firmware": VERSION,
        "mode": identity.mode,
        "key": "".join(["%02x" % b for b in identity.key_id]),
        "boot": budget.epoch,
        "sensor": identity.sensor,
        "sensors": identity.sensors,
        "unit": "K",
        "limits": held,
    }
    if recorded_ms is not None:
        said["recorded_ms"] = recorded_ms
    said.update(half.make_meta(round))
    if round is not None:
        said["calibration"] = "".join(["%02x" % b for b in wire.name_of(round)])
    return said

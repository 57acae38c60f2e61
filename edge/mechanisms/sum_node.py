"""A device of distributed trust: Rounds and a gateway's messages in, frames of a secure sum out.

Nothing that it says tells anything alone: its numbers are masked, and the gateway learns their sum
over a shard (`secure_sum`). What it does with a Round, in this order:

    verify    what the site did not sign is not looked at
    object    beyond the device's limits, or with more to share the noise than its roster allows
    charge    price and number of the Round are written down; no write, no join
    join      and what follows, as `sum_member` says
    read      only when it is known whose masks hide the numbers, with noise drawn just before

So a Round is paid for once, also where its sum is never opened, and no other Round of that number
is joined, whatever the power does. Neighbours differ by where a device is (replace-one): a Round
that hides less is refused. A device that cannot read marks nothing, and nobody sees that.
"""

# The largest first, while there is room to compile it.
from .sum_member import Member, Refused, shard_topic

# isort: split
from ..core import wire
from ..core.budget import Limits
from ..core.node import Node, describe_device
from ..core.records import Reading
from . import crypto, disk_limits, module_of
from .secure_sum import ADJACENCIES, ROUND_BYTES, Terms, read_roster
from .summing import refusal

REPLACE = 1  # as mechanisms say it


class Half:
    """A mechanism of distributed trust, as a Node asks for it."""

    def __init__(self, of, mechanism, identity):
        if not hasattr(of, "draw_noise") or identity.mode != "sealed":
            raise ValueError(
                "%s is enrolled for secure sums and is to answer %s, which is none, or who holds "
                "its root could take its noise off. Name the mechanism that it was enrolled for"
                % (identity.name, mechanism)
            )
        if identity.sensors != 1:
            raise ValueError(
                "%s is to answer with its place, and has %d sensors. Leave the others out"
                % (identity.name, identity.sensors)
            )
        self.of, self.NAME = of, of.NAME

    def make_meta(self, round):
        """Return what the device's `meta` says otherwise than a thermometer's."""
        return {"mechanism": self.NAME, "unit": "cell"}

    explain_loosening = staticmethod(disk_limits.explain_loosening)


class SumNode(Node):
    """In the place of a `Node`, for an identity with a roster.

    topics: what it hears beside Rounds. suite: as for a `Member`.
    """

    def __init__(self, identity, budget, mechanism, suite=None):
        half = Half(module_of(mechanism), mechanism, identity)
        Node.__init__(self, identity, budget)
        self.half = half
        where = wire.topic(identity.site, identity.name, "roster")
        roster = read_roster(identity.roster, identity.roster_key, where)
        self.topics = [
            wire.topic(identity.site, identity.name, "told"),
            shard_topic(identity.site, roster.shard),
        ]
        self._asks = wire.round_topic(identity.site, self.half.NAME)
        self._member = Member(identity, roster, identity.static_key, suite or crypto, budget.round)
        self._joined = None  # the Round that was joined last,
        self._paid_ms = None  # and when

    def open_round(self, message, where):
        """Return the Round that the site signed in a message to that topic, and its name."""
        round = wire.unpack_round(message, self.identity.site_key, where, ROUND_BYTES)
        return round, wire.name_of(round)

    def handle(self, where, message, read, now_ms=None):
        """Return the frames that answer a message, [] where there is none; see `refusal`.

        read(grid) must return the cell (x, y), or what else the Round's kind reads.
        """
        self.refusal = ""
        try:
            if where == self._asks:
                return self._join(message, read, now_ms)
            return self._member.handle(message, where == self.topics[1])
        except Refused as why:
            self.refusal = "it keeps out of the secure sum of this round (%s)" % why
        except wire.Fault as why:
            self.refusal = str(why)
            self.forged += 1
        except wire.BROKEN as why:
            self.refusal = "it cannot be read on this device (%s)" % type(why).__name__
        return []

    def prepare(self):
        """Do nothing: noise is drawn for a Round whose sum is about to be masked."""

    def meta(self):
        """Return what the device says of itself, for its retained `meta` topic: nothing it saw."""
        return describe_device(self.identity, self.budget, self._joined, self.half)

    def _join(self, message, read, now_ms):
        """Return the join of a Round; [] for the one that was joined already."""
        round, name = self.open_round(message, self._asks)
        if self._joined is not None and name == wire.name_of(self._joined):
            return []
        self.refusal = self._why_not(round, now_ms)
        if self.refusal:
            return []
        rng = self.budget.stream
        body, terms = wire.round_body(round), self._terms(round)
        frames = self._member.begin(body, terms, lambda _: self._numbers(round, read, rng), rng)
        self.refusal = self._pay(round)
        if self.refusal:
            self._member.erase()
            return []
        self._joined, self._paid_ms = round, now_ms
        return frames

    def _why_not(self, round, now_ms):
        if self.alert:
            return self.alert
        if self.budget.exhausted:
            return self.budget.why
        if round.mechanism != self.half.NAME:
            return "it asks for %s, which this device does not have" % round.mechanism
        held, roster = self.budget.limits, self._member.roster
        if None not in (now_ms, self._paid_ms) and now_ms - self._paid_ms < held.pace_ms:
            return "it comes before the %d ms between two answers are over" % held.pace_ms
        of = self.half.of
        left = Limits(*(held[:4] + (self.budget.left,) + held[5:]))
        colluders = roster.threshold - roster.divisor
        own = disk_limits.total_epsilon(left), REPLACE, roster.divisor, colluders
        return (
            of.objection(round)
            or refusal(of.params_of(round), round.number, self.budget.round, *own)
            or disk_limits.objection(held, round.guarantee, *of.epsilon(round))
        )

    def _pay(self, round):
        cost = disk_limits.price(self.budget.limits, *self.half.of.epsilon(round))
        try:
            return "" if self.budget.charge(cost, round.number, True) else self.budget.why
        except Exception as fault:
            return self.fail(fault)

    def _terms(self, round):
        """Return what a Round says of its sum; who is in it, the roster says."""
        p = self.half.of.params_of(round)
        return Terms(
            round.number,
            p.threshold - p.colluders,
            16 if p.bits <= 16 else max(p.bits, 32),
            self.half.of.count_sums(round),
            ADJACENCIES[p.replace],
        )

    def _numbers(self, round, read, rng):
        """Return marks and noise; where the sensor fails, noise alone."""
        of = self.half.of
        numbers = of.draw_noise(round, rng)
        try:
            reading = Reading(self.identity.sensor, tuple(read(round.grid)))
            found = of.make_marks(round, reading, rng)
        except KeyboardInterrupt:  # of who tries it at a terminal
            raise
        except BaseException:  # whatever a driver does; never with the place, nor that it has none
            found = []
        if self.budget.window and self.budget.has_lapsed(round.number):
            self._member.erase()  # it reads later than it pays, and this would count as too old
            raise Refused(self.budget.LAPSED)
        for place, count in found:
            numbers[place] += count
        return numbers

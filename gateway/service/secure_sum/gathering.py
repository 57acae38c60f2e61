"""The secure sums of a round, over MQTT: in the place of the intake where trust is distributed.

Devices' frames come in on the link's thread and are worked on by whoever waits for the round to be
complete. A step of a shard ends when all that could come is here; after its part of the time that
is left of the round, once enough are; and with the round. Nothing is kept on the disk: a gateway
that ends gives its open sums up, so there is never a second set of one sum
(`Steps.give_up_round`). What a device sends is of no use to anybody before the sum is opened, and
is gone then.

The guard hears of every frame that is none of its device's, as at the intake, and shuts out who
gave false shares beyond doubt; of a frame of an earlier round it hears nothing, for what a device
could not send in time comes then. Who is shut out is left out of every sum.
"""

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue

from edge.core import wire
from edge.core.records import Release
from edge.mechanisms.sum_member import shard_topic

from ...devices.enrol.enrol import Devices
from ...devices.enrol.roster import load_shards
from ...logs import log
from ...mechanisms import find_mechanism
from ...settings.deployment import Deployment
from ..intake.door import Guard
from ..intake.writer import Bearer
from ..mqtt.connection import Message
from ..operate.metrics import SUM_STEPS, Metrics
from ..operate.quarantine import LIED
from ..rounds import OpenRound
from .collecting import ABANDONED, RELEASED, Link, Sent, Shard, ShardSum

STEPS = 5  # messages of each device, one after the other
TOO_FEW = (
    "too few devices were in time: nothing of the shard is opened, and its epsilon is spent. See "
    "which are away, or raise gather_s under [rounds]"
)
UNFIT = (
    "too few shares came or fit: nothing of the shard is opened, and its epsilon is spent. "
    "Suspects, where any are named, lied or were lied about: look at those named again and again"
)
EARLY = 0.95  # of the time that a round has: its last step must end before the round does
FORGED = {"forged", "wrong-length"}  # no frame of this device, whenever it came
# A frame that came again, or after its step; or the log would be as long as the flood.
QUIET = {"late", "repeated", "quarantined", "flood"}


class SecureSums:
    """A `workers.gathering.Taker` of the sums of one round at a time, a sum a shard."""

    def __init__(
        self,
        deployment: Deployment,
        devices: Devices,
        progress: Callable[[OpenRound | None, int], None],
        *,
        metrics: Metrics | None = None,
        guard: Guard | None = None,
    ) -> None:
        """Read who is in which shard.

        Args:
            progress: hears how the round stands, and how many frames it refused.

        Raises:
            OperatorFault: they cannot be read.
        """
        self._site, self._devices = deployment.site.name, devices
        self._shards = load_shards(deployment.site.devices, self._site)
        self._progress, self._guard = progress, guard
        self._metrics = metrics or Metrics()
        self._where = {
            wire.topic(self._site, name, "sum"): (at, place)
            for at, shard in enumerate(self._shards)
            for place, name in enumerate(shard.members)
        }
        self._came: SimpleQueue[tuple[Bearer, Message]] = SimpleQueue()
        self._round: OpenRound | None = None
        self._sums: list[ShardSum] = []
        self._closes_s = 0.0
        self._due_s: list[
            float
        ] = []  # of each sum: when its step ends; empty till the round is out
        self._open = self._stopping = False
        self.refused: Counter[str] = Counter()  # frames that did not count, by why

    def open_round(self, round: OpenRound) -> None:
        """Begin the sums of a round; what came before it is let fall."""
        of, plan = find_mechanism(round.plan.mechanism), round.plan
        body, bits, length = wire.round_body(plan), of.bits(plan), of.vector_length(plan)
        self._sums = [
            ShardSum(
                shard,
                body,
                bits,
                length,
                self._site,
                self._devices.site_key,
                self._list_links(shard),
            )
            for shard in self._shards
        ]
        with suppress(Empty):
            while True:
                bearer, message = self._came.get_nowait()
                bearer.acknowledge_batch((), [message])
        self._due_s, self._round, self._open = [], round, True

    def start(self) -> None:
        """Do nothing: there is nothing to decide before a round is open."""

    def wait_complete(self, patience_s: float) -> bool:
        """Work on what comes; True once every sum is opened or given up."""
        until_s = time.monotonic() + patience_s
        if not self._due_s:  # the round is out since a moment
            gather_s = self._round.gather_s if self._round else 0.0
            self._closes_s = time.monotonic() + EARLY * gather_s
            self._due_s = [self._compute_due_s(one) for one in self._sums]
        while not self._is_over():
            left_s = until_s - time.monotonic()
            try:
                bearer, message = self._came.get(timeout=max(left_s, 0.001))
                self._take(bearer, message)
                while not self._came.empty():
                    self._take(*self._came.get_nowait())
            except Empty:
                pass
            self._end_steps()
            if left_s <= 0:
                break
        return self._is_over()

    def close_round(self) -> OpenRound | None:
        """Return the round with its release: the sums over all shards that were opened."""
        round, self._open = self._round, False
        if round is None or self._stopping:
            return None
        names, values = list[str](), list[int]()
        for one in self._sums:
            if one.state == RELEASED and one.total is not None:
                names += [one.shard.members[place] for place in one.counted]
                half = 1 << one.bits - 1
                signed = [(number + half) % (2 * half) - half for number in one.total.tolist()]
                values = [a + b for a, b in zip(values or [0] * len(signed), signed, strict=True)]
        round.reports = dict.fromkeys(names)
        round.summed = Release(round.plan, values, len(names))
        self._sums = []
        self._tell()
        return round

    def find_last_round(self) -> OpenRound | None:
        """Return the round that was opened last, open or closed, or None before the first."""
        return self._round

    def take_message(self, bearer: Bearer, message: Message) -> None:
        """Take a message; returns at once."""
        if self._open:
            self._came.put((bearer, message))
        else:
            bearer.acknowledge_batch((), [message])

    def set_held(self, held: bool) -> None:
        """Do nothing: nothing is written that a full disk could lose."""

    def set_devices(self, devices: Devices) -> None:
        """Take frames of these devices alone, from the next round on."""
        self._devices = devices

    def stop(self) -> None:
        """End; an open round is given up by the next start."""
        if self._open:
            ended = (RELEASED, ABANDONED)
            self._metrics.sums.labels("stopped").inc(
                sum(one.state not in ended for one in self._sums)
            )
        self._stopping, self._open = True, False

    def _list_links(self, shard: Shard) -> dict[int, Link]:
        known = self._devices.by_name
        return {
            place: Link(known[name].mac_key, known[name].config_key)
            for place, name in enumerate(shard.members)
            if name in known and not (self._guard and self._guard.explain_block(name))
        }

    def _is_over(self) -> bool:
        return self._stopping or all(one.state in (RELEASED, ABANDONED) for one in self._sums)

    def _take(self, bearer: Bearer, message: Message) -> None:
        at, place = self._where.get(message.topic, (-1, -1))
        device = self._shards[at].members[place] if at >= 0 else ""
        self._bearer, guard, now_s = bearer, self._guard, time.monotonic()
        if guard and not guard.may_pass(device, len(message.payload), now_s):
            why = "quarantined" if guard.explain_block(device) else "flood"
        elif at < 0 or message.retained:
            why = "retained" if message.retained else "unknown"
        else:
            why = self._sums[at].take_frame(place, message.payload)
            if guard and why in FORGED:
                guard.count_forged(device, now_s)
        if why:
            self.refused[why] += 1
            self._metrics.refused.labels(why).inc()
            if why not in QUIET:
                event = "a frame of a secure sum is refused"
                log.warning(event, device=device, topic=message.topic, why=why)
        bearer.acknowledge_batch((), [message])

    def _compute_due_s(self, one: ShardSum) -> float:
        """Return when the step ends that a sum is in: what is left of the round, shared out."""
        now_s = time.monotonic()
        return now_s + (self._closes_s - now_s) / max(STEPS - one.state, 1)

    def _end_steps(self) -> None:
        """Go on with each sum whose step is complete, or over."""
        for at, one in enumerate(self._sums):
            while one.state not in (RELEASED, ABANDONED):
                now_s, (here, awaited) = time.monotonic(), one.present
                enough = here >= one.shard.threshold and now_s >= self._due_s[at]
                if here < awaited and not enough and now_s < self._closes_s:
                    break
                step = SUM_STEPS[one.state]
                sent = one.end_step()
                self._due_s[at] = self._compute_due_s(one)
                self._metrics.sum_dropped.labels(step).inc(awaited - here)
                if one.state in (RELEASED, ABANDONED):
                    self._end(at, one, step, here)
                self._send(one.shard, sent)
                self._tell()

    def _end(self, at: int, one: ShardSum, step: str, here: int) -> None:
        """Say how a sum ended, and have shut out who lied."""
        members, fewer = one.shard.members, here < one.shard.threshold
        outcome, why = ("few", TOO_FEW) if fewer else ("unfit", UNFIT)
        outcome = "opened" if one.state == RELEASED else outcome
        self._metrics.sums.labels(outcome).inc()
        suspects = sorted(members[place] for place in one.liars | one.barred)
        if outcome != "opened":
            event, needed = "a secure sum is given up", one.shard.threshold
            log.warning(event, shard=at, step=step, here=here, needed=needed, why=why)
        if suspects:
            self._metrics.sum_suspects.inc(len(suspects))
            log.warning(
                "shares of a secure sum contradict each other; a suspect sent a wrong one",
                shard=at,
                suspects=suspects,
            )
        for place in sorted(one.proven):
            log.error("a device lied in a secure sum", shard=at, device=members[place], why=LIED)
            if self._guard:
                self._guard.shut_out_guilty(members[place], LIED)

    def _send(self, shard: Shard, sent: Sent) -> None:
        for place, message in sent:
            name = "" if place is None else shard.members[place]
            everybody = shard_topic(self._site, shard.number)
            topic = wire.topic(self._site, name, "told") if name else everybody
            self._bearer.publish(topic, message)

    def _tell(self) -> None:
        if (round := self._round) is not None:
            if self._sums:
                alive = [one for one in self._sums if one.state != ABANDONED]
                here = [one.shard.members[place] for one in alive for place in one.counted]
                round.reports = dict.fromkeys(here)
            self._progress(round, self.refused.total())

"""Layer `windows`: what devices give away within any window of true time, whatever is done.

Clocks run as fast as they may, or slow; power is cut, sleeps are lost and the RTC is set;
Rounds come in bursts, are paid for long before they are read, and are read slowly; limits come.
Each answer is kept with the true time of its reading, and no window of that length may hold more
than the budget. What a device says of itself is not asked. Whatever promises windows is looked at:
devices that blur, devices that seal, and one of a secure sum, whose neighbours and gateway are
real ones. What it cannot see: two slots that are put back to one true day.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from edge.board.power import Nap
from edge.core import wire
from edge.core.budget import Lost
from edge.core.window import step_of
from edge.host import rootkeys
from edge.mechanisms import module_of
from edge.mechanisms.secure_sum import ADJACENCIES, Terms, read_roster
from edge.mechanisms.sum_member import Member
from edge.mechanisms.sum_node import SumNode
from edge.mechanisms.summing import Summed
from recovery.maps.guarantee import get_window_h

from ...devices.enrol import roster
from ...service.secure_sum import ciphers
from ...service.secure_sum.collecting import Link, ShardSum
from ..bench import SITE, SITE_KEY, Device, draw_sealing_key, list_plans, seal_round, sign_round_as
from ..claim import Claim, Effort, claim_fact, claim_none
from .power import Flash, Memory, PowerCut

HOURS = 24
ANSWERS = 40  # that the budget of a window is for;
FEW = 6  # where an answer is sealed or masked, which takes longer
ASLEEP_S = 900
FASTEST = Fraction(51, 50)  # of a clock that runs
RTC_FASTEST = Fraction(11, 10)
ACTS = 120


class Clock:
    """True time, and what a device's uptime and its RTC make of it; both only as fast as they may.

    An uptime counts from an arbitrary number, as one of a process that started earlier does.
    """

    def __init__(self, rate: Fraction = FASTEST, rtc_rate: Fraction = RTC_FASTEST) -> None:
        self.true_ms, self.rate, self.rtc_rate = 0, rate, rtc_rate
        self.set_s = 10**9  # what somebody set the RTC to

    def now_ms(self) -> int:
        """Return the uptime."""
        return 12_345_678 + int(self.true_ms * self.rate)

    def read_rtc_s(self) -> int:
        """Return what the RTC says."""
        return int(self.set_s + self.true_ms * self.rtc_rate / 1000)


class Kind(NamedTuple):
    """Devices of one mode, and what may be known of them without asking them.

    device(root, **kept): a new one. ask(device, number, read): what it says to a Round, if
    anything. seen(number): what it reads. answers: how many of these a window may hold.
    """

    mode: str
    device: Callable[..., Device]
    ask: Callable[[Device, int, Any], Any]
    seen: Callable[[int], tuple[int, ...]]
    answers: int


def list_kinds(mechanism: Any, tape: Callable[..., Any]) -> Iterator[Kind]:
    """Yield the kinds of devices that answer a mechanism."""
    subject = mechanism.subject
    if hasattr(subject, "asked"):
        asking, plan = subject.asked, list_plans(mechanism)[0].round
        for mode, round in asking.list_modes(plan):
            price = asking.compute_cost(round, asking.make_limits(round, 0))
            held = asking.make_limits(round, int(price * ANSWERS) + 1)
            device = partial(Device, round, held=held, mode=mode, sensors=asking.SENSORS)
            reads = partial(asking.make_readings, round, sensors=asking.SENSORS)
            yield Kind(mode, device, _ask, reads, ANSWERS)
        return
    # Epsilon is promised for so many answers, so they are counted.
    query = replace(next(iter(subject.list_queries()))[1], readings=FEW, window_h=HOURS)
    round, held = mechanism.plan(query, ()), mechanism.serving.limits(query, 0.0)
    inputs = [reading.values for reading in subject.list_readings(round)]

    def seen(number: int) -> tuple[int, ...]:
        return tuple(inputs[number % len(inputs)])

    rng = tape("window", "shard")
    if subject.KIND == "distributed":
        made, ask = _set_up_shard(round, query, held, rng)
        yield Kind("summed", made, ask, seen, FEW)
        return
    sealed = seal_round(round, draw_sealing_key(rng))

    def allowed(root: bytes, **kept: Any) -> Device:
        who = rootkeys.identity(SITE, "bench-1", root, SITE_KEY, 0, central=mechanism.name)
        return Device(sealed, root, held=held, identity=who, **kept)

    yield Kind("sealed", allowed, _ask, seen, FEW)


def _ask(device: Device, number: int, read: Any) -> Any:
    device.node.prepare()
    return device.node.answer(sign_round_as(device.round, number)[1], read)


def _set_up_shard(
    round: Any, query: Any, held: Any, rng: Any
) -> tuple[Callable[..., Device], Callable[[Device, int, Any], Any]]:
    """Return what makes the first device of a shard, and what asks it beside the others."""
    names = [f"bench-{number}" for number in range(1, query.users + 1)]
    roots = {name: rng.bits(256).to_bytes(32, "big") for name in names}
    shares = Fraction(*query.colluders), Fraction(*query.dropout)
    (drawn,) = roster.draw_rosters(SITE, roots, 1, 1, 16, rng, *shares)
    own = {name: rootkeys.identity(SITE, name, roots[name], SITE_KEY, 0) for name in names}
    links = {
        at: Link(own[name].mac_key, own[name].config_key)
        for at, name in enumerate(drawn.shard.members)
    }
    members: dict[int, Member] = {}
    first, *others = drawn.shard.members
    keys = rootkeys.static_key(roots[first]), rootkeys.roster_key(roots[first])
    parts: list[Any] = [*own[first], *keys, drawn.rosters[0]]
    who = Summed(*parts)
    module = module_of(round.mechanism)
    params = module.params_of(round)
    bits, length = 16 if params.bits <= 16 else 32, module.count_sums(round)

    def made(root: bytes, **kept: Any) -> Device:
        for at, name in enumerate(others, 1):
            key, where = rootkeys.roster_key(roots[name]), wire.topic(SITE, name, "roster")
            known = read_roster(drawn.rosters[at], key, where)
            members[at] = Member(own[name], known, rootkeys.static_key(roots[name]), ciphers)
        node = partial(SumNode, mechanism=round.mechanism, suite=ciphers)
        return Device(round, roots[first], held=held, identity=who, node=node, **kept)

    def ask(device: Device, number: int, read: Any) -> Any:
        """Return its masked numbers, or what it said instead of an earlier step."""
        asked, signed = sign_round_as(round, number)
        where = wire.round_topic(SITE, round.mechanism)
        said = {0: device.node.handle(where, signed, read)}
        if not said[0]:
            return None
        body, divisor = wire.round_body(asked), params.threshold - params.colluders
        terms = Terms(number, divisor, bits, length, ADJACENCIES[params.replace])
        for at, member in members.items():
            said[at] = member.begin(body, terms, lambda _: [0] * length, rng)
        gateway = ShardSum(drawn.shard, body, bits, length, SITE, SITE_KEY, links)
        for _ in range(2):  # the shares of secrets, then the masked numbers
            for at, frames in said.items():
                for frame in frames:
                    gateway.take_frame(at, frame)
            said = {}
            for to, words in gateway.end_step():
                if to:
                    said[to] = members[to].handle(words, False)
                else:
                    said[0] = device.node.handle(device.node.topics[0], words, read)
        return said.get(0) or None

    return made, ask


class Life:
    """One device with a window, and each answer that left it at its true time."""

    def __init__(self, kind: Kind, rng: Any, secret: int = 0) -> None:
        self.rng, self.secret, self.clock, self.kind = rng, secret, Clock(), kind
        root = rng.bits(256).to_bytes(32, "big")
        self.clock.rate = Fraction(98 + rng.below(5), 100) if rng.below(2) else FASTEST
        self.flash = Flash(rng)
        self.memory = Memory(self.flash)
        self.length_s, self.number = 3600 * HOURS, 0
        self.device = kind.device(root, slots=self.flash, window=self.length_s, uptime=self.clock)
        self.answers: list[int] = []  # true milliseconds
        self.looks: list[str] = []
        self.faults: list[str] = []
        self.start()

    def start(self) -> None:
        """Start it, with what its slots and its memory hold."""
        try:
            self.device.boot(self._nap())
        except Lost as why:
            self.faults.append(f"power cuts alone lost the key: {why}")

    def _nap(self) -> Nap:
        key = self.device.identity.state_key
        return Nap(self.memory, key, rtc_s=self.clock.read_rtc_s, asleep_s=ASLEEP_S)

    def act(self, name: str) -> None:
        """Do one thing; a power cut in it is followed by a start."""
        try:
            getattr(self, name)()
            self._age_budget()
        except PowerCut:
            self.flash.fuse = -1
            if self.rng.below(2):
                self.memory.held = b""
            self.start()
        self.looks.append(self.device.describe())

    def ask(self, slow_ms: int = 0, fails: bool = False) -> Any:
        """Ask the next Round, whose reading takes this long."""
        self.number += 1
        return self._ask(self.number, slow_ms, fails)

    def _ask(self, number: int, slow_ms: int = 0, fails: bool = False) -> Any:
        at_ms: list[int] = []

        def read(params: Any) -> Any:
            self.clock.true_ms += slow_ms
            at_ms.append(self.clock.true_ms)
            if fails:
                raise OSError("the sensor is away")
            return self.kind.seen(self.secret + number)

        said = self.kind.ask(self.device, number, read)
        if said is not None and at_ms:
            self.answers.append(at_ms[-1])
            since_ms = at_ms[-1] - 1000 * self.length_s
            if sum(at >= since_ms for at in self.answers) > self.kind.answers:
                self.faults.append("a window of true time holds more than its budget")
        return said

    def ask_all(self) -> None:
        """Ask for as much as it gives."""
        for _ in range(2 * self.kind.answers):
            if self.ask() is None:
                return

    def ask_failing(self) -> None:
        """Ask while the sensor fails, and the same again somewhat later, when it does not."""
        self.ask(fails=True)
        self.wait()
        self._ask(self.number)

    def ask_slowly(self) -> None:
        """Ask, and read as slowly as a bucket is long."""
        self.ask(slow_ms=self.rng.below(1000 * step_of(self.length_s)))

    def ask_late(self) -> None:
        """Ask, read three buckets later, and spend all when the payment is a window old."""
        step_ms = 1000 * step_of(self.length_s)
        self._pass(2000 * self.length_s)
        self.ask(slow_ms=3 * step_ms)
        self._pass(int(23 * step_ms / self.clock.rate))
        self.ask_all()

    def skip_numbers(self) -> None:
        """Ask a Round of a number that is far ahead."""
        self.number += 1 + self.rng.below(1 << 12)
        self.ask()

    def cut_power_at_a_write(self) -> None:
        """Cut the power at one of the next writes, ask meanwhile, and start it anew."""
        self.flash.fuse = self.rng.below(4)
        for _ in range(3):
            self.ask()
            self.wait_hour()
            self._age_budget()
        self.restart()

    def restart(self) -> None:
        """Start it anew."""
        self.memory.held = self.memory.held if self.rng.below(2) else b""
        self.flash.fuse = -1
        self.start()

    def sleep(self) -> None:
        """Let it sleep and wake, several times; now and then the RTC is set meanwhile."""
        for _ in range(1 + self.rng.below(40)):
            self.device.budget.sleep(self._nap())
            self.clock.true_ms += int(1000 * ASLEEP_S / self.clock.rtc_rate)
            jumps = 86_400, -86_400, 50, ASLEEP_S
            self.clock.set_s += jumps[self.rng.below(4)] if not self.rng.below(8) else 0
            self.start()
            if not self.rng.below(3):
                self.ask()

    def wait(self) -> None:
        """Let time pass: up to a few buckets."""
        self._pass(self.rng.below(4000 * step_of(self.length_s)))

    def wait_hour(self) -> None:
        """Let just about a bucket pass."""
        self._pass(1000 * step_of(self.length_s) * 50 // 51 + self.rng.below(2001) - 1000)

    def wait_window(self) -> None:
        """Let just about a window pass."""
        self._pass(1000 * self.length_s + self.rng.below(4001) - 2000)

    def wait_month(self) -> None:
        """Let a month pass."""
        self._pass(30 * 86_400_000)

    def _age_budget(self) -> None:
        self.device.budget.age(self.device.node.fail)

    def _pass(self, ms: int) -> None:
        for part in range(8):  # it looks at its clock now and then
            self.clock.true_ms += ms // 8 + (ms % 8 if not part else 0)
            self._age_budget()

    def tighten(self) -> None:
        """Send limits that are tighter, or not."""
        held = self.device.budget.limits
        own = held._replace(version=held.version + 1, budget=held.budget - self.rng.below(2))
        self.device.node.tighten(self.device.sign_limits(own))


DRAWN = (
    "ask ask_all ask_all ask_all ask_failing ask_slowly ask_slowly skip_numbers "
    "cut_power_at_a_write restart sleep wait wait wait_hour wait_hour wait_hour wait_window "
    "wait_window wait_month tighten"
)


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what devices with a window gave away within it, of true time."""
    if "window_h" not in mechanism.abouts:
        promises = [plan.guarantee for plan in _plan_first_rounds(mechanism)]
        sentence = "nothing is promised for a window of hours, which no device of it counts"
        yield claim_fact(sentence, not any(map(get_window_h, promises)), samples=len(promises))
        return
    for kind in list_kinds(mechanism, effort.tape):
        pairs = effort.pick(*((2, 40) if kind.mode == "summed" else (6, 200)))
        lives: list[Life] = []
        for number in range(pairs):
            lives += [
                run_device(kind, effort.tape("window", kind.mode, number), at) for at in (0, 1)
            ]
            if effort.first and any(life.faults for life in lives):
                break
        answers = sum(len(life.answers) for life in lives)
        faults = {fault for life in lives for fault in life.faults}
        sentence = (
            f"{kind.mode}: no window of true time holds more than its budget, whatever the "
            "clocks, the power, the sensors and the Rounds do"
        )
        yield claim_none(sentence, faults, "faults", samples=answers)
        alike = all(a.looks == b.looks for a, b in zip(lives[::2], lives[1::2], strict=True))
        sentence = f"{kind.mode}: what was spent comes back, whatever is read, and is seen to"
        yield claim_fact(sentence, alike and answers > kind.answers * len(lives), samples=answers)


def _plan_first_rounds(mechanism: Any) -> Iterator[Any]:
    return (mechanism.plan(query, ()) for _, query in mechanism.subject.list_queries())


def run_device(kind: Kind, rng: Any, secret: int) -> Life:
    """Return what came of one device."""
    life, acts = Life(kind, rng, secret), DRAWN.split()
    life.act("ask_late")
    for _ in range(ACTS):
        life.act(acts[rng.below(len(acts))])
        if life.faults:
            break
    return life

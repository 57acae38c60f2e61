"""What a device with a window gives away within any window of true time, whatever is done to it.

Its clock runs as fast as it may, or slow; power is cut, sleeps are lost and the RTC is set; Rounds
come in bursts, are paid for long before they are read, and are read slowly; limits come. Each
answer is kept with the true time of its reading, and no window of that length may hold more than
the budget. What a device says of itself is not asked.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from edge.board.power import Nap
from edge.core.budget import Lost
from edge.core.window import step_of

from ..bench import Device, message, subject_of
from .power import Flash, Memory, PowerCut

HOURS = 24
ANSWERS = 40  # that the budget of a window is for
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

    def rtc_s(self) -> int:
        """Return what the RTC says."""
        return int(self.set_s + self.true_ms * self.rtc_rate / 1000)


class Life:
    """One device with a window, and each answer that left it at its true time."""

    def __init__(self, asked: Any, root: bytes, mode: str, rng: Any, told: int = 0) -> None:
        self.rng, self.told, self.clock = rng, told, Clock()
        self.clock.rate = Fraction(98 + rng.below(5), 100) if rng.below(2) else FASTEST
        self.flash = Flash(rng)
        self.memory = Memory(self.flash)
        asking = self.asking = subject_of(asked)
        self.cost = asking.cost(asked, asking.limits(asked, 0))
        self.length_s, self.number = 3600 * HOURS, 0
        budget = int(self.cost * ANSWERS) + 1
        self.device = Device(
            asked,
            root,
            slots=self.flash,
            mode=mode,
            budget=budget,
            sensors=asking.SENSORS,
            window=self.length_s,
            uptime=self.clock,
        )
        self.budget = budget
        self.answers: list[tuple[int, Fraction]] = []  # true milliseconds, nano-rho
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
        return Nap(self.memory, key, rtc_s=self.clock.rtc_s, asleep_s=ASLEEP_S)

    def act(self, name: str) -> None:
        """Do one thing; a power cut in it is followed by a start."""
        try:
            getattr(self, name)()
            self._age()
        except PowerCut:
            self.flash.fuse = -1
            if self.rng.below(2):
                self.memory.held = b""
            self.start()
        self.looks.append(self.device.said())

    def ask(self, slow_ms: int = 0, fails: bool = False) -> bytes | None:
        """Ask the next Round, whose reading takes this long."""
        self.number += 1
        return self._ask(self.number, slow_ms, fails)

    def _ask(self, number: int, slow_ms: int = 0, fails: bool = False) -> bytes | None:
        at_ms: list[int] = []
        asked, signed = message(self.device.round, number)

        def read(params: Any) -> Any:
            self.clock.true_ms += slow_ms
            at_ms.append(self.clock.true_ms)
            if fails:
                raise OSError("the sensor is away")
            return self.asking.seen(asked, self.told + number, self.asking.SENSORS)

        self.device.node.prepare()
        frame: bytes | None = self.device.node.answer(signed, read)
        if frame is not None and at_ms:
            self.answers.append((at_ms[-1], self.cost))
            since_ms = at_ms[-1] - 1000 * self.length_s
            if sum(cost for at, cost in self.answers if at >= since_ms) > self.budget:
                self.faults.append("a window of true time holds more than its budget")
        return frame

    def burst(self) -> None:
        """Ask for as much as it gives."""
        for _ in range(2 * ANSWERS):
            if self.ask() is None:
                return

    def fail(self) -> None:
        """Ask while the sensor fails, and the same again somewhat later, when it does not."""
        self.ask(fails=True)
        self.wait()
        self._ask(self.number)

    def slow(self) -> None:
        """Ask, and read as slowly as a bucket is long."""
        self.ask(slow_ms=self.rng.below(1000 * step_of(self.length_s)))

    def leap(self) -> None:
        """Ask a Round of a number that is far ahead."""
        self.number += 1 + self.rng.below(1 << 12)
        self.ask()

    def cut(self) -> None:
        """Cut the power at a write, soon."""
        self.flash.fuse = self.rng.below(4)
        for _ in range(3):
            self.ask()
            self.hour()
            self._age()
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

    def hour(self) -> None:
        """Let just about a bucket pass."""
        self._pass(1000 * step_of(self.length_s) * 50 // 51 + self.rng.below(2001) - 1000)

    def window(self) -> None:
        """Let just about a window pass."""
        self._pass(1000 * self.length_s + self.rng.below(4001) - 2000)

    def month(self) -> None:
        """Let a month pass."""
        self._pass(30 * 86_400_000)

    def _age(self) -> None:
        self.device.budget.age(self.device.node.fail)

    def _pass(self, ms: int) -> None:
        for part in range(8):  # it looks at its clock now and then
            self.clock.true_ms += ms // 8 + (ms % 8 if not part else 0)
            self._age()

    def tighten(self) -> None:
        """Send limits that are tighter, or not."""
        held = self.device.budget.limits
        own = held._replace(version=held.version + 1, budget=held.budget - self.rng.below(2))
        self.device.node.tighten(self.device.order(own))


DRAWN = (
    *("ask", "burst", "burst", "burst", "fail", "slow", "slow", "leap", "cut", "restart", "sleep"),
    *("wait", "wait", "hour", "hour", "hour", "window", "window", "month", "tighten"),
)


def live(asked: Any, mode: str, tape: Callable[..., Any], number: int, told: int = 0) -> Life:
    """Return what came of one device."""
    rng = tape("window", mode, number)
    life = Life(asked, rng.bits(256).to_bytes(32, "big"), mode, rng, told)
    for _ in range(ACTS):
        life.act(DRAWN[rng.below(len(DRAWN))])
        if life.faults:
            break
    return life

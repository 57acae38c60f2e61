"""Why a board started, who resets it when it hangs, and how it sleeps with that watchdog on."""

from types import SimpleNamespace
from typing import Any

import pytest

from edge.board import power

RP2040_MOST_MS = 8388  # ports/rp2/machine_wdt.c


@pytest.mark.parametrize(("name", "word"), power.CAUSES)
def test_why_it_started_is_a_word(name: str, word: str) -> None:
    """Ports number their causes differently and name them alike."""
    machine: Any = SimpleNamespace(reset_cause=lambda: 7, **{name: 7})

    assert power.cause(machine) == word
    assert power.cause(SimpleNamespace(reset_cause=lambda: 6, **{name: 7})) == "unknown"
    assert power.cause(SimpleNamespace()) == "unknown"


class Chip:
    """A chip in time that a test lets pass: it is reset when its watchdog runs out.

    most_ms: of its watchdog. locks: whether one that runs out in light sleep stops it for good.
    """

    def __init__(self, most_ms: int, locks: bool = False) -> None:
        self.now_ms = self.fed_ms = self.slept_ms = 0
        self.most_ms, self.locks = most_ms, locks
        self.patience_ms = self.period_ms = 0
        self.end = ""

    def WDT(self, timeout: int) -> Any:  # noqa: N802
        if timeout > self.most_ms:
            raise ValueError("timeout exceeds it")
        self.patience_ms, self.fed_ms = timeout, self.now_ms
        return self

    def feed(self) -> None:
        self.fed_ms = self.now_ms

    def Timer(self, number: int, period: int, callback: Any) -> Any:  # noqa: N802
        self.period_ms, self.callback, self.rings_ms = period, callback, self.now_ms + period
        return self

    def deinit(self) -> None:
        self.period_ms = 0

    def passes(self, ms: int, interrupts: bool = True) -> None:
        """Let time pass in which nothing of the program runs but its timer."""
        for _ in range(ms):
            self.now_ms += 1
            if self.period_ms and interrupts and self.now_ms >= self.rings_ms:
                self.rings_ms += self.period_ms
                self.callback(self)
            if self.patience_ms and self.now_ms - self.fed_ms >= self.patience_ms:
                self.end = self.end or "reset"

    def lightsleep(self, ms: int) -> None:
        self.passes(ms, interrupts=False)
        self.slept_ms += ms
        if self.end and self.locks:
            self.end = "locked up"

    def reset(self) -> None:
        self.end = self.end or "started anew"

    def deepsleep(self, ms: int) -> None:
        """As the RP2040's port has it: a light sleep, and a reset."""
        self.lightsleep(ms)
        self.reset()


def test_a_name_server_that_is_silent_does_not_reset_an_rp2040() -> None:
    """Thirty seconds with everything standing still but interrupts; a join is not longer."""
    chip = Chip(RP2040_MOST_MS)
    dog = power.Watchdog(chip, "rp2")
    chip.passes(30_000)
    assert chip.end == ""
    dog.feed()
    chip.passes(30_000)
    assert chip.end == ""

    bare = Chip(RP2040_MOST_MS)
    bare.WDT(8000)
    bare.passes(30_000)
    assert bare.end == "reset"  # so the timer is what it took


def test_a_program_that_hangs_is_reset_all_the_same() -> None:
    """In little more than a minute where interrupts go on, in 8 s where they do not."""
    chip = Chip(RP2040_MOST_MS)
    power.Watchdog(chip, "rp2")
    chip.passes(power.PATIENCE_MS + power.SHORT_MS)
    assert chip.end == "reset"

    dead = Chip(RP2040_MOST_MS)
    power.Watchdog(dead, "rp2")
    dead.passes(RP2040_MOST_MS, interrupts=False)
    assert dead.end == "reset"


def test_a_board_with_a_long_watchdog_needs_no_timer() -> None:
    """An ESP32: its timers have other numbers, and one of them is not asked for."""
    chip = Chip(10**6)
    power.Watchdog(chip, "esp32")

    assert (chip.patience_ms, chip.period_ms) == (power.PATIENCE_MS, 0)
    power.Watchdog(SimpleNamespace(), "unix").feed()  # and one without any does without


def test_a_port_that_refuses_so_long_a_watchdog_gets_the_short_one() -> None:
    """Whatever its name is."""
    chip = Chip(RP2040_MOST_MS)
    power.Watchdog(chip, "other")

    assert (chip.patience_ms, chip.period_ms) == (power.SHORT_MS, power.STEP_MS)


@pytest.mark.parametrize("locks", [True, False])
def test_an_rp2040_sleeps_longer_than_its_watchdog_lets_it(locks: bool) -> None:
    """Until 1.26 a watchdog that runs out in light sleep stops the chip till its power goes."""
    chip = Chip(RP2040_MOST_MS, locks)
    dog = power.Watchdog(chip, "rp2")
    power.sleep(chip, 600, dog, "rp2")

    assert (chip.end, chip.slept_ms) == ("started anew", 600_000)
    assert chip.period_ms == 0  # a timer that rang in it would wake it

    naive = Chip(RP2040_MOST_MS, locks)
    power.Watchdog(naive, "rp2")
    naive.deepsleep(600_000)
    assert naive.end == ("locked up" if locks else "reset")


def test_a_long_sleep_is_cut_where_nothing_is_known_of_the_port() -> None:
    """32 bits of microseconds end after 71 minutes; an ESP32 counts 64, an RP2040 in pieces."""
    slept: dict[str, int] = {}
    for platform in ("esp32", "other"):

        def deepsleep(ms: int, platform: str = platform) -> None:
            slept[platform] = ms

        machine = SimpleNamespace(
            deepsleep=deepsleep, lightsleep=lambda ms: None, reset=lambda: None
        )
        power.sleep(machine, 86400, power.Watchdog(SimpleNamespace(), platform), platform)

    assert slept == {"esp32": 86_400_000, "other": power.LONGEST_MS}
    assert power.LONGEST_MS * 1000 < 2**32

"""A board at rest: when it sleeps, how long, and what wakes it."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from edge.board import power, start
from edge.board.led import ROUND_MS, Led, is_lit
from edge.net import link
from edge.net.ring import File, Ring

# Why a board started, who resets it when it hangs, and how it sleeps with that watchdog on.

RP2040_MOST_MS = 8388  # ports/rp2/machine_wdt.c


@pytest.mark.parametrize(("name", "word"), power.CAUSES)
def test_why_it_started_is_a_word(name: str, word: str) -> None:
    """Ports number their causes differently and name them alike."""
    machine: Any = SimpleNamespace(reset_cause=lambda: 7, **{name: 7})

    assert power.find_cause(machine) == word
    assert power.find_cause(SimpleNamespace(reset_cause=lambda: 6, **{name: 7})) == "unknown"
    assert power.find_cause(SimpleNamespace()) == "unknown"


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


@pytest.mark.parametrize(
    ("most_ms", "patience_ms", "period_ms"),
    [(10**6, power.PATIENCE_MS, 0), (RP2040_MOST_MS, power.SHORT_MS, power.STEP_MS)],
)
def test_a_board_with_a_long_watchdog_needs_no_timer(
    most_ms: int, patience_ms: int, period_ms: int
) -> None:
    """One that refuses so long a one gets the short one and a timer, whatever its name is."""
    chip = Chip(most_ms)
    power.Watchdog(chip, "other")

    assert (chip.patience_ms, chip.period_ms) == (patience_ms, period_ms)
    power.Watchdog(SimpleNamespace(), "unix").feed()  # and one without any does without


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


# How a board goes to sleep: when, and what it takes with it.


class World:
    """Time that passes in sleeps alone, and a draw that begins 50 ms after the start."""

    def __init__(self, draw_ms: int) -> None:
        self.now_ms_, self._draw_ms = 0, draw_ms
        self.EARLY_MS = 0

    def now_ms(self) -> int:
        return self.now_ms_

    def block_until(self, due_ms: int) -> None:
        """Boards are exact by themselves."""

    async def sleep_ms(self, ms: int) -> None:
        """Wake up when it is due, or when the loop is free again."""
        due_ms = self.now_ms_ + ms
        if self.now_ms_ < 50 <= due_ms:
            due_ms = max(due_ms, 50 + self._draw_ms)
        self.now_ms_ = due_ms


def sleeping(ring: Ring, world: World, farewell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a board that has answered go to sleep."""
    parts: Any = start.Parts.__new__(start.Parts)
    parts.ring, parts.client = ring, SimpleNamespace(connected=True)
    parts.budget = SimpleNamespace(frames=1, fault="")
    parts.config = SimpleNamespace(identity=None, wake_s=60)
    parts.led = SimpleNamespace(turn_off=lambda: None)
    parts.station = parts.nap = parts.machine = parts.watchdog = parts.updates = None
    for module in (start, link):
        monkeypatch.setattr(module, "sleep_ms", world.sleep_ms)
    monkeypatch.setattr(start, "Uptime", lambda: world)
    monkeypatch.setattr("edge.board.assemble.say_goodbye", farewell)
    monkeypatch.setattr("edge.board.power.sleep", lambda *how: None)
    asyncio.run(parts._nap())


def test_when_it_leaves_does_not_tell_how_long_a_draw_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its last words come at a multiple of what it looks at, whatever stood still in between."""
    left = []

    async def farewell(*who: Any) -> None:
        left.append(world.now_ms())

    for draw_ms in (1, 60, 130, 170, 420):
        world = World(draw_ms)
        sleeping(Ring(64), world, farewell, monkeypatch)

    assert left == [1000] * 5


def test_what_is_answered_during_the_farewell_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was paid for, and memory does not outlive the sleep."""
    ring = Ring(64, File(f"{tmp_path}/frames", 1024))

    async def farewell(*who: Any) -> None:
        ring.put(b"a frame")

    sleeping(ring, World(1), farewell, monkeypatch)

    assert File(f"{tmp_path}/frames", 1024).oldest() == b"a frame"


# What the light says, to somebody who counts its flashes.

WORDS = ["ready", "sleeping", "disconnected", "lost", "alert", "exhausted"]
WORDS += ["starting", "joining", "fault"]


def flashes(word: str) -> int:
    """Return how often the light comes on in one round."""
    seen = [is_lit(word, now_ms) for now_ms in range(ROUND_MS, 2 * ROUND_MS)]
    return sum(after > before for before, after in zip([0, *seen], seen, strict=False))


def test_each_word_looks_as_the_table_says() -> None:
    """Somebody counts flashes with the README in the other hand."""
    assert {word: flashes(word) for word in WORDS} == {
        "ready": 1,
        "sleeping": 0,
        "disconnected": 8,
        "lost": 8,
        "alert": 3,
        "exhausted": 2,
        "starting": 1,  # on all the time
        "joining": 20,
        "fault": 4,
    }
    assert all(is_lit("starting", now_ms) for now_ms in range(9000))


def test_the_pin_is_told_only_of_changes() -> None:
    """Some lights hang on the radio's own bus, which a word each look would keep busy."""
    told: list[int] = []
    led = Led(SimpleNamespace(value=told.append))
    led.show("ready")
    for now_ms in range(0, 2 * ROUND_MS, 30):
        led.refresh(now_ms)

    assert told == [1, 0, 1, 0]


def test_a_sensor_that_is_gone_shows_in_an_alert_alone() -> None:
    """What `state` does not say the light does not either; worse is not hidden by it."""
    faults = [0]
    led = Led()
    led.ill = lambda: faults[0]
    led.show("ready")
    seen = []
    for faults[0], word in (
        (0, "ready"),
        (1, "ready"),
        (1, "alert"),
        (1, "joining"),
        (0, "alert"),
    ):
        led.show(word)
        shown = []
        for now_ms in range(ROUND_MS, 2 * ROUND_MS, 10):
            led.refresh(now_ms)
            shown.append(led._level)
        seen.append(sum(b and not a for a, b in zip([0, *shown], shown, strict=False)))

    assert seen == [1, 1, 4, 20, 3]


def test_it_is_dark_before_a_sleep() -> None:
    """A light left on would be most of what a battery gives."""
    told: list[int] = []
    led = Led(SimpleNamespace(value=told.append))
    led.refresh(0)
    led.turn_off()

    assert told == [1, 0]


def test_the_board_s_files_load_on_every_interpreter(interpreter) -> None:
    """Without pins and radios too: what needs them asks for them when it runs."""
    # The one with the budget first, for the largest file needs the most to be compiled.
    names = ["power", "boot", "config", "drivers", "firmware", "led", "main", "net"]
    script = "".join(f"import edge.board.{name}\n" for name in names)

    assert interpreter.run(script + "print('all')") == "all\n"

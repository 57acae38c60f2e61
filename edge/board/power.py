"""Watchdog, deep sleep, what is left to the next boot, and why the board woke up.

Two things that an RP2040 does, and other boards do not:

Its watchdog has 8.4 s at most. A name server that is silent takes longer, and the port waits for
it with everything else standing still; so does a join on some radios. A reset in that wait is a
boot, and the next one a minute later again. So there a timer feeds it for `PATIENCE_MS` after it
was fed in earnest: interrupts that stand still are noticed in 8 s, a program that hangs in 68.

Its deep sleep is a light one and a reset. A watchdog that runs out in it stops the chip for good,
till somebody takes its power away. So it sleeps there in pieces that are shorter than that.

Source: MicroPython, ports/rp2/machine_wdt.c for the 8388 ms, and pull request 17546 (from 1.26 on)
for what happens in light sleep before; ports/esp32/modmachine.c for a sleep counted in 64 bits.
"""

import sys
import time

from ..core.budget import Record, pack, unpack
from ..core.compat import hmac_sha256
from ..core.entropy import ratchet

PATIENCE_MS = 60000  # longer than anything that a board waits for without feeding
SHORT_MS = 8000  # the RP2040 refuses more than 8388
STEP_MS = 2000
PIECE_MS = 4000  # of a sleep with the watchdog on
LONGEST_MS = 4000000  # where nothing is known of the port: 32 bits of microseconds are 71 minutes
# What `machine.reset_cause()` may be, by the names that ports give it.
CAUSES = (
    ("WDT_RESET", "watchdog"),
    ("DEEPSLEEP_RESET", "sleep"),
    ("PWRON_RESET", "power"),
    ("BROWN_OUT_RESET", "brown-out"),
    ("SOFT_RESET", "soft"),
    ("HARD_RESET", "hard"),
)


class Watchdog:
    """Resets a board that hangs. Once started it cannot be stopped; `feed` it, or be reset."""

    def __init__(self, machine, platform=sys.platform):
        self._inner = self._timer = None
        self._left_ms = PATIENCE_MS
        if not hasattr(machine, "WDT"):
            return
        if platform != "rp2":
            try:
                self._inner = machine.WDT(timeout=PATIENCE_MS)
                return
            except ValueError:  # as short a one as the RP2040's
                pass
        self._inner = machine.WDT(timeout=SHORT_MS)
        if hasattr(machine, "Timer"):
            self._timer = machine.Timer(-1, period=STEP_MS, callback=self._tick)

    def feed(self):
        """Say that all is well."""
        self._left_ms = PATIENCE_MS
        if self._inner is not None:
            self._inner.feed()

    def stop_timer(self):
        """Let no timer run any more: from now on each `feed` is one of ours."""
        if self._timer is not None:
            self._timer.deinit()
            self._timer = None

    def _tick(self, timer):
        self._left_ms -= STEP_MS
        if self._left_ms > 0 and self._inner is not None:
            self._inner.feed()


def find_cause(machine):
    """Return why the board started, in a word, for `diag`."""
    if not hasattr(machine, "reset_cause"):
        return "unknown"
    found = machine.reset_cause()
    for name, word in CAUSES:
        if getattr(machine, name, None) == found:
            return word
    return "unknown"


def sleep(machine, wake_s, watchdog, platform=sys.platform):
    """Sleep deeply; on a board this does not return, for it wakes by starting anew."""
    left_ms = wake_s * 1000
    if platform != "rp2":
        machine.deepsleep(left_ms if platform == "esp32" else min(left_ms, LONGEST_MS))
    watchdog.stop_timer()
    while left_ms > 0:
        watchdog.feed()
        machine.lightsleep(min(left_ms, PIECE_MS))
        left_ms -= PIECE_MS
    machine.reset()


# What a device that sleeps deeply leaves to its next boot, in the memory that outlives the
# sleep.
#
# A board that sleeps deeply starts anew each time, and each start is a boot, with an epoch and a
# chain key of its own. Three writes of the flash for each, and three for what it answers, erase
# some 210,000 blocks a year at an answer a minute (see `budget.Files`), and the lease is lost each
# time. So the slots reserve epochs ahead, as they pay for answers ahead:
#
#     all slots      the last epoch that is reserved, its chain key, what the lease may spend
#     this memory    the next epoch, its chain key, what is spent of that lease; signed, once
#
# It is written when the device falls asleep and erased when it wakes, before anything else is
# done. So whatever cuts a life short, in whatever moment, the memory holds nothing, or what was
# not used yet; and without it the next boot takes the epoch after all that were reserved, and
# counts the whole lease as spent. A battery that fades costs up to a lease, and never an epoch
# twice.
#
# Only the chain key of the next boot lies here while the device sleeps, and none of those
# before.
#
# memory: of `machine.RTC()`, on an ESP32: called with nothing it returns the bytes that it
# holds, called with bytes it keeps them. Other boards have none, and write their flash at each
# boot.
#
# Source: MicroPython, ports/esp32/machine_rtc.c: 2048 bytes that deep sleep leaves alone.

WAKES = 16  # boots for one write of the slots
LABEL = b"heatveil-nap-v1"  # a key of its own, so that no slot can be made of what lies here


class Nap:
    """That memory, under the device's state key. See `budget.Budget.boot` and `sleep`.

    rtc_s(): the seconds of the clock that runs on in the sleep, whatever it is set to, and
    asleep_s how long each lasts; None where there is none, and then no sleep is counted.
    """

    def __init__(self, memory, state_key, wakes=WAKES, rtc_s=None, asleep_s=0):
        self._memory = memory
        self._key = hmac_sha256(state_key, LABEL)
        self._wakes = wakes
        self.left = None  # the Record that was taken last
        self._rtc_s = rtc_s
        self._asleep_s = asleep_s

    def take(self, record):
        """Return the Record that was left, and erase it; None where it is not one of this Record.

        Its counter is the last epoch reserved. A boot without this memory raises that, and a
        later one finds that what lies here is of the past.
        """
        self.left = None
        try:
            held = bytes(self._memory())
            self._memory(bytes(len(held)))  # to write fewer leaves the others where they are
            self._memory(b"")
            if self._memory():  # what is not gone would be there again at the next boot
                return None
        except OSError:
            return None
        left = unpack(held, self._key)
        self.left = None if left is None or left.counter != record.epoch else left
        return self.left

    def find_reserve(self, epoch, chain):
        """Return the last epoch to reserve, and its chain key, from those of this boot."""
        for _ in range(self._wakes):
            chain = ratchet(chain)
        return epoch + self._wakes, chain

    def count_sleep(self, window):
        """Count the sleep that has ended; return whether a bucket of the window did in it."""
        return self._rtc_s is not None and window.wake(self._asleep_s, self._rtc_s())

    def save(self, reserved, epoch, spent, round, chain, limits, window):
        """Keep what the next boot may go on with; where that fails it goes by the slots alone."""
        kept = b""
        if window:
            kept = window.pack(0, 0 if self._rtc_s is None else self._rtc_s())
        record = Record(reserved, epoch + 1, spent, round, ratchet(chain), limits, kept)
        try:
            self._memory(pack(record, self._key))
        except (OSError, ValueError):
            pass


def nap_of(machine, state_key, wake_s):
    """Return the Nap of this board, or None where no memory of it outlives a sleep."""
    memory = getattr(machine.RTC(), "memory", None) if hasattr(machine, "RTC") else None
    return None if memory is None else Nap(memory, state_key, WAKES, time.time, wake_s)

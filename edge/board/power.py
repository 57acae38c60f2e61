"""Watchdog, deep sleep, and why the board woke up.

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

    def still(self):
        """Let no timer run any more: from now on each `feed` is one of ours."""
        if self._timer is not None:
            self._timer.deinit()
            self._timer = None

    def _tick(self, timer):
        self._left_ms -= STEP_MS
        if self._left_ms > 0:
            self._inner.feed()


def cause(machine):
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
    watchdog.still()
    while left_ms > 0:
        watchdog.feed()
        machine.lightsleep(min(left_ms, PIECE_MS))
        left_ms -= PIECE_MS
    machine.reset()

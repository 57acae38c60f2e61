"""Watchdog, deep sleep, and why the board woke up.

A board that sleeps deeply starts anew each time, and each start is a boot: `budget.boot` puts the
next epoch into the two slots before anything can be said in it. The count is kept there and
nowhere else. A copy in the memory that survives sleep (RTC) would save that write and lose
everything where a battery fades: the noise of an epoch would be drawn a second time. What it
costs is one write a wake, which bounds how often to wake: see `slots` for the wear.
"""

WATCHDOG_MS = 8000  # the RP2040 has no longer one
# Longer sleeps are cut: some boards count microseconds in 32 bits, and wake at once beyond.
LONGEST_MS = 4000000
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

    def __init__(self, machine, patience_ms=WATCHDOG_MS):
        self._inner = None
        if hasattr(machine, "WDT"):
            self._inner = machine.WDT(timeout=patience_ms)

    def feed(self):
        """Say that all is well."""
        if self._inner is not None:
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


def sleep(machine, wake_s):
    """Sleep deeply; on a board this does not return, for it wakes by starting anew."""
    machine.deepsleep(min(wake_s * 1000, LONGEST_MS))

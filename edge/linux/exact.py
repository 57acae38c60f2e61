"""A device's uptime on Linux: for ticks, exact to the beginning of a millisecond, and for windows.

A board's processor wakes up when its counter of milliseconds changes. Linux wakes a program so
many milliseconds after it fell asleep, which is somewhere within one: and where in it is what the
work before took, the draw of the noise as well. So the last bit is slept to a moment, not for a
while.
"""

import time

from ..core.compat import Uptime


class Raw(Uptime):
    """Milliseconds since it was made, of a counter whose rate no time server can change.

    What a window ages by: daemons that set the clock let the usual counter run up to a twelfth
    faster meanwhile.
    """

    def __init__(self):
        self._begun_ms = _raw_ms()

    def now_ms(self):
        """Return the milliseconds since this clock was made."""
        return _raw_ms() - self._begun_ms


def _raw_ms():
    clock = getattr(time, "CLOCK_MONOTONIC_RAW", None)
    return (time.monotonic_ns() if clock is None else time.clock_gettime_ns(clock)) // 1000000


class Exact(Uptime):
    """Milliseconds since it was made; `block_until` ends when one of them begins."""

    EARLY_MS = 2  # asyncio's sleeps are late by one, and by what the loop has to do

    def __init__(self):
        super().__init__()
        self._begun_ms = time.monotonic_ns() // 1000000 - self.now_ms()

    def block_until(self, due_ms):
        """Return at the very beginning of this millisecond, or at once where it has begun."""
        left_ns = (self._begun_ms + due_ms) * 1000000 - time.monotonic_ns()
        if left_ns > 0:
            time.sleep(left_ns / 1000000000)

"""A device's uptime on Linux, exact to the beginning of a millisecond.

A board's processor wakes up when its counter of milliseconds changes. Linux wakes a program so
many milliseconds after it fell asleep, which is somewhere within one: and where in it is what the
work before took, the draw of the noise as well. So the last bit is slept to a moment, not for a
while.
"""

import time

from ..core.compat import Uptime


class Exact(Uptime):
    """Milliseconds since it was made; `stay` ends when one of them begins."""

    EARLY_MS = 2  # asyncio's sleeps are late by one, and by what the loop has to do

    def __init__(self):
        super().__init__()
        self._begun_ms = time.monotonic_ns() // 1000000 - self.now_ms()

    def stay(self, due_ms):
        """Return at the very beginning of this millisecond, or at once where it has begun."""
        left_ns = (self._begun_ms + due_ms) * 1000000 - time.monotonic_ns()
        if left_ns > 0:
            time.sleep(left_ns / 1000000000)

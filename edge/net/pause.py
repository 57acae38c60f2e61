"""Waiting, in milliseconds, on both Pythons: the one file with a true division.

CPython's asyncio counts in seconds and MicroPython's boards count in whole milliseconds. What is
divided here is a time to sleep, never a reading, a noise or what is made of them.
"""

import asyncio

from ..core.compat import spread


def sleep_ms(ms):
    """Return what to await to let others run for so long."""
    if hasattr(asyncio, "sleep_ms"):
        return asyncio.sleep_ms(ms)
    return asyncio.sleep(ms / 1000)


async def within_ms(ms, awaitable):
    """Return what it gives; asyncio.TimeoutError when that takes longer."""
    if hasattr(asyncio, "wait_for_ms"):
        return await asyncio.wait_for_ms(awaitable, ms)
    # Not `wait_for`: before 3.12 it forgets a cancellation that comes with the result.
    async with asyncio.timeout(ms / 1000):
        return await awaitable


async def within(ms, event):
    """Wait for an event, for so long at most; say whether it is set."""
    if hasattr(event, "within_ms"):  # not asyncio's: whoever runs many devices brings a cheaper
        await event.within_ms(ms)
        return event.is_set()
    try:
        await within_ms(ms, event.wait())
    except asyncio.TimeoutError:
        pass
    return event.is_set()


async def until(clock, due_ms):
    """Return when a `compat.Uptime` comes to this millisecond, or at once where it has passed."""
    while True:
        left_ms = due_ms - clock.EARLY_MS - clock.now_ms()
        if left_ms <= 0:
            return clock.stay(due_ms)
        await sleep_ms(left_ms)


class Pauses:
    """Between attempts: from least to twice most, doubled each time, and never the neighbour's."""

    def __init__(self, least_ms, most_ms):
        self.least_ms = least_ms
        self.most_ms = most_ms
        self._next_ms = least_ms

    async def wait(self, event, anew):
        """Return after a pause, or at once when the event is set; anew: begin with the least."""
        if anew:
            self._next_ms = self.least_ms
        pause_ms = self._next_ms
        self._next_ms = min(2 * pause_ms, self.most_ms)
        await within(pause_ms + spread(pause_ms), event)

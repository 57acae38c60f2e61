"""Waiting, in milliseconds, on both Pythons: the one file with a true division.

CPython's asyncio counts in seconds and MicroPython's boards count in whole milliseconds. What is
divided here is a time to sleep, never a reading, a noise or what is made of them.
"""

import asyncio

from .compat import spread


def sleep_ms(ms):
    """Return what to await to let others run for so long."""
    if hasattr(asyncio, "sleep_ms"):
        return asyncio.sleep_ms(ms)
    return asyncio.sleep(ms / 1000)


def within_ms(ms, awaitable):
    """Return what to await for its result; asyncio.TimeoutError when that takes longer."""
    if hasattr(asyncio, "wait_for_ms"):
        return asyncio.wait_for_ms(awaitable, ms)
    return asyncio.wait_for(awaitable, ms / 1000)


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
        try:
            await within_ms(pause_ms + spread(pause_ms), event.wait())
        except asyncio.TimeoutError:
            pass

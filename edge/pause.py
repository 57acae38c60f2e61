"""Waiting, in milliseconds, on both Pythons: the one file with a true division.

CPython's asyncio counts in seconds and MicroPython's boards count in whole milliseconds. What is
divided here is a time to sleep, never a reading, a noise or what is made of them.
"""

import asyncio


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

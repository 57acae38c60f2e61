"""What differs on CPython: files that are on the medium, waiting in seconds, and its streams.

`compat` and `link` take these in place of their own, so that no board holds them. It is the one
file with a true division, of a time to sleep. asyncio is loaded by who waits: it takes longer to
load than a report takes to make.
"""

import os


def write_durably(path, data):
    """Write a whole file and return when it is on the medium, not merely on its way there.

    `flush` only empties Python's own buffer, so `fsync` must follow. A new file is for its owner
    alone, where the system knows owners, and its folder is synced too, or its name could vanish.
    """
    fresh = hasattr(os, "O_DIRECTORY") and not os.path.exists(path)
    if fresh:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    _write(path, data, "wb")
    if fresh:
        folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(folder)
        os.close(folder)


def add_durably(path, data):
    """Add to the end of a file and return when it is on the medium; `write_durably` makes it."""
    _write(path, data, "ab")


def _write(path, data, how):
    with open(path, how) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sleep_ms(ms):
    """Return what to await to let others run for so long."""
    import asyncio

    return asyncio.sleep(ms / 1000)


async def within_ms(ms, awaitable):
    """Return what it gives; asyncio.TimeoutError when that takes longer."""
    import asyncio

    # Not `wait_for`: before 3.12 it forgets a cancellation that comes with the result.
    async with asyncio.timeout(ms / 1000):
        return await awaitable


def set_no_delay(stream):
    """Let `drain` wait till all of it went; what is written goes out at once (RFC 896)."""
    stream.transport.set_write_buffer_limits(1, 0)  # in TLS 0 would be for ever


def count_unsent(stream):
    """Return how many bytes that were written to a stream still wait to go out."""
    return stream.transport.get_write_buffer_size()


async def hang_up(stream):
    """Close a stream, and wait for nobody, as its own close would for the other side's."""
    try:
        stream.transport.abort()
        stream.close()
        await stream.wait_closed()
    except OSError:
        pass

"""One connection at a time to a broker at most, and no wait is without an end."""

# A packet is one write, for what is written in pieces waits for the other side's delayed
# acknowledgement (40 ms). Whoever finds the connection broken says so with `end`, once.
#
# The loop stands still while noise is drawn, and what goes out late because of that would tell how
# long it took. So a device draws only while nothing is half way out (`busy`), and afterwards lets
# nothing out before the next tick (`hush`): no answer to what was published, no ping, no goodbye.
#
# What differs between Pythons: their streams, after the class; and that on MicroPython a
# closed port and a wrong certificate are not noticed before something is written or read.
#
# Waiting is in milliseconds on both Pythons; CPython's own way of it is in `edge.cpython`.

import asyncio

from ..core.compat import draw_jitter


class Fault(ValueError):
    """What came is not what a broker says to this client."""


class Link:
    """The way to host and port, through a `tls.Door` or None; no wait takes longer than wait_s."""

    def __init__(self, host, port, door, wait_s):
        self.up = False  # whether the broker has let us in
        self.ended = asyncio.Event()
        self.trouble = ""  # why the last connection ended, or what was wrong in it
        self.wait_ms = 1000 * wait_s
        self._where = (host, port)
        self._door = door
        self._lock = asyncio.Lock()  # of whoever writes
        self._writer = None
        self._clock = None
        self._due_ms = 0  # before this moment of that clock nothing is written

    @property
    def busy(self):
        """Say whether a packet or a handshake is half way out."""
        return self._lock.locked()

    def hush(self, clock, due_ms):
        """Let nothing out before this moment of a `compat.Uptime`, if nothing is half way out."""
        self._clock, self._due_ms = clock, due_ms

    async def open(self):
        """Return what to read from. Raises whatever stands in the way; give that to `end`."""
        self.ended.clear()
        async with self._lock:
            await self._hushed()
            return await within_ms(self.wait_ms, self._open())

    async def close(self):
        """Close the connection, if there is one."""
        writer, self._writer = self._writer, None
        if writer is not None:
            await _hang_up(writer)

    async def send(self, packet):
        """Write a packet in one piece; say whether it went. Where it does not, the link ends."""
        try:
            async with self._lock:
                await self._hushed()
                await self._write(packet)
            return True
        except Exception as why:
            self.end(why)
            return False

    def end(self, why):
        """Let the connection be over; the first reason counts."""
        if self.ended.is_set():
            return
        if self._door and not isinstance(why, (str, Fault)):
            why = self._door.judge(why)
        self.trouble = str(why) or type(why).__name__
        self.ended.set()

    async def _open(self):
        how = {"ssl": self._door} if self._door else {}
        opened = asyncio.open_connection(self._where[0], self._where[1], **how)
        reader, self._writer = await opened
        _no_delay(self._writer)
        return reader

    async def _hushed(self):
        if self._clock is not None:
            await wait_until(self._clock, self._due_ms)

    async def _write(self, packet):
        if self._writer is None or self.ended.is_set():
            raise OSError("there is no connection")
        self._writer.write(packet)
        try:
            if _unsent(self._writer):
                await within_ms(self.wait_ms, self._writer.drain())
            else:  # lets others run, and says what is broken
                await self._writer.drain()
        except BaseException:  # part of it may be gone, so nothing may follow it
            self.end("a packet did not get through")
            raise


if hasattr(asyncio, "sleep_ms"):
    sleep_ms = asyncio.sleep_ms

    def within_ms(ms, awaitable):
        """Wait for what it gives; asyncio.TimeoutError when that takes longer."""
        return asyncio.wait_for_ms(awaitable, ms)  # type: ignore[attr-defined]

    def _no_delay(stream):
        """Let what is written to a stream go out at once, where the port can (RFC 896)."""
        try:
            stream.s.setsockopt(6, 1, 1)  # IPPROTO_TCP, TCP_NODELAY: lwIP and Linux agree
        except (AttributeError, OSError):  # in TLS, or too old: one write a packet does well too
            pass

    def _unsent(stream):
        """Return how many bytes that were written to a stream still wait to go out."""
        return len(stream.out_buf)

    async def _hang_up(stream):
        """Close a stream, and wait for nobody."""
        try:
            stream.close()
            await stream.wait_closed()
        except OSError:
            pass

else:
    from ..cpython import count_unsent as _unsent
    from ..cpython import hang_up as _hang_up
    from ..cpython import set_no_delay as _no_delay
    from ..cpython import sleep_ms as sleep_ms
    from ..cpython import within_ms as within_ms


async def wait_for_event(ms, event):
    """Wait for an event, for so long at most; say whether it is set."""
    try:
        await within_ms(ms, event.wait())
    except asyncio.TimeoutError:
        pass
    return event.is_set()


async def wait_until(clock, due_ms):
    """Return when a `compat.Uptime` comes to this millisecond, or at once where it has passed."""
    while True:
        left_ms = due_ms - clock.EARLY_MS - clock.now_ms()
        if left_ms <= 0:
            return clock.block_until(due_ms)
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
        await wait_for_event(pause_ms + draw_jitter(pause_ms), event)

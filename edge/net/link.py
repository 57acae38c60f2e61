"""One connection at a time to a broker: opened, written to and closed, and no wait without an end.

A packet is one write, for what is written in pieces waits for the other side's delayed
acknowledgement (40 ms). Whoever finds the connection broken says so with `end`, once.

The loop stands still while noise is drawn, and what goes out late because of that would tell how
long it took. So a device draws only while nothing is half way out (`busy`), and afterwards lets
nothing out before the next tick (`hush`): no answer to what was published, no ping, no goodbye.

What differs between Pythons: their streams, at the end of this file; and that on MicroPython a
closed port and a wrong certificate are not noticed before something is written or read.
"""

import asyncio

from .packets import DISCONNECT, Fault
from .pause import until, within, within_ms

GOODBYE_MS = 1000


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

    async def goodbye(self):
        """Say DISCONNECT, and let the broker hang up first.

        A socket that is closed while something comes in can take back what was said.
        """
        if self.up and await self.send(DISCONNECT):
            await within(GOODBYE_MS, self.ended)
        self.end("stopped")

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
            why = self._door.judged(why)
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
            await until(self._clock, self._due_ms)

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


def _no_delay(stream):
    """Let what is written to a stream go out at once, where the port can (RFC 896)."""
    if hasattr(stream, "transport"):  # CPython's does so; and `drain` waits till all of it went
        stream.transport.set_write_buffer_limits(1, 0)  # in TLS 0 would be for ever
        return
    try:
        stream.s.setsockopt(6, 1, 1)  # IPPROTO_TCP, TCP_NODELAY: lwIP and Linux agree
    except (AttributeError, OSError):  # in TLS, or too old: one write a packet does well too
        pass


def _unsent(stream):
    """Return how many bytes that were written to a stream still wait to go out."""
    if hasattr(stream, "transport"):
        return stream.transport.get_write_buffer_size()
    return len(stream.out_buf)


async def _hang_up(stream):
    """Close a stream, and wait for nobody."""
    try:
        if hasattr(stream, "transport"):  # CPython's close would wait for the other side's
            stream.transport.abort()
        stream.close()
        await stream.wait_closed()
    except OSError:
        pass

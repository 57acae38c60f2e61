"""One connection at a time to a broker: opened, written to and closed, and no wait without an end.

A packet is one write, for what is written in pieces waits for the other side's delayed
acknowledgement (40 ms). Whoever finds the connection broken says so with `end`, once.

What differs between Pythons shows in `end` alone: on MicroPython a closed port and a wrong
certificate are not noticed before something is written or read.
"""

import asyncio

from .compat import hang_up, no_delay
from .packets import DISCONNECT, Fault


class Link:
    """The way to host and port, through a `tls.Door` or None; no wait takes longer than wait_s."""

    def __init__(self, host, port, door, wait_s):
        self.up = False  # whether the broker has let us in
        self.ended = asyncio.Event()
        self.trouble = ""  # why the last connection ended, or what was wrong in it
        self.wait_s = wait_s
        self._where = (host, port)
        self._door = door
        self._lock = asyncio.Lock()  # of whoever writes
        self._writer = None

    async def open(self):
        """Return what to read from. Raises whatever stands in the way; give that to `end`."""
        self.ended.clear()
        how = {"ssl": self._door} if self._door else {}
        opened = asyncio.open_connection(self._where[0], self._where[1], **how)
        reader, self._writer = await asyncio.wait_for(opened, self.wait_s)
        no_delay(self._writer)
        return reader

    async def goodbye(self):
        """Say DISCONNECT, and let the broker hang up first.

        A socket that is closed while something comes in can take back what was said.
        """
        if self.up and await self.send(DISCONNECT):
            try:
                await asyncio.wait_for(self.ended.wait(), 1)
            except asyncio.TimeoutError:
                pass
        self.end("stopped")

    async def close(self):
        """Close the connection, if there is one."""
        writer, self._writer = self._writer, None
        if writer is not None:
            await hang_up(writer)

    async def send(self, packet):
        """Write a packet in one piece; say whether it went. Where it does not, the link ends."""
        try:
            await asyncio.wait_for(self._write(packet), self.wait_s)
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

    async def _write(self, packet):
        async with self._lock:
            if self._writer is None:
                raise OSError("there is no connection")
            self._writer.write(packet)
            try:
                await self._writer.drain()
            except BaseException:  # part of it may be gone, so nothing may follow it
                self.end("a packet did not get through")
                raise

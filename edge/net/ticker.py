"""When a frame goes out: at a tick that was fixed when its Round came."""

# How long noise takes to draw tells how large it is. So it is drawn ahead, and a frame leaves a
# whole number of ticks after its Round arrived, however long it took to make:
#
#     due = arrival + k tick,   k = 1, 2, ... the least by which the frame was there
#
# k is 1 as long as the tick is longer than the longest answer: a sensor opened anew and read,
# three slots written, noise drawn that did not lie ready, a frame packed. A larger k tells how
# long that took, and with it something of the noise. So the tick is twice the longest answer of
# this board with this sensor, which `heatveil provision` reckons and measures there, and each
# larger k is counted (`missed`), for `diag` to tell: then the tick is too short.
#
# No clock and no radio in here: who calls says what time it is, in milliseconds of a clock that
# only goes forward (`compat.Uptime`), and sends what comes back. The loop of a device:
#
#     ticker.take(message, read, clock.now_ms())    when a Round comes, and at once afterwards,
#     frame = ticker.poll(clock.now_ms())            then every few milliseconds: send if not None
#
# Source: Canonne, Kamath and Steinke 2020, Section 5.4, on what the time of a draw gives away.


class Ticker:
    """Holds a node's frame back until its tick, and lets the node draw ahead in between."""

    def __init__(self, node, tick_ms):
        if tick_ms < 1:
            raise ValueError(
                "a tick of %d ms is none; it must be 1 ms or more, and longer than an answer, or "
                "the time of sending shows how long its noise took. Take twice as long" % tick_ms
            )
        self.node = node
        self.due_ms = None  # when the frame goes out, once that is known
        self.missed = 0  # frames that were not there by their first tick
        self._tick_ms = tick_ms
        self._came_ms = 0
        self._frame = None

    @property
    def waits(self):
        """Say whether a frame is held back. What a device says then tells when it was made."""
        return self._frame is not None

    def find_tick(self, begun_ms, now_ms):
        """Return the first tick, counted from `begun_ms`, by which what began then was done."""
        ticks = -(-(now_ms - begun_ms) // self._tick_ms)
        return begun_ms + max(ticks, 1) * self._tick_ms

    def take(self, message, read, now_ms):
        """Let the node answer a Round's message that came at `now_ms`; read as for `Node.answer`.

        A Round that is refused moves nothing, and one that comes again while its frame is
        waiting does not either.
        """
        frame = self.node.answer(message, read, now_ms=now_ms)
        if frame is None or frame == self._frame:
            return
        self._frame = frame
        self._came_ms = now_ms
        self.due_ms = None

    def poll(self, now_ms):
        """Return the frame that goes out now, or None.

        The first call after `take` settles the tick, so it must not wait. With nothing to send
        the next noise is drawn here, which is after the last frame was sent and before the next
        reading: so call again soon after a frame was returned.
        """
        if self._frame is None:
            self.node.prepare()
            return None
        if self.due_ms is None:
            self.due_ms = self.find_tick(self._came_ms, now_ms)
            self.missed += self.due_ms - self._came_ms > self._tick_ms
        if now_ms < self.due_ms:
            return None
        frame = self._frame
        self._frame = self.due_ms = None
        return frame

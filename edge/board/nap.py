"""What a device that sleeps deeply leaves to its next boot, in the memory that outlives the sleep.

A board that sleeps deeply starts anew each time, and each start is a boot, with an epoch and a
chain key of its own. Three writes of the flash for each, and three for what it answers, erase some
210,000 blocks a year at an answer a minute (see `slots`), and the lease is lost each time. So the
slots reserve epochs ahead, as they pay for answers ahead:

    all slots      the last epoch that is reserved, its chain key, what the lease may spend
    this memory    the next epoch, its chain key, what is spent of that lease; signed, once

It is written when the device falls asleep and erased when it wakes, before anything else is done.
So whatever cuts a life short, in whatever moment, the memory holds nothing, or what was not used
yet; and without it the next boot takes the epoch after all that were reserved, and counts the
whole lease as spent. A battery that fades costs up to a lease, and never an epoch twice.

Only the chain key of the next boot lies here while the device sleeps, and none of those before.

memory: of `machine.RTC()`, on an ESP32: called with nothing it returns the bytes that it holds,
called with bytes it keeps them. Other boards have none, and write their flash at each boot.

Source: MicroPython, ports/esp32/machine_rtc.c: 2048 bytes that deep sleep leaves alone.
"""

import time

from ..core.budget import Record, pack, unpack
from ..core.compat import hmac_sha256
from ..core.keys import ratchet

WAKES = 16  # boots for one write of the slots
LABEL = b"heatveil-nap-v1"  # a key of its own, so that no slot can be made of what lies here


class Nap:
    """That memory, under the device's state key. See `budget.Budget.boot` and `sleep`.

    rtc_s(): the seconds of the clock that runs on in the sleep, whatever it is set to, and
    asleep_s how long each lasts; None where there is none, and then no sleep is counted.
    """

    def __init__(self, memory, state_key, wakes=WAKES, rtc_s=None, asleep_s=0):
        self._memory = memory
        self._key = hmac_sha256(state_key, LABEL)
        self._wakes = wakes
        self.left = None  # the Record that was taken last
        self._rtc_s = rtc_s
        self._asleep_s = asleep_s

    def taken(self, record):
        """Return the Record that was left, and erase it; None where it is not one of this Record.

        Its counter is the last epoch reserved. A boot without this memory raises that, and a
        later one finds that what lies here is of the past.
        """
        self.left = None
        try:
            held = bytes(self._memory())
            self._memory(bytes(len(held)))  # to write fewer leaves the others where they are
            self._memory(b"")
            if self._memory():  # what is not gone would be there again at the next boot
                return None
        except OSError:
            return None
        left = unpack(held, self._key)
        self.left = None if left is None or left.counter != record.epoch else left
        return self.left

    def ahead(self, epoch, chain):
        """Return the last epoch to reserve, and its chain key, from those of this boot."""
        for _ in range(self._wakes):
            chain = ratchet(chain)
        return epoch + self._wakes, chain

    def slept(self, window):
        """Count the sleep that has ended; return whether a bucket of the window did in it."""
        return self._rtc_s is not None and window.wake(self._asleep_s, self._rtc_s())

    def leave(self, reserved, epoch, spent, round, chain, limits, window):
        """Keep what the next boot may go on with; where that fails it goes by the slots alone."""
        kept = b""
        if window:
            kept = window.pack(0, 0 if self._rtc_s is None else self._rtc_s())
        record = Record(reserved, epoch + 1, spent, round, ratchet(chain), limits, kept)
        try:
            self._memory(pack(record, self._key))
        except (OSError, ValueError):
            pass


def of_board(machine, state_key, wake_s):
    """Return the Nap of this board, or None where no memory of it outlives a sleep."""
    memory = getattr(machine.RTC(), "memory", None) if hasattr(machine, "RTC") else None
    return None if memory is None else Nap(memory, state_key, WAKES, time.time, wake_s)

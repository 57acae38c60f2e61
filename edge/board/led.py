"""What the light says, for somebody who stands before the board and has no screen.

    on all the time       it starts, or hangs in its start
    5 times a second      it looks for the Wi-Fi
    twice a second        it has the network and looks for the broker
    1 flash, long dark    ready
    2 flashes             its budget is spent, for the life of its key (exhausted)
    3 flashes             its budget cannot be written or trusted, or frames are lost (alert)
    4 flashes             firmware, config or sensor is not as it must be; the console says which
    dark                  asleep, or without power

Nothing that it says depends on a reading, nor on when a frame was made: who looks at it through
the window learns what `state` says in public. Its beat stands still while noise is drawn, and who
films it from near sees for how long: PRIVACY, known limits.
"""

FLASH_MS = 60
BEAT_MS = 400  # from one flash of a group to the next
ROUND_MS = 4000  # from one group to the next
FLASHES = {"ready": 1, "exhausted": 2, "alert": 3, "fault": 4, "sleeping": 0}
EVEN_MS = {"joining": 200, "disconnected": 500, "lost": 500}


def is_lit(word, now_ms):
    """Return 1 where the light is on at that millisecond, 0 where it is dark."""
    if word in EVEN_MS:
        return 1 if 2 * (now_ms % EVEN_MS[word]) < EVEN_MS[word] else 0
    if word not in FLASHES:
        return 1
    beat, since_ms = divmod(now_ms % ROUND_MS, BEAT_MS)
    return 1 if beat < FLASHES[word] and since_ms < FLASH_MS else 0


class Led:
    """A light, or none. pin: whatever has `value(0 or 1)`, or None.

    ill: to be set: says whether `alert` is for its sensor. What else fails with a sensor is not
    said: where a report is sealed or summed, a place that is not known must not show.
    """

    def __init__(self, pin=None):
        self.word = "starting"
        self.ill = None
        self._pin = pin
        self._level = None

    def show(self, word):
        """Say this from now on: a state of the device, or joining, starting, fault."""
        self.word = word

    def refresh(self, now_ms):
        """Set the light as it must be now."""
        word = self.word
        if word == "alert" and self.ill is not None and self.ill():
            word = "fault"  # of what `alert` may be, what somebody can mend on the spot
        level = is_lit(word, now_ms)
        if self._pin is not None and level != self._level:
            self._pin.value(level)
        self._level = level

    def turn_off(self):
        """Put it out, before a sleep that no look interrupts."""
        self.show("sleeping")
        self.refresh(0)

    async def run(self, clock, sleep_ms):
        """Keep the light going, for ever. sleep_ms: waits so many milliseconds, async."""
        while True:
            self.refresh(clock.now_ms())
            await sleep_ms(FLASH_MS // 2)


def open_pin(machine, name):
    """Return the pin of a light by its number or name, None where the board has none of it."""
    try:
        return machine.Pin(name, machine.Pin.OUT)
    except (ValueError, TypeError):
        return None

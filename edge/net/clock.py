"""The time of day: whether it was set, by whom, and how a board asks for it.

TLS asks for it, because a certificate has dates; nothing else may. Budget, ticks and answers
go by `compat.Uptime`, which nobody on the network can set.

A board without a battery begins at its own year zero, when no certificate is valid yet. So it
asks a time server, whom it must believe: a liar there can keep the board from its broker, or make
it take a certificate that has run out, and no more than that.
"""

AGAIN_MS = 5000


class Clock:
    """Unset until somebody who knows says otherwise. Who sets the board's clock tells this one."""

    def __init__(self):
        self.by = None  # "ntp", "gateway", "rtc", ...

    @property
    def known(self):
        """Say whether a certificate's dates can be judged."""
        return self.by is not None

    def was_set(self, by):
        """Remember who set the time of day last."""
        self.by = by


async def ask(clock, ready, settime, sleep_ms):
    """Set the board's clock and return; try again for as long as that takes.

    clock: a `clock.Clock`, told that it is known. ready(): whether there is a network. settime:
    the firmware's `ntptime.settime`, which waits for a second at the most.
    """
    while not clock.known:
        if ready():
            try:
                settime()
                clock.was_set("ntp")
            except (OSError, OverflowError):
                pass
        if not clock.known:
            await sleep_ms(AGAIN_MS)

"""The Wi-Fi: joined within a bounded time, looked after, and started anew where it hangs.

A radio can say that it is connected while nothing gets through, or never say anything again. So
no wait is for ever; a join that fails turns the radio off and on; and who finds that the broker
is silent for long calls `renew`. Between two tries lies a wait that doubles from 1 to 60 s, a
half of it by chance, lest a hundred boards knock together when the power comes back. How long
waits are depends on nothing that was read.

A radio that goes quiet while it says that it is in (MicroPython's issues 9455 and 16482, of the
Pico W) shows by a broker that cannot be reached: then it is turned off and on as well, and a
broker that is away is no worse off for it. One that cannot be joined for long is a case for a
reset, which `start` does.
"""

from ..core.compat import draw_jitter

LOOK_MS = 200
JOIN_MS = 20000  # a join takes 1 to 5 s; the address may take as long again
LEAST_MS, MOST_MS = 1000, 60000
QUIET_MS = 180000  # without the broker, though the radio says that it is in
HOPELESS = 30  # joins that failed in a row, which takes half an hour


class Station:
    """A station of one network.

    radio: `network.WLAN`, as a station. wifi: of the Config. sleep_ms: waits so many
    milliseconds, async. feed: feeds the watchdog, whose patience is shorter than a join.
    """

    def __init__(self, radio, wifi, sleep_ms, feed=None):
        self.joins = 0  # how often it came in
        self.failures = 0  # in a row
        self._rssi = None
        self._radio = radio
        self._wifi = wifi
        self._sleep_ms = sleep_ms
        self._feed = feed

    @property
    def connected(self):
        """Say whether the radio thinks that it is in."""
        try:
            return bool(self._radio.isconnected())
        except OSError:
            return False

    def describe(self):
        """Return what `diag` says of the radio: its joins, and how strong it heard at the first.

        Once for each start and not each minute: who walks through a room weakens its radio, so
        that strength over time would show what the noise on the readings hides. And whoever has
        the access point or the broker can make it join as often as he likes.
        """
        return {"joins": self.joins, "rssi": self._rssi}

    async def try_join(self):
        """Return True when it is in, False when it could not within `JOIN_MS`: a try."""
        try:
            if not self.connected:
                self._radio.active(True)
                keep_awake(self._radio)
                self._radio.connect(self._wifi["ssid"], self._wifi["password"])
            for _ in range(JOIN_MS // LOOK_MS):
                if self.connected:
                    self.failures = 0
                    self.joins += 1
                    if self._rssi is None:
                        self._rssi = self._strength()
                    return True
                await self._rest(LOOK_MS)
        except OSError:  # a driver that refuses; never with the password in a message
            pass
        self.failures += 1
        await self.renew()
        return False

    async def renew(self):
        """Turn the radio off: the next `try_join` begins with a fresh one."""
        self.turn_off()
        await self._rest(LOOK_MS)

    def turn_off(self, whole=False):
        """Turn the radio off; whole: its chip too, where the port can, as before a sleep."""
        chip = getattr(self._radio, "deinit", None) if whole else None
        for step in (self._radio.disconnect, lambda: self._radio.active(False), chip):
            try:
                if step is not None:
                    step()
            except OSError:
                pass

    async def stay_joined(self, show, reached):
        """Join, and join again whenever it is lost or quiet; OSError where no join helps.

        show: is told "joining" or not. reached: says whether the broker is.
        """
        quiet_ms = 0
        while True:
            if not self.connected:
                show("joining")
                quiet_ms = 0
                if not await self.try_join():
                    if self.failures >= HOPELESS:
                        raise OSError("the Wi-Fi cannot be joined; look at its name and password")
                    await self._rest(pause_ms(self.failures))
                    continue
                show("disconnected")  # from the broker, as yet
            await self._rest(1000)
            quiet_ms = 0 if reached() else quiet_ms + 1000
            if quiet_ms >= QUIET_MS:
                quiet_ms = 0
                await self.renew()

    def _strength(self):
        try:
            return self._radio.status("rssi")
        except (AttributeError, OSError, ValueError, TypeError, RuntimeError):
            return None  # not every port knows

    async def _rest(self, wait_ms):
        """Wait, and feed the watchdog while a wait is longer than its patience."""
        while wait_ms > 0:
            if self._feed is not None:
                self._feed()
            await self._sleep_ms(min(wait_ms, 1000))
            wait_ms -= 1000


def pause_ms(failures):
    """Return how long to wait after so many failures in a row, a half of it by chance."""
    whole = min(LEAST_MS << min(failures - 1, 6), MOST_MS) if failures > 0 else LEAST_MS
    return whole // 2 + draw_jitter(whole // 2)


def keep_awake(radio):
    """Keep the radio from sleeping, where it can be told: asleep it misses what is sent to it.

    A Pico W that saves power goes quiet after hours; ports that know no `pm` sleep otherwise.
    """
    none = getattr(radio, "PM_NONE", None)
    if none is not None:
        try:
            radio.config(pm=none)
        except (OSError, ValueError, TypeError):
            pass

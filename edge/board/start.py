"""The device on its board: everything opened, then run for ever. main.py calls `run`.

Order: config, radio, sensor, budget. A fault in what the host wrote cannot be mended by starting
again, so the light says it and the board stays where it is: each start would be a boot, and a
write of the flash. Any other fault ends in a reset, after a while.
"""

import asyncio
import sys

from ..clock import Clock
from ..compat import Uptime, spread
from ..pause import sleep_ms
from . import assemble, day, power
from .config import load
from .led import Led
from .net import Station

FOLDER = "/heatveil"
AWAKE_MS = 30000  # a board that sleeps between answers is awake no longer, whatever comes
CALM_MS = 5000  # with the broker there and nothing to answer
AGAIN_MS = 60000  # before a reset, and up to as much again


def run():
    """Run the device; this does not return."""
    import machine
    import network

    led = Led(_pin(machine, "LED"))
    try:
        config = load()
        if config.led is not None:
            led = Led(_pin(machine, config.led))
        sensor = assemble.sensor_of(config, i2c(machine), one_wire(machine))
        parts = Parts(config, sensor, led, machine, FOLDER)
    except (OSError, ValueError) as why:
        sys.stdout.write("heatveil: %s\n" % why)  # never with a key or a reading in it
        parts = None
    if parts is None:
        led.show("fault")
        asyncio.run(led.run(Uptime(), sleep_ms))
    try:
        radio = network.WLAN(network.STA_IF) if config.wifi else None
        if radio and config.wifi["country"]:
            network.country(config.wifi["country"])
        asyncio.run(parts.live(radio))
    except Exception as why:
        sys.stdout.write("heatveil: %s, so it starts again\n" % type(why).__name__)
    parts.watchdog.feed()
    _rest(parts)
    machine.reset()


class Parts:
    """What a running board is made of."""

    def __init__(self, config, sensor, led, machine, folder):
        self.config = config
        self.sensor = sensor
        self.led = led
        self.machine = machine
        self.client = assemble.client_of(config)
        self.ring = assemble.ring_of(config, folder)
        self.clock = Clock()
        self.budget = assemble.budget_of(config, folder)
        self.watchdog = power.Watchdog(machine)  # last: from now on it must be fed

    async def live(self, radio):
        """Live until something breaks, or till it is time to sleep. radio: None for a cable."""
        jobs = [self.led.run(Uptime(), sleep_ms), self.client.run(), self._answer()]
        if radio is not None:
            station = Station(radio, self.config.wifi, sleep_ms, self.watchdog.feed)
            jobs.append(station.keep(self.led.show))
        if self.config.link["tls"]:
            import ntptime

            there = (lambda: True) if radio is None else radio.isconnected
            jobs.append(day.ask(self.clock, there, ntptime.settime, sleep_ms))
        if self.config.wake_s:
            jobs.append(self._nap())
        await asyncio.gather(*jobs)

    async def _answer(self):
        who = self.config.identity
        if self.budget.fault:
            self.led.show("alert")
            await assemble.alert(self.client, who, self.watchdog.feed)
        from ..device import Device

        device = Device(
            who,
            self.budget,
            self.sensor.read,
            self.client,
            self.ring,
            tick_ms=self.config.tick_ms,
            clock=self.clock,
            watchdog=self.watchdog,
            led=self.led.show,
            step=self.sensor.step,
        )
        await device.run()

    async def _nap(self):
        """Sleep once an answer has its receipt, or when the time is over; frames are kept."""
        calm = 0
        for _ in range(AWAKE_MS // 100):
            await sleep_ms(100)
            calm = calm + 100 if self.client.connected and not len(self.ring) else 0
            if calm >= (1000 if self.budget.frames else CALM_MS):
                break
        self.ring.keep()
        await assemble.farewell(self.client, self.config.identity, b"sleeping")
        power.sleep(self.machine, self.config.wake_s)


def i2c(machine):
    """Return the function that opens a board's I2C with a driver's pins."""

    def opened(driver):
        pins = {}
        for word in ("sda", "scl"):
            if driver[word] is not None:
                pins[word] = machine.Pin(driver[word])
        return machine.I2C(driver["bus"] or 0, freq=1000 * (driver["khz"] or 100), **pins)

    return opened


def one_wire(machine):
    """Return the function that opens a board's one-wire bus on a driver's pin."""

    def opened(driver):
        import ds18x20
        import onewire

        return ds18x20.DS18X20(onewire.OneWire(machine.Pin(driver["pin"])))

    return opened


def _pin(machine, name):
    """Return the pin of a light, or None where the board has none of that name."""
    try:
        return machine.Pin(name, machine.Pin.OUT)
    except (ValueError, TypeError):
        return None


def _rest(parts):
    """Wait a while, the watchdog fed: a board that fails at once must not wear its flash out."""

    async def wait():
        for _ in range((AGAIN_MS + spread(AGAIN_MS)) // 1000):
            parts.watchdog.feed()
            await sleep_ms(1000)

    asyncio.run(wait())

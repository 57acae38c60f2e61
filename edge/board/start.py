"""The device on its board: everything opened, then run for ever. main.py calls `run`.

Order: config, sensor, budget, radio. A fault in what the host wrote cannot be mended by starting
again, so the light says it and the board stays where it is: each start would be a boot, and a
write of the flash. Any other fault ends in a reset, after a while, with the frames on the flash.
"""

import asyncio
import os
import sys

from ..core.compat import Uptime, draw_jitter, forget
from ..mechanisms import find_reads
from ..net.device import Device
from ..net.link import sleep_ms, wait_until
from ..net.tls import Clock, set_clock
from . import assemble, drivers, led, power
from .binding import COPIED, board_number
from .net import Station

FOLDER = "/heatveil"
AWAKE_MS = 30000  # a board that sleeps between answers is awake no longer, whatever comes
CALM_MS = 5000  # with the broker there and nothing to answer
AGAIN_MS = 60000  # before a reset, and up to as much again


def run(refuse_mode, give_up=lambda: None):
    """Run the device; this does not return. Both are of `firmware`, which runs this."""
    import machine
    import network

    light = led.Led(led.open_pin(machine, "LED"))
    parts = None
    try:
        config = load()
        if find_reads(config.mechanism) == "place":
            from . import places

            sensor = places.open_on_board(config, machine)
        else:
            sensor = assemble.sensor_of(
                config,
                drivers.make_i2c_opener(machine),
                drivers.make_one_wire_opener(machine),
                drivers.make_analog_opener(machine),
            )
        name = "LED" if config.led is None else config.led
        light = led.Led(led.open_pin(machine, name))
        why = refuse_mode(config.identity.mode, os)
        if not why:
            parts = Parts(config, sensor, light, machine, FOLDER)
    except (OSError, ValueError) as fault:
        why = fault  # never with a key or a reading in it
    if parts is None:
        sys.stdout.write("heatveil: %s\n" % why)
        give_up()
        light.show("fault")
        asyncio.run(light.run(Uptime(), sleep_ms))
    try:
        radio = network.WLAN(network.STA_IF) if config.wifi else None
        if radio and config.wifi["country"]:
            network.country(config.wifi["country"])
        asyncio.run(parts.live(radio))
    except Exception as fault:
        sys.stdout.write("heatveil: %s, so it starts again\n" % type(fault).__name__)
    parts.watchdog.feed()
    _rest(parts)
    parts.ring.save()
    machine.reset()


def load(*place):
    """Return the board's Config; what reads it is large, and not needed again."""
    from .config import load as read

    told = read(*place)
    forget("edge.board.config")
    return told


class Parts:
    """What a running board is made of."""

    def __init__(self, config, sensor, light, machine, folder):
        self.config = config
        self.sensor = sensor
        self.led = light
        self.machine = machine
        self.client = assemble.client_of(config)
        # Before the budget: what is wrong costs no boot.
        self.follower = assemble.follower_of(config)
        self.ring = assemble.ring_of(config, folder)
        self.clock = Clock()
        key, wake_s = config.identity.state_key, config.wake_s
        self.nap = power.nap_of(machine, key, wake_s) if wake_s else None
        number = board_number()
        numbers = [number] if number else []
        self.budget = assemble.budget_of(config, folder, self.nap, numbers=numbers)
        self.updates = None
        if config.updates is not None:
            from .renewal import Updates  # what no other device needs

            self.updates = Updates(config.identity, *config.updates)
        self.device = self.station = None
        self.cause = power.find_cause(machine)
        light.ill = self._ill
        self.watchdog = power.Watchdog(machine)  # last: from now on it must be fed

    async def live(self, radio):
        """Live until something breaks, or till it is time to sleep. radio: None for a cable."""
        copied = self.budget.fault == COPIED  # it says so once, and looks for no broker again
        jobs = [self.led.run(Uptime(), sleep_ms), self.client.run(), self._answer()]
        if radio is not None:
            self.station = Station(radio, self.config.wifi, sleep_ms, self.watchdog.feed)
            reached = lambda: copied or self.client.connected  # noqa: E731
            jobs.append(self.station.stay_joined(self.led.show, reached))
        if self.config.link["tls"]:
            import ntptime

            there = (lambda: True) if radio is None else radio.isconnected
            jobs.append(set_clock(self.clock, there, ntptime.settime, sleep_ms))
        if self.config.wake_s and not copied:
            jobs.append(self._nap())
        if find_reads(self.config.mechanism) == "place":
            jobs.append(self.sensor.run(sleep_ms))
        if self.updates is not None and not copied:
            jobs.append(self.updates.watch(self))
        await asyncio.gather(*jobs)

    async def _answer(self):
        who = self.config.identity
        if self.budget.fault:
            self.led.show("alert")
            sys.stdout.write("heatveil: %s\n" % self.budget.fault)
            await assemble.alert(self.client, who, self.watchdog.feed, self.budget.fault)
        self.device = device = Device(
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
            follower=self.follower,
            tables=self.config.tables,
            vitals=self._vitals,
            mechanism=self.config.mechanism,
            updates=self.updates,
        )
        device.node.recorded_ms = assemble.find_recorded_ms(self.config)
        await device.run()

    def _ill(self):
        return self.device is not None and self.device.node.faults and not self.device.node.alert

    def _vitals(self):
        said = {"started": self.cause}
        if self.station is not None and not self.config.wake_s:  # else it would be at each answer
            said.update(self.station.describe())
        return said

    async def _nap(self):
        """Sleep once an answer has its receipt, or when the time is over; frames are kept."""
        calm, clock = 0, Uptime()
        for look in range(1, AWAKE_MS // 100 + 1):
            await wait_until(clock, 100 * look)  # when it looks must not tell how long a draw took
            calm = calm + 100 if self.client.connected and not len(self.ring) else 0
            if self.updates is not None and self.updates.busy:
                calm = 0
            if calm >= (1000 if self.budget.frames else CALM_MS):
                break
        if self.updates is not None:
            self.updates.judge(self, calm >= CALM_MS)
        self.ring.save()
        await assemble.say_goodbye(self.client, self.config.identity, b"sleeping")
        self.led.turn_off()  # first, for some lights hang on the radio's chip
        if self.station is not None:
            self.station.turn_off(True)  # no task joins it again: from here on none runs
        self.ring.save()  # a Round may have come, and been answered, during the farewell
        if self.nap is not None and not self.budget.fault:
            self.budget.sleep(self.nap)
        power.sleep(self.machine, self.config.wake_s, self.watchdog)


def _rest(parts):
    """Wait a while, the watchdog fed: a board that fails at once must not wear its flash out."""

    async def wait():
        for _ in range((AGAIN_MS + draw_jitter(AGAIN_MS)) // 1000):
            parts.watchdog.feed()
            await sleep_ms(1000)

    asyncio.run(wait())

"""The device on Linux:   python -m edge.linux.run /var/lib/heatveil-node

The folder is what `edge.linux.enrol` made. It ends at SIGTERM, with what waits for a receipt kept;
with status 2 where what it was given must be mended by somebody, and a new start would not help.
"""

import asyncio
import os
import signal
import socket
import sys

from ..board import assemble, places
from ..board.config import load
from ..mechanisms import find_reads
from ..net.link import sleep_ms
from ..net.tls import Clock
from . import buses, place, uart
from .exact import Exact, Raw

USAGE = "usage: python -m edge.linux.run FOLDER   (the one that edge.linux.enrol made)\n"


class Notify:
    """systemd, told that the device is ready, lives (`feed`), and how (`show`).

    Who runs it by hand reads how it is on standard error.
    """

    def __init__(self):
        where = os.environ.get("NOTIFY_SOCKET", "")
        self._where = "\0" + where[1:] if where.startswith("@") else where
        self._told = None

    def feed(self):
        """Say that all is well."""
        self._say("WATCHDOG=1")

    def show(self, word):
        """Say how the device is, in a word; the first time also that it has started."""
        if word != self._told:
            if not self._where:
                sys.stderr.write("heatveil: %s\n" % word)
            self._say("STATUS=%s" % word if self._told else "READY=1\nSTATUS=%s" % word)
            self._told = word

    def _say(self, text):
        if not self._where:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out:
                out.sendto(text.encode(), self._where)
        except OSError:  # nobody listens any more; that is no reason to stop
            pass


def sensor_of(config):
    """Return the sensor that the config names, by the kernel's buses."""

    def bus(driver):
        return buses.Bus(1 if driver["bus"] is None else driver["bus"])

    if find_reads(config.mechanism) == "place":
        return places.open_place(config, uart.open_line, bus)
    return assemble.sensor_of(
        config,
        i2c=bus,
        wire=lambda driver: buses.Wire(),
    )


class Params:
    """What a driver asks of a Round, for a look at the start."""

    exponent = 8


def describe(config, sensor):
    """Return who runs here and where to, and what is wrong with the sensor; never what it says."""
    who, link, driver = config.identity, config.link, config.driver["name"]
    lines = ["%s of site %s, with %s" % (who.name, who.site, driver)]
    lines[0] += "; its broker is %s:%d" % (link["host"], link["port"])
    if find_reads(config.mechanism) == "temperature":
        try:
            sensor.read(Params)
        except (OSError, ValueError) as why:
            lines.append("%s: %s. It is tried again when a round asks for it" % (driver, why))
    return lines


async def live(config, folder, notify, sensor):
    """Run the device until this is cancelled; frames without a receipt are kept in the folder.

    Returns where it is a copy of another computer's: once it has said so.
    """
    clock = Clock()
    clock.mark_set("system")
    client, ring = assemble.client_of(config), assemble.ring_of(config, folder)
    numbers = place.computer_numbers(folder)
    budget = assemble.budget_of(config, folder, uptime=Raw(), numbers=numbers)
    if budget.fault:
        sys.stderr.write("heatveil: the budget cannot be used: %s\n" % budget.fault)
        notify.show("alert")
        answering = assemble.alert(client, config.identity, notify.feed, budget.fault)
    else:
        from ..net.device import Device

        notify.show("disconnected")
        device = Device(
            config.identity,
            budget,
            sensor.read,
            client,
            ring,
            tick_ms=config.tick_ms,
            clock=clock,
            watchdog=notify,
            led=notify.show,
            step=sensor.step,
            follower=assemble.follower_of(config),
            tables=config.tables,
            uptime=Exact(),
            mechanism=config.mechanism,
        )
        device.node.recorded_ms = assemble.find_recorded_ms(config)
        answering = device.run()
    work = [asyncio.ensure_future(client.run()), asyncio.ensure_future(answering)]
    if find_reads(config.mechanism) == "place":
        work.append(asyncio.ensure_future(sensor.run(sleep_ms)))
    try:
        await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
        for task in work:
            if task.done():
                task.result()  # none ends but by a fault, and the link where a copy leaves
    finally:
        for task in work[1:]:
            task.cancel()
        ring.save()
        await assemble.say_goodbye(client, config.identity, b"disconnected")
        work[0].cancel()


def main(arguments):
    """Run it; return the exit status."""
    if len(arguments) > 1 or arguments[:1] in (["--help"], ["-h"]):
        sys.stderr.write(USAGE)
        return 0 if len(arguments) == 1 else 2
    folder = arguments[0] if arguments else "."
    try:
        held = place.lock_folder(folder)
        path = place.config_path(folder)
        place.check_private(path)
        config = load(path)
        sensor = sensor_of(config)
        assemble.client_of(config)  # its certificate is read now
        assemble.follower_of(config)  # before the budget: what is wrong costs no boot
    except (OSError, ValueError) as why:
        sys.stderr.write("heatveil: %s\n" % why)
        return 2

    for line in describe(config, sensor):
        sys.stderr.write("heatveil: %s\n" % line)

    async def until_told():
        work = asyncio.ensure_future(live(config, folder, Notify(), sensor))
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, work.cancel)
        try:
            await work
        except asyncio.CancelledError:
            return 0
        return 2

    try:
        return asyncio.run(until_told())
    finally:
        os.close(held)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The device on Linux:   python -m edge.linux.run /var/lib/heatveil-node

The folder is what `edge.linux.enrol` made. It ends at SIGTERM, with what waits for a receipt kept;
with status 2 where what it was given must be mended by somebody, and a new start would not help.
"""

import asyncio
import os
import signal
import sys

from ..board import assemble, places
from ..board.config import load
from ..net.clock import Clock
from ..net.link import sleep_ms
from . import camera, i2c, onewire, place, uart
from .exact import Exact
from .notify import Notify


def sensor_of(config):
    """Return the sensor that the config names, by the kernel's buses."""

    def bus(driver):
        return i2c.Bus(1 if driver["bus"] is None else driver["bus"])

    if config.mechanism != "thermal":
        return places.held(config, uart.opened, bus)
    return assemble.sensor_of(
        config,
        i2c=bus,
        wire=lambda driver: onewire.Wire(),
        camera=camera.opened,
    )


async def live(config, folder, notify, sensor):
    """Run the device until this is cancelled; frames without a receipt are kept in the folder."""
    clock = Clock()
    clock.was_set("system")
    client, ring = assemble.client_of(config), assemble.ring_of(config, folder)
    budget = assemble.budget_of(config, folder)
    if budget.fault:
        sys.stderr.write("heatveil: the budget cannot be used: %s\n" % budget.fault)
        notify.show("alert")
        answering = assemble.alert(client, config.identity, notify.feed)
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
            tables=config.tables,
            uptime=Exact(),
            mechanism=config.mechanism,
        )
        device.node.recorded_ms = assemble.recorded_ms(config)
        answering = device.run()
    work = [asyncio.ensure_future(client.run()), asyncio.ensure_future(answering)]
    if config.mechanism != "thermal":
        work.append(asyncio.ensure_future(sensor.keep(sleep_ms)))
    try:
        await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
        work[1].result()  # it never ends but by a fault
    finally:
        for task in work[1:]:
            task.cancel()
        ring.keep()
        await assemble.farewell(client, config.identity, b"disconnected")
        work[0].cancel()


def main(arguments):
    """Run it; return the exit status."""
    folder = arguments[0] if arguments else "."
    try:
        held = place.alone(folder)
        path = place.config_path(folder)
        place.check_private(path)
        config = load(path)
        sensor = sensor_of(config)
        assemble.client_of(config)  # its certificate is read now
    except (OSError, ValueError) as why:
        sys.stderr.write("heatveil: %s\n" % why)
        return 2

    async def until_told():
        work = asyncio.ensure_future(live(config, folder, Notify(), sensor))
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, work.cancel)
        try:
            await work
        except asyncio.CancelledError:
            pass

    try:
        asyncio.run(until_told())
    finally:
        os.close(held)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

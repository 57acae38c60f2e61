"""The parts of a device put together, on a board and on Linux alike."""

import asyncio

from ..core import wire
from ..core.budget import Budget, Copies, Files, Lost, price
from ..core.compat import Uptime
from ..net import tls
from ..net.link import sleep_ms, within_ms
from ..net.mqtt import Client
from ..net.ring import File, Ring
from .binding import COPIED, Bound
from .drivers import Held, find_steps, least_shown, open_sensor

MEMORY = 4096  # bytes of frames in memory: three dozen of one reading, or two of an array
SPILL = 65536  # bytes of frames on the medium, for an outage that is longer
FAREWELL_MS = 5000
LEASE = 8  # answers that are paid for with one write of the flash, at most
SHARE = 4  # of what is left at a start, at most so much in a lease: for all of it can be lost


def sensor_of(config, i2c=None, wire=None, analog=None):
    """Return the sensor that the config names, opened when it is first read.

    i2c, wire, analog: as for `drivers.open_sensor`. ValueError where there is no such driver.
    """
    # A wrong name is found now, not at a Round.
    step = least_shown(*find_steps(config.driver["name"]))

    def opening():
        return open_sensor(config.driver, i2c, wire, analog)

    return Held(opening, config.identity.sensors, step)


def find_recorded_ms(config):
    """Return when the counts of the empty room were recorded, for `meta`; None if not said."""
    at_s = config.driver["recorded_s"]
    return None if at_s is None else 1000 * at_s


def budget_of(config, folder, nap=None, uptime=None, numbers=()):
    """Return the device's budget, booted; its `fault` says why where it cannot be used.

    What is left of a lease is lost at the next start, but where a memory outlives the sleep
    (`nap`). So a device that starts anew for each answer pays for one at a time without it, or it
    would spend eight times as much as it says; and a small budget is paid for in smaller leases.

    uptime: what a window ages by, if not the board's own `compat.Uptime`. numbers: what tells the
    board from all others, to which its slots are bound (`binding`); none for no binding.
    """
    files, key = Files(folder, "budget"), config.identity.state_key
    bound = Bound(files, key, *numbers) if numbers else None
    copied = bound is not None and bound.is_copied()
    place = bound or files
    lease, window = _lease(place, key)
    lease = 1 if config.wake_s and nap is None else lease
    budget = Budget(place, key, lease)
    if window:
        from ..core.window import WindowBudget  # what no other device needs

        budget = WindowBudget(place, key, lease, uptime or Uptime())
    if copied:
        budget.fault = COPIED
        return budget
    try:
        budget.boot(nap)
    except Lost:
        pass  # which its fault says
    return budget


def _lease(place, key):
    """Return how many answers to pay for at a time, and the window; nothing is written."""
    try:
        held = Copies(place, key).read_newest()
    except Lost:
        return LEASE, b""  # which the boot finds too, and nothing is paid for
    limits = held.limits
    cost = max(int(price(limits, limits.exponent, limits.variance)), 1)
    left = limits.budget - (0 if held.window else held.spent)
    return max(1, min(LEASE, left // cost // SHARE)), held.window


def follower_of(config):
    """Return a new level that follows the readings, or None where it is the recorded one."""
    if not config.following:
        return None
    from ..core.background import Follower  # what few devices need

    num, den, answers = config.following
    return Follower((num, den), answers)


def ring_of(config, folder):
    """Return where frames wait for their receipt: in memory, and in the folder behind it."""
    room = max(MEMORY, 4 * (256 + 4 * config.identity.sensors))  # four frames, however large
    return Ring(room, File(folder + "/frames", max(SPILL, 2 * room)))


def client_of(config):
    """Return the way to the broker: verified, or in the clear where the config says so."""
    link, who = config.link, config.identity
    authority = link["ca"].encode() if link["tls"] else None
    return Client(
        link["host"],
        link["port"],
        link["client_id"],
        user=link["username"],
        password=link["password"],
        door=tls.context(link["host"], authority, insecure=not link["tls"]),
        will=(wire.topic(who.site, who.name, "state"), b"lost", 1, True),
    )


async def alert(client, identity, feed, fault):
    """Say `alert` at every connection, for ever: of a device whose budget cannot be used.

    It answers nothing, and nothing of it is mended by starting again. feed: feeds the watchdog.
    fault: of the budget; a copy says it once and leaves, for the true board has the same name.
    """
    where = wire.topic(identity.site, identity.name, "state")
    if fault != COPIED:  # what comes is nobody else's, and would wait at the broker for ever
        client.on_message = lambda topic, payload: None
    said_at = None  # the connection at which it was said last
    while True:
        feed()
        if client.connected and said_at != client.reconnects:
            at = client.reconnects
            if await client.publish(where, b"alert", 1, True):
                said_at = at
                if fault == COPIED:
                    await client.stop()
        await sleep_ms(1000)


async def say_goodbye(client, identity, word):
    """Say a last state, `sleeping` or `disconnected`, and leave, so that none says `lost`."""
    where = wire.topic(identity.site, identity.name, "state")
    try:
        if client.connected:
            await within_ms(FAREWELL_MS, client.publish(where, word, 1, True))
    except asyncio.TimeoutError:
        pass
    await client.stop()

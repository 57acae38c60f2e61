"""Which devices make a part, and under which name the broker keeps what comes for it.

A part is a lasting MQTT session of its own with exactly the data topics of its devices. When its
worker dies the broker goes on filling that session's queue, and whoever takes its client id over
drains it. A shared subscription ($share) cannot do this: what waits for a dead member of the group
waits until that member comes back, or is lost with its session.

Sessions of parts that there are no more: ended, or the broker would fill their queues for ever.

What waits in one is dropped with it. Nothing is lost by that: it had no receipt, so its device
sends it again, and the device's new part is subscribed to it.
"""

import hashlib
import threading

import structlog
from sqlalchemy import delete, or_, select
from sqlalchemy.exc import DatabaseError

from edge import wire

from ...devices.enrol.enrol import Devices
from ...faults import LinkFault
from ...settings.deployment import Deployment
from ...store.leases import FREE, NOW_S
from ...store.schema import leases
from ...store.store import Store
from ..mqtt.pump import Pump
from ..mqtt.service import Link


def part_of(device: str, partitions: int) -> int:
    """Return the part of a device; the same on every machine and in every version of Python.

    >>> [part_of(f"node-{n}", 4) for n in range(6)]
    [2, 2, 2, 0, 2, 2]
    """
    return int.from_bytes(hashlib.sha256(device.encode()).digest()[:8], "big") % partitions


def devices_of(devices: Devices, part: int, partitions: int) -> Devices:
    """Return the devices of one part."""
    mine = {
        name: device
        for name, device in devices.by_name.items()
        if part_of(name, partitions) == part
    }
    return devices._replace(by_name=mine)


def session_of(site: str, part: int) -> str:
    """Return the name of a part's session, before `access.client_id` marks it."""
    return f"heatveil-{site}-part-{part}"


def topics_of(devices: Devices) -> list[str]:
    """Return the data topics of these devices, each by itself: no part hears another's."""
    return [wire.topic(devices.site, name, "data") for name in sorted(devices.by_name)]


log = structlog.get_logger()


def begin(deployment: Deployment, store: Store) -> None:
    """Begin to end them, on a thread of its own: the broker may be away, and nobody waits."""
    words = (deployment, store)
    threading.Thread(target=_quietly, args=words, name="retiring", daemon=True).start()


def retire(deployment: Deployment, store: Store) -> list[int]:
    """Return the parts beyond those of the deployment whose sessions have been ended.

    Raises:
        LinkFault: the broker is not there, or will not have us.
    """
    partitions = deployment.workers.partitions
    free = or_(leases.c.holder == FREE, leases.c.until_s < NOW_S)
    beyond = leases.c.part >= (partitions if partitions > 1 else 0), free
    with store.engine.connect() as connection:
        parts = list(connection.scalars(select(leases.c.part).where(*beyond)))
    if not parts:
        return []
    with Pump("retiring") as pump:
        for part in parts:
            client = session_of(deployment.site.name, part)
            Link(deployment.mqtt, client, pump, lasting=False).wait().close()
            store.keep_filters(client, [])
            with store.engine.begin() as connection:
                connection.execute(delete(leases).where(*beyond, leases.c.part == part))
    return sorted(parts)


def _quietly(deployment: Deployment, store: Store) -> None:
    try:
        if parts := retire(deployment, store):
            log.info("sessions of former parts ended", part=" ".join(map(str, parts)))
    except (LinkFault, DatabaseError) as fault:  # they are still there at the next start
        log.warning("sessions of former parts are not ended yet", why=str(fault))

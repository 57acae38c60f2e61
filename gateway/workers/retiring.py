"""Sessions of parts that there are no more: ended, or the broker would fill their queues for ever.

What waits in one is dropped with it. Nothing is lost by that: it had no receipt, so its device
sends it again, and the device's new part is subscribed to it.
"""

import threading

import structlog
from sqlalchemy import delete, or_, select
from sqlalchemy.exc import DatabaseError

from ..deployment import Deployment
from ..faults import LinkFault
from ..mqtt.pump import Pump
from ..mqtt.service import Link
from ..storage.leases import FREE, NOW_S
from ..storage.schema import leases
from ..storage.store import Store
from .parts import session_of

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

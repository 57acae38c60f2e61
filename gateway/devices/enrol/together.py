"""Whether a deployment and the devices that are enrolled belong together."""

from math import prod

import structlog

from edge.host import post

from ... import config
from ...deployment import Deployment
from ...faults import OperatorFault
from ...mechanisms import of, serving
from . import tightened
from .enrol import Devices, check_fleet
from .exposed import exposed
from .granting import check_pace

WIDEST = (post.REPORT_BYTES - 64) // 4  # sensors of one device: 32 bits each, and all the rest

log = structlog.get_logger()


def check_together(deployment: Deployment, devices: Devices) -> None:
    """Check that these devices will answer this deployment, and warn of secrets that lie open.

    Raises:
        OperatorFault: they will not.
    """
    mechanism = of(deployment)
    sensors = prod(mechanism.sensors(deployment))
    check_fleet(devices, sensors, keyholder=deployment.privacy.keyholder)
    check_widths(devices)
    known = tightened.load(deployment.site.devices, devices)
    held = {who: one.limits for who, one in known.items()}
    query = config.query(deployment)
    counts = {name: one.place.sensors for name, one in devices.by_name.items()}
    serving(mechanism.name).check_held(query, counts, held)
    check_pace(deployment.rounds.every_s, held)
    for sentence in exposed(deployment):
        log.warning("a secret lies open", why=sentence)


def check_widths(devices: Devices) -> None:
    """Check that every device's frames are short enough to be read.

    Raises:
        OperatorFault: one has more sensors than a frame holds.
    """
    for name, device in devices.by_name.items():
        if device.place.sensors > WIDEST:
            raise OperatorFault(
                f"device {name} is enrolled for {device.place.sensors} sensors, and a frame holds "
                f"{WIDEST}; a longer one is refused, has no receipt, and is sent again for ever. "
                "Share them out among several devices"
            )

"""Whether a deployment and the devices that are enrolled belong together."""

from math import prod

import structlog

from .. import config
from ..deployment import Deployment
from . import tightened
from .enrol import Devices, check_fleet
from .exposed import exposed
from .granting import check_held, check_pace

log = structlog.get_logger()


def check_together(deployment: Deployment, devices: Devices) -> None:
    """Check that these devices will answer this deployment, and warn of secrets that lie open.

    Raises:
        OperatorFault: they will not.
    """
    sensors = prod(deployment.sensors.count)
    check_fleet(devices, sensors, keyholder=deployment.privacy.keyholder)
    known = tightened.load(deployment.site.devices, devices)
    held = {who: one.limits for who, one in known.items()}
    check_held(config.query(deployment), held)
    check_pace(deployment.rounds.every_s, held)
    for sentence in exposed(deployment):
        log.warning("a secret lies open", why=sentence)

"""Whether a deployment and the devices that are enrolled belong together."""

from math import prod

from .. import config
from ..deployment import Deployment
from . import tightened
from .enrol import Devices, check_fleet
from .granting import check_held, check_pace


def check_together(deployment: Deployment, devices: Devices) -> None:
    """Check that these devices will answer this deployment.

    Raises:
        OperatorFault: they will not.
    """
    sensors = prod(deployment.sensors.count)
    check_fleet(devices, sensors, keyholder=deployment.privacy.keyholder)
    known = tightened.load(deployment.site.devices, devices)
    held = {who: one.limits for who, one in known.items()}
    check_held(config.query(deployment), held)
    check_pace(deployment.rounds.every_s, held)

"""Who a broker lets in, as tests of its doors ask it."""

from gateway.faults import LinkFault
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.settings.deployment import Mqtt


def may_come(pump: Pump, mqtt: Mqtt, site: str = "testsite") -> bool:
    """Return whether a broker lets a device in, under the session that is its own."""
    link = Link(mqtt, f"heatveil-{site}-{mqtt.username}", pump, lasting=False)
    try:
        link.wait(10)
    except LinkFault:
        return False
    link.close()
    return True

"""How tests wait for what other threads and processes do, and ask whom a broker lets in."""

import time
from collections.abc import Callable
from typing import Any

from gateway.faults import LinkFault
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.settings.deployment import Mqtt


def eventually(true: Callable[[], Any], patience_s: float = 60.0, every_s: float = 0.01) -> bool:
    """Wait until it is true; return whether it came to that.

    Patience is a number of looks: while a machine is frozen or has no time for us, nobody waits.
    """
    for _ in range(round(patience_s / every_s)):
        if true():
            return True
        time.sleep(every_s)
    return bool(true())


def may_come(pump: Pump, mqtt: Mqtt, site: str = "testsite") -> bool:
    """Return whether a broker lets a device in, under the session that is its own."""
    link = Link(mqtt, f"heatveil-{site}-{mqtt.username}", pump, lasting=False)
    try:
        link.wait(10)
    except LinkFault:
        return False
    link.close()
    return True

"""Which devices make a part, and under which name the broker keeps what comes for it.

A part is a lasting MQTT session of its own with exactly the data topics of its devices. When its
worker dies the broker goes on filling that session's queue, and whoever takes its client id over
drains it. A shared subscription ($share) cannot do this: what waits for a dead member of the group
waits until that member comes back, or is lost with its session.
"""

import hashlib

from edge import wire

from ..devices.enrol.enrol import Devices


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

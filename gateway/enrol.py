"""Who may report, and with which keys: the gateway's half and the fleet's half.

The fleet's half holds the root keys. Whoever has one can remove that device's noise, so it
is written for its owner alone and the gateway never reads it. The gateway's half holds only
the keys that prove who sent a frame, which are derived from the roots and do not lead back.

A boot counter (`epoch`) goes up, and is flushed to the disk, before the first frame of each
start: the noise of a frame is drawn from (root, device, epoch, seq), and two readings under
one of these would show their exact difference.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from edge import wire

from . import keyfile
from .faults import OperatorFault
from .rounds import Place


class Device(NamedTuple):
    """What the gateway knows of a device."""

    name: str
    place: Place
    mode: str  # "sealed", or "keyholder" when somebody kept the root key on purpose
    mac_key: bytes


class Devices(NamedTuple):
    """What the gateway knows of a fleet; the site key signs the rounds."""

    site: str
    site_key: bytes
    by_name: Mapping[str, Device]


class Secret(NamedTuple):
    """What a virtual device knows of itself."""

    name: str
    place: Place
    mode: str
    root: bytes


class Secrets(NamedTuple):
    """What a virtual fleet knows, in its `epoch`-th life."""

    site: str
    site_key: bytes
    epoch: int
    devices: tuple[Secret, ...]


def make(
    site: str,
    sensors: int,
    *,
    keyholder: bool = False,
    fresh: Callable[[int], bytes] = os.urandom,
) -> Secrets:
    """Return a new fleet of thermometers, one sensor each, with fresh keys.

    Args:
        fresh: gives that many unguessable bytes; a seeded one is for experiments only.
    """
    mode = "keyholder" if keyholder else "sealed"
    width = len(str(sensors - 1))
    devices = tuple(
        Secret(f"node-{index:0{width}}", Place(index, 1), mode, fresh(keyfile.KEY_BYTES))
        for index in range(sensors)
    )
    return Secrets(site, fresh(keyfile.KEY_BYTES), 1, devices)


def known(secrets: Secrets) -> Devices:
    """Return the gateway's half of a fleet."""
    devices = {
        name: Device(name, place, mode, wire.mac_key(root))
        for name, place, mode, root in secrets.devices
    }
    return Devices(secrets.site, secrets.site_key, devices)


def check_fleet(devices: Devices, sensors: int, *, keyholder: bool) -> None:
    """Check that devices will answer this deployment, each for sensors of its own.

    Raises:
        OperatorFault: there is none, or one does not fit.
    """
    mode = "keyholder" if keyholder else "sealed"
    strangers = [name for name, device in devices.by_name.items() if device.mode != mode]
    if strangers or not devices.by_name:
        given = f"device {strangers[0]} is not" if strangers else "no device is"
        raise OperatorFault(
            f"{given} enrolled as {mode}, as [privacy] keyholder = {str(keyholder).lower()} says; "
            "a device refuses a round whose promise is not its own, and the round would be paid "
            "for nothing. Mend keyholder, or enrol the fleet again"
        )
    owners: dict[int, str] = {}
    for name, device in devices.by_name.items():
        first, count = device.place
        for sensor in range(first, first + count):
            other = owners.setdefault(sensor, name)
            if not 0 <= sensor < sensors or other != name:
                whose = f"which {other} reads too" if other != name else f"not 0 to {sensors - 1}"
                raise OperatorFault(
                    f"device {name} is enrolled for sensor {sensor}, {whose}; every sensor of the "
                    "room has one device, or a reading would stand in the wrong place. Enrol the "
                    "fleet again, or mend [sensors] count"
                )


def save_devices(devices: Devices, path: Path) -> None:
    """Write the gateway's half, for its owner alone."""
    keyfile.write(path, "mac keys", devices.site, devices.site_key, devices.by_name.values())


def load_devices(path: Path, site: str) -> Devices:
    """Return the gateway's half of a fleet.

    Raises:
        OperatorFault: the file cannot be read, or is not of this site.
    """
    site_key, rows, _ = keyfile.read(path, "mac keys", site)
    return Devices(site, site_key, {row[0]: Device(*row) for row in rows})


def save_secrets(secrets: Secrets, path: Path) -> None:
    """Write the fleet's half, for its owner alone."""
    keyfile.write(
        path, "root keys", secrets.site, secrets.site_key, secrets.devices, secrets.epoch
    )


def next_boot(path: Path, site: str) -> Secrets:
    """Return the fleet's half in its next life, whose epoch is on the disk by then.

    Raises:
        OperatorFault: the file cannot be read, or is not of this site.
    """
    site_key, rows, epoch = keyfile.read(path, "root keys", site)
    secrets = Secrets(site, site_key, epoch + 1, tuple(Secret(*row) for row in rows))
    save_secrets(secrets, path)
    return secrets

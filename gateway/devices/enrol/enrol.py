"""Who may report, and with which keys: one half for the gateway, one for the devices.

Every key of a device comes from one root, made here. The root itself goes to neither half:
of a sealed device it is forgotten as soon as its keys are made, of a keyholder's it is written
to a file of its owner's, which no service reads. The gateway's half holds the keys that prove
who sent a frame and that sign tighter limits; they do not lead back to the noise. What a device
must remember beside its keys is its budget: see `budgets`.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from edge import keys
from edge.host import rootkeys

from ...faults import OperatorFault
from ...ledger import paid_at_release
from ...rounds import Place
from . import keyfile
from .keyfile import Row, key


class Device(NamedTuple):
    """What the gateway knows of a device."""

    name: str
    place: Place
    mode: str  # "sealed", or "keyholder" when somebody kept the root key on purpose
    key_id: bytes  # four bytes that name this enrolment in public
    mac_key: bytes
    config_key: bytes
    central: str = ""  # the mechanism of central trust that it may answer, and with which key
    seal_key: bytes = b""

    @classmethod
    def of(cls, who: Any) -> "Device":
        """Return the gateway's half of an `edge.keys.Identity`."""
        ours = who.key_id, who.mac_key, who.config_key
        allowed = (who.central, who.seal_key) if isinstance(who, keys.Allowed) else ()
        return cls(who.name, Place(who.sensor, who.sensors), who.mode, *ours, *allowed)


class Devices(NamedTuple):
    """What the gateway knows of a fleet; the site key signs the rounds."""

    site: str
    site_key: bytes
    by_name: Mapping[str, Device]


class Secret(NamedTuple):
    """What a virtual device knows of itself."""

    identity: Any  # edge.keys.Identity
    link_key: bytes  # in hexadecimal its password at the broker


class Secrets(NamedTuple):
    """What a virtual fleet knows."""

    site: str
    site_key: bytes
    devices: tuple[Secret, ...]


class Enrolment(NamedTuple):
    """What enrolling makes. The roots go no further than first budgets and a holder's file."""

    secrets: Secrets
    roots: Mapping[str, bytes]


def make(
    site: str,
    sensors: int,
    *,
    keyholder: bool = False,
    central: str = "",
    fresh: Callable[[int], bytes] = os.urandom,
) -> Enrolment:
    """Return a new fleet of devices, one sensor each, with fresh keys.

    Args:
        central: the mechanism of central trust that all of them may answer.
        fresh: gives that many unguessable bytes; a seeded one is for experiments only.
    """
    mode, width = "keyholder" if keyholder else "sealed", len(str(sensors - 1))
    roots = {f"node-{index:0{width}}": fresh(keyfile.KEY_BYTES) for index in range(sensors)}
    site_key = fresh(keyfile.KEY_BYTES)
    devices = tuple(
        Secret(
            rootkeys.identity(site, name, root, site_key, i, mode, central=central),
            rootkeys.link_key(root),
        )
        for i, (name, root) in enumerate(roots.items())
    )
    return Enrolment(Secrets(site, site_key, devices), roots)


def known(secrets: Secrets) -> Devices:
    """Return the gateway's half of a fleet."""
    devices = {who.name: Device.of(who) for who, _ in secrets.devices}
    return Devices(secrets.site, secrets.site_key, devices)


def check_central(devices: Devices, round: Any) -> None:
    """Check that every device may answer a Round of central trust, if it is one.

    Raises:
        OperatorFault: one may not.
    """
    if not paid_at_release(round.guarantee):
        return
    mechanism = round.mechanism
    strangers = [name for name, one in devices.by_name.items() if one.central != mechanism]
    if strangers:
        raise OperatorFault(
            f"device {strangers[0]} is not enrolled for {mechanism}, whose gateway reads what "
            "devices report; it would refuse every round. If the people whose devices these are "
            f"agree, enrol it with --central {mechanism}"
        )


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
                    "fleet again, or mend [sensors] count, or devices under [disk]"
                )


def save_devices(devices: Devices, path: Path) -> None:
    """Write the gateway's half, for its owner alone."""
    rows = [{**one._asdict(), "place": list(one.place)} for one in devices.by_name.values()]
    for row in rows:
        if not row["central"]:
            del row["central"], row["seal_key"]
    keyfile.write(path, "mac keys", devices.site, rows, site_key=devices.site_key)


def load_devices(path: Path, site: str) -> Devices:
    """Return the gateway's half of a fleet.

    Raises:
        OperatorFault: the file cannot be read, or is not of this site.
    """
    head, devices = keyfile.read(path, "mac keys", site, _device)
    return Devices(site, key(head, "site_key"), {device.name: device for device in devices})


def save_secrets(secrets: Secrets, path: Path) -> None:
    """Write the devices' half, for its owner alone."""
    rows = [{**who._asdict(), "link_key": link_key} for who, link_key in secrets.devices]
    for row in rows:
        del row["site"], row["site_key"]  # the same for all
    keyfile.write(path, "device keys", secrets.site, rows, site_key=secrets.site_key)


def load_secrets(path: Path, site: str) -> Secrets:
    """Return the devices' half of a fleet.

    Raises:
        OperatorFault: the file cannot be read, or is not of this site.
    """
    head, devices = keyfile.read(path, "device keys", site, _secret)
    return Secrets(site, key(head, "site_key"), tuple(devices))


def save_roots(enrolment: Enrolment, path: Path) -> None:
    """Write what takes the noise off a keyholder fleet, for its owner alone."""
    rows = [
        {"name": name, "key_id": rootkeys.key_id(root), "root": root}
        for name, root in enrolment.roots.items()
    ]
    keyfile.write(path, "owner's keys", enrolment.secrets.site, rows)


def _device(_: Row, row: Row) -> Device:
    ours = key(row, "key_id", 4), key(row, "mac_key"), key(row, "config_key")
    place = Place(*map(int, row["place"]))
    return Device(str(row["name"]), place, str(row["mode"]), *ours, *_allowed(row))


def _secret(head: Row, row: Row) -> Secret:
    name, mode = str(row["name"]), str(row["mode"])
    if Path(name).name != name or mode not in rootkeys.MODES:
        raise ValueError(f"a device {name!r} of mode {mode!r}")
    ours: list[Any] = [head["site"], name, int(row["sensor"]), int(row["sensors"]), mode]
    ours += [key(head, "site_key"), *(key(row, job) for job in ("mac_key", "config_key"))]
    ours += [key(row, "state_key"), key(row, "key_id", 4)]
    return Secret(identity_of(ours, row), key(row, "link_key"))


def identity_of(ours: Sequence[Any], row: Row) -> Any:
    """Return the Identity of these parts, allowed for what its row in a file of keys names."""
    parts = [*ours, *_allowed(row)]
    return keys.Allowed(*parts) if len(parts) > len(ours) else keys.Identity(*parts)


def _allowed(row: Row) -> tuple[str, bytes] | tuple[()]:
    return (str(row["central"]), key(row, "seal_key")) if row.get("central") else ()

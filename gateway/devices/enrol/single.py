"""One device more: its name and its sensor, its keys, and the file that its board is given."""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from edge.host import rootkeys

from ...faults import OperatorFault, text_of
from ...operating import Mqtt
from . import keyfile
from .enrol import Devices, Secret

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
TAKEN = {"round", "map", "ha", "gateway"}  # what else stands at a device's place in a topic
HOLDS = "everything of one device"


class Newcomer(NamedTuple):
    """A device that is being enrolled: root goes no further than its budget and its holder."""

    secret: Secret
    root: bytes

    @property
    def password(self) -> str:
        """What it comes to the broker with."""
        return self.secret.link_key.hex()


def check_name(name: str, devices: Devices, gateway: str | None) -> None:
    """Check that a new device may have this name.

    Raises:
        OperatorFault: it is no name, or somebody's.
    """
    if name in devices.by_name or name == gateway:
        whose = "enrolled already" if name in devices.by_name else "the gateway's at the broker"
        raise OperatorFault(
            f"the name {name} is {whose}; two of one name could speak for each other. Choose "
            f"another, or give the device that has it new keys: heatveil device rotate --keys"
        )
    if not NAME.fullmatch(name) or ".." in name or name in TAKEN:
        raise OperatorFault(
            f"{name!r} cannot be a device's name; it stands in topics and names files, so it must "
            "be letters, digits, dots, dashes and underscores, 63 at most, begin with a letter or "
            f"digit, and be none of {', '.join(sorted(TAKEN))}. Choose another"
        )


def free_sensor(devices: Devices, sensors: int, wanted: int | None, count: int = 1) -> int:
    """Return the sensor that a new device is to read: the wanted one, or the first without one.

    Args:
        count: how many it reads, from that one on.

    Raises:
        OperatorFault: it has a device, or there is none left.
    """
    owners = {
        sensor: name
        for name, device in devices.by_name.items()
        for sensor in range(device.place.sensor, device.place.sensor + device.place.sensors)
    }
    if wanted is None:
        places = (range(first, first + count) for first in range(sensors - count + 1))
        found = next((place for place in places if not owners.keys() & place), None)
        if found is None:
            whose = (
                "have a device" if count == 1 else f"leave no {count} in a row without a device"
            )
            raise OperatorFault(
                f"all {sensors} sensors of the room {whose}; one more would have no place "
                "in a reading. Remove one first, or begin anew with more under [sensors] or "
                "[disk], which is another promise"
            )
        return found.start
    last = wanted + count - 1
    if not 0 <= wanted <= last < sensors:
        raise OperatorFault(
            f"sensor {last} does not exist; the deployment says 0 to {sensors - 1}, and a "
            "reading of another would stand nowhere. Name one of them"
        )
    if taken := owners.keys() & range(wanted, last + 1):
        one = min(taken)
        raise OperatorFault(
            f"sensor {one} is read by {owners[one]}; every sensor has one device, or two "
            "readings would be one. Name another with --sensor, or remove that device"
        )
    return wanted


def enrolled(
    devices: Devices,
    name: str,
    sensor: int,
    *,
    keyholder: bool,
    sensors: int = 1,
    central: str = "",
    fresh: Callable[[int], bytes] = os.urandom,
) -> Newcomer:
    """Return a device with keys of its own.

    Args:
        central: the mechanism of central trust that it may answer.
    """
    root, mode = fresh(keyfile.KEY_BYTES), "keyholder" if keyholder else "sealed"
    own = name, root, devices.site_key, sensor, mode, sensors, central
    who = rootkeys.identity(devices.site, *own)
    return Newcomer(Secret(who, rootkeys.link_key(root)), root)


def link_of(broker: Mqtt, name: str, password: str, session: str) -> dict[str, Any]:
    """Return how a device comes to the broker, its authority's certificate included.

    Args:
        session: its client id, which nobody else can guess, and the only one it may have.
    """
    link: dict[str, Any] = {"host": broker.host, "port": broker.port, "tls": not broker.insecure}
    link |= {"client_id": session, "username": name, "password": password}
    if broker.ca_file is not None:
        needed = "a board needs it to know the broker. Run `heatveil broker init`, or mend the"
        link["ca"] = text_of(broker.ca_file, "ca_file under [mqtt]", f"{needed} path")
    return link


def save_board(
    path: Path,
    made: Newcomer,
    limits: Any,
    link: Mapping[str, Any],
    more: Mapping[str, Any] | None = None,
) -> None:
    """Write all that a board is given, for its owner alone; there is no second copy.

    chain is for its first budget: `edge.host.enrol.provision`. See `refuse_old`. more: what the
    deployment asks of its devices beside that, as `kit.placing.asked_by` says it.

    Raises:
        OperatorFault: the file cannot be written.
    """
    row = {key: value for key, value in made.secret.identity._asdict().items() if key != "site"}
    site_key = row.pop("site_key")
    row |= {"chain": rootkeys.first_chain(made.root), "limits": list(limits), "link": dict(link)}
    row |= more or {}
    keyfile.write(path, HOLDS, made.secret.identity.site, [row], site_key=site_key)


def save_link(path: Path, site: str, name: str, link: Mapping[str, Any]) -> None:
    """Write how a board comes to the broker from now on; its keys stay.

    Raises:
        OperatorFault: the file cannot be written.
    """
    keyfile.write(path, "the link of one device", site, [{"name": name, "link": dict(link)}])


def refuse_old(path: Path) -> None:
    """Raise OperatorFault where a file is there that must not be lost."""
    if path.exists():
        raise OperatorFault(
            f"{path} is there already, and what it holds is written nowhere else; it is not "
            "overwritten. Move it away, or name another with --out"
        )


def key_of(path: Path, site: str) -> bytes | None:
    """Return the key id in a board's file; None where it is none."""
    try:
        return keyfile.read(path, HOLDS, site, lambda _, row: keyfile.key(row, "key_id", 4))[1][0]
    except (OperatorFault, IndexError):
        return None

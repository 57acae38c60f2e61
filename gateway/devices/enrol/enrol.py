"""Who may report, and with which keys: one half for the gateway, one for the devices.

Every key of a device comes from one root, made here. The root itself goes to neither half: of a
sealed device it is forgotten as soon as its keys are made, of a keyholder's it is written to a
file of its owner's. A fleet is enrolled at once, or one device more, whose board is given a file.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from edge.core.entropy import Identity
from edge.host import rootkeys
from edge.mechanisms.central import Allowed
from edge.mechanisms.summing import Summed

from ...faults import OperatorFault, read_small_file
from ...service.ledger import is_paid_at_release
from ...service.rounds import Place
from ...settings.deployment import Mqtt
from ...store.opening import lock_file
from . import keyfile
from .keyfile import Row, parse_key

UNFINISHED = ".unfinished"  # ends the name of a board's file while its device is being changed


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
    def from_identity(cls, who: Any) -> "Device":
        """Return the gateway's half of an `edge.core.entropy.Identity`."""
        ours = who.key_id, who.mac_key, who.config_key
        allowed = (who.central, who.seal_key) if isinstance(who, Allowed) else ()
        return cls(who.name, Place(who.sensor, who.sensors), who.mode, *ours, *allowed)


class Devices(NamedTuple):
    """What the gateway knows of a fleet; the site key signs the rounds."""

    site: str
    site_key: bytes
    by_name: Mapping[str, Device]

    @property
    def key_ids(self) -> dict[str, bytes]:
        """The key of each device, by name."""
        return {name: one.key_id for name, one in self.by_name.items()}


class Secret(NamedTuple):
    """What a virtual device knows of itself."""

    identity: Any  # edge.core.entropy.Identity
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


def enrol_fleet(
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


def add_rosters(made: Enrolment, rosters: Mapping[str, bytes]) -> Enrolment:
    """Return an enrolment whose devices take part in secure sums, each with its roster's message.

    Of what their roots make they then hold two keys more: see `edge.mechanisms.summing.Summed`.
    """

    def join(one: Secret) -> Secret:
        root = made.roots[one.identity.name]
        own: list[Any] = [rootkeys.static_key(root), rootkeys.roster_key(root)]
        parts = [*one.identity, *own, rosters[one.identity.name]]
        return one._replace(identity=Summed(*parts))

    devices = tuple(map(join, made.secrets.devices))
    return made._replace(secrets=made.secrets._replace(devices=devices))


def derive_gateway_half(secrets: Secrets) -> Devices:
    """Return the gateway's half of a fleet."""
    devices = {who.name: Device.from_identity(who) for who, _ in secrets.devices}
    return Devices(secrets.site, secrets.site_key, devices)


def check_may_answer_central(devices: Devices, round: Any) -> None:
    """Check that every device may answer a Round of central trust, if it is one.

    Raises:
        OperatorFault: one may not.
    """
    if not is_paid_at_release(round.guarantee):
        return
    mechanism = round.mechanism
    strangers = [name for name, one in devices.by_name.items() if one.central != mechanism]
    if strangers:
        raise OperatorFault(
            f"device {strangers[0]} is not enrolled for {mechanism}, with which the gateway sees "
            "what devices report; it would refuse every round. If the people whose devices these "
            f"are agree, enrol it with --central {mechanism}"
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
            f"{given} enrolled as {mode}, but [privacy] keyholder = {str(keyholder).lower()}; a "
            "device refuses a round with another promise than its own, and the round is charged "
            "all the same. Correct keyholder, or enrol the fleet again"
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
                    "room needs exactly one device, or readings would be put in the wrong place. "
                    "Enrol the fleet again, or correct [sensors] count, or devices under [disk]"
                )


def save_devices(devices: Devices, path: Path) -> None:
    """Write the gateway's half, for its owner alone."""
    rows = [{**one._asdict(), "place": list(one.place)} for one in devices.by_name.values()]
    for row in rows:
        if not row["central"]:
            del row["central"], row["seal_key"]
    keyfile.write_key_file(path, "mac keys", devices.site, rows, site_key=devices.site_key)


def load_devices(path: Path, site: str) -> Devices:
    """Return the gateway's half of a fleet.

    Raises:
        OperatorFault: the file cannot be read, or is not of this site.
    """
    head, devices = keyfile.read_key_file(path, "mac keys", site, _parse_device)
    return Devices(site, parse_key(head, "site_key"), {device.name: device for device in devices})


def lock_devices(path: Path) -> AbstractContextManager[None]:
    """Hold the devices file, and what lies beside it, against every other command.

    What a command writes back it must have read under the lock, or another's rows are lost.

    Raises:
        OperatorFault: another command holds it, or its folder cannot be written.
    """
    lock = path.with_name(path.name + ".lock")
    unusable = f"{lock} cannot be written ({{why}}); it keeps two changes apart. Mend its folder"
    taken = "another command changes the devices or their limits; wait until it has ended"
    return lock_file(lock, unusable, taken)


def save_secrets(secrets: Secrets, path: Path) -> None:
    """Write the devices' half, for its owner alone."""
    rows = [{**who._asdict(), "link_key": link_key} for who, link_key in secrets.devices]
    for row in rows:
        del row["site"], row["site_key"]  # the same for all
    keyfile.write_key_file(path, "device keys", secrets.site, rows, site_key=secrets.site_key)


def load_secrets(path: Path, site: str) -> Secrets:
    """Return the devices' half of a fleet.

    Raises:
        OperatorFault: the file cannot be read, or is not of this site.
    """
    head, devices = keyfile.read_key_file(path, "device keys", site, _parse_secret)
    return Secrets(site, parse_key(head, "site_key"), tuple(devices))


def save_roots(enrolment: Enrolment, path: Path) -> None:
    """Write what takes the noise off a keyholder fleet, for its owner alone."""
    rows = [
        {"name": name, "key_id": rootkeys.key_id(root), "root": root}
        for name, root in enrolment.roots.items()
    ]
    keyfile.write_key_file(path, "owner's keys", enrolment.secrets.site, rows)


def _parse_device(_: Row, row: Row) -> Device:
    ours = parse_key(row, "key_id", 4), parse_key(row, "mac_key"), parse_key(row, "config_key")
    place = Place(*map(int, row["place"]))
    return Device(_read_name(row), place, str(row["mode"]), *ours, *_read_allowed(row))


def _parse_secret(head: Row, row: Row) -> Secret:
    name, mode = _read_name(row), str(row["mode"])
    if mode not in rootkeys.MODES:
        raise ValueError(f"a device {name!r} of mode {mode!r}")
    ours: list[Any] = [head["site"], name, int(row["sensor"]), int(row["sensors"]), mode]
    ours += [
        parse_key(head, "site_key"),
        *(parse_key(row, job) for job in ("mac_key", "config_key")),
    ]
    ours += [parse_key(row, "state_key"), parse_key(row, "key_id", 4)]
    return Secret(make_identity(ours, row), parse_key(row, "link_key"))


def _read_name(row: Row) -> str:
    """Return a device's name; ValueError where it could write what only the gateway may."""
    if not _may_be_named(name := str(row["name"])):
        raise ValueError(f"{name!r} can be no device's name")
    return name


def make_identity(ours: Sequence[Any], row: Row) -> Any:
    """Return the Identity of these parts, allowed for what its row in a file of keys names."""
    if row.get("roster"):
        own = parse_key(row, "static_key"), parse_key(row, "roster_key")
        summed = [*ours, *own, bytes.fromhex(row["roster"])]
        return Summed(*summed)
    parts = [*ours, *_read_allowed(row)]
    return Allowed(*parts) if len(parts) > len(ours) else Identity(*parts)


def _read_allowed(row: Row) -> tuple[str, bytes] | tuple[()]:
    return (str(row["central"]), parse_key(row, "seal_key")) if row.get("central") else ()


NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
TAKEN = {
    "round",
    "map",
    "ha",
    "gateway",
    "sum",
    "update",
}  # what else stands at a device's place in a topic
HOLDS = "everything of one device"


def _may_be_named(name: str) -> bool:
    return bool(NAME.fullmatch(name)) and ".." not in name and name not in TAKEN


class Newcomer(NamedTuple):
    """A device that is being enrolled: root goes no further than its budget and its holder."""

    secret: Secret
    root: bytes

    @property
    def password(self) -> str:
        """What it comes to the broker with."""
        return self.secret.link_key.hex()


def check_name_is_free(name: str, devices: Devices, gateway: str | None) -> None:
    """Check that a new device may have this name.

    Raises:
        OperatorFault: it is no name, or somebody's.
    """
    if name in devices.by_name or name == gateway:
        whose = "enrolled already" if name in devices.by_name else "the gateway's at the broker"
        raise OperatorFault(
            f"the name {name} is {whose}; two devices of one name could pass for each other. "
            "Choose another name; to give an enrolled device new keys, run heatveil device rotate "
            f"{name} --keys"
        )
    check_may_be_named(name)


def check_may_be_named(name: str) -> None:
    """Check that a device may have such a name, be it free or not.

    Raises:
        OperatorFault: it may not.
    """
    if not _may_be_named(name):
        raise OperatorFault(
            f"{name!r} cannot be a device's name; it becomes part of topics and file names, so it "
            "must be 1 to 63 letters, digits, dots, dashes and underscores, begin with a letter "
            f"or digit, and not be {' or '.join(sorted(TAKEN))}. Choose another"
        )


def find_free_sensor(devices: Devices, sensors: int, wanted: int | None, count: int = 1) -> int:
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
                f"all {sensors} sensors of the room {whose}, so no device can be added. Remove "
                "one first, or enrol again in a new folder with more sensors under [sensors] or "
                "[disk], which is a new promise"
            )
        return found.start
    last = wanted + count - 1
    if not 0 <= wanted <= last < sensors:
        raise OperatorFault(
            f"sensor {last} does not exist; the deployment has sensors 0 to {sensors - 1}. Name "
            "one of them"
        )
    if taken := owners.keys() & range(wanted, last + 1):
        one = min(taken)
        raise OperatorFault(
            f"sensor {one} already belongs to device {owners[one]}; two devices for one sensor "
            "would overwrite each other's readings. Name another with --sensor, or remove that "
            "device"
        )
    return wanted


def enrol_device(
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


def make_link_settings(broker: Mqtt, name: str, password: str, session: str) -> dict[str, Any]:
    """Return how a device comes to the broker, its authority's certificate included.

    Args:
        session: its client id, which nobody else can guess, and the only one it may have.
    """
    link: dict[str, Any] = {"host": broker.host, "port": broker.port, "tls": not broker.insecure}
    link |= {"client_id": session, "username": name, "password": password}
    if broker.ca_file is not None:
        needed = "a board needs it to know the broker. Run `heatveil broker init`, or mend the"
        link["ca"] = read_small_file(broker.ca_file, "ca_file under [mqtt]", f"{needed} path")
    return link


def save_board_file(
    path: Path,
    who: Any,
    chain: bytes,
    limits: Any,
    link: Mapping[str, Any],
    more: Mapping[str, Any] | None = None,
) -> None:
    """Write all that a board is given, for its owner alone; there is no second copy.

    chain is for its first budget: `edge.host.enrol.provision`. See `refuse_existing_file`. more:
    what the deployment asks of its devices beside that, as `kit.siting.derive_settings` says it.

    Raises:
        OperatorFault: the file cannot be written.
    """
    row = {key: value for key, value in who._asdict().items() if key != "site"}
    site_key = row.pop("site_key")
    row |= {"chain": chain, "limits": list(limits), "link": dict(link)}
    row |= more or {}
    keyfile.write_key_file(path, HOLDS, who.site, [row], site_key=site_key)


def save_link_file(path: Path, site: str, name: str, link: Mapping[str, Any]) -> None:
    """Write how a board comes to the broker from now on; its keys stay.

    Raises:
        OperatorFault: the file cannot be written.
    """
    keyfile.write_key_file(
        path, "the link of one device", site, [{"name": name, "link": dict(link)}]
    )


def refuse_existing_file(path: Path) -> None:
    """Raise OperatorFault where a file is there that must not be lost."""
    if path.exists():
        raise OperatorFault(
            f"{path} already exists and is not overwritten: it may be the only copy of its keys. "
            "Move it away, or name another file with --out"
        )


def read_key_id(path: Path, site: str) -> bytes | None:
    """Return the key id in a board's file; None where it is none."""
    try:
        return keyfile.read_key_file(
            path, HOLDS, site, lambda _, row: keyfile.parse_key(row, "key_id", 4)
        )[1][0]
    except (OperatorFault, IndexError):
        return None

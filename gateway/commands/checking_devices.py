"""Whether the broker, the devices' half of the keys and the gateway's file say the same.

A change of one device touches all of them, one after the other, so a kill in between leaves them
apart; so does a file that was brought back alone. Every finding says which command mends it.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from ..brokers import dynamic, mosquitto
from ..brokers.known import differ, has_role
from ..brokers.rights import of_device
from ..deployment import Deployment
from ..enrolment import enrol
from ..enrolment.enrol import Devices, Secrets
from ..faults import OperatorFault
from .checking_finding import Finding, fault, note, ok
from .device_files import UNFINISHED


def findings(deployment: Deployment, path: Path, devices: Devices) -> Iterator[Finding]:
    """Yield what does not agree, and one line where everything does.

    Args:
        path: the deployment file, beside which others lie.
    """
    found = [*_begun(path)]
    secrets = _secrets(path, deployment.site.name)
    if secrets is not None:
        found += _virtual(secrets, devices)
    folder = path.with_name("broker")
    if deployment.mqtt.ca_file is not None and not folder.exists():
        folder = deployment.mqtt.ca_file.parent
    if deployment.mqtt.username is not None:
        found += _at_broker(folder, deployment.site.name, devices, secrets)
    yield from found
    if not found:
        yield ok("devices", "the broker's files and the devices' keys here fit them")


def _begun(path: Path) -> Iterator[Finding]:
    for file in sorted(path.parent.glob(f"*.device.json{UNFINISHED}")):
        name = file.name.removesuffix(f".device.json{UNFINISHED}")
        yield fault(
            "devices",
            f"a change of {name} broke off: {file} is there. Run the same `heatveil device` "
            f"command again, or heatveil device remove {name}",
        )


def _secrets(path: Path, site: str) -> Secrets | None:
    try:
        return enrol.load_secrets(path.with_name("secrets.json"), site)
    except OperatorFault:
        return None  # a site of boards alone, or one whose fleet runs elsewhere


def _virtual(secrets: Secrets, devices: Devices) -> Iterator[Finding]:
    for who, _ in secrets.devices:
        device = devices.by_name.get(who.name)
        if device is None:
            yield fault(
                "devices",
                f"secrets.json has keys of {who.name}, which is no device of ours: it was being "
                f"added or removed. Run heatveil device remove {who.name}",
            )
        elif device.key_id != who.key_id:
            yield fault(
                "devices",
                f"{who.name} has other keys in secrets.json than here, so nothing that it says "
                f"counts. Run heatveil device rotate {who.name} --keys",
            )


def _at_broker(
    folder: Path, site: str, devices: Devices, secrets: Secrets | None
) -> Iterator[Finding]:
    """Yield what the broker's files let in otherwise, where they are on this machine."""
    words = {who.name: key.hex() for who, key in secrets.devices} if secrets else {}
    try:
        if (file := folder / dynamic.FILE).exists():
            yield from _by_plugin(dynamic.parsed(file.read_text("utf-8")), site, devices, words)
        elif (file := folder / "passwords").exists():
            yield from _by_files(file.read_text("utf-8"), devices, words)
    except (OSError, ValueError, KeyError, TypeError) as wrong:
        why = getattr(wrong, "strerror", None) or str(wrong)
        yield note("devices", f"whom the broker lets in cannot be seen ({file}: {why})")


def _by_plugin(
    body: Mapping[str, list[dict[str, str]]],
    site: str,
    devices: Devices,
    words: Mapping[str, str],
) -> Iterator[Finding]:
    rows = {row["username"]: row for row in body["clients"]}
    roles = {row["rolename"]: row for row in body["roles"]}
    yield from _apart(
        {
            name: name not in words or dynamic.lets_in(row, words[name])
            for name, row in rows.items()
            if has_role(row, name) or name in devices.by_name
        },
        devices,
    )
    for name in rows.keys() & devices.by_name.keys():
        wanted = dynamic.acls(of_device(site, name))
        if differ(roles.get(dynamic.role_of(name)), wanted):
            yield fault(
                "devices",
                f"the broker has other rights for {name} than a device needs: it could not be "
                f"heard, or write what is not its own. Run heatveil device rotate {name}",
            )


def _by_files(held: str, devices: Devices, words: Mapping[str, str]) -> Iterator[Finding]:
    known = {
        name: name not in words or mosquitto.holds(held, {name: words[name]})
        for name in mosquitto.names(held)
        if name in devices.by_name
    }
    yield from _apart(known, devices)


def _apart(known: Mapping[str, bool], devices: Devices) -> Iterator[Finding]:
    """Yield devices that the broker knows and we do not, or we and not it, or by another word."""
    for name in sorted(known.keys() - devices.by_name.keys()):
        yield fault(
            "devices",
            f"the broker lets in {name}, which is no device of ours: it was being added or "
            f"removed. Run heatveil device remove {name}",
        )
    for name in sorted(devices.by_name.keys() - known.keys()):
        yield fault(
            "devices",
            f"the broker does not let in {name}: it was being removed, or an older file of the "
            f"broker's was brought back. Run heatveil device remove {name}, or rotate",
        )
    for name in sorted(name for name, fits in known.items() if not fits):
        if name in devices.by_name:
            yield fault(
                "devices",
                f"the broker has another password for {name} than secrets.json: a change of it "
                f"broke off. Run heatveil device rotate {name}, and start the fleet again",
            )

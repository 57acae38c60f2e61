"""A broker of one's own: `heatveil broker init` writes all that mosquitto needs.

What is there already is kept, so a lost file can be made again and an old certificate renewed
without a new authority on every board: move it away, and run this again.
"""

import os
import pwd
import secrets as chance
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from .. import config
from ..brokers import certificates, mosquitto
from ..deployment import Deployment
from ..enrolment import enrol
from ..faults import OperatorFault
from ..operating import Mqtt
from .broker_files import Files

TLS_PORT = 8883
GATEWAY = "gateway"  # its name at the broker, unless [mqtt] username says another


def init(
    path: Path,
    hosts: Iterable[str],
    folder: Path | None,
    secrets: Path | None,
    say: Callable[[str], None],
) -> None:
    """Write the broker of a deployment and its enrolment, and say what to do next.

    Args:
        hosts: names and addresses of the broker, beside that of [mqtt].
        folder: where; None for `broker` beside the deployment file.
        secrets: the devices' half of the enrolment; None for secrets.json beside the file.

    Raises:
        OperatorFault: a file is at fault, or does not fit the others; then nothing is written.
    """
    deployment = config.load(path)
    site = deployment.site.name
    devices = link_passwords(deployment, secrets or path.with_name("secrets.json"))
    gateway = deployment.mqtt.username or GATEWAY
    if gateway in devices:
        raise OperatorFault(
            f"username {gateway} under [mqtt] is a device's name too; the broker tells them apart "
            "by name, or the device could write what only the gateway may. Choose another one"
        )
    files = Files(folder or path.with_name("broker"))
    names = list(dict.fromkeys([deployment.mqtt.host, *hosts]))
    until = _certificates(files, site, names)
    own = files.text("gateway.password", lambda: chance.token_hex(32) + "\n", private=True)
    everybody = {gateway: own.strip(), **devices}
    others = _access(files, site, gateway, everybody, deployment.homeassistant.prefix)
    user = pwd.getpwuid(os.getuid()).pw_name
    port = _port(deployment.mqtt)
    files.text(
        "mosquitto.conf",
        lambda: mosquitto.configuration(site, files.folder, names, port, user),
    )
    files.write("data")
    for line in _told(deployment, path, files, gateway, until):
        say(line)
    if others:
        say(f"The broker lets in others too, whom you have added: {', '.join(others)}")


def link_passwords(deployment: Deployment, path: Path) -> Mapping[str, str]:
    """Return name and password of every device, from the devices' half of the enrolment."""
    secrets = enrol.load_secrets(path, deployment.site.name)
    return {who.name: link_key.hex() for who, link_key in secrets.devices}


def _certificates(files: Files, site: str, hosts: list[str]) -> datetime:
    """See to authority and server; return until when the server's certificate is good."""
    now = datetime.now(UTC)
    if files.lack("ca.pem", "ca.key") == ["ca.pem", "ca.key"]:
        made = certificates.authority(f"heatveil broker of site {site}", now)
        files.add("ca.pem", made.certificate)
        files.add("ca.key", made.key, private=True)
    if files.lack("server.pem", "server.key"):
        files.refuse_half("server.pem", "server.key", "the broker needs both")
        files.refuse_half("ca.pem", "ca.key", "a certificate cannot be signed without both")
        signer = certificates.Pair(files.read("ca.pem"), files.read("ca.key"))
        try:
            made = certificates.server(hosts, signer, now)
        except ValueError as fault:
            raise files.unfit("ca.pem", f"cannot sign a broker's certificate: {fault}") from fault
        files.add("server.pem", made.certificate)
        files.add("server.key", made.key, private=True)
    try:
        found = x509.load_pem_x509_certificate(files.read("server.pem"))
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound) as fault:
        raise files.unfit("server.pem", f"is no broker's certificate: {fault}") from fault
    try:
        own = serialization.load_pem_private_key(files.read("server.key"), None).public_key()
    except (ValueError, TypeError) as fault:
        raise files.unfit("server.key", f"is no private key: {fault}") from fault
    if own != found.public_key():
        raise files.unfit("server.key", "does not belong to server.pem", "server.pem")
    if missing := [host for host in hosts if certificates.general_name(host) not in names]:
        raise files.unfit("server.pem", f"does not name {', '.join(missing)}", "server.key")
    if found.not_valid_after_utc <= now:
        raise files.unfit("server.pem", "has expired", "server.key")
    return found.not_valid_after_utc


def _port(mqtt: Mqtt) -> int:
    """Return where TLS is spoken: where it was in the clear, another broker may still listen."""
    return TLS_PORT if mqtt.insecure else mqtt.port


def _access(
    files: Files, site: str, gateway: str, everybody: Mapping[str, str], prefix: str
) -> list[str]:
    """See to the passwords and to the access list; return who else has a password."""
    salts = (chance.token_bytes(mosquitto.SALT_BYTES) for _ in everybody)
    hashed = files.text("passwords", lambda: mosquitto.passwords(everybody, salts), private=True)
    if not mosquitto.holds(hashed, everybody):
        raise files.unfit("passwords", "is of another enrolment, or another gateway.password")
    devices = [name for name in everybody if name != gateway]
    rules = files.text("acl", lambda: mosquitto.access_list(site, gateway, devices, prefix))
    if missing := [name for name in everybody if f"user {name}\n" not in rules]:
        raise files.unfit("acl", f"does not know {missing[0]}")
    return [name for name in mosquitto.names(hashed) if name not in everybody]


def _told(
    deployment: Deployment, path: Path, files: Files, gateway: str, until: datetime
) -> Iterable[str]:
    """Yield what was done, and the three next steps."""
    yield f"{files.told()} The broker's certificate is good until {until:%Y-%m-%d}."
    wanted = deployment.mqtt.model_copy(
        update={
            "port": _port(deployment.mqtt),
            "username": gateway,
            "password_file": files.folder / "gateway.password",
            "ca_file": files.folder / "ca.pem",
            "insecure": False,
        }
    )
    if wanted == deployment.mqtt:
        yield f"1. [mqtt] of {path} names these files already: nothing to do."
    else:
        yield f"1. Write under [mqtt] of {path}, and leave insecure out:"
        for key in ("host", "port", "username", "password_file", "ca_file"):
            value = getattr(wanted, key)
            yield f"     {key} = {value}" if key == "port" else f'     {key} = "{value}"'
    yield f"2. Start the broker: mosquitto -c {files.folder / 'mosquitto.conf'}"
    yield (
        f"3. Start the rest: heatveil fleet --config {path} and heatveil serve --config {path}; a "
        "board needs ca.pem, and its own name and password"
    )

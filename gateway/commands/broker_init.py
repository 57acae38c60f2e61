"""A broker of one's own: `heatveil broker init` writes all that mosquitto needs.

What is there already is kept, so a lost file can be made again and an old certificate renewed
without a new authority on every board: move it away, and run this again.
"""

import os
import pwd
import secrets as chance
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path

from .. import config
from ..brokers import mosquitto
from ..deployment import Deployment
from ..enrolment import enrol
from ..faults import OperatorFault
from ..operating import Mqtt
from . import broker_access, broker_certificates
from .broker_files import Files

TLS_PORT = 8883
GATEWAY = "gateway"  # its name at the broker, unless [mqtt] username says another


def init(
    path: Path,
    hosts: Iterable[str],
    folder: Path | None,
    secrets: Path | None,
    say: Callable[[str], None],
    plain: bool = False,
) -> None:
    """Write the broker of a deployment and its enrolment, and say what to do next.

    Args:
        hosts: names and addresses of the broker, beside that of [mqtt].
        folder: where; None for `broker` beside the deployment file.
        secrets: the devices' half of the enrolment; None for secrets.json beside the file.
        plain: with files of passwords and access, even where the plugin is on this machine.

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
    until = broker_certificates.see_to(files, site, names)
    own = files.text("gateway.password", lambda: chance.token_hex(32) + "\n", private=True)
    everybody = {gateway: own.strip(), **devices}
    plugin = broker_access.plugin_of(files, plain)
    see_to = broker_access.by_files if plugin is None else broker_access.by_plugin
    others = see_to(files, site, gateway, everybody, deployment.homeassistant.prefix)
    user = pwd.getpwuid(os.getuid()).pw_name
    port = _port(deployment.mqtt)
    files.text(
        "mosquitto.conf",
        lambda: mosquitto.configuration(
            site,
            files.folder,
            names,
            port,
            user,
            plugin,
            len(devices),
            broker_access.readers() if plugin is None else None,
        ),
    )
    files.write("data")
    for line in _told(deployment, path, files, gateway, until):
        say(line)
    say(broker_access.DYNAMIC if plugin else broker_access.PLAIN)
    if others:
        say(f"The broker lets in others too, whom you have added: {', '.join(others)}")


def link_passwords(deployment: Deployment, path: Path) -> Mapping[str, str]:
    """Return name and password of every device, from the devices' half of the enrolment."""
    secrets = enrol.load_secrets(path, deployment.site.name)
    return {who.name: link_key.hex() for who, link_key in secrets.devices}


def _port(mqtt: Mqtt) -> int:
    """Return where TLS is spoken: where it was in the clear, another broker may still listen."""
    return TLS_PORT if mqtt.insecure else mqtt.port


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

"""A broker of one's own: `heatveil broker init` writes all that mosquitto needs."""

import os
import pwd
import secrets as chance
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from ...devices.broker import certificates, dynamic, mosquitto
from ...devices.broker.mosquitto import derive_session_id
from ...devices.enrol import enrol
from ...faults import OperatorFault
from ...loopback import is_loopback
from ...settings import config
from ...settings.deployment import Deployment, Mqtt
from .. import flags

# The files of a broker: all that are missing are made, or none. What is there stays, but for the
# certificate and the listener, which follow the names that the broker goes by.


class PlannedFiles:
    """A folder as it is, and what is to be added to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self._made: dict[str, tuple[bytes, bool]] = {}
        self._replaced: list[str] = []

    def read(self, name: str) -> bytes:
        """Return what a file holds, or will hold.

        Raises:
            OperatorFault: it cannot be read.
        """
        if name in self._made:
            return self._made[name][0]
        try:
            return (self.folder / name).read_bytes()
        except OSError as fault:
            raise self.make_unfit_fault(name, f"cannot be read ({fault.strerror})") from fault

    def plan(self, name: str, content: bytes, *, private: bool = False) -> None:
        """Plan a file, in the place of one that is there; private: for its owner alone."""
        self._made[name] = content, private
        if self._is_there(name):
            self._replaced.append(name)

    def read_or_plan(self, name: str, make: Callable[[], str], *, private: bool = False) -> str:
        """Return a file's text; where it is missing, it is made and planned."""
        if self.find_missing(name):
            self.plan(name, make().encode(), private=private)
        try:
            return self.read(name).decode()
        except UnicodeDecodeError as fault:
            raise self.make_unfit_fault(name, "is no text") from fault

    def find_missing(self, *names: str) -> list[str]:
        """Return which of these are neither there nor planned."""
        return [n for n in names if n not in self._made and not self._is_there(n)]

    def has_replaced(self) -> bool:
        """Return whether a file that was there is planned anew, or was written."""
        return bool(self._replaced)

    def _is_there(self, name: str) -> bool:
        return os.path.lexists(self.folder / name)

    def check_pair(self, one: str, other: str, why: str) -> None:
        """Raise OperatorFault when one of the two is there and the other is not."""
        if len(missing := self.find_missing(one, other)) == 1:
            there = other if missing[0] == one else one
            raise self.make_unfit_fault(there, f"is there without {missing[0]}, and {why}")

    def make_unfit_fault(self, name: str, why: str, *also: str) -> OperatorFault:
        """Return the fault of a file that is there and cannot stay."""
        names = " and ".join((name, *also))
        return OperatorFault(
            f"{self.folder / name} {why}; all files of a broker must fit each other, or nobody "
            f"could connect. Nothing was written. Correct the cause, or move {names} away and "
            "run this again"
        )

    def write_planned(self, inner: str) -> None:
        """Write what is planned, and make an inner folder; after a fault nothing of it stays.

        Raises:
            OperatorFault: there is no room, or we may not.
        """
        begun: list[Path] = []
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self.folder / inner).mkdir(mode=0o700, exist_ok=True)
            for name, (content, private) in self._made.items():
                path = self.folder / (f"{name}.new" if name in self._replaced else name)
                mode = 0o600 if private else 0o644
                if name in self._replaced:
                    path.unlink(missing_ok=True)  # of a run that was cut off
                with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                    begun.append(path)
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
            for name in self._replaced:
                os.replace(self.folder / f"{name}.new", self.folder / name)
        except OSError as fault:
            for path in begun:
                with suppress(OSError):
                    path.unlink()
            raise OperatorFault(
                f"{fault.filename or self.folder} cannot be written ({fault.strerror}); a broker "
                "needs all its files or none. Give another place with --folder, or make room"
            ) from fault

    def describe_written(self) -> str:
        """Return what was written, in a sentence."""
        if not self._made:
            return f"All files of a broker are in {self.folder} already; nothing was written."
        return f"Written to {self.folder}: {', '.join(self._made)}."


# Who gets in at a broker of one's own: mosquitto's dynamic security says so.

DYNAMIC = (
    "mosquitto's dynamic security lets in who may: while the broker runs, devices come and go by "
    "`heatveil device`, and the gateway shuts out who floods"
)


def prepare_clients(
    files: PlannedFiles, site: str, gateway: str, everybody: Mapping[str, str], prefix: str
) -> list[str]:
    """See to the plugin's file; return who else comes in."""
    devices = {name: word for name, word in everybody.items() if name != gateway}
    sessions = {name: derive_session_id(site, name, word) for name, word in devices.items()}
    held = files.read_or_plan(
        dynamic.FILE,
        lambda: dynamic.make_plugin_file(site, gateway, everybody, prefix, sessions),
        private=True,
    )
    try:
        body = dynamic.parse_plugin_file(held)
    except ValueError as fault:
        raise files.make_unfit_fault(dynamic.FILE, f"is none of the plugin's: {fault}") from fault
    if not dynamic.has_all_clients(body, everybody):
        raise files.make_unfit_fault(
            dynamic.FILE, "is of another enrolment, or another gateway.password"
        )
    roles = {role.get("rolename") for role in body["roles"]}
    for name in everybody:
        if (
            dynamic.GATEWAY_ROLE if name == gateway else dynamic.make_role_name(name)
        ) not in roles:
            raise files.make_unfit_fault(dynamic.FILE, f"has no role for {name}")
    return [row["username"] for row in body["clients"] if row["username"] not in everybody]


# The certificates of a broker of one's own: an authority, and the server that it signs.


def prepare_certificates(files: PlannedFiles, site: str, hosts: list[str]) -> datetime:
    """See to authority and server; return until when the server's certificate is good."""
    now = datetime.now(UTC)
    if files.find_missing("ca.pem", "ca.key") == ["ca.pem", "ca.key"]:
        made = certificates.make_authority(f"heatveil broker of site {site}", now)
        files.plan("ca.pem", made.certificate)
        files.plan("ca.key", made.key, private=True)
    if files.find_missing("server.pem", "server.key"):
        files.check_pair("server.pem", "server.key", "the broker needs both")
        files.check_pair("ca.pem", "ca.key", "a certificate cannot be signed without both")
        signer = certificates.Pair(files.read("ca.pem"), files.read("ca.key"))
        try:
            made = certificates.make_server(hosts, signer, now)
        except ValueError as fault:
            raise files.make_unfit_fault(
                "ca.pem", f"cannot sign a broker's certificate: {fault}"
            ) from fault
        files.plan("server.pem", made.certificate)
        files.plan("server.key", made.key, private=True)
    try:
        found = x509.load_pem_x509_certificate(files.read("server.pem"))
        names = certificates.list_names(found)
    except (ValueError, x509.ExtensionNotFound) as fault:
        raise files.make_unfit_fault(
            "server.pem", f"is no broker's certificate: {fault}"
        ) from fault
    try:
        own = serialization.load_pem_private_key(files.read("server.key"), None).public_key()
    except (ValueError, TypeError) as fault:
        raise files.make_unfit_fault("server.key", f"is no private key: {fault}") from fault
    if own != found.public_key():
        raise files.make_unfit_fault("server.key", "does not belong to server.pem", "server.pem")
    wanted = [str(certificates.make_general_name(host).value) for host in hosts]
    if missing := [host for host in wanted if host not in names]:
        try:
            signer = certificates.Pair(files.read("ca.pem"), files.read("ca.key"))
            certificates.check_signed_by(found, signer)
            # Its key stays, so that one file alone takes another's place.
            made = certificates.make_server(
                [*wanted, *names], signer, now, files.read("server.key")
            )
        except (ValueError, OperatorFault) as fault:  # it is none that was made here
            raise files.make_unfit_fault(
                "server.pem", f"does not name {', '.join(missing)}", "server.key"
            ) from fault
        files.plan("server.pem", made.certificate)
        found = x509.load_pem_x509_certificate(made.certificate)
    if found.not_valid_after_utc <= now:
        raise files.make_unfit_fault("server.pem", "has expired", "server.key")
    return found.not_valid_after_utc


# What is there already is kept, so a lost file can be made again and an old certificate renewed
# without a new authority on every board: move it away, and run this again.

TLS_PORT = 8883
GATEWAY = "gateway"  # its name at the broker, unless [mqtt] username says another


app = flags.make_command_group("A broker of your own: TLS, passwords, rights.")


@app.callback()
def declare_group() -> None:
    """Be a group, though of one command."""


@app.command()
def init(
    path: flags.Config,
    hosts: Annotated[
        list[str] | None,
        typer.Option(
            "--host", help="Another name or address of the broker, beside that of [mqtt]."
        ),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Where its files go; broker beside the config.")
    ] = None,
    plugin: Annotated[
        Path | None,
        typer.Option(
            help="Where mosquitto_dynamic_security.so lies on the broker's machine; as here else."
        ),
    ] = None,
) -> None:
    """Write certificates, passwords, rights and configuration for mosquitto."""
    deployment = config.load_deployment(path)
    files = PlannedFiles(folder or path.with_name("broker"))
    given, plugin = plugin, plugin or dynamic.find_plugin()
    if plugin is None and files.find_missing("mosquitto.conf"):
        raise OperatorFault(
            f"the mosquitto plugin {dynamic.PLUGIN} is not on this machine; without it the broker "
            "cannot hold each device to its own topics. Install mosquitto 2 (apt install "
            "mosquitto), or give its path on the broker's machine with --plugin, such as "
            f"/usr/lib/{dynamic.PLUGIN} in the Docker image"
        )
    site = deployment.site.name
    devices = read_device_passwords(deployment, path.with_name("secrets.json"))
    gateway = deployment.mqtt.username or GATEWAY
    if gateway in devices:
        raise OperatorFault(
            f"username {gateway} under [mqtt] is also the name of a device, which would get the "
            "gateway's rights at the broker. Choose another username"
        )
    names = list(dict.fromkeys([deployment.mqtt.host, *(hosts or ())]))
    until = prepare_certificates(files, site, names)
    own = files.read_or_plan("gateway.password", lambda: chance.token_hex(32) + "\n", private=True)
    everybody = {gateway: own.strip(), **devices}
    others = prepare_clients(files, site, gateway, everybody, deployment.homeassistant.prefix)
    user = pwd.getpwuid(os.getuid()).pw_name
    port = _choose_tls_port(deployment.mqtt)
    kept = files.read_or_plan(
        "mosquitto.conf",
        lambda: mosquitto.render_configuration(
            site,
            files.folder,
            names,
            port,
            user,
            Path(plugin or ""),  # of a kept configuration nobody asks
            len(devices),
        ),
    )
    if f"plugin_opt_config_file {files.folder / dynamic.FILE}" not in kept.splitlines():
        # A broker that goes by other files would let in whom `device remove` has shut out.
        raise files.make_unfit_fault("mosquitto.conf", f"does not let in by {dynamic.FILE}")
    if mosquitto.listens_here_alone(kept) and not all(map(is_loopback, names)):
        files.plan("mosquitto.conf", mosquitto.widen_listener(kept, port).encode())
    if given is not None and f"plugin {given}" not in kept.splitlines():
        raise files.make_unfit_fault("mosquitto.conf", f"does not name the plugin {given}")
    files.write_planned("data")
    for line in _tell(deployment, path, files, gateway, until):
        typer.echo(line)
    typer.echo(DYNAMIC)
    if others:
        typer.echo(f"The broker lets in others too, whom you have added: {', '.join(others)}")


def read_device_passwords(deployment: Deployment, path: Path) -> Mapping[str, str]:
    """Return name and password of every device, from the devices' half of the enrolment."""
    secrets = enrol.load_secrets(path, deployment.site.name)
    return {who.name: link_key.hex() for who, link_key in secrets.devices}


def _choose_tls_port(mqtt: Mqtt) -> int:
    """Return where TLS is spoken: where it was in the clear, another broker may still listen."""
    return TLS_PORT if mqtt.insecure else mqtt.port


def _tell(
    deployment: Deployment, path: Path, files: PlannedFiles, gateway: str, until: datetime
) -> Iterable[str]:
    """Yield what was done, and the three next steps."""
    yield f"{files.describe_written()} The broker's certificate is good until {until:%Y-%m-%d}."
    wanted = deployment.mqtt.model_copy(
        update={
            "port": _choose_tls_port(deployment.mqtt),
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
    again = ", again where it runs, for it read the old files" * files.has_replaced()
    yield f"2. Start the broker{again}: mosquitto -c {files.folder / 'mosquitto.conf'}"
    yield (
        f"3. Start the rest: heatveil fleet --config {path} and heatveil serve --config {path}; a "
        "board needs ca.pem, and its own name and password"
    )

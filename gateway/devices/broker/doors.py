"""Lets devices in at a broker of one's own, and no longer: while it runs, or in its files.

While mosquitto runs with dynamic security, it is asked and writes its file itself; while nothing
listens there, the file is ours to write, whole or not at all, with its owner and mode. Never both.
"""

import os
import secrets as chance
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from edge.core import wire

from ...faults import LinkFault, OperatorFault
from ...service.mqtt import access
from ...service.mqtt.pump import Pump
from ...service.mqtt.service import Link
from ...settings.deployment import Mqtt
from . import control, dynamic
from .control import BrokerControl, NoAnswerFault
from .dynamic import is_device
from .mosquitto import derive_session_id


def find_broker_folder(broker: Mqtt, config: Path) -> Path:
    """Return where the broker's files are, if they are here: with its ca_file, else beside."""
    authority = broker.ca_file
    if authority is not None and (authority.parent / dynamic.FILE).exists():
        return authority.parent
    return config.with_name("broker")


def make_unreadable_fault(path: Path, fault: Exception) -> OperatorFault:
    """Return the fault of a broker's file that is not one."""
    why = getattr(fault, "strerror", None) or str(fault)
    return OperatorFault(
        f"{path} cannot be read ({why}); it lists who may connect to the broker, and must be as "
        "`heatveil broker init` or mosquitto wrote it. Restore it, or move it away and run "
        "`heatveil broker init` again"
    )


def replace_file(path: Path, content: str) -> None:
    """Replace a file at once and flushed, with the mode and the owner that it had.

    Raises:
        OperatorFault: it cannot be written; the old one stays.
    """
    beside = path.with_name(path.name + ".new")
    try:
        had = path.stat()
        beside.unlink(missing_ok=True)
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            os.fchmod(file.fileno(), had.st_mode & 0o777)
            if os.geteuid() == 0:
                os.fchown(file.fileno(), had.st_uid, had.st_gid)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as fault:
        beside.unlink(missing_ok=True)
        raise OperatorFault(
            f"{path} cannot be written ({fault.strerror}); it lists the clients of the broker, "
            "and stays as it was. Free disk space, or run this as the file's owner"
        ) from fault


Rows = dict[str, dict[str, Any]]


class StoppedBroker:
    """The plugin's file, of a broker that does not run."""

    def __init__(self, site: str, path: Path) -> None:
        self._site, self._path = site, path

    def has_device(self, name: str) -> bool:
        """Return whether a device of this name is let in; see `doors.RunningBroker.has_device`."""
        return is_device(self._read_plugin_rows()[1].get(name), name)

    def add_device(self, name: str, password: str) -> str:
        def change(clients: Rows, roles: Rows) -> None:
            is_device(clients.get(name), name)
            role, salt = dynamic.make_role_name(name), chance.token_bytes(dynamic.SALT_BYTES)
            session = derive_session_id(self._site, name, password)
            clients[name] = dynamic.make_client(name, password, role, salt, session)
            roles[role] = dynamic.make_device_role(self._site, name)

        return self._write_change(change)

    change_password = add_device

    def remove_device(self, name: str) -> str:
        return self._write_change(
            lambda c, r: (c.pop(name, None), r.pop(dynamic.make_role_name(name), None))
        )

    def disable_device(self, name: str) -> str:
        mark = {"disabled": True, "textdescription": dynamic.MARK}
        return self._write_change(lambda c, _: c[name].update(mark) if name in c else None)

    def enable_device(self, name: str) -> str:
        def change(clients: Rows, _: Rows) -> None:
            for key in ("disabled", "textdescription"):
                clients.get(name, {}).pop(key, None)

        return self._write_change(change)

    def _read_plugin_rows(self) -> tuple[dict[str, Any], Rows, Rows]:
        try:
            body = dynamic.parse_plugin_file(self._path.read_text("utf-8"))
            clients = {row["username"]: row for row in body["clients"]}
            return body, clients, {row["rolename"]: row for row in body["roles"]}
        except (OSError, ValueError, KeyError, TypeError) as fault:
            raise make_unreadable_fault(self._path, fault) from fault

    def _write_change(self, change: Callable[[Rows, Rows], object]) -> str:
        body, clients, roles = self._read_plugin_rows()
        change(clients, roles)
        body |= {"clients": list(clients.values()), "roles": list(roles.values())}
        replace_file(self._path, dynamic.format_plugin_file(body))
        return f"the broker does not run; it reads {self._path} when it starts, which says so now"


CLEARED_S = 3.0  # for the broker to have taken what clears
GONE = ("Client not found", "Role not found")


class BrokerAccess(Protocol):
    """Somewhere devices are let in; each answers with what was done, in a sentence."""

    def has_device(self, name: str) -> bool: ...

    def add_device(self, name: str, password: str) -> str: ...

    def remove_device(self, name: str) -> str: ...

    def change_password(self, name: str, password: str) -> str: ...

    def disable_device(self, name: str) -> str: ...

    def enable_device(self, name: str) -> str: ...


class RunningBroker:
    """A broker that is asked."""

    def __init__(self, broker: Mqtt, site: str, asked: BrokerControl, pump: Pump) -> None:
        self._broker, self._site, self.asked, self._pump = broker, site, asked, pump

    def has_device(self, name: str) -> bool:
        """Return whether a device of this name is let in.

        Raises:
            OperatorFault: somebody else is, whom we have not let in.
        """
        return is_device(self.asked.list_clients().get(name), name)

    def add_device(self, name: str, password: str) -> str:
        again = dynamic.compose_device_removal(name)[:1] if self.has_device(name) else []
        answers = self.asked.run_commands(
            again + dynamic.compose_device_creation(self._site, name, password)
        )
        control.check_answers(answers, *GONE)
        return "the broker lets it in"

    def remove_device(self, name: str) -> str:
        """Cut a device off, and clear what the broker has retained of it.

        Nobody but the device may write there. So it gets a password that we alone know, and with
        that we come as the device.
        """
        secret = chance.token_hex(32)
        changed = dynamic.compose_password_change(self._site, name, secret)
        answers = self.asked.run_commands(changed + dynamic.compose_enabling(name))
        control.check_answers(answers, *GONE)
        said = "the broker has cut it off"
        if not answers[0].error:
            own = self._broker.model_copy(update={"username": name, "password_file": None})
            own._password, own._context = secret, access.make_tls_context(self._broker)
            link = Link(own, f"heatveil-{self._site}-{name}", self._pump, lasting=False)
            try:
                link.wait_connected()
                for leaf in ("meta", "state"):
                    link.publish(wire.topic(self._site, name, leaf), b"", retain=True)
                if link.wait_until_sent(CLEARED_S):
                    said += ", and what it retained is cleared"
            except LinkFault:
                said += "; what it retained is still there"
            finally:
                link.close()
        control.check_answers(self.asked.run_commands(dynamic.compose_device_removal(name)), *GONE)
        return said

    def change_password(self, name: str, password: str) -> str:
        changed = dynamic.compose_password_change(self._site, name, password)
        answers = self.asked.run_commands(
            [*dynamic.compose_role_repair(self._site, name), *changed]
        )
        if any(one.error in GONE for one in answers):
            return self.add_device(name, password)
        control.check_answers(answers)
        return "the broker has cut it off until it comes with the new password"

    def disable_device(self, name: str) -> str:
        control.check_answers(self.asked.run_commands(dynamic.compose_disabling(name)))
        return "the broker has cut it off"

    def enable_device(self, name: str) -> str:
        control.check_answers(self.asked.run_commands(dynamic.compose_enabling(name)))
        return "the broker lets it in"


def is_listening(broker: Mqtt) -> bool:
    """Return whether anybody answers at the broker's address."""
    try:
        socket.create_connection((broker.host, broker.port), timeout=3).close()
    except OSError:
        return False
    return True


@contextmanager
def open_broker_access(broker: Mqtt, site: str, folder: Path) -> Iterator[BrokerAccess | None]:
    """Yield where devices of this broker are let in; None where it is not known here.

    Args:
        folder: where `heatveil broker init` wrote.

    Raises:
        OperatorFault: the broker runs with the plugin and does not listen to us.
    """
    file = folder / dynamic.FILE
    if not is_listening(broker):
        yield StoppedBroker(site, file) if file.exists() else None
        return
    with Pump("doors") as pump:
        asked = BrokerControl(broker, f"heatveil-{site}-doors-{os.getpid()}", pump)
        try:
            asked.wait_connected()
            try:
                asked.list_clients()
            except NoAnswerFault:
                if file.exists():
                    raise
                yield None
                return
            yield RunningBroker(broker, site, asked, pump)
        finally:
            asked.close()

"""The file of dynamic security, changed by one device while the broker does not run."""

import secrets as chance
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import control, dynamic, mosquitto
from .known import is_device
from .rights import session_of
from .written import replace, unreadable

Rows = dict[str, dict[str, Any]]


class Resting:
    """The plugin's file, of a broker that does not run."""

    def __init__(self, site: str, path: Path) -> None:
        self._site, self._path = site, path

    def knows(self, name: str) -> bool:
        """Return whether a device of this name is let in; see `doors.Running.knows`."""
        return is_device(self._rows()[1].get(name), name)

    def add(self, name: str, password: str) -> str:
        def change(clients: Rows, roles: Rows) -> None:
            is_device(clients.get(name), name)
            role, salt = dynamic.role_of(name), chance.token_bytes(mosquitto.SALT_BYTES)
            session = session_of(self._site, name, password)
            clients[name] = dynamic.client(name, password, role, salt, session)
            roles[role] = dynamic.device_role(self._site, name)

        return self._changed(change)

    rotate = add

    def remove(self, name: str) -> str:
        return self._changed(lambda c, r: (c.pop(name, None), r.pop(dynamic.role_of(name), None)))

    def disable(self, name: str) -> str:
        mark = {"disabled": True, "textdescription": control.MARK}
        return self._changed(lambda c, _: c[name].update(mark) if name in c else None)

    def enable(self, name: str) -> str:
        def change(clients: Rows, _: Rows) -> None:
            for key in ("disabled", "textdescription"):
                clients.get(name, {}).pop(key, None)

        return self._changed(change)

    def _rows(self) -> tuple[dict[str, Any], Rows, Rows]:
        try:
            body = dynamic.parsed(self._path.read_text("utf-8"))
            clients = {row["username"]: row for row in body["clients"]}
            return body, clients, {row["rolename"]: row for row in body["roles"]}
        except (OSError, ValueError, KeyError, TypeError) as fault:
            raise unreadable(self._path, fault) from fault

    def _changed(self, change: Callable[[Rows, Rows], object]) -> str:
        body, clients, roles = self._rows()
        change(clients, roles)
        body |= {"clients": list(clients.values()), "roles": list(roles.values())}
        replace(self._path, dynamic.text(body))
        return f"the broker does not run, and finds it in {self._path}"

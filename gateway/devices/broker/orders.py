"""Commands to mosquitto's dynamic security, as lists that `control.Control.ask` takes."""

from typing import Any

from . import dynamic
from .rights import session_of

MARK = "quarantined by heatveil"  # in the description of a client that we have shut out
Command = dict[str, Any]


def create(site: str, name: str, password: str) -> list[Command]:
    """Return what lets a device in; a role that is left over from before is made anew."""
    role = dynamic.device_role(site, name)
    return [
        {"command": "deleteRole", "rolename": role["rolename"]},
        {"command": "createRole", **role},
        {
            "command": "createClient",
            "username": name,
            "password": password,
            "clientid": session_of(site, name, password),
            "roles": [{"rolename": role["rolename"]}],
        },
    ]


def delete(name: str) -> list[Command]:
    """Return what takes a device's access away for good, and ends its connection."""
    return [
        {"command": "deleteClient", "username": name},
        {"command": "deleteRole", "rolename": dynamic.role_of(name)},
    ]


def password(site: str, name: str, secret: str) -> list[Command]:
    """Return what gives a device another password and session, and ends its connection."""
    session = session_of(site, name, secret)
    return [
        {"command": "setClientId", "username": name, "clientid": session},
        {"command": "setClientPassword", "username": name, "password": secret},
    ]


def role(site: str, name: str) -> list[Command]:
    """Return what gives a device the rights that one needs, whatever it had."""
    return [{"command": "modifyRole", **dynamic.device_role(site, name)}]


def disable(name: str) -> list[Command]:
    """Return what ends a device's connection and lets it in no more, with our mark."""
    return [
        {"command": "disableClient", "username": name},
        {"command": "modifyClient", "username": name, "textdescription": MARK},
    ]


def enable(name: str) -> list[Command]:
    """Return what lets a device in again."""
    return [
        {"command": "modifyClient", "username": name, "textdescription": ""},
        {"command": "enableClient", "username": name},
    ]

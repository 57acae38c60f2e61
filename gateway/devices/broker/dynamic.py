"""mosquitto's dynamic security: the plugin's file, its roles, and the commands that change it.

The plugin of mosquitto 2.0 has no word for "the name of whoever comes", so a role names its
topics one by one. While the broker runs the file is the plugin's, which rewrites it whole; then
`control.BrokerControl.run_commands` takes lists of commands, which the `compose_*` functions
return.
"""

import base64
import hashlib
import json
import os
import secrets as chance
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...faults import OperatorFault
from .mosquitto import (
    CONTROL,
    TopicRight,
    derive_session_id,
    list_device_rights,
    list_gateway_rights,
)

# PBKDF2 for passwords that people choose needs many turns; these are 32 random bytes, and a
# fleet that comes back at once must not keep the broker busy hashing. mosquitto's own number.
TURNS = 101
SALT_BYTES = 12

FILE = "dynamic-security.json"
PLUGIN = "mosquitto_dynamic_security.so"
PLACES = (
    "/usr/lib/*-linux-gnu*",
    "/usr/lib",
    "/usr/lib64",
    "/usr/lib*/mosquitto*",
    "/usr/local/lib*",
    "/opt/homebrew/lib",
    "/snap/mosquitto/current/usr/lib",
)
GATEWAY_ROLE = "heatveil-gateway"
DENIED = {
    "publishClientSend": False,
    "publishClientReceive": False,
    "subscribe": False,
    "unsubscribe": True,
}


def find_plugin(places: Iterable[str] = PLACES) -> Path | None:
    """Return where the plugin is on this machine, or None."""
    for pattern in places:
        for folder in sorted(Path("/").glob(pattern.lstrip("/"))):
            if os.access(found := folder / PLUGIN, os.R_OK):
                return found
    return None


def make_role_name(device: str) -> str:
    """Return the name of a device's role."""
    return f"heatveil-device-{device}"


def make_acls(rights: Sequence[TopicRight]) -> list[dict[str, Any]]:
    """Return rights as a role has them: who hears a topic subscribes to it and is sent it."""
    found = []
    for write, topic in rights:
        kinds = ["publishClientSend"] if write else ["subscribePattern", "publishClientReceive"]
        found += [{"acltype": kind, "topic": topic, "allow": True} for kind in kinds]
    return found


def make_device_role(site: str, device: str) -> dict[str, Any]:
    """Return the role of a device."""
    rights = list_device_rights(site, device)
    return {"rolename": make_role_name(device), "acls": make_acls(rights)}


def make_client(
    name: str, password: str, role: str, salt: bytes, session: str | None = None
) -> dict[str, Any]:
    """Return a client as the plugin stores it: PBKDF2 with SHA-512, base64.

    Args:
        session: the one client id that it may come under; None for any.
    """
    row = {"username": name, "roles": [{"rolename": role}], "iterations": TURNS}
    if session is not None:
        row["clientid"] = session
    row["salt"] = base64.b64encode(salt).decode()
    row["password"] = _hash(password, salt, TURNS)
    return row


def make_plugin_file(
    site: str,
    gateway: str,
    everybody: Mapping[str, str],
    prefix: str,
    sessions: Mapping[str, str] | None = None,
) -> str:
    """Return the plugin's file for a gateway and its devices, by name and password.

    The gateway may speak to the plugin, for it shuts out devices that flood.

    Args:
        sessions: the one client id of each device that has but one, by `derive_session_id`.
    """
    control = [TopicRight(True, CONTROL), TopicRight(False, f"{CONTROL}/response")]
    own = {
        "rolename": GATEWAY_ROLE,
        "acls": make_acls(list_gateway_rights(site, prefix) + control),
    }
    devices, own_id = [name for name in everybody if name != gateway], sessions or {}
    roles = {gateway: GATEWAY_ROLE} | {name: make_role_name(name) for name in devices}
    return format_plugin_file(
        {
            "defaultACLAccess": DENIED,
            "clients": [
                make_client(
                    name, word, roles[name], chance.token_bytes(SALT_BYTES), own_id.get(name)
                )
                for name, word in everybody.items()
            ],
            "groups": [],
            "roles": [own, *(make_device_role(site, name) for name in devices)],
        }
    )


def format_plugin_file(body: Mapping[str, Any]) -> str:
    """Return a body as the file has it."""
    return json.dumps(body, indent=1) + "\n"


def parse_plugin_file(held: str) -> dict[str, Any]:
    """Return what the plugin's file holds.

    Raises:
        ValueError: it is no such file.
    """
    body = json.loads(held)
    if not isinstance(body, dict) or not all(
        isinstance(body.get(part), list) for part in ("clients", "roles")
    ):
        raise ValueError("it has no clients or no roles")
    return body


def has_all_clients(body: Mapping[str, Any], everybody: Mapping[str, str]) -> bool:
    """Return whether all of these are let in, each with its password."""
    rows = {row.get("username"): row for row in body["clients"]}
    return all(
        name in rows and accepts_password(rows[name], own) for name, own in everybody.items()
    )


def accepts_password(row: Mapping[str, Any], password: str) -> bool:
    """Return whether a stored client comes in with this password."""
    try:
        salt, turns = base64.b64decode(row["salt"], validate=True), int(row["iterations"])
        return bool(row["password"] == _hash(password, salt, turns))
    except (KeyError, ValueError, TypeError):
        return False


def _hash(password: str, salt: bytes, turns: int) -> str:
    hashed = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, turns)
    return base64.b64encode(hashed).decode()


def has_role(row: Mapping[str, Any], name: str) -> bool:
    """Return whether a client has the role of the device of this name."""
    return any(one.get("rolename") == make_role_name(name) for one in row.get("roles", []))


def has_other_rights(role: Mapping[str, Any] | None, wanted: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a role lets its clients do something else than is wanted."""

    def said(held: Iterable[Mapping[str, Any]]) -> set[tuple[Any, ...]]:
        return {(one.get("acltype"), one.get("topic"), one.get("allow")) for one in held}

    return role is None or said(role.get("acls", [])) != said(wanted)


def is_device(row: Mapping[str, Any] | None, name: str) -> bool:
    """Return whether a client, if there is one, is a device that we have let in.

    Raises:
        OperatorFault: it is somebody else, whom the operator added.
    """
    if row is None:
        return False
    if has_role(row, name):
        return True
    raise OperatorFault(
        f"the broker already has a client {name} that heatveil did not create; a device of the "
        "same name could be impersonated by it. Choose another name, or delete that client with "
        "mosquitto_ctrl dynsec"
    )


MARK = "quarantined by heatveil"  # in the description of a client that we have shut out
Command = dict[str, Any]


def compose_device_creation(site: str, name: str, password: str) -> list[Command]:
    """Return what lets a device in; a role that is left over from before is made anew."""
    role = make_device_role(site, name)
    return [
        {"command": "deleteRole", "rolename": role["rolename"]},
        {"command": "createRole", **role},
        {
            "command": "createClient",
            "username": name,
            "password": password,
            "clientid": derive_session_id(site, name, password),
            "roles": [{"rolename": role["rolename"]}],
        },
    ]


def compose_device_removal(name: str) -> list[Command]:
    """Return what takes a device's access away for good, and ends its connection."""
    return [
        {"command": "deleteClient", "username": name},
        {"command": "deleteRole", "rolename": make_role_name(name)},
    ]


def compose_password_change(site: str, name: str, secret: str) -> list[Command]:
    """Return what gives a device another password and session, and ends its connection."""
    session = derive_session_id(site, name, secret)
    return [
        {"command": "setClientId", "username": name, "clientid": session},
        {"command": "setClientPassword", "username": name, "password": secret},
    ]


def compose_role_repair(site: str, name: str) -> list[Command]:
    """Return what gives a device the rights that one needs, whatever it had."""
    return [{"command": "modifyRole", **make_device_role(site, name)}]


def compose_disabling(name: str) -> list[Command]:
    """Return what ends a device's connection and lets it in no more, with our mark."""
    return [
        {"command": "disableClient", "username": name},
        {"command": "modifyClient", "username": name, "textdescription": MARK},
    ]


def compose_enabling(name: str) -> list[Command]:
    """Return what lets a device in again."""
    return [
        {"command": "modifyClient", "username": name, "textdescription": ""},
        {"command": "enableClient", "username": name},
    ]

"""mosquitto's dynamic security: the plugin's file, in which each device has a role of its own.

The plugin of mosquitto 2.0 has no word for "the name of whoever comes", so a role names its
topics one by one. While the broker runs the file is the plugin's, which rewrites it whole; then
`control` is the way to change it.
"""

import base64
import hashlib
import json
import os
import secrets as chance
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .mosquitto import SALT_BYTES, TURNS
from .rights import CONTROL, Right, of_device, of_gateway

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


def plugin(places: Iterable[str] = PLACES, name: str = PLUGIN) -> Path | None:
    """Return where the plugin, or another of mosquitto's, is on this machine, or None."""
    for pattern in places:
        for folder in sorted(Path("/").glob(pattern.lstrip("/"))):
            if os.access(found := folder / name, os.R_OK):
                return found
    return None


def role_of(device: str) -> str:
    """Return the name of a device's role."""
    return f"heatveil-device-{device}"


def acls(rights: Sequence[Right]) -> list[dict[str, Any]]:
    """Return rights as a role has them: who hears a topic subscribes to it and is sent it."""
    found = []
    for write, topic in rights:
        kinds = ["publishClientSend"] if write else ["subscribePattern", "publishClientReceive"]
        found += [{"acltype": kind, "topic": topic, "allow": True} for kind in kinds]
    return found


def device_role(site: str, name: str) -> dict[str, Any]:
    """Return the role of a device."""
    return {"rolename": role_of(name), "acls": acls(of_device(site, name))}


def client(
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
    row["password"] = _hashed(password, salt, TURNS)
    return row


def file(
    site: str,
    gateway: str,
    everybody: Mapping[str, str],
    prefix: str,
    sessions: Mapping[str, str] | None = None,
) -> str:
    """Return the plugin's file for a gateway and its devices, by name and password.

    The gateway may speak to the plugin, for it shuts out devices that flood.

    Args:
        sessions: the one client id of each device that has but one; see `rights.session_of`.
    """
    control = [Right(True, CONTROL), Right(False, f"{CONTROL}/response")]
    own = {"rolename": GATEWAY_ROLE, "acls": acls(of_gateway(site, prefix) + control)}
    devices, own_id = [name for name in everybody if name != gateway], sessions or {}
    roles = {gateway: GATEWAY_ROLE} | {name: role_of(name) for name in devices}
    return text(
        {
            "defaultACLAccess": DENIED,
            "clients": [
                client(name, word, roles[name], chance.token_bytes(SALT_BYTES), own_id.get(name))
                for name, word in everybody.items()
            ],
            "groups": [],
            "roles": [own, *(device_role(site, name) for name in devices)],
        }
    )


def text(body: Mapping[str, Any]) -> str:
    """Return a body as the file has it."""
    return json.dumps(body, indent=1) + "\n"


def parsed(held: str) -> dict[str, Any]:
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


def holds(body: Mapping[str, Any], everybody: Mapping[str, str]) -> bool:
    """Return whether all of these are let in, each with its password."""
    rows = {row.get("username"): row for row in body["clients"]}
    return all(name in rows and lets_in(rows[name], own) for name, own in everybody.items())


def lets_in(row: Mapping[str, Any], password: str) -> bool:
    """Return whether a stored client comes in with this password."""
    try:
        salt, turns = base64.b64decode(row["salt"], validate=True), int(row["iterations"])
        return bool(row["password"] == _hashed(password, salt, turns))
    except (KeyError, ValueError, TypeError):
        return False


def _hashed(password: str, salt: bytes, turns: int) -> str:
    hashed = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, turns)
    return base64.b64encode(hashed).decode()

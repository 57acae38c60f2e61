"""Who gets in at a broker of one's own: by mosquitto's plugin, or by two files."""

import secrets as chance
from collections.abc import Mapping
from pathlib import Path

from ..brokers import dynamic, mosquitto
from ..brokers.rights import session_of
from .broker_files import Files

DYNAMIC = (
    "mosquitto's dynamic security lets in who may: while the broker runs, devices come and go by "
    "`heatveil device`, and the gateway shuts out who floods"
)
PLAIN = (
    "Files of passwords and access let in who may: a device that floods is only not listened to, "
    "and devices come and go when mosquitto reads the files again (SIGHUP)"
)


def plugin_of(files: Files, plain: bool) -> Path | None:
    """Return the plugin that is to be used, or None for files of passwords and access."""
    if files.lack("mosquitto.conf"):
        return None if plain else dynamic.plugin()
    kept = files.read("mosquitto.conf").decode(errors="replace")
    for line in kept.splitlines():
        if line.startswith("plugin ") and line.endswith(dynamic.PLUGIN):
            if plain:
                raise files.unfit("mosquitto.conf", f"uses {dynamic.PLUGIN}, and not plain files")
            return Path(line.removeprefix("plugin "))
    return None


def readers() -> tuple[Path, Path] | None:
    """Return the plugins that read the two files, where mosquitto is 2.1 or later."""
    found = [
        dynamic.plugin(name=name) for name in (mosquitto.PASSWORDS_PLUGIN, mosquitto.ACL_PLUGIN)
    ]
    return (found[0], found[1]) if found[0] and found[1] else None


def by_plugin(
    files: Files, site: str, gateway: str, everybody: Mapping[str, str], prefix: str
) -> list[str]:
    """See to the plugin's file; return who else comes in."""
    devices = {name: word for name, word in everybody.items() if name != gateway}
    sessions = {name: session_of(site, name, word) for name, word in devices.items()}
    held = files.text(
        dynamic.FILE,
        lambda: dynamic.file(site, gateway, everybody, prefix, sessions),
        private=True,
    )
    try:
        body = dynamic.parsed(held)
    except ValueError as fault:
        raise files.unfit(dynamic.FILE, f"is none of the plugin's: {fault}") from fault
    if not dynamic.holds(body, everybody):
        raise files.unfit(dynamic.FILE, "is of another enrolment, or another gateway.password")
    roles = {role.get("rolename") for role in body["roles"]}
    for name in everybody:
        if (dynamic.GATEWAY_ROLE if name == gateway else dynamic.role_of(name)) not in roles:
            raise files.unfit(dynamic.FILE, f"has no role for {name}")
    return [row["username"] for row in body["clients"] if row["username"] not in everybody]


def by_files(
    files: Files, site: str, gateway: str, everybody: Mapping[str, str], prefix: str
) -> list[str]:
    """See to the passwords and the access list; return who else has a password."""
    salts = (chance.token_bytes(mosquitto.SALT_BYTES) for _ in everybody)
    hashed = files.text("passwords", lambda: mosquitto.passwords(everybody, salts), private=True)
    if not mosquitto.holds(hashed, everybody):
        raise files.unfit("passwords", "is of another enrolment, or another gateway.password")
    devices = [name for name in everybody if name != gateway]
    rules = files.text("acl", lambda: mosquitto.access_list(site, gateway, devices, prefix))
    if missing := [name for name in everybody if f"user {name}\n" not in rules]:
        raise files.unfit("acl", f"does not know {missing[0]}")
    return [name for name in mosquitto.names(hashed) if name not in everybody]

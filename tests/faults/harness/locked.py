"""A broker that lets nobody in without a name, with the files that heatveil makes for it."""

import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from gateway.devices.broker import dynamic, mosquitto

from .brokers import LIMITS, Broker
from .stage import SITE, Stage

GATEWAY = "gateway"


def secrets(site: Stage) -> dict[str, str]:
    """Return the password of everybody, the gateway's first."""
    rows = json.loads((site.folder / "secrets.json").read_text())["devices"]
    return {GATEWAY: "of the gateway"} | {row["name"]: row["link_key"] for row in rows}


def locked(
    site: Stage,
    stack: ExitStack,
    *,
    plugin: Path | None = None,
    anonymous: bool = False,
    change: Callable[[str], str] = str,
) -> Broker:
    """Start a broker that lets in whom it knows, and let the site use it.

    Args:
        plugin: dynamic security instead of the two files.
        anonymous: let everybody in: a control.
        change: what is done to the access list: a control.
    """
    folder, known = site.folder / "locked", secrets(site)
    folder.mkdir()
    more = f"allow_anonymous {'true' if anonymous else 'false'}\n" + LIMITS
    if plugin is not None:
        (folder / dynamic.FILE).write_text(
            dynamic.make_file(SITE, GATEWAY, known, "homeassistant")
        )
        more += f"plugin {plugin}\nplugin_opt_config_file {folder / dynamic.FILE}\n"
    else:
        salts = (os.urandom(mosquitto.SALT_BYTES) for _ in known)
        (folder / "passwords").write_text(mosquitto.render_passwords(known, salts))
        access = mosquitto.render_access(
            SITE, GATEWAY, [name for name in known if name != GATEWAY]
        )
        (folder / "acl").write_text(change(access))
        more += f"password_file {folder}/passwords\nacl_file {folder}/acl\n"
    for file in folder.iterdir():
        file.chmod(0o600)
    (site.folder / "gateway.password").write_text(known[GATEWAY])
    site.login = f'username = "{GATEWAY}"\npassword_file = "gateway.password"\n'
    site.broker.stop()
    broker = Broker(site.broker.command[0], folder, more=more)
    stack.enter_context(broker).start()
    site.broker = broker
    site.write(broker.port)
    return broker

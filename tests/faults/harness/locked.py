"""A broker that lets nobody in without a name, with the files that heatveil makes for it."""

import json
from contextlib import ExitStack
from pathlib import Path

from gateway.devices.broker import dynamic

from .brokers import LIMITS, Broker
from .stage import SITE, Stage

GATEWAY = "gateway"


def secrets(site: Stage) -> dict[str, str]:
    """Return the password of everybody, the gateway's first."""
    rows = json.loads((site.folder / "secrets.json").read_text())["devices"]
    return {GATEWAY: "of the gateway"} | {row["name"]: row["link_key"] for row in rows}


def locked(site: Stage, stack: ExitStack, plugin: Path) -> Broker:
    """Start a broker with dynamic security that lets in whom it knows, and let the site use it."""
    folder, known = site.folder / "locked", secrets(site)
    folder.mkdir()
    file = folder / dynamic.FILE
    file.write_text(dynamic.make_file(SITE, GATEWAY, known, "homeassistant"))
    file.chmod(0o600)
    more = f"allow_anonymous false\n{LIMITS}plugin {plugin}\nplugin_opt_config_file {file}\n"
    (site.folder / "gateway.password").write_text(known[GATEWAY])
    site.login = f'username = "{GATEWAY}"\npassword_file = "gateway.password"\n'
    site.broker.stop()
    broker = Broker(site.broker.command[0], folder, more=more)
    stack.enter_context(broker).start()
    site.broker = broker
    site.write(broker.port)
    return broker

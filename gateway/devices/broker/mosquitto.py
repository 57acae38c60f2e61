"""mosquitto's configuration, as a text, and who may write and read which topics of a site.

One broker, one site. Whoever comes must have a name and a password; what each name may write and
read is all that its part needs. Rights are said once here, and written by `dynamic` as roles of
the plugin.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ...loopback import is_loopback
from ...service.mqtt import access

CONTROL = "$CONTROL/dynamic-security/v1"


class TopicRight(NamedTuple):
    """One topic, or all that a filter matches, to be written or to be read."""

    write: bool
    topic: str


def list_gateway_rights(site: str, prefix: str = "homeassistant") -> list[TopicRight]:
    """Return what the gateway may do: it alone asks, draws, thanks and commands.

    What it asks it reads too, once a start: see `serving.Uplink.check_rounds_known`.

    Args:
        prefix: of what is announced to Home Assistant.
    """
    ours = f"heatveil/1/{site}"
    heard = [f"{ours}/+/{leaf}" for leaf in ("data", "sum", "meta", "state", "diag", "ack")]
    said = [f"{ours}/round/#", f"{ours}/map/#", f"{ours}/+/receipt", f"{ours}/+/cmd/#"]
    said.append(f"{ours}/update/+")
    said += [f"{ours}/+/told", f"{ours}/sum/+"]
    said += [f"{ours}/ha/#", f"{prefix}/device/heatveil_{site}/config"]
    heard.append(f"{ours}/round/#")
    heard += dict.fromkeys([f"{prefix}/status", "homeassistant/status"])
    return [TopicRight(False, topic) for topic in heard] + [
        TopicRight(True, topic) for topic in said
    ]


def list_device_rights(site: str, name: str) -> list[TopicRight]:
    """Return what a device may do, under its own name alone; it hears what all are asked."""
    own = f"heatveil/1/{site}/{name}"
    said = [f"{own}/{leaf}" for leaf in ("data", "sum", "meta", "state", "diag", "ack")]
    heard = [f"{own}/receipt", f"{own}/told", f"{own}/cmd/#"]
    heard += [f"heatveil/1/{site}/round/#", f"heatveil/1/{site}/sum/+"]
    heard.append(f"heatveil/1/{site}/update/+")
    return [TopicRight(True, topic) for topic in said] + [
        TopicRight(False, topic) for topic in heard
    ]


def derive_session_id(site: str, name: str, password: str) -> str:
    """Return the one client id under which a device may come.

    A broker knows sessions by it, so a device that may have one only has one connection, and
    cannot take all that there are; nor can it come under somebody else's.
    """
    return access.mark_session(f"heatveil-{site}-{name}", password)


CONFIGURATION = """\
# The broker of site {site}. Made by `heatveil broker init`; run it with
#   mosquitto -c {folder}/mosquitto.conf
# It needs mosquitto 2.0 or later.

# TLS alone: there is no listener in the clear.
listener {listen}
certfile {folder}/server.pem
keyfile {folder}/server.key
tls_version tlsv1.2

# Everybody has a name and a password.
allow_anonymous false
plugin {plugin}
plugin_opt_config_file {folder}/dynamic-security.json
allow_zero_length_clientid false

# When root starts it, it becomes whom these files belong to; else they could not be read.
user {user}

# The gateway acknowledges after its commit, so many messages wait for it at once, and more while
# it is away. What is beyond the queue is dropped in silence; devices send it again.
persistence true
persistence_location {folder}/data/
autosave_interval 60
max_inflight_messages 500
max_queued_messages 100000
max_queued_bytes 67108864
persistent_client_expiration 30d

# Who sends a longer message is cut off; the gateway keeps a map that is longer to itself.
max_packet_size 4200000
max_connections {connections}
set_tcp_nodelay true

# Who came and who was refused; never what a message holds.
log_dest stderr
log_type error
log_type warning
log_type notice
connection_messages true
"""


LISTENER = re.compile(r"^listener (\d+)(?: (\S+))? *$", re.MULTILINE)


def listens_here_alone(configuration: str) -> bool:
    """Return whether all listeners of a configuration are for this machine alone."""
    found = LISTENER.findall(configuration)
    return bool(found) and all(is_loopback(address) for _, address in found)


def widen_listener(configuration: str, port: int) -> str:
    """Return a configuration whose listener with TLS on this port is for all machines.

    Any other stays as it is: passwords must not cross the network in the clear.
    """
    parts = re.split(r"^(?=[ \t]*listener\s)", configuration, flags=re.MULTILINE)
    for index, part in enumerate(parts):
        found = LISTENER.match(part)
        encrypted = re.search(r"^certfile ", part, re.MULTILINE)
        if found and encrypted and int(found[1]) == port and is_loopback(found[2] or ""):
            parts[index] = f"listener {port}{part[found.end() :]}"
    return "".join(parts)


def render_configuration(
    site: str,
    folder: Path,
    hosts: Iterable[str],
    port: int,
    user: str,
    plugin: Path,
    devices: int = 0,
) -> str:
    """Return mosquitto.conf for a broker that goes by these hosts; folder is absolute.

    A broker that is only known by this machine's own names listens to this machine alone, and
    by number: a machine may have the name of IPv6 for itself, and no IPv6.

    Args:
        plugin: where dynamic security is on the broker's machine.
        devices: how many are to come, four times as many may, for some come back before they left.
    """
    known_as = list(hosts)
    listen = f"{port} {'::1' if known_as == ['::1'] else '127.0.0.1'}"
    if not all(map(is_loopback, known_as)):
        listen = str(port)
    return CONFIGURATION.format(
        site=site,
        folder=folder,
        listen=listen,
        user=user,
        plugin=plugin,
        connections=max(1000, 4 * devices),
    )

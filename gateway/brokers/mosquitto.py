"""mosquitto's files, as texts: the configuration, the access list, the passwords.

One broker, one site. Whoever comes must have a name and a password; what each name may write
and read is all that its part needs.
"""

import base64
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..loopback import is_loopback

# PBKDF2 for passwords that people choose needs many turns; these are 32 random bytes, and a
# fleet that comes back at once must not keep the broker busy hashing. mosquitto's own number.
TURNS = 101
SALT_BYTES = 12

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
password_file {folder}/passwords
acl_file {folder}/acl
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
max_packet_size 4194304
persistent_client_expiration 30d
set_tcp_nodelay true

# Who came and who was refused; never what a message holds.
log_dest stderr
log_type error
log_type warning
log_type notice
connection_messages true
"""

ACCESS = """\
# Who may write and read what on the broker of site {site}. What is not here is refused.

# The gateway hears every device, and it alone asks, draws, thanks and commands.
user {gateway}
topic read heatveil/1/{site}/+/data
topic read heatveil/1/{site}/+/meta
topic read heatveil/1/{site}/+/state
topic read heatveil/1/{site}/+/diag
topic read heatveil/1/{site}/+/ack
topic write heatveil/1/{site}/round/#
topic write heatveil/1/{site}/map/#
topic write heatveil/1/{site}/+/receipt
topic write heatveil/1/{site}/+/cmd/#

# It announces itself to Home Assistant, if it is told to, and hears when that has started anew.
topic write heatveil/1/{site}/ha/#
topic write {prefix}/device/heatveil_{site}/config
topic read {prefix}/status
topic read homeassistant/status

# Every device, under its own name alone.
pattern write heatveil/1/{site}/%u/data
pattern write heatveil/1/{site}/%u/meta
pattern write heatveil/1/{site}/%u/state
pattern write heatveil/1/{site}/%u/diag
pattern write heatveil/1/{site}/%u/ack
pattern read heatveil/1/{site}/%u/receipt
pattern read heatveil/1/{site}/%u/cmd/#

# And what the site asks of all of them.
"""
ASKED = """\
user {device}
topic read heatveil/1/{site}/round/#
"""


def configuration(site: str, folder: Path, hosts: Iterable[str], port: int, user: str) -> str:
    """Return mosquitto.conf for a broker that goes by these hosts; folder is absolute.

    A broker that is only known by this machine's own names listens to this machine alone, and
    by number: a machine may have the name of IPv6 for itself, and no IPv6.
    """
    known_as = list(hosts)
    listen = f"{port} {'::1' if known_as == ['::1'] else '127.0.0.1'}"
    if not all(map(is_loopback, known_as)):
        listen = str(port)
    return CONFIGURATION.format(site=site, folder=folder, listen=listen, user=user)


def access_list(
    site: str, gateway: str, devices: Iterable[str], prefix: str = "homeassistant"
) -> str:
    """Return the access list of a gateway and its devices.

    Args:
        prefix: of what is announced to Home Assistant.
    """
    asked = "".join(ASKED.format(site=site, device=device) for device in devices)
    return ACCESS.format(site=site, gateway=gateway, prefix=prefix) + asked


def passwords(secrets: Mapping[str, str], salts: Iterable[bytes]) -> str:
    """Return the password file: a salted hash for each name, PBKDF2 with SHA-512."""
    rows = []
    for (name, secret), salt in zip(secrets.items(), salts, strict=False):
        hashed = hashlib.pbkdf2_hmac("sha512", secret.encode(), salt, TURNS)
        texts = (base64.b64encode(part).decode() for part in (salt, hashed))
        rows.append(f"{name}:$7${TURNS}${'$'.join(texts)}\n")
    return "".join(rows)


def names(file: str) -> list[str]:
    """Return whom a password file lets in."""
    return [line.split(":", 1)[0] for line in file.splitlines() if ":" in line]


def holds(file: str, secrets: Mapping[str, str]) -> bool:
    """Return whether a password file lets in all of these, each with its password."""
    rows = dict(line.split(":", 1) for line in file.splitlines() if ":" in line)
    if not rows.keys() >= secrets.keys():
        return False
    try:
        salts = [base64.b64decode(rows[name].split("$")[3], validate=True) for name in secrets]
    except (ValueError, IndexError):
        return False
    return passwords(secrets, salts) == "".join(f"{name}:{rows[name]}\n" for name in secrets)

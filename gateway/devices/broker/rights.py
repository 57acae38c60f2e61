"""Who may write and read which topics of a site: all that each part needs, and nothing else.

Said once here; `mosquitto` writes it as an access list, `dynamic` as roles of the plugin.
"""

from typing import NamedTuple

from ...mqtt import access

CONTROL = "$CONTROL/dynamic-security/v1"


class Right(NamedTuple):
    """One topic, or all that a filter matches, to be written or to be read."""

    write: bool
    topic: str


def of_gateway(site: str, prefix: str = "homeassistant") -> list[Right]:
    """Return what the gateway may do: it alone asks, draws, thanks and commands.

    What it asks it reads too, once a start: see `uplink.remembered`.

    Args:
        prefix: of what is announced to Home Assistant.
    """
    ours = f"heatveil/1/{site}"
    heard = [f"{ours}/+/{leaf}" for leaf in ("data", "meta", "state", "diag", "ack")]
    said = [f"{ours}/round/#", f"{ours}/map/#", f"{ours}/+/receipt", f"{ours}/+/cmd/#"]
    said += [f"{ours}/ha/#", f"{prefix}/device/heatveil_{site}/config"]
    heard.append(f"{ours}/round/#")
    heard += dict.fromkeys([f"{prefix}/status", "homeassistant/status"])
    return [Right(False, topic) for topic in heard] + [Right(True, topic) for topic in said]


def of_device(site: str, name: str) -> list[Right]:
    """Return what a device may do, under its own name alone; it hears what all are asked."""
    own = f"heatveil/1/{site}/{name}"
    said = [f"{own}/{leaf}" for leaf in ("data", "meta", "state", "diag", "ack")]
    heard = [f"{own}/receipt", f"{own}/cmd/#", f"heatveil/1/{site}/round/#"]
    return [Right(True, topic) for topic in said] + [Right(False, topic) for topic in heard]


def session_of(site: str, name: str, password: str) -> str:
    """Return the one client id under which a device may come.

    A broker knows sessions by it, so a device that may have one only has one connection, and
    cannot take all that there are; nor can it come under somebody else's.
    """
    return access.marked(f"heatveil-{site}-{name}", password)

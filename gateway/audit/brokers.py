"""What a broker of one's own is told: no strangers, no clear text, each under its own name.

Layer `links`, second part. It reads what `heatveil broker init` writes. What it cannot see: what
mosquitto makes of it.
"""

from pathlib import Path

from ..brokers import mosquitto
from .claim import Claim, true


def told() -> Claim:
    """Return whether its configuration and its access list keep everybody to what is theirs."""
    written = mosquitto.configuration("audit", Path("/x"), ["broker.example"], 8883, "nobody")
    lines = {line.strip() for line in written.splitlines()}
    listed = mosquitto.access_list("audit", "gateway", ["one", "two"])
    rules = [line.split() for line in listed.splitlines() if line and line[0] != "#"]
    devices = rules.index(["user", "one"])
    wide = [
        " ".join(rule)
        for rule in rules[devices:]
        if rule[:2] not in (["user", "one"], ["user", "two"])
        and rule != ["topic", "read", "heatveil/1/audit/round/#"]
    ]
    wide += [
        " ".join(rule)
        for rule in rules
        if rule[0] == "pattern" and not rule[2].startswith("heatveil/1/audit/%u/")
    ]
    held = {"allow_anonymous false", "certfile /x/server.pem", "password_file /x/passwords"}
    held |= {"acl_file /x/acl"}
    listeners = [line for line in lines if line.startswith("listener")]
    return true(
        "a broker of one's own knows nobody without a password, and keeps each to its own topics",
        held <= lines and len(listeners) == 1 and not wide,
        samples=len(rules),
        detail="; ".join(wide[:3]),
    )

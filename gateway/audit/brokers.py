"""What a broker of one's own is told: no strangers, no clear text, each under its own name.

Layer `links`, second part. It reads what `heatveil broker init` writes, the access list and the
file of dynamic security. What it cannot see: what mosquitto makes of it.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..brokers import dynamic, mosquitto
from .claim import Claim, true

DEVICES = ("one", "two")
ASKED = "heatveil/1/audit/round/#"  # what all devices may hear, and nobody but the gateway say
SENT = ("write", "publishClientSend")
KINDS = ("publishClientSend", "publishClientReceive", "subscribe")
Rule = tuple[str, str, str]  # who, what with, which topics


def told() -> Claim:
    """Return whether its configuration and its rights keep everybody to what is theirs."""
    words = ("audit", Path("/x"), ["broker.example"], 8883, "nobody")
    by_files = _lines(mosquitto.configuration(*words))
    by_plugin = _lines(mosquitto.configuration(*words, Path("/p.so")))
    safe = {"allow_anonymous false", "certfile /x/server.pem"}
    closed = safe | {"password_file /x/passwords", "acl_file /x/acl"} <= by_files
    closed &= safe | {"plugin_opt_config_file /x/dynamic-security.json"} <= by_plugin
    for lines in (by_files, by_plugin):
        closed &= sum(line.startswith("listener") for line in lines) == 1
    everybody = dict.fromkeys(("gateway", *DEVICES), "?")
    held = json.loads(dynamic.file("audit", "gateway", everybody, "ha"))
    closed &= not any(held["defaultACLAccess"][kind] for kind in KINDS)
    rules = [*_listed(), *_roles(held)]
    wide = [" ".join(rule) for rule in rules if not _theirs(*rule)]
    seen = {rule[0] for rule in rules}
    return true(
        "a broker of one's own knows nobody without a password, and keeps each to its own topics",
        closed and not wide and seen == {*DEVICES, "gateway"},
        samples=len(rules),
        detail="; ".join(wide[:3]),
    )


def _theirs(who: str, how: str, topic: str) -> bool:
    """Return whether a right is one that its holder may have."""
    if who == "gateway":
        return True
    own = f"heatveil/1/audit/{who}/"
    return topic.startswith(own) or (topic == ASKED and how not in SENT)


def _lines(text: str) -> set[str]:
    return {line.strip() for line in text.splitlines()}


def _listed() -> Iterator[Rule]:
    """Yield the rules of the access list, each under the name that it stands under."""
    who = "everybody"
    for line in mosquitto.access_list("audit", "gateway", DEVICES).splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "user":
            who = words[1]
        else:
            yield who if words[0] == "topic" else "everybody", words[1], words[-1]


def _roles(held: dict[str, Any]) -> Iterator[Rule]:
    """Yield what the roles of dynamic security allow, under the names that have them."""
    roles = {role["rolename"]: role["acls"] for role in held["roles"]}
    for client in held["clients"]:
        for role in client["roles"]:
            for acl in roles[role["rolename"]]:
                if acl["allow"]:
                    yield client["username"], acl["acltype"], acl["topic"]

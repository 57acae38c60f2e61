"""Layer: enrolling leaves keys where they belong, and devices with just the budget promised.

A deployment is enrolled by the operator's own command, once for each mode, while the roots that
are made are noted. Then every file is searched for keys that must not be in it, and the devices
are started from their files and asked until they fall silent. What it cannot see: a host whose
memory or disk keeps what was deleted, and a file that is handed on.
"""

import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from edge import keys
from edge.node import Node

from .. import budgets, config, enrol, mosquitto
from ..commands import virtual
from .bench import message
from .claim import Claim, Effort, at_most, true
from .scenes import exact_mu
from .watch import replaced

READINGS, SENSORS, MORE = 4, 3, 6
DEPLOYMENT = """
[room]
cells = 12
length_m = 6.0
walls = "insulated"
[heat]
spread_m2 = 0.3
[sensors]
count = {sensors}
adc_step = "1/128"
[privacy]
epsilon = "3/2"
delta = "1/100000"
readings = {readings}
keyholder = {keyholder}
[site]
name = "audit"
"""


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield where keys are, and what devices answer, after enrolling in each mode."""
    for mode in ("sealed", "keyholder"):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            path = folder / "gateway.toml"
            keyholder = str(mode == "keyholder").lower()
            path.write_text(
                DEPLOYMENT.format(sensors=SENSORS, readings=READINGS, keyholder=keyholder)
            )
            roots = _noted(path)
            yield from _files(mode, folder, roots)
            yield from _budgets(mode, mechanism, path, folder)
    yield _broker()


def _noted(path: Path) -> Sequence[bytes]:
    """Enrol, and return the roots that were made."""
    make, made = enrol.make, []

    def noting(*given: Any, **more: Any) -> Any:
        made.append(make(*given, **more))
        return made[-1]

    with replaced(enrol, "make", noting):
        virtual.enrol_fleet(path, None, lambda words: None)
    return list(made[0].roots.values())


def _files(mode: str, folder: Path, roots: Sequence[bytes]) -> Iterator[Claim]:
    """Yield which keys are in which files."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".toml"]
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
    holder = {virtual.HOLDER} if mode == "keyholder" else set()
    kept = {name for name, held in found.items() if any(_in(root, held) for root in roots)}
    yield true(
        f"the root keys of {mode} devices are kept {'by their owner' if holder else 'nowhere'}",
        len(roots) == SENSORS and kept == holder,
        samples=len(found),
        detail=f"found in {', '.join(sorted(kept)) or 'no file'}",
    )
    ours = found.get("devices.json", b"")
    noise = [keys.first_chain(root) for root in roots] + [keys.state_key(root) for root in roots]
    yield true(
        f"the gateway's file of {mode} devices has no key of their noise or their memory",
        any(_in(keys.mac_key(root), ours) for root in roots)
        and not any(_in(key, ours) for key in (*noise, *map(keys.link_key, roots))),
        samples=len(roots),
    )
    readable = [
        path.relative_to(folder).as_posix()
        for path in (*files, folder / virtual.STATE)
        if stat.S_IMODE(path.stat().st_mode) & 0o077
    ]
    yield true(
        f"what a {mode} enrolment writes is for its owner alone",
        not readable,
        samples=len(files),
        detail=", ".join(readable),
    )


def _in(key: bytes, held: bytes) -> bool:
    return key in held or key.hex().encode() in held.lower()


def _budgets(mode: str, mechanism: Any, path: Path, folder: Path) -> Iterator[Claim]:
    """Yield what the devices answer in all their life, over a start, and what that is worth."""
    deployment = config.load(path)
    query = config.query(deployment)
    round = mechanism.plan(query, ())
    secrets = enrol.load_secrets(folder / "secrets.json", "audit")
    with budgets.kept(folder / virtual.STATE) as place:
        answers, number = [0] * SENSORS, 0
        for turn in range(2):
            devices = budgets.boot(secrets, place).devices
            nodes = [Node(*device) for device in devices]
            worth = max(held.limits.budget for _, held in devices)
            for _ in range(READINGS // 2 + turn * MORE):
                number += 1
                _, signed = message(round, number, secrets.site, secrets.site_key)
                for at, node in enumerate(nodes):
                    answers[at] += node.answer(signed, lambda params: (1,)) is not None
    yield true(
        f"a {mode} device answers as often as was promised, and then never again",
        answers == [READINGS] * SENSORS and all(node.state() == "exhausted" for node in nodes),
        samples=sum(answers),
        detail=f"answers {answers} of {READINGS}",
    )
    epsilon, delta = (num / den for num, den in (query.epsilon, query.delta))
    yield at_most(
        f"the whole budget of a {mode} device is worth no more than epsilon and delta",
        exact_mu(epsilon, delta),
        (2e-9 * worth) ** 0.5,
        unit="sigmas",
        samples=SENSORS,
    )


def _broker() -> Claim:
    """What a broker of one's own is told: no strangers, no clear text, each under its name."""
    told = mosquitto.configuration("audit", Path("/x"), ["broker.example"], 8883, "nobody")
    lines = {line.strip() for line in told.splitlines()}
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

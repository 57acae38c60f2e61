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

from edge.host import rootkeys
from edge.node import Node

from .. import config
from ..commands import virtual
from ..enrolment import budgets, enrol, keycount
from ..faults import OperatorFault
from ..serves import table
from .bench import message
from .claim import Claim, Effort, at_most, true
from .scenes import exact_mu
from .watch import replaced

READINGS, SENSORS, MORE = 4, 3, 6
KEYS = 16  # of one sensor, that what is set aside of delta for noise from tables pays for
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
            yield _again(mode, path, folder)
            if mode == "sealed":
                yield _keys(mechanism, path, folder)


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
    noise = [rootkeys.first_chain(root) for root in roots] + [
        rootkeys.state_key(root) for root in roots
    ]
    yield true(
        f"the gateway's file of {mode} devices has no key of their noise or their memory",
        any(_in(rootkeys.mac_key(root), ours) for root in roots)
        and not any(_in(key, ours) for key in (*noise, *map(rootkeys.link_key, roots))),
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
            held = [ledger.limits for _, ledger in devices]
            worth = max(one.budget for one in held)
            for _ in range(READINGS // 2 + turn * MORE):
                number += 1
                _, signed = message(round, number, secrets.site, secrets.site_key)
                for at, node in enumerate(nodes):
                    answers[at] += node.answer(signed, lambda params: (1,)) is not None
    asked = round.params[1], round.params[4]
    yield true(
        f"a {mode} device is enrolled with the noise and the grain of its Round, and a pace",
        all((one.exponent, one.variance) == asked and one.pace_ms > 0 for one in held),
        samples=len(held),
    )
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


def _again(mode: str, path: Path, folder: Path) -> Claim:
    """Enrolling once more would forget what devices said, and shut out those in the field."""

    def kept() -> dict[str, bytes]:
        return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}

    before = kept()
    try:
        virtual.enrol_fleet(path, None, lambda words: None)
        taken = True
    except OperatorFault:
        taken = False
    return true(
        f"a {mode} fleet is not enrolled over another, and nothing of it is touched",
        not taken and kept() == before,
        samples=len(before),
    )


def _keys(mechanism: Any, path: Path, folder: Path) -> Claim:
    """Count how many keys a sensor gets: by itself, with the whole fleet, and both by turns."""
    path.write_text(path.read_text() + '[rounds]\nsampler = "table"\n')
    most = table.named(mechanism.name).keys(config.load(path))
    where = folder / "devices.json"
    fleet = enrol.load_devices(where, "audit")
    place = next(iter(fleet.by_name.values())).place
    found = []
    for turns in ((False,), (True,), (False, True)):
        keycount.beside(where).unlink(missing_ok=True)
        had = 1  # of the enrolment
        if any(turns):
            keycount.keep(where, fleet, {place.sensor: 1})
        for again in range(3 * KEYS):
            try:
                if turns[again % len(turns)]:
                    keycount.anew(where, fleet, most)
                else:
                    keycount.one_more(where, fleet, place, {}, most)
            except OperatorFault:
                break
            had += 1
        found.append(had)
    return true(
        "a sensor gets as many keys as noise from tables is paid for, no more",
        found == [KEYS] * 3,
        samples=sum(found),
        detail=f"{found} keys, {KEYS} are paid for",
    )

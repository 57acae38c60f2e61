"""Layers `enrolment` and `deployment`: what devices are enrolled with, and an operator's own."""

import stat
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from edge.entropy import Tape
from edge.host import rootkeys
from edge.node import Node

from ...cli import fleet
from ...devices.enrol import budgets, enrol, keycount
from ...faults import OperatorFault
from ...mechanisms import Mechanism, serving
from ...settings import config
from ..arithmetic import accountant
from ..bench import Device, message, replaced
from ..claim import Claim, Effort, at_most, true

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


def enrolment_claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield where keys are, and what devices answer, after enrolling in each mode.

    Enrolling leaves keys where they belong, and devices with just the budget promised. A
    deployment is enrolled by the operator's own command, once for each mode, while the roots that
    are made are noted. Then every file is searched for keys that must not be in it, and the
    devices are started from their files and asked until they fall silent. What it cannot see: a
    host whose memory or disk keeps what was deleted, and a file that is handed on.
    """
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
    make, made = enrol.enrol_fleet, []

    def noting(*given: Any, **more: Any) -> Any:
        made.append(make(*given, **more))
        return made[-1]

    with replaced(enrol, "enrol_fleet", noting):
        fleet.enrol_fleet(path, None, lambda words: None)
    return list(made[0].roots.values())


def _files(mode: str, folder: Path, roots: Sequence[bytes]) -> Iterator[Claim]:
    """Yield which keys are in which files."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".toml"]
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
    holder = {fleet.HOLDER} if mode == "keyholder" else set()
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
        for path in (*files, folder / fleet.STATE)
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
    with budgets.open_folder(folder / fleet.STATE) as place:
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
        float(accountant.decimal_mu(epsilon, delta)),
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
        fleet.enrol_fleet(path, None, lambda words: None)
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
    most = serving(mechanism.name).key_limit(config.load(path))
    where = folder / "devices.json"
    fleet = enrol.load_devices(where, "audit")
    place = next(iter(fleet.by_name.values())).place
    found = []
    for turns in ((False,), (True,), (False, True)):
        keycount.locate(where).unlink(missing_ok=True)
        had = 1  # of the enrolment
        if any(turns):
            keycount.save(where, fleet, {place.sensor: 1})
        for again in range(3 * KEYS):
            try:
                if turns[again % len(turns)]:
                    keycount.count_fleet(where, fleet, most)
                else:
                    keycount.count_key(where, fleet, place, {}, most)
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


TRIES = 24  # backgrounds for each move that is kept
CELLS = 6  # across and down, of those that a finite mechanism's answers are enumerated for


class Own(NamedTuple):
    """One deployment, audited in place of the audit's rooms: what it asks, what its devices hold.

    held: the different limits of its devices; of those that would be enrolled, if none are.
    plan: the file of its room, if it has one.
    """

    name: str
    mechanism: str
    query: Any
    held: tuple[Any, ...]
    plan: Path | None

    def of(self, mechanism: Mechanism) -> Mechanism:
        """Return the mechanism with this deployment for its only room."""
        return replace(mechanism, subject=_Room(mechanism.subject, self))

    def asks(self, **values: str) -> bool:
        """Say whether the query has these values."""
        return all(getattr(self.query, name, "") == value for name, value in values.items())


class _Room:
    """What the audit knows of a mechanism, for one room."""

    def __init__(self, subject: Any, own: Own) -> None:
        self._subject, self._own = subject, own

    def __getattr__(self, name: str) -> Any:
        return getattr(self._subject, name)

    def rooms(self) -> list[tuple[str, Any]]:
        """Return the one room; its levels and its tables have layers of their own."""
        query = self._own.query
        if self._own.asks(background="following"):
            query = replace(query, background="recorded", slew=None)
        if self._own.asks(sampler="table"):
            query = replace(query, sampler="exact")
        return [(self._own.name, query)]

    def sweeps(self, full: bool) -> list[Any]:
        """Return no other rounds."""
        return []

    def search(self, query: Any, round: Any, rng: Any, tries: int) -> Any:
        """Return what the mechanism's own search finds, on ways that one can walk if need be."""
        more = () if self._own.plan is None else (_ways(self._own.plan, query.grid),)
        return self._subject.search(query, round, rng, tries, *more)

    def neighbours(self, query: Any, round: Any) -> tuple[Any, Any]:
        """Return the neighbours that the search finds, as whole-number readings."""
        found = self.search(query, round, Tape(b"neighbours"), TRIES)
        return np.array(found.before, dtype=np.int64), np.array(found.after, dtype=np.int64)

    def inputs(self, round: Any) -> list[Any]:
        """Return readings that a device may hold; of many cells the corners and some between."""
        found = list(self._subject.inputs(round))
        if self._subject.KIND != "finite":
            return found
        columns, rows = round.grid.shape
        across, down = (
            {i * (side - 1) // (CELLS - 1) for i in range(CELLS)} for side in (columns, rows)
        )
        return [
            one
            for place, one in enumerate(found)
            if place >= columns * rows or (place % columns in across and place // columns in down)
        ]


def _ways(plan: Path, grid: Any) -> tuple[Any, ...]:
    """Return from which cell's middle one can walk straight to the next one's, right and down."""
    from physics.rooms.plan import lattice  # seldom needed, and much
    from physics.rooms.read import read

    room, (columns, rows) = read(plan), grid.shape
    floor = lattice(room, (False,) * len(room.doors))
    middles = (np.indices((rows, columns))[::-1] + 0.5) * grid.cell_mm / 1000
    found = []
    for apart in ((grid.cell_mm / 1000, 0.0), (0.0, grid.cell_mm / 1000)):
        starts = middles.reshape(2, -1).T
        found.append(floor.holds(starts, starts + apart).reshape(rows, columns))
    return tuple(found)


def deployment_claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what devices of this deployment can give away in all.

    What its devices were enrolled with keeps the promise: real devices answer under those very
    limits until they are silent for good, and what they answered is held against epsilon. What it
    cannot see: whether the room, the sensors and the people are as the file says.
    """
    ((name, query),), subject = mechanism.subject.rooms(), mechanism.subject
    round, times = mechanism.plan(query, ()), subject.readings(query)
    for place, limits in enumerate(effort.own.held):
        of = f"{name}, limits {place + 1}"
        root = effort.root("deployment", place)
        device, answers = Device(round, root, held=limits), 0
        for number in range(1, times + 3):
            _, signed = message(round, number)
            values = subject.inputs(round)[0].values[:1] if subject.KIND == "noise" else (0, 0)
            answers += device.answer(signed, values) is not None
        yield at_most(
            f"{of}: no device answers more often than was promised",
            times,
            answers,
            unit="answers",
            samples=times + 2,
        )
        yield true(
            f"{of}: what is asked is answered",
            answers > 0,
            samples=times + 2,
            detail=device.node.refusal if not answers else f"{answers} of {times}",
        )
        if subject.KIND == "noise":  # at the least noise that these limits let through
            square, variance = Fraction(limits.square), Fraction(limits.variance)
            yield next(accountant.enough(of, round.guarantee, square, variance, times))
        else:
            yield at_most(
                f"{of}: the epsilons of all answers add up to no more than is promised",
                float(Fraction(*round.guarantee.epsilon)),
                float(answers * subject.spent(round)),
                unit="epsilon",
                samples=times + 2,
            )

"""A whole deployment looked through before it runs: `heatveil check`.

Every finding is a line: `ok`, `note` for what may be meant, `FAULT` for what will not work. One
fault does not hide the next, unless the next cannot be seen without it.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from math import prod
from pathlib import Path
from typing import Any

from .. import config, roomfile
from ..deployment import Deployment
from ..enrolment.enrol import Devices, load_devices
from ..enrolment.together import check_together
from ..faults import OperatorFault
from ..kit import siting
from ..serves.table import of
from . import checking_devices, checking_files, checking_links, checking_store
from .checking_finding import Finding, fault, note, ok

NAMES_OF_OURS = frozenset(("round", "map", "ha", "gateway"))  # levels of topics


def check(path: Path, connect: bool, as_json: bool, say: Callable[[str], None]) -> bool:
    """Say what was found; return whether a gateway can run like this.

    Args:
        connect: ask the broker too.
        as_json: all of it as one object, for scripts.
    """
    if as_json:
        found = list(findings(path, connect))
        good = all(one.grade != "FAULT" for one in found)
        say(json.dumps({"ok": good, "findings": [one._asdict() for one in found]}))
        return good
    faults = notes = 0
    for grade, subject, sentence in findings(path, connect):
        say(f"{grade:5}  {subject}: {sentence}")
        faults += grade == "FAULT"
        notes += grade == "note"
    told = f"{faults} fault{'s' * (faults != 1)}, {notes} note{'s' * (notes != 1)}"
    say(f"{told}: {'mend the faults first' if faults else 'heatveil serve can run'}")
    return not faults


def findings(path: Path, connect: bool) -> Iterator[Finding]:
    """Yield everything that is found, in the order in which it is best mended."""
    try:
        deployment = config.load(path)
        query = config.query(deployment)
        yield ok("config", f"{path} says what is to be done, for site {deployment.site.name}")
    except OperatorFault as wrong:
        yield fault("config", wrong)
        return
    yield from _sense(deployment, query)
    if deployment.room.plan:
        yield ok("room", roomfile.drawing(deployment.room.plan))
    devices: Devices | None = None
    if not deployment.site.devices.exists():
        command = f"heatveil enrol --config {path}"
        yield fault("devices", f"nobody is enrolled yet, so nobody may report. Next: {command}")
    else:
        try:
            devices = load_devices(deployment.site.devices, deployment.site.name)
        except OperatorFault as wrong:
            yield fault("devices", wrong)
    if devices is not None:
        yield from _devices(deployment, devices)
        yield from checking_devices.findings(deployment, path, devices)
    for caution in of(deployment).cautions(query):
        yield note("rounds", caution)
    yield from checking_files.findings(deployment, path)
    yield from checking_store.findings(deployment, query)
    yield from checking_links.findings(deployment, connect)


def _devices(deployment: Deployment, devices: Devices) -> Iterable[Finding]:
    sensors = prod(of(deployment).sensors(deployment))
    try:
        check_together(deployment, devices)
    except OperatorFault as wrong:
        yield fault("devices", wrong)
        return
    except MemoryError as wrong:
        yield fault(
            "room",
            f"its noise needs more memory than this machine has ({wrong}); no promise can be "
            "made without. Set fewer cells or sensors",
        )
        return
    if ours := sorted(NAMES_OF_OURS & devices.by_name.keys()):
        yield fault(
            "devices",
            f"a device is named {ours[0]}, which is a level of the gateway's own topics; it could "
            "write there what only the gateway may. Enrol it under another name",
        )
    read = sum(device.place[1] for device in devices.by_name.values())
    yield ok("devices", f"{len(devices.by_name)} are enrolled, for {read} of {sensors} sensors")
    if read < sensors:
        yield note(
            "devices",
            f"{_counted(sensors - read, 'sensor')} without a device; the map is drawn with the "
            "others. Enrol more, "
            "or say under [sensors] or [disk] that there are fewer",
        )
    if deployment.rounds.quorum > len(devices.by_name):
        yield fault(
            "rounds",
            f"[rounds] quorum is {deployment.rounds.quorum} and {len(devices.by_name)} devices "
            "are enrolled: no map would ever be drawn. Set it to what a map is worth having from",
        )


def _sense(deployment: Deployment, query: Any) -> Iterable[Finding]:
    """Yield what is well formed and may still not be meant."""
    rounds, assistant = deployment.rounds, deployment.homeassistant
    asked_m = deployment.privacy.protect_distance_m
    hidden_m = getattr(query, "protect_distance_m", None)
    if asked_m is not None and hidden_m is not None and hidden_m > asked_m:
        yield note(
            "privacy",
            f"[privacy] protect_distance_m is {asked_m:g} and a cell {hidden_m:g} m: a move by a "
            f"whole cell is hidden, with the noise for that. Say {hidden_m:g}, or take more cells",
        )
    if rounds.every_s < rounds.gather_s:
        yield note(
            "rounds",
            f"[rounds] every_s {rounds.every_s:g} is less than gather_s {rounds.gather_s:g}: "
            "while a device is silent, rounds begin later than they say",
        )
    lasts = _long(rounds.every_s * deployment.privacy.readings)
    yield ok(
        "privacy",
        f"{_counted(deployment.privacy.readings, 'round')} under the promise; one every "
        f"{_long(rounds.every_s)}, they last {lasts}{' of open hours' * bool(rounds.hours)}",
    )
    if assistant.enabled and assistant.expire_s and assistant.expire_s < rounds.every_s:
        yield note(
            "homeassistant",
            f"expire_s {assistant.expire_s:g} is less than [rounds] every_s {rounds.every_s:g}: "
            "between rounds every result will be unavailable",
        )
    try:
        siting.of(deployment)
    except OperatorFault as wrong:
        yield note("disk", f"no board with a receiver can be provisioned: {wrong}")
    if deployment.mqtt.insecure:
        yield note(
            "mqtt",
            "insecure = true: whoever is on the network can read, change and forge messages. "
            "heatveil broker init makes what TLS needs",
        )


def _counted(number: int, what: str) -> str:
    """Return a number of things as one says it."""
    return f"{number} {what}{'s' * (number != 1)}"


def _long(seconds: float) -> str:
    """Return a time as one says it.

    >>> _long(90), _long(86_400), _long(1), _long(30 * 86_400)
    ('90 s', '24 h', '1 s', '30 days')
    """
    for unit, name in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds:g} s"

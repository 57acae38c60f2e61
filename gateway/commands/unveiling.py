"""Exact readings for the holder of keys, in a file of their own: `heatveil unveil`. NOT PRIVATE.

This runs by itself, never in the gateway's process: it reads the gateway's database, which it
cannot write, and says nothing of a reading on the terminal or in a log.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from edge.host.rootkeys import mac_key

from .. import config
from ..enrolment import ringfile
from ..enrolment.enrol import Devices, load_devices
from ..enrolment.keyring import Chain, Ring
from ..faults import OperatorFault
from ..unveil.opening import Opening
from ..unveil.readings import Row, check_new, write
from ..unveil.source import Numbers, Stored, reading
from .stages import Stage, stages


def unveil(
    path: Path,
    keys_path: Path,
    out: Path,
    rounds: Numbers,
    say: Callable[[str], None],
) -> None:
    """Write the exact readings behind the frames of a deployment to a new file.

    Args:
        keys_path: the owner's keyholder.json, or an epochs.json that was granted.
        rounds: the numbers of the first and of the last round that is wanted.

    Raises:
        OperatorFault: a file is at fault, a device is sealed, or there is nothing to be opened.
    """
    deployment = config.load(path)
    database, site = deployment.site.database, deployment.site.name
    check_new(out, database)
    devices = load_devices(deployment.site.devices, site)
    ring = ringfile.read(keys_path, site, *ringfile.KINDS)
    check_ring(ring, devices, keys_path)
    with reading(database, site) as source, stages() as stage:
        opening = Opening(devices, source.rounds(site, devices.site_key), ring)
        reports, count = source.reports(rounds), source.count(rounds)
        write(out, site, _some(opening, _told(reports, count, stage)), lambda: opening.left)
    for line in _lines(out, opening):
        say(line)


def check_ring(ring: Ring, devices: Devices, path: Path) -> None:
    """Check that the keys are those of the devices as they are enrolled.

    Raises:
        OperatorFault: a device is sealed, is enrolled with another key, or is not enrolled.
    """
    for name, held in ring.held.items():
        device = devices.by_name.get(name)
        if device is None:
            raise OperatorFault(
                f"the key file {path} has keys of {name}, which is not enrolled; each must be of "
                "a device of this site, for else it is not known which frames are its own. Name "
                "the key file and the devices file of one enrolment"
            )
        if device.mode == "sealed":
            raise OperatorFault(
                f"{name} is sealed; its noise is mixed with bytes that never left the board, so "
                "no key of any kind takes it off, and nobody has one. Its readings stay blurred; "
                "enrol it as keyholder if later ones are to be opened"
            )
        if held.key_id != device.key_id:
            raise OperatorFault(
                f"the key file {path} has key {held.key_id.hex()} of {name}, which is enrolled "
                f"with key {device.key_id.hex()}; a key opens the frames of its own enrolment "
                "alone. Name the key file of this enrolment, or the devices file of that one"
            )
        if isinstance(held, Chain) and held.root and mac_key(held.root) != device.mac_key:
            raise OperatorFault(
                f"the devices file has another key for {name}'s frames than {path} says; only "
                "what the device really signed may be opened, or anybody could put readings into "
                "its mouth. Bring the devices file back as it was enrolled"
            )


def _told(reports: Iterable[Stored], count: int, stage: Stage) -> Iterator[Stored]:
    for number, stored in enumerate(reports):
        if number % 1000 == 0:
            stage(f"opening frame {number} of {count}")
        yield stored


def _some(opening: Opening, reports: Iterable[Stored]) -> Iterator[Row]:
    """Yield the readings; after the last, refuse to have found none."""
    yield from opening.rows(reports)
    if not opening.frames:
        found = "; ".join(_reasons(opening)) or "no device has answered one of these rounds"
        raise OperatorFault(
            f"no frame could be opened ({found}); there must be one at least, or an empty file "
            "would be taken for an empty room. Look at the rounds that are asked for, and at "
            "which boots the keys are of (heatveil keys list)"
        )


def _reasons(opening: Opening) -> list[str]:
    """Return what was left out, a clause for each reason."""
    by_reason: Counter[str] = Counter()
    devices: dict[str, set[str]] = {}
    for name, _, why, frames in opening.left:
        by_reason[why] += frames
        devices.setdefault(why, set()).add(name)
    return [
        f"{frames} of {named(devices[why])} left out: {why}"
        for why, frames in by_reason.most_common()
    ]


def named(names: Iterable[str]) -> str:
    """Return whose something is, in a few words."""
    first, *rest = sorted(names)
    return f"{first} and {len(rest)} others" if rest[1:] else " and ".join([first, *rest])


def _lines(out: Path, opening: Opening) -> list[str]:
    return [
        f"NOT PRIVATE: {out} holds the exact readings of {opening.frames} frames, "
        f"{opening.readings} in all.",
        *(f"{reason[0].upper()}{reason[1:]}." for reason in _reasons(opening)),
        "Nothing is promised against whoever gets that file. Keep it apart from what the gateway "
        "stores, and remove it when it has served its purpose.",
    ]

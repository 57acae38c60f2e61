"""Which limits each device was last given, so that the next ones can only protect more.

A file beside the devices file: written when a fleet is enrolled, and before tighter limits go
out. A device refuses what is looser whatever this says; here the operator hears it first, and
the version numbers go on from where they were.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from edge.core.budget import FIELDS, Limits, objection

from ...faults import OperatorFault
from . import keyfile
from .enrol import Devices

HOLDS = "limits"


class GivenLimits(NamedTuple):
    """What a device was last given, under which enrolment."""

    key_id: bytes
    limits: Any
    before: int = 0  # nano-rho that the fleet had spent when it came: its budget is so much less
    window_h: int = 0  # hours of its window; 0 for a budget that lasts for the life of its key
    following: tuple[int, ...] = ()  # its level, as `Deployment.following`: a device keeps it
    unsent: bool = False  # whether the broker may not have taken them yet


def locate_limits(devices_path: Path) -> Path:
    """Return where the limits of these devices are kept."""
    return devices_path.with_name("limits.json")


def save_limits(devices_path: Path, site: str, given: Mapping[str, GivenLimits]) -> None:
    """Write what devices were given, flushed.

    Raises:
        OperatorFault: it cannot be written.
    """
    rows = [
        {"name": name, "key_id": one.key_id, "limits": list(one.limits), "before": one.before}
        | ({"window_h": one.window_h} if one.window_h else {})
        | ({"following": list(one.following)} if one.following else {})
        | ({"unsent": True} if one.unsent else {})
        for name, one in given.items()
    ]
    keyfile.write_key_file(locate_limits(devices_path), HOLDS, site, rows)


def save_first_limits(
    devices_path: Path,
    devices: Devices,
    limits: Any,
    window_h: int = 0,
    following: tuple[int, ...] = (),
) -> None:
    """Note the limits that newly enrolled devices were given.

    Raises:
        OperatorFault: they cannot be written.
    """
    names = devices.by_name.items()
    given = {
        name: GivenLimits(device.key_id, limits, 0, window_h, following) for name, device in names
    }
    save_limits(devices_path, devices.site, given)


def load_limits(devices_path: Path, devices: Devices) -> dict[str, GivenLimits]:
    """Return what devices were last given; those of another enrolment are left out.

    Raises:
        OperatorFault: there is a file, and it cannot be read.
    """
    path = locate_limits(devices_path)
    if not path.exists():
        return {}
    try:
        _, rows = keyfile.read_key_file(path, HOLDS, devices.site, _read_limits)
    except OperatorFault as fault:
        raise OperatorFault(
            f"the devices' current limits cannot be read from {path} "
            f"({fault.__cause__ or fault}); new limits must be tighter and have a higher version, "
            "or devices refuse them. Restore a copy from where the fleet was enrolled, or give "
            "the devices new keys"
        ) from fault
    return {
        name: given
        for name, given in rows
        if name in devices.by_name and devices.by_name[name].key_id == given.key_id
    }


def plan_next_limits(
    names: Iterable[str],
    known: Mapping[str, GivenLimits],
    wished: Any,
    tighter: Callable[[Any, Any], tuple[Any, str]],
) -> dict[str, Any]:
    """Return the limits to send to each device, of the version after its last.

    What was sent already is sent again as it was.

    Args:
        known: what devices were last given; see `load_limits`.
        wished: the limits of the deployment, of any version.
        tighter: of the devices' mechanism, as an entry of `serves` has it.

    Raises:
        OperatorFault: they are looser than the last, or nothing changes at all.
    """
    found = {}
    for name in names:
        if name not in known:
            raise OperatorFault(
                f"limits.json does not list the current limits of {name}; new ones must have a "
                "higher version, or the device refuses them. Restore limits.json from where the "
                "fleet was enrolled, or give the device new keys"
            )
        next_one, why = plan_next(known[name], wished, tighter)
        if why:
            raise OperatorFault(
                f"nothing was sent, because {name} would refuse the limits that the deployment "
                f"file leads to: {why}. They must be tighter than its current ones, and follow "
                "from [privacy], every_s of [rounds] and, where warmth is measured, [room], "
                "[heat] and [sensors]"
            )
        found[name] = next_one
    if all(one.version == 1 for one in found.values()):
        raise OperatorFault(
            "nothing was sent: the deployment file leads to the limits that these devices already "
            "have. To tighten them, ask for a smaller epsilon, a longer every_s or fewer readings "
            "at the same noise"
        )
    return found


def plan_next(
    given: GivenLimits, wished: Any, tighter: Callable[[Any, Any], tuple[Any, str]]
) -> tuple[Any, str]:
    """Return a device's limits under a deployment, its last where they are the same.

    And why it would refuse them, or nothing. The arguments are those of `plan_next_limits`.
    """
    last = given.limits
    own = wished._replace(budget=max(wished.budget - given.before, 0))
    found, why = tighter(last, own._replace(version=last.version + 1))
    return (last, "") if found._replace(version=last.version) == last else (found, why)


def _read_limits(_: keyfile.Row, row: keyfile.Row) -> tuple[str, GivenLimits]:
    numbers = row["limits"]
    if len(numbers) != FIELDS or objection(numbers):
        raise ValueError(f"the limits of {row['name']} are none")
    before = row.get("before", 0)
    if not isinstance(before, int) or before < 0:
        raise ValueError(f"what was spent before {row['name']} came is no whole number")
    key_id, window_h = keyfile.parse_key(row, "key_id", 4), row.get("window_h", 0)
    following, unsent = tuple(row.get("following", ())), row.get("unsent") is True
    if len(following) not in (0, 3) or not all(type(one) is int and one > 0 for one in following):
        raise ValueError(f"the level of {row['name']} is none")
    given = GivenLimits(key_id, Limits(*numbers), before, int(window_h), following, unsent)
    return str(row["name"]), given

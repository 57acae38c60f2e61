"""Which boots of the devices were heard, as the gateway's database has it.

It tells the owner of keys where now is: a boot beyond it is one that no device has begun.
"""

from collections.abc import Mapping

from .. import config
from ..enrolment.enrol import Devices
from ..faults import OperatorFault
from ..unveil.source import reading

Newest = Mapping[str, int]  # by the names of devices; who was not heard is not in it


def heard(deployment: config.Deployment, devices: Devices) -> Newest | None:
    """Return the newest boot of each device under its present key; None without a database.

    Raises:
        OperatorFault: there is one, and it cannot be read.
    """
    path = deployment.site.database
    if not path.exists():
        return None
    with reading(path, devices.site) as source:
        found = source.boots()
    known = {name: found.get((name, one.key_id)) for name, one in devices.by_name.items()}
    return {name: epoch for name, epoch in known.items() if epoch is not None}


def check_begun(before: int, name: str, newest: Newest | None) -> None:
    """Check that no boot would be forgotten that a device has not even begun.

    Raises:
        OperatorFault: such a boot would be.
    """
    known = (newest or {}).get(name)
    if known is not None and before <= known + 1:
        return
    said = f"the newest that was heard of it is {known}" if known else "none of it was heard here"
    most = f"{known + 1} or less" if known else "a boot that was heard"
    raise OperatorFault(
        f"--before {before} reaches beyond the boots of {name}: {said}; every frame of boots up "
        f"to {before - 1} would stay blurred for ever, those too that are still to be sent. Give "
        f"{most}, or add --future if that is what you want"
    )


def beyond(wanted: int, names: list[str], newest: Newest | None) -> str:
    """Return a sentence on boots up to this one that are still to come, or nothing."""
    if newest is None:
        return ""
    ahead = [name for name in names if wanted > newest.get(name, 0)]
    if not ahead:
        return ""
    said = ", ".join(f"{name} at {newest.get(name, 0) or 'none'}" for name in ahead)
    return f"It reaches into boots that have not begun; the newest heard: {said}."

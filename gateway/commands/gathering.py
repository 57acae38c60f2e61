"""The devices of `heatveil fleet`, in this process or each in an interpreter of its own."""

from pathlib import Path
from typing import Any

from .. import config
from ..deployment import Deployment
from ..enrolment import budgets, enrol
from ..virtual import descriptors, handover, interpreters
from ..virtual.crowd import Crowd
from ..virtual.machines import Machines
from .standing import Stand


def gathered(
    deployment: Deployment,
    secrets: enrol.Secrets,
    place: Any,
    folder: Path,
    there: Stand,
    vm: str | None,
) -> tuple[Any, Any, list[str]]:
    """Return the devices, to be entered; what they stand in; and sentences on those that stay off.

    Raises:
        OperatorFault: a file or the interpreter is at fault, or so many are not possible here.
    """
    descriptors.make_room(len(secrets.devices))
    passwords = {who.name: link_key.hex() for who, link_key in secrets.devices}
    if vm is not None:
        command = interpreters.command(vm)
        virtual = there.fleet([(who, None) for who, _ in secrets.devices])
        query = config.query(deployment)
        slew = query.slew if query.background == "following" else None
        level = None if slew is None else (*slew.as_integer_ratio(), query.readings)
        asking = interpreters.Asking(deployment.mqtt, folder, passwords, level)
        asked = interpreters.asked(virtual, asking)
        return Machines(command, asked, interpreters.search_path()), virtual, []
    devices, off = budgets.boot(secrets, place)
    virtual = there.fleet(devices)
    alone = {one.identity.name: secrets._replace(devices=(one,)) for one in secrets.devices}

    def boot(name: str) -> Any:
        return budgets.boot(alone[name], place).devices[0][1]

    spools = handover.to_spools(folder)
    return Crowd(deployment.mqtt, virtual, passwords, spools, boot), virtual, off

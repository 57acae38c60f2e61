"""The devices of `heatveil fleet`, in this process or each in an interpreter of its own."""

from pathlib import Path
from typing import Any, NamedTuple

from .. import config
from ..deployment import Deployment
from ..enrolment import budgets, enrol
from ..virtual import descriptors, forms, handover, interpreters
from ..virtual.crowd import Crowd
from ..virtual.machines import Machines
from .act import Stand


class Gathered(NamedTuple):
    """Devices to be entered; what they stand in; who stays off; and how they run, or ""."""

    crowd: Any
    virtual: Any
    off: list[str]
    said: str


def gathered(
    deployment: Deployment,
    secrets: enrol.Secrets,
    place: Any,
    folder: Path,
    there: Stand,
    vm: tuple[str, Path] | None,
) -> Gathered:
    """Return the devices of a deployment.

    Args:
        vm: the program that is to run each, and an empty folder for what is made for it.

    Raises:
        OperatorFault: a file or the interpreter is at fault, or so many are not possible here.
    """
    descriptors.make_room(len(secrets.devices))
    passwords = {who.name: link_key.hex() for who, link_key in secrets.devices}
    if vm is not None:
        running = forms.running(*vm, deployment.rounds.mechanism)
        virtual = there.fleet([(who, None) for who, _ in secrets.devices])
        query = config.query(deployment)
        following = getattr(query, "background", None) == "following"
        slew = query.slew if following else None
        level = None if slew is None else (*slew.as_integer_ratio(), query.readings)
        asking = interpreters.Asking(deployment.mqtt, folder, passwords, level)
        asked = interpreters.asked(virtual, asking)
        return Gathered(Machines(running.command, asked, running.path), virtual, [], running.said)
    devices, off = budgets.boot(secrets, place)
    virtual = there.fleet(devices)
    alone = {one.identity.name: secrets._replace(devices=(one,)) for one in secrets.devices}

    def boot(name: str) -> Any:
        return budgets.boot(alone[name], place).devices[0][1]

    spools = handover.to_spools(folder)
    return Gathered(Crowd(deployment.mqtt, virtual, passwords, spools, boot), virtual, off, "")

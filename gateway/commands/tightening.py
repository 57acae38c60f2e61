"""Tighter limits for devices that are out there: `heatveil tighten`. Privacy only goes up.

The limits follow from the deployment file as it stands now, by the function that enrolled the
fleet. They are signed for each device with its own key and retained by the broker, so that one
that sleeps has them when it wakes. A device decides by itself, and says what it decided.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import config, logs
from ..enrolment import tightened
from ..enrolment.enrol import Devices, load_devices
from ..enrolment.tightened import Given
from ..enrolment.tighter import Answers, exchange
from ..faults import OperatorFault, suggestion
from ..serves.table import granted, of
from .unveiling import named

RESTART = (
    "Stop the gateway and start it again with this file: it still asks with the old noise, which "
    "the devices refuse."
)


def tighten(
    path: Path,
    names: Sequence[str],
    version: int | None,
    patience_s: float,
    say: Callable[[str], None],
) -> None:
    """Send tighter limits to devices, and say which of them took them.

    Args:
        names: of devices; all that are enrolled where there are none.
        version: that is in force, for devices whose last limits are not known here any more.
        patience_s: how long to wait for answers.

    Raises:
        OperatorFault: the limits are looser than the last, nothing changes, a file or the broker
            is at fault, or a device refuses.
    """
    logs.to_stderr(logging.WARNING)
    deployment = config.load(path)
    devices = load_devices(deployment.site.devices, deployment.site.name)
    wished, entry = granted(deployment, config.query(deployment)), of(deployment)
    known = tightened.load(deployment.site.devices, devices)
    chosen = _chosen(names, devices)
    sent = tightened.following(chosen, known, wished, version, entry.tighter)
    # On the disk first: a version that has been sent must never be given to other limits.
    before = {name: one.before for name, one in known.items()}
    after = {
        name: Given(devices.by_name[name].key_id, one, before.get(name, 0))
        for name, one in sent.items()
    }
    tightened.save(deployment.site.devices, devices.site, {**known, **after})
    say(_summary(sent, entry.least, entry.whole))
    answers = exchange(deployment.mqtt, devices, sent, patience_s)
    for line in _lines(sent, answers):
        say(line)
    say(RESTART)
    if answers.refused:
        raise OperatorFault(
            f"{named(answers.refused)} refused; every device must hold to the new limits before "
            "they protect the room, for the noise of all of them counts together. Enrol those "
            "again, or mend what they say"
        )


def _chosen(names: Sequence[str], devices: Devices) -> list[str]:
    for name in names:
        if name not in devices.by_name:
            raise OperatorFault(
                f"--device {name} is not enrolled; limits are signed with a device's own key, and "
                f"there is none of it. {suggestion(name, devices.by_name)}"
            )
    return list(dict.fromkeys(names or devices.by_name))


def _summary(
    sent: Mapping[str, Any], least: Callable[[Any], str], whole: Callable[[Any], str]
) -> str:
    one = max(sent.values(), key=lambda each: each.version)
    return (
        f"version {one.version} goes to {named(sent)}: {least(one)}, {whole(one)} for "
        f"the life of the key, {one.pace_ms} ms between answers."
    )


def _lines(sent: Mapping[str, Any], answers: Answers) -> list[str]:
    silent = [name for name in sent if name not in answers.taken and name not in answers.refused]
    lines = [f"taken by {len(answers.taken)} of {len(sent)} devices"]
    lines += [f"refused by {name}: {why}" for name, why in answers.refused.items()]
    if silent:
        lines.append(
            f"silent: {named(silent)}; the broker keeps the message and hands it over when they "
            "come back. Run this again to hear of it"
        )
    return lines

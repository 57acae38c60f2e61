"""One round and its map, on a terminal, and nothing left running: `heatveil once`."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import config, logs
from ..enrolment.enrol import load_devices
from ..serving import Service
from ..telling import Event
from .signals import on_signal

SHADES = " .:-=+*#%@"


def once(path: Path, say: Callable[[str], None]) -> bool:
    """Run one round of a deployment and print what came of it; return whether there is a map.

    Raises:
        OperatorFault: the file, the devices, the store or the broker is at fault.
    """
    logs.to_stderr(logging.WARNING)
    deployment = config.load(path)
    devices = load_devices(deployment.site.devices, deployment.site.name)
    heard: list[Event] = []
    with (
        Service(deployment, devices, on_event=heard.append) as service,
        on_signal(service.stop),
    ):
        service.wait_connected()
        why = service.run(1)
    began = next((index for index, event in enumerate(heard) if event["kind"] == "round"), None)
    if began is None:  # refused, stopped, or all spent: what was drawn again is not of this round
        say(f"no round was run: {why}")
        return False
    for event in heard[began:]:
        if event["kind"] == "release":
            asked = len(devices.by_name)
            say(f"round {event['number']}: {event['reports']} of {asked} devices answered")
        elif event["kind"] == "map":
            say(drawn(event))
        elif event["kind"] == "done" and "readings" not in why:
            say(event["why"])
    return any(event["kind"] == "map" and event["status"] == "solved" for event in heard[began:])


def drawn(event: Event) -> str:
    """Return a map as lines of text, darker where more of the warmth is; or why there is none.

    >>> print(drawn({"status": "solved", "mass": [[0.0, 0.9, 0.1]], "total": 2.0, "number": 1}))
    map of round 1, in all 2, darkest where most of the warmth is:
    | @.|
    """
    if event["status"] != "solved":
        return f"no estimate: {event['why']}"
    mass: Any = event["mass"]
    most = max(max(row) for row in mass) or 1.0
    rows = ["|" + "".join(_shade(part / most) for part in row) + "|" for row in mass]
    total = f"map of round {event['number']}, in all {event['total']:.3g}"
    return "\n".join([f"{total}, darkest where most of the warmth is:", *rows])


def _shade(part: float) -> str:
    return SHADES[min(round(part * (len(SHADES) - 1)), len(SHADES) - 1)]

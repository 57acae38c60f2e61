"""One round and its map, on a terminal, and nothing left running: `heatveil once`."""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import config, logs, telling
from ..deployment import Deployment
from ..enrolment.enrol import load_devices
from ..serves.table import of
from ..serving import Service
from ..telling import Event
from .signals import on_signal
from .stored import reading

SHADES = " .:-=+*#%@"


def once(path: Path, say: Callable[[str], None]) -> bool:
    """Run one round of a deployment and print what came of it; return whether there is a map.

    It is a round like any other: it is charged, it keeps its pause after the last one, and a round
    that a gateway left open is gone on with.

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
        if rest_s := _rest_s(deployment):
            say(
                f"the next round may open in {rest_s:.0f} s, for [rounds] every_s is "
                f"{deployment.rounds.every_s:g} and devices refuse to be asked sooner"
            )
        service.wait_connected()
        why = service.run(1)
    began = next((index for index, event in enumerate(heard) if event["kind"] == "round"), None)
    if began is None:  # refused, stopped, or all spent: what was drawn again is not of this round
        say(f"no round was run: {why}")
        return False
    return _told(heard[began:], why, len(devices.by_name), of(deployment).most_of, say)


def _told(
    heard: list[Event], why: str, enrolled: int, most_of: str, say: Callable[[str], None]
) -> bool:
    """Say what came of a round; return whether there is a map."""
    found = {event["kind"]: event for event in heard}
    release, map = found.get("release"), found.get("map")
    if release is None:
        say(f"the round stays open: {why}")
        return False
    say(f"round {release['number']}: {release['reports']} of {enrolled} devices answered")
    if map is None:
        say(f"no estimate: {why if release['reports'] else telling.SILENCE}")
        return False
    say(drawn(map, most_of))
    return map["status"] in ("solved", "nobody")


def _rest_s(deployment: Deployment) -> float:
    """Return how much of the pause after the last round is left; 0 where one is still open."""
    with reading(deployment) as reader:
        last = reader.rounds(1)
    if not last or last[0].outcome == "open":
        return 0.0
    return max(last[0].opened_s + deployment.rounds.every_s - time.time(), 0.0)


def drawn(event: Event, most_of: str = "the warmth is") -> str:
    """Return a map as lines of text, darker where more of it is; or why there is none.

    >>> print(drawn({"status": "solved", "mass": [[0.0, 0.9, 0.1]], "total": 2.0, "number": 1}))
    map of round 1, in all 2, darkest where most of the warmth is:
    | @.|
    """
    if event["status"] == "nobody":
        return f"map of round {event['number']}: {event['why']}"
    if event["status"] != "solved":
        return f"no estimate: {event['why']}"
    mass: Any = event["mass"]
    most = max(max(row) for row in mass) or 1.0
    rows = ["|" + "".join(_shade(part / most) for part in row) + "|" for row in mass]
    total = f"map of round {event['number']}, in all {event['total']:.3g}"
    return "\n".join([f"{total}, darkest where most of {most_of}:", *rows])


def _shade(part: float) -> str:
    return SHADES[min(round(part * (len(SHADES) - 1)), len(SHADES) - 1)]

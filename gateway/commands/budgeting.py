"""Says what a board will need: days of battery, memory, flash, bytes; and how it is known."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ..faults import OperatorFault
from ..kit.asked import Plan
from ..kit.boardfile import THERMAL
from ..kit.figures import FIGURES, SENSORS, TELL, Figure
from ..kit.reckoning import Needs, needs

USUAL = "ds18b20"
PARTS = {
    "join": "coming to the broker",
    "sensor": "reading the sensor",
    "noise": "drawing the noise",
    "frame": "packing and sending",
    "start": "waking up",
    "hold": "holding the frame until its tick",
    "rest": "resting until the next",
}

MEASURED = ["noise_ms", "bytes.frame", "bytes.packet", "memory.running", "memory.running_mpy"]
MEASURED += ["memory.table", "memory.load_source", "memory.load_mpy"]
ESTIMATED = [
    "awake_s",
    "tick_ms",
    "sleepless_s",
    "bytes.day",
    "memory.flash_source",
    "memory.flash_mpy",
]
ESTIMATED += ["memory.erasures_year", "energy"]


def of_deployment(path: Path, sensor: str | None) -> tuple[dict[str, Any], int]:
    """Return the variance and the cadence that a deployment gives its boards; and its readings.

    Args:
        sensor: the one that was named; where none was, the usual one of what it asks for.

    Raises:
        OperatorFault: the file cannot be read, or no device can serve it, or not with that.
    """
    from .. import config
    from ..serves.table import granted

    deployment = config.load(path)
    tells = deployment.rounds.mechanism != THERMAL
    sensor = sensor or (TELL[0] if tells else USUAL)
    if tells != (sensor in TELL):
        what, names = ("a place", TELL) if tells else ("warmth", set(SENSORS) - set(TELL))
        raise OperatorFault(
            f"the sensor {sensor} came and {path} asks for {what}; another sensor's currents and "
            f"frames would be reckoned for it. Name one of {', '.join(sorted(names))}"
        )
    query = config.query(deployment)
    limits = granted(deployment, query)
    found = {"every_s": deployment.rounds.every_s, "site": deployment.site.name}
    found |= {} if tells else {"variance": limits.variance}
    found |= {"readings": SENSORS[sensor].readings} if sensor in SENSORS else {}
    return found | {"sensor": sensor}, query.readings


def budget(
    plan: Plan,
    as_json: bool,
    figures: bool,
    promised: int | None,
    say: Callable[[str], None],
) -> None:
    """Print what a board needs.

    Args:
        figures: list every number that it rests on, too.
        promised: readings of the promise, if a deployment is meant.

    Raises:
        OperatorFault: the plan is of no board.
    """
    found = needs(plan)
    if as_json:
        say(json.dumps(_plain(found, promised), indent=2))
        return
    for line in _lines(found, promised):
        say(line)
    if figures:
        say("")
        for name in FIGURES:
            say(_figure(name, plan))
        for name, sensor in SENSORS.items():
            say(
                f"{name:14} {sensor.active_ma:g} mA for {sensor.converts_s:g} s, then "
                f"{sensor.idle_ma:g} mA  estimated: {sensor.source}"
            )
    else:
        say("Each number's source: --figures. A figure of your own board: --set NAME=VALUE")


def _lines(found: Needs, promised: int | None) -> Iterable[str]:
    plan, energy, memory, air = found.plan, found.energy, found.memory, found.bytes
    rest = "asleep in between" if plan.sleeps else "awake and joined"
    count = "1 reading of" if plan.readings == 1 else f"{plan.readings} readings of"
    count = "a place told by" if plan.tells else count
    noise = "" if plan.tells else f" variance {plan.variance} grains squared,"
    yield f"{count} {plan.sensor} each {_time(plan.every_s)},{noise} {rest}"
    if late := found.sleepless_s:
        more = f"{late:.3g} s, more than {_time(plan.every_s)}"
        yield f"sleep     none: to wake, join and answer takes {more}; reckoned as with --awake"
    yield (
        f"battery   {energy.days:.3g} days on {plan.battery_mah:g} mAh  (estimated: "
        f"{energy.day_mah:.3g} mAh a day, {energy.answer_j:.3g} J an answer)"
    )
    for name, mas in sorted(energy.parts.items(), key=lambda part: -part[1]):
        share = 100 * mas / energy.answer_mas
        yield f"          {share:5.1f} %  {PARTS[name]}"
    yield (
        f"time      {found.noise_ms:.3g} ms to draw the noise ({_drawn(plan)}), "
        f"{found.awake_s:.3g} s awake for an answer, its tick at {found.tick_ms} ms (estimated)"
    )
    yield (
        f"memory    {_kb(memory.running)} of heap running, {_kb(memory.running_mpy)} from .mpy; "
        f"starts in {_kb(memory.load_source)}, {_kb(memory.load_mpy)} from .mpy  (measured)"
    )
    if memory.table:
        yield f"          {_kb(memory.table)} of it for the table of the noise"
    yield (
        f"flash     {_kb(memory.flash_source)} from source, {_kb(memory.flash_mpy)} from .mpy, "
        f"with three slots for the budget; {memory.erasures_year:.0f} erasures a year  (estimated)"
    )
    yield (
        f"bytes     {air.frame} in a frame, {air.packet} in its packet (counted); "
        f"{air.day / 1000:.0f} KB a day on the air (estimated)"
    )
    if promised is not None:
        yield (
            f"privacy   the promise is for {promised} readings: {_time(promised * plan.every_s)} "
            "from the first to the last, and then the device is silent for the life of its key"
        )


def _drawn(plan: Plan) -> str:
    return "estimated" if plan.tells else f"{plan.sampler}; measured"


def _plain(found: Needs, promised: int | None) -> dict[str, Any]:
    return {
        "plan": found.plan._asdict() | {"own": dict(found.plan.own)},
        "sleepless_s": found.sleepless_s,
        "tick_ms": found.tick_ms,
        "noise_ms": found.noise_ms,
        "awake_s": found.awake_s,
        "bytes": found.bytes._asdict(),
        "memory": found.memory._asdict(),
        "energy": found.energy._asdict(),
        "promised_readings": promised,
        "measured": MEASURED,
        "estimated": ESTIMATED,
        "figures": {name: _row(name, figure, found.plan) for name, figure in FIGURES.items()},
        "sensors": {name: sensor._asdict() for name, sensor in SENSORS.items()},
    }


def _row(name: str, figure: Figure, plan: Plan) -> dict[str, Any]:
    row = figure._asdict() | {"value": plan.figure(name)}
    return row | ({"source": "your own"} if name in plan.own else {})


def _figure(name: str, plan: Plan) -> str:
    _, unit, measured, source = FIGURES[name]
    how = "your own" if name in plan.own else "measured" if measured else "estimated"
    return f"{name:14} {plan.figure(name):.4g} {unit}  {how}: {source}"


def _kb(size: int) -> str:
    return f"{size / 1024:.1f} KB"


def _time(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds:.4g} s"

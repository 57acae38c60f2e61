"""What a board will need before it is made, and what is wrong with one: budget and doctor."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from edge.board.binding import COPIED
from edge.core.budget import Limits
from edge.core.table import ARRAY, BITS, Sampler

from ...devices.enrol import enrol
from ...devices.enrol.check import check_budget_window
from ...devices.enrol.enrol import Device, Devices
from ...devices.kit import boards, link, modules, releases, selftest, state
from ...devices.kit.boards import Board, BoardFault
from ...devices.kit.connect import open_board
from ...devices.kit.needs import (
    DRIVER_KB,
    FIGURES,
    SENSORS,
    TELL,
    DevicePlan,
    Needs,
    choose_tick_ms,
    compute_needs,
    estimate_answer_ms,
    parse_figures,
    plan_device,
)
from ...faults import OperatorFault
from ...mechanisms import find_for_deployment, find_mechanism, make_first_limits
from ...output import format_duration
from ...settings import config
from ...settings.deployment import Deployment
from .. import flags

# Says what a board will need: days of battery, memory, flash, bytes; and how it is known.

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


def read_board_requirements(
    path: Path, sensor: str | None
) -> tuple[dict[str, Any], int, int, bool]:
    """Return what a deployment gives its boards; its readings, its window_h, and if by tables.

    Args:
        sensor: the one that was named; where none was, the usual one of what it asks for.

    Raises:
        OperatorFault: the file cannot be read, or no device can serve it, or not with that.
    """
    deployment = config.load_deployment(path)
    tells = find_for_deployment(deployment).reads == "place"
    sensor = sensor or (TELL[0] if tells else USUAL)
    if tells != (sensor in TELL):
        what, names = ("a place", TELL) if tells else ("warmth", set(SENSORS) - set(TELL))
        raise OperatorFault(
            f"--sensor is {sensor}, but {path} asks for {what}, which it does not measure; the "
            "battery life would be that of another device. Name one of "
            f"{', '.join(sorted(names))}"
        )
    if find_for_deployment(deployment).trust == "distributed":
        raise OperatorFault(
            f"{path} asks for {deployment.rounds.mechanism}, a secure sum, and no board has been "
            "measured in one: neither its battery life nor its memory can be estimated here. A "
            "shard with an RP2040 in it has 28 devices at most. `heatveil provision` checks "
            "whether a board fits"
        )
    query = config.make_query(deployment)
    limits = make_first_limits(deployment, query)
    found = {"every_s": deployment.rounds.every_s, "site": deployment.site.name}
    found |= {} if tells else {"variance": limits.variance}
    found |= {"readings": SENSORS[sensor].readings} if sensor in SENSORS else {}
    tables = deployment.rounds.sampler == "table"
    return found | {"sensor": sensor}, query.readings, deployment.privacy.window_h, tables


def budget(
    config: Annotated[
        Path | None, typer.Option(help="Take variance and cadence from a deployment.")
    ] = None,
    sensor: Annotated[
        str | None,
        typer.Option(
            help="ds18b20, tmp117, sht4x, mcp9808, bme280, mlx90614, amg8833, mlx90640, mlx90641; "
            "gps or fixed for a place. ds18b20 if not said, gps where the deployment asks for one."
        ),
    ] = None,
    every: Annotated[float, typer.Option(help="Seconds from one answer to the next.")] = 60.0,
    variance: Annotated[int, typer.Option(help="Of the noise, in grains squared.")] = 250_000,
    battery: Annotated[float, typer.Option(help="What it holds, in mAh.")] = 2500.0,
    awake: Annotated[bool, typer.Option("--awake", help="It never sleeps.")] = False,
    chip: Annotated[
        str | None,
        typer.Option(help="What it sleeps with: rp2 (Pico W) or esp32; rp2 if not said."),
    ] = None,
    own: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A figure of your own board."),
    ] = None,
    figures: Annotated[
        bool, typer.Option("--figures", help="List what it rests on, with the sources.")
    ] = False,
) -> None:
    """Say how long a battery lasts, and what memory, flash and bytes a board needs."""
    chosen, promised, hours, tables = sensor or USUAL, None, 0, False
    known = SENSORS.get(chosen)
    plan = DevicePlan(chosen, known.readings if known else 1, every, variance, battery, not awake)
    if config is not None:
        found, promised, hours, tables = read_board_requirements(config, sensor)
        plan = plan._replace(**found)
    asleep = "rp2" if plan.sleeps else None
    plan = plan._replace(own=parse_figures(own or [], chip or asleep))
    needs = compute_needs(plan)
    for line in _format_needs_lines(needs, promised, hours, tables):
        typer.echo(line)
    if not figures:
        typer.echo("Each number's source: --figures. A figure of your own board: --set NAME=VALUE")
        return
    typer.echo("")
    for name in FIGURES:
        typer.echo(_format_figure(name, plan))
    for name, one in SENSORS.items():
        typer.echo(
            f"{name:14} {one.active_ma:g} mA for {one.converts_s:g} s, then {one.idle_ma:g} mA  "
            f"estimated: {one.source}"
        )


def _format_needs_lines(
    found: Needs, promised: int | None, hours: int, tables: bool
) -> Iterable[str]:
    plan, energy, memory, air = found.plan, found.energy, found.memory, found.bytes
    rest = "asleep in between" if plan.sleeps else "awake and joined"
    count = "1 reading of" if plan.readings == 1 else f"{plan.readings} readings of"
    count = "a place told by" if plan.is_of_places else count
    noise = "" if plan.is_of_places else f" variance {plan.variance} grains squared,"
    yield f"{count} {plan.sensor} each {format_duration(plan.every_s)},{noise} {rest}"
    yield "board     any with Wi-Fi: currents typical of such, times of an RP2040 (Pico W)"
    if late := found.sleepless_s:
        more = f"{late:.3g} s, more than {format_duration(plan.every_s)}"
        yield f"sleep     none: to wake, join and answer takes {more}; reckoned as with --awake"
    yield (
        f"battery   {energy.days:.3g} days on {plan.battery_mah:g} mAh  (estimated: "
        f"{energy.day_mah:.3g} mAh a day, {energy.answer_j:.3g} J an answer)"
    )
    for name, mas in sorted(energy.parts.items(), key=lambda part: -part[1]):
        share = 100 * mas / energy.answer_mas
        yield f"          {share:5.1f} %  {PARTS[name]}"
    how = "estimated" if plan.is_of_places else "exact; measured"
    yield (
        f"time      {found.noise_ms:.3g} ms to draw the noise ({how}), "
        f"{found.awake_s:.3g} s awake for an answer, its tick at {found.tick_ms} ms (estimated)"
    )
    yield (
        f"memory    {_format_kb(memory.running)} of heap running (device, files and TLS), "
        f"{_format_kb(memory.running_mpy)} from .mpy; "
        f"starts in {_format_kb(memory.load_source)}, "
        f"{_format_kb(memory.load_mpy)} from .mpy  (measured)"
    )
    if tables and plan.readings >= ARRAY:
        parts = Sampler(plan.variance, 1, BITS).parts
        size = sum(len(memoryview(part.thresholds).cast("B")) for _, part in parts)
        more = _format_kb(size)
        yield f"          {more} more for tables of noise (counted), in a fifth of the time"
    if own := DRIVER_KB.get(plan.sensor):
        yield f"          {own} KB more for the array's driver, from source (measured)"
    if hours:
        yield "          5 KB more to count for a window, from source (measured)"
    yield (
        f"flash     {_format_kb(memory.flash_source)} from source, "
        f"{_format_kb(memory.flash_mpy)} from .mpy, "
        f"with three slots for the budget; {memory.erasures_year:.0f} erasures a year  (estimated)"
    )
    yield (
        f"bytes     {air.frame} in a frame, {air.packet} in its packet (counted); "
        f"{air.day / 1000:.0f} KB a day on the air (estimated)"
    )
    if hours:
        yield f"privacy   the promise is for any {hours} h, {promised} readings in it, and goes on"
    elif promised is not None:
        yield (
            f"privacy   the promise is for {promised} readings: "
            f"{format_duration(promised * plan.every_s)} from the first to the last, and then the "
            "device is silent for the life of its key"
        )


def _format_figure(name: str, plan: DevicePlan) -> str:
    _, unit, measured, source = FIGURES[name]
    how = "of --chip or --set" if name in plan.own else "measured" if measured else "estimated"
    return f"{name:14} {plan.get_figure(name):.4g} {unit}  {how}: {source}"


def _format_kb(size: int) -> str:
    return f"{size / 1024:.1f} KB"


# Looks at a board and says what it is, what is left of its budget, and what is wrong with it.

CLOCK = 2025  # a year before this one was never set


def report_board(
    board: Board, path: Path | None, reach: bool, as_json: bool, say: Callable[[str], None]
) -> bool:
    """Print how a board is; return whether all is well.

    Its budget is not touched. But it must keep still while it is looked at, so it is started again
    in the end, which costs it a boot and what was left of a lease.

    Args:
        reach: try the way to the broker from there, too.

    Raises:
        OperatorFault: there is no board, or not one that edge runs on.
    """
    deployment, devices = None, None
    if path is not None:
        deployment = config.load_deployment(path)
        devices = enrol.load_devices(deployment.site.devices, deployment.site.name)
    found = modules.read_interpreter(board)
    main = boards.stop_board(board)
    try:
        told = _look(board, found, deployment, devices, reach)
        if told["files"]["modules"]:
            lost = bool(told.get("device", {}).get("lost"))
            told["faults"] += modules.find_start_faults(board, main, lost)
    finally:
        boards.resume_board(board)
    if as_json:
        say(json.dumps(told, indent=2))
    else:
        _print(told, say)
    return not told["faults"]


def _look(
    board: Board,
    found: modules.Interpreter,
    deployment: Deployment | None,
    devices: Devices | None,
    reach: bool,
) -> dict[str, Any]:
    files, faults = modules.inspect_modules(board, found)
    told: dict[str, Any] = {"interpreter": found._asdict(), "files": files, "faults": faults}
    if not files["modules"]:
        return told
    told["release"] = releases.read_record(board)._asdict()
    try:
        there = state.read_board_state(board)
        who = devices.by_name.get(there.name) if devices is not None else None
        if who is not None:
            there = state.read_board_state(board, who.mac_key)
    except BoardFault as fault:
        if not fault.raised:
            raise
        faults.append(f"edge is not whole on it ({fault.raised}); run heatveil provision")
        return told
    said = {
        "left": there.nano_rho_left,
        "answers": there.answers_left,
        "at_risk": there.answers_at_risk,
        "state": there.budget_state,
    }
    told["device"] = there._asdict() | said
    if there.limits is not None:
        told["device"]["limits"] = there.limits._asdict()
    faults += _list_state_faults(there, devices, who)
    if deployment is not None and there.limits is not None:
        try:
            check_budget_window(deployment.privacy.window_h, {there.name: there.window / 3600})
        except OperatorFault as fault:
            faults.append(str(fault))
    faults += modules.find_flash_faults(there.flash)
    try:
        told["selftest"] = selftest.run_selftest(board, there.mechanism)._asdict()
    except BoardFault as fault:
        faults.append(str(fault))
    if not there.config:
        reads = find_mechanism(there.mechanism).reads
        told["sensor"], told["sensor_how"], _ = selftest.try_sensor(board, reads)
        if told["sensor"]:
            faults.append(f"its sensor: {told['sensor']}")
            if there.budget_state == "ready":
                told["device"]["state"] = "alert"  # as it says itself, after its first try
        if reach:
            told["reach"] = link.diagnose_link(board)
            faults += [f"on its way to the broker: {told['reach']}"] if told["reach"] else []
    return told


def _list_state_faults(
    there: state.BoardState, devices: Devices | None, who: Device | None
) -> list[str]:
    faults = [there.config] if there.config else []
    if there.lost:
        done = there.lost == COPIED  # which says by itself what to do
        faults.append(there.lost if done else f"{there.lost}: heatveil rotate {there.name} --keys")
    if there.limits is not None and there.tick_ms:
        plan = plan_device(there.mechanism, there.driver, there.sensors, there.limits)
        if there.tick_ms < choose_tick_ms(plan):
            faults.append(
                f"its tick is {there.tick_ms} ms and an answer takes up to "
                f"{estimate_answer_ms(plan):.0f}: when its frames go out tells something of "
                "their noise. heatveil provision gives it a longer one"
            )
    if there.budget_state == "exhausted" and not there.window:
        faults.append(
            "its budget is spent, for the life of its key; it stays silent, and new keys are "
            "another promise to those in the room"
        )
    if devices is not None and there.name and there.site != devices.site:
        faults.append(f"it is a device of site {there.site}, not of {devices.site}")
    elif devices is not None and there.name and who is None:
        faults.append(f"{there.name} is no device of this site; heatveil device list says which")
    elif who is not None and not there.ours:
        faults.append(
            f"its keys are not those that the gateway has of {there.name}, so no frame of it is "
            "believed; heatveil provision gives it the new ones"
        )
    return faults


def _print(told: dict[str, Any], say: Callable[[str], None]) -> None:
    found = told["interpreter"]
    say(f"interpreter  MicroPython {found['version']} on {found['platform']}")
    say(f"number       {found['chip']}, of this board alone")
    if device := told.get("device"):
        if device["name"]:
            warmth = find_mechanism(device["mechanism"]).reads == "temperature"
            tells = "reads" if warmth else "tells its place by"
            say(
                f"device       {device['name']} of {device['site']}, {device['mode']}, key "
                f"{device['key']}, {tells} {device['driver']}"
            )
        if held := device["limits"]:
            left = state.describe_budget(device["mechanism"], Limits(**held), device["left"])
            say(
                f"budget       {device['answers']} answers left, {left}; boot {device['epoch']}, "
                f"round {device['round']}, limits {held['version']}"
            )
        waits = device["window"] and device["state"] == "exhausted"
        more = f"; {device['mended']}" * bool(device["mended"]) + f"; {state.WAITS}" * waits
        say(f"state        {device['state']}{more}")
        if device["at_risk"]:
            say(f"restart      ends this look, and costs up to {device['at_risk']} answers")
        clock = str(device["clock"]) if device["clock"] >= CLOCK else "not set (needed for TLS)"
        say(f"clock        {clock}")
        newest = max(device["newest"], told["release"]["newest"])
        takes = f"newest {newest}, signed by its owner" if device["newest"] >= 0 else ""
        say(f"releases     {takes or 'none over the air'}")
        say(f"heap         {device['heap'] // 1024} KB free with its config loaded")
        say(f"flash        {device['flash'] // 1024} KB free")
    files = told["files"]
    kind = ".mpy" if files["compiled"] else "sources"
    kind += ", in place in ROMFS" * files["in_place"]
    kind = "frozen in its firmware" if files["frozen"] else kind
    note = f"; not compared: {files['unchecked']}" if "unchecked" in files else ""
    say(f"files        {files['modules']} of edge, {kind}{note}")
    if (release := told.get("release")) and release["number"]:
        air = "over the air" + ", on trial" * (release["tries"] > 0)
        say(f"release      {release['number']}, {air}; what is said here is of files")
        say("             that came by cable, which start it")
    if passed := told.get("selftest"):
        say(f"self-test    frame {passed['digest']}, the same on CPython")
    if told.get("sensor") == "":
        say(f"sensor       {told['sensor_how']}")
    if told.get("reach") == "":
        say("reach        from the board, the broker lets it in")
    for fault in told["faults"]:
        say(f"FAULT        {fault}")
    if not told["faults"]:
        say("well         nothing is wrong that can be seen from here")


def doctor(
    board: flags.Board = "auto",
    config: Annotated[
        Path | None, typer.Option("--config", help="Hold it against a deployment's devices.")
    ] = None,
    reach: Annotated[
        bool, typer.Option("--reach", help="Try Wi-Fi, broker and password from there, too.")
    ] = False,
    as_json: flags.AsJson = False,
) -> None:
    """Say what a board holds, has left and lacks, and start it again, which costs answers."""
    if not report_board(open_board(board, fresh=False), config, reach, as_json, typer.echo):
        raise typer.Exit(1)

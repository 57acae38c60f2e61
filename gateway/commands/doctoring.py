"""Looks at a board and says what it is, what is left of its budget, and what is wrong with it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from edge.limits import Limits

from .. import config
from ..enrolment import enrol
from ..enrolment.enrol import Device, Devices
from ..kit import ailments, interpreter, reaching, selftest, sensing, state, still
from ..kit.board import Board, BoardFault
from ..kit.boardfile import THERMAL
from ..kit.reckoning import answer_ms, of_device, tick_ms

CLOCK = 2025  # a year before this one was never set


def examine(
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
    devices = _devices(path)
    found = interpreter.examined(board)
    main = still.stopped(board)
    try:
        told = _looked(board, found, devices, reach)
        if told["files"]["modules"]:
            lost = bool(told.get("device", {}).get("lost"))
            told["faults"] += ailments.of_start(board, main, lost)
    finally:
        still.resumed(board)
    if as_json:
        say(json.dumps(told, indent=2))
    else:
        _print(told, say)
    return not told["faults"]


def _looked(
    board: Board, found: interpreter.Found, devices: Devices | None, reach: bool
) -> dict[str, Any]:
    files, faults = ailments.of_modules(board)
    told: dict[str, Any] = {"interpreter": found._asdict(), "files": files, "faults": faults}
    if not files["modules"]:
        return told
    try:
        there = state.asked(board)
        who = devices.by_name.get(there.name) if devices is not None else None
        if who is not None:
            there = state.asked(board, who.mac_key)
    except BoardFault as fault:
        if not fault.raised:
            raise
        faults.append(f"edge is not whole on it ({fault.raised}); run heatveil provision")
        return told
    told["device"] = {
        **there._asdict(),
        "left": there.left,
        "answers": there.answers,
        "state": there.word,
    }
    if there.limits is not None:
        told["device"]["limits"] = there.limits._asdict()
    faults += _of_state(there, devices, who)
    faults += ailments.of_flash(there.flash)
    try:
        told["selftest"] = selftest.passed(board, there.mechanism)._asdict()
    except BoardFault as fault:
        faults.append(str(fault))
    if not there.config:
        told["sensor"], told["sensor_how"], _ = sensing.looked(board)
        if told["sensor"]:
            faults.append(f"its sensor: {told['sensor']}")
            if there.word == "ready":
                told["device"]["state"] = "alert"  # as it says itself, after its first try
        if reach:
            told["reach"] = reaching.hindrance(board)
            faults += [f"on its way to the broker: {told['reach']}"] if told["reach"] else []
    return told


def _devices(path: Path | None) -> Devices | None:
    if path is None:
        return None
    site = config.load(path).site
    return enrol.load_devices(site.devices, site.name)


def _of_state(there: state.State, devices: Devices | None, who: Device | None) -> list[str]:
    faults = [there.config] if there.config else []
    if there.lost:
        faults.append(f"{there.lost}: heatveil rotate {there.name} --keys")
    if there.limits is not None and there.tick_ms:
        plan = of_device(there.mechanism, there.driver, there.sensors, there.limits)
        if there.tick_ms < tick_ms(plan):
            faults.append(
                f"its tick is {there.tick_ms} ms and an answer takes up to {answer_ms(plan):.0f}: "
                "when its frames go out tells something of their noise. heatveil provision "
                "gives it a longer one"
            )
    if there.word == "exhausted":
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
    say(f"interpreter  MicroPython {found['version']} on {found['platform']}, {found['chip']}")
    if device := told.get("device"):
        if device["name"]:
            tells = "reads" if device["mechanism"] == THERMAL else "tells its place by"
            say(
                f"device       {device['name']} of {device['site']}, {device['mode']}, key "
                f"{device['key']}, {tells} {device['driver']}"
            )
        if held := device["limits"]:
            left = state.worth(device["mechanism"], Limits(**held), device["left"])
            say(
                f"budget       {device['answers']} answers left, {left}; boot {device['epoch']}, "
                f"round {device['round']}, limits {held['version']}"
            )
        say(f"state        {device['state']}" + (f"; {device['mended']}" * bool(device["mended"])))
        clock = str(device["clock"]) if device["clock"] >= CLOCK else "not set (needed for TLS)"
        say(f"clock        {clock}")
        say(f"heap         {device['heap'] // 1024} KB free with its config loaded")
        say(f"flash        {device['flash'] // 1024} KB free")
    files = told["files"]
    kind = ".mpy" if files["compiled"] else "sources"
    note = f"; not compared: {files['unchecked']}" if "unchecked" in files else ""
    say(f"files        {files['modules']} of edge, {kind}{note}")
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

"""Makes a device of a bare board: enrols it if it is not, and hands it what it needs.

Board and settings are looked at first, so a slip of the hand leaves no device without a board.
"""

from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

from .. import config
from ..brokers.rights import session_of
from ..deployment import Deployment
from ..enrolment import enrol, single
from ..faults import OperatorFault
from ..kit import boardfile, fitting, handing, placing, settings, still, suiting
from ..kit.board import Board
from ..kit.boardfile import THERMAL, Held
from ..kit.handing import Kit
from ..kit.starting import started
from ..serves.table import first, granted, of
from .device_changes import Change
from .device_files import unfinished

Say = Callable[[str], None]


def provision(
    path: Path,
    name: str,
    board: Board,
    own: Path | None,
    out: Path | None,
    folder: Path | None,
    files: dict[str, bytes] | None,
    which: tuple[int | None, int],
    replace: bool,
    wait_s: float,
    say: Say,
) -> None:
    """Enrol a device if it is not, and bring a board to be it; run again, it goes on.

    Args:
        own: the operator's settings of the board, TOML; those that it has else.
        out: the device's file, beside the deployment's else.
        folder: of the broker's files.
        files: the modules of edge by their path; as the board has them else.
        which: the first of its sensors, None for one that is free, and how many they are.
        wait_s: how long to look for it at the broker, 0 for not at all.

    Raises:
        OperatorFault: it cannot be done, and why.
    """
    told = settings.read(own) if own is not None else None
    file = out or path.parent / f"{name}.device.json"
    held = kept(path, name, file)
    deployment = config.load(path)
    otherwise = None if replace else fitting.OTHERWISE
    if held is None or unfinished(file).exists():
        would = would_be(path, deployment, name, *which)
        if told is not None:  # before the board is asked, for that would stop what it does
            suited(deployment, would, told)
            settings.check_tick(would, told)
        with still.looked_at(board):
            own_there = told if told is not None else settings.of_board(board)
            if told is None:
                suited(deployment, would, own_there)
            fitting.check(board, would, own_there, files, otherwise)
            with Change(path, name, folder, None, out, say) as change:
                change.add(which[0], False, which[1])
        held = kept(path, name, file)
    if held is None:
        raise OperatorFault(
            f"{name} is enrolled and {file} is not there; it held the keys that its board needs, "
            "and there is no copy. Make new ones: heatveil device rotate --keys, then this again"
        )
    held = moved(deployment, held)
    if told is not None:
        suited(deployment, held, told)
        settings.check_tick(held, told)
    seen = handing.provisioned(board, Kit(held, told, files, otherwise), say)
    started(board, deployment, held.identity, seen.epoch, wait_s, say)


def would_be(
    path: Path, deployment: Deployment, name: str, sensor: int | None, count: int
) -> Held:
    """Return what a board would be given, under keys that are no device's; nothing is written.

    Raises:
        OperatorFault: no such device can be enrolled.
    """
    devices = enrol.load_devices(deployment.site.devices, deployment.site.name)
    if name in devices.by_name:
        sensor, count = devices.by_name[name].place
    else:
        single.check_name(name, devices, deployment.mqtt.username)
        room = prod(of(deployment).sensors(deployment))
        sensor = single.free_sensor(devices, room, sensor, count)
    keyholder = deployment.privacy.keyholder
    made = single.enrolled(devices, name, sensor, sensors=count, keyholder=keyholder)
    session = session_of(deployment.site.name, name, made.password)
    link = single.link_of(deployment.mqtt, name, made.password, session)
    limits = granted(deployment, config.query(deployment))
    more = placing.asked_by(deployment)
    return Held(path, made.secret.identity, limits, link, b"", "", more)


def suited(deployment: Deployment, held: Held, own: dict[str, Any]) -> None:
    """Check that a board with these settings would answer what its deployment asks.

    Raises:
        OperatorFault: it would not, or it would refuse the settings.
    """
    settings.made(held, own)
    suiting.check_count(own, held)
    if held.mechanism != THERMAL:
        placing.check_place(own, deployment.room.grid)
    asked, step = first(deployment, config.query(deployment)), suiting.step_of(own)
    suiting.check(deployment, asked, held, step)


def moved(deployment: Deployment, held: Held) -> Held:
    """Return a device's file with broker and grid where the deployment says now that they are.

    Name, password and session are the device's own, and stay.

    Raises:
        OperatorFault: the grid is none that a device could find its cell in.
    """
    old = held.link
    new = single.link_of(deployment.mqtt, old["username"], old["password"], old["client_id"])
    plane = placing.asked_by(deployment).get("plane") if held.mechanism != THERMAL else None
    same = new == old and plane in (None, held.more.get("plane"))
    return held if same else boardfile.renewed(held, new, plane)


def kept(path: Path, name: str, file: Path) -> Held | None:
    """Return what there is for a board on this machine."""
    return boardfile.load(file, config.load(path).site.name, name)

"""Makes a device of a bare board, and gives one new keys: `heatveil provision` and `rotate`."""

from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from edge.core.budget import NANO

from ...devices.enrol import enrol, keyfile, limitsfile
from ...devices.enrol.enrol import HOLDS
from ...devices.kit import boardfile, boards, modules, provisioning, settings, siting, state
from ...devices.kit.boardfile import BoardFile
from ...devices.kit.boards import Board, BoardFault
from ...devices.kit.connect import lend_board
from ...devices.kit.flash import flash_board, read_firmware
from ...devices.kit.modules import compile_modules
from ...devices.kit.provisioning import Kit, Owner
from ...devices.kit.start import start_board
from ...devices.owner.releases import admit_board
from ...faults import OperatorFault
from ...mechanisms import find_for_deployment, make_first_limits, plan_first_round
from ...service.ledger import find_unit
from ...service.rounds import Place
from ...settings import config
from ...settings.deployment import Deployment
from ...store.places import find_place, has_store
from ...store.reader import Reader
from .. import flags
from .change import (
    DeviceChange,
    Keys,
    NewBudget,
    Out,
    find_secure_sum_device,
    make_device_keys,
    make_link_settings,
)
from .status import find_device, locate_unfinished

# Makes a device of a bare board: enrols it if it is not, and hands it what it needs.
#
# Board and settings are looked at first, so a slip of the hand leaves no device without a board.

Which = tuple[int | None, int, str]  # of `preview_board_file`: sensor, count and central


class BoardJob(NamedTuple):
    """A board that is to be a device of a deployment.

    own: the operator's settings of the board, TOML; those that it has else.
    files: the modules of edge by their path; as the board has them else.
    wait_s: how long to look for it at the broker, 0 for not at all.
    updates: the owner's file of releases, for a board that is to take them.
    """

    path: Path
    name: str
    board: Board
    own: Path | None = None
    files: dict[str, bytes] | None = None
    wait_s: float = 0.0
    updates: Path | None = None
    say: Callable[[str], None] = typer.echo


def make_device(job: BoardJob, out: Path | None, which: Which, replace: bool) -> None:
    """Enrol a device if it is not, and bring a board to be it; run again, it goes on.

    Args:
        out: the device's file, beside the deployment's else.

    Raises:
        OperatorFault: it cannot be done, and why.
    """
    path, name, board = job.path, job.name, job.board
    told = settings.read_settings_file(job.own) if job.own is not None else None
    file = out or path.parent / f"{name}.device.json"
    held = find_board_file(path, name, file)
    deployment = config.load_deployment(path)
    if locate_unfinished(file).exists() and find_for_deployment(deployment).trust == "distributed":
        with DeviceChange(path, name, out, job.say) as change:
            change.add(None, False)
        held = find_board_file(path, name, file)
    otherwise = None if replace else provisioning.OTHERWISE
    if held is None or locate_unfinished(file).exists():
        would = preview_board_file(path, deployment, name, *which)
        if told is not None:  # before the board is asked, for that would stop what it does
            check_would_answer(deployment, would, told)
            settings.check_tick(would, told)
        with boards.resume_on_fault(board):
            own_there = told if told is not None else settings.read_board_settings(board)
            if told is None:
                check_would_answer(deployment, would, own_there)
            provisioning.check_may_become(board, would, own_there, job.files, otherwise)
            with DeviceChange(path, name, out, job.say) as change:
                change.add(which[0], False, *which[1:])
        held = find_board_file(path, name, file)
    if held is None:
        raise OperatorFault(
            f"{name} is enrolled, but {file} does not exist; it held the keys for its board, and "
            f"there is no copy. Make new keys: heatveil device rotate {name} --keys, then run "
            "this again"
        )
    held = update_broker_and_grid(deployment, held)
    if told is not None:
        check_would_answer(deployment, held, told)
        settings.check_tick(held, told)
    check_never_heard(deployment, held)
    _bring(job, held, told, otherwise)


def _bring(
    job: BoardJob,
    held: BoardFile,
    told: dict[str, Any] | None,
    otherwise: str | None,
    waiting: Path | None = None,
) -> None:
    """Write a device to its board, remove the file that waited for that, and see it start."""
    deployment, owner = config.load_deployment(job.path), _admit_to(job.updates, held, job.say)
    kit = Kit(held, told, job.files, otherwise, deployment.site.devices, owner)
    seen, wrong = provisioning.provision_board(job.board, kit, job.say)
    if waiting is not None:
        waiting.unlink()
    if wrong:
        raise OperatorFault(
            f"{job.name} has its keys and its budget, but its sensor cannot be read ({wrong}). It "
            "was not started: each round would cost it an answer that it cannot give. Correct "
            f"the wiring, or [driver] in its settings, then run heatveil provision {job.name}"
        )
    start_board(job.board, deployment, held.identity, seen.epoch, job.wait_s, job.say)


def _admit_to(updates: Path | None, held: BoardFile, say: Callable[[str], None]) -> Owner | None:
    """Return what tells a board of its owner's releases, None where nobody says."""
    if updates is None:
        return None

    def owner(there: Mapping[str, Any]) -> dict[str, Any]:
        new = not updates.exists()
        given = admit_board(updates, held.identity, there)
        if new:
            say(f"owner        made {updates}, which alone signs its releases: keep it offline")
        if there and there["update_key"] != given["update_key"]:
            say(f"owner        of {updates} from now on; releases of the owner before are refused")
        return given

    return owner


def check_takes_releases(board: Board, updates: Path | None) -> None:
    """Check that a board would be there when a release comes, if it is to take any.

    Raises:
        OperatorFault: it runs only as long as a command.
    """
    if updates is not None and not getattr(board, "runs_on", True):
        raise OperatorFault(
            f"--updates {updates} was given for {board.where}, which runs only as long as the "
            "command that started it, so no release over the air would ever come to it. Leave "
            "--updates out; it gets a newer heatveil by being provisioned again"
        )


def check_before_provisioning(
    path: Path, name: str, board: Board, out: Path | None, which: Which
) -> None:
    """Check what the deployment alone decides, before anything is compiled or a board is asked.

    Raises:
        OperatorFault: the broker is none for a board, there is no such place in the room, or it
            can be nobody's name.
    """
    enrol.check_may_be_named(name)
    deployment = config.load_deployment(path)
    provisioning.check_broker_host(board, deployment.mqtt.host)
    if find_board_file(path, name, out or path.parent / f"{name}.device.json") is None:
        preview_board_file(path, deployment, name, *which)


def preview_board_file(
    path: Path,
    deployment: Deployment,
    name: str,
    sensor: int | None,
    count: int,
    central: str = "",
) -> BoardFile:
    """Return what a board would be given, under keys that are no device's; nothing is written.

    Args:
        sensor: the first of its sensors; None for one that is free.
        central: the mechanism of central trust that it may answer.

    Raises:
        OperatorFault: no such device can be enrolled.
    """
    site, more = deployment.site, siting.derive_settings(deployment)
    limits = make_first_limits(deployment, config.make_query(deployment))
    if find_for_deployment(deployment).trust == "distributed":
        kept = enrol.load_secrets(path.with_name("secrets.json"), site.name)
        who, link_key = find_secure_sum_device(kept, name)
        link = make_link_settings(deployment, name, link_key.hex())
        return BoardFile(path, who, limits, link, b"", "", more)
    devices = enrol.load_devices(site.devices, site.name)
    if name in devices.by_name:
        place, central = devices.by_name[name].place, devices.by_name[name].central
    else:
        enrol.check_name_is_free(name, devices, deployment.mqtt.username)
        room = prod(find_for_deployment(deployment).sensors(deployment))
        place = Place(enrol.find_free_sensor(devices, room, sensor, count), count)
    made = make_device_keys(deployment, devices, name, place, central)
    link = make_link_settings(deployment, name, made.password)
    return BoardFile(path, made.secret.identity, limits, link, b"", "", more)


def check_never_heard(deployment: Deployment, held: BoardFile) -> None:
    """Check that a file which nobody took yet is no copy of one that is a device already.

    Raises:
        OperatorFault: the gateway has heard its keys.
    """
    if held.given or held.chip or not has_store(deployment):
        return
    name = held.identity.name
    with closing(Reader(find_place(deployment))) as reader:
        heard = [row.key_id_hex for row in reader.list_devices() if row.name == name]
    if held.identity.key_id.hex() in heard:
        raise OperatorFault(
            f"{held.path} says that no board has its keys, but the gateway has received frames of "
            f"{name} made with them: the file is an old copy, and a second device with these keys "
            "would repeat the same noise. Remove the file; for another board make new keys: "
            f"heatveil device rotate {name} --keys"
        )


def check_would_answer(deployment: Deployment, held: BoardFile, own: dict[str, Any]) -> None:
    """Check that a board with these settings would answer what its deployment asks.

    Raises:
        OperatorFault: it would not, or it would refuse the settings.
    """
    settings.make_board_config(held, own)
    provisioning.check_sensor_count(own, held)
    if held.reads == "place":
        siting.check_place(own, deployment.room.grid)
    asked = plan_first_round(deployment, config.make_query(deployment))
    step, behind = (provisioning.find_converter_step(own, word) for word in ("step", "behind"))
    provisioning.check_would_answer(deployment, asked, held, step, behind)
    settings.check_sum_tick(held, own, asked)


def update_broker_and_grid(deployment: Deployment, held: BoardFile) -> BoardFile:
    """Return a device's file with broker and grid where the deployment says now that they are.

    Name, password and session are the device's own, and stay.

    Raises:
        OperatorFault: the grid is none that a device could find its cell in.
    """
    old = held.link
    new = enrol.make_link_settings(
        deployment.mqtt, old["username"], old["password"], old["client_id"]
    )
    plane = siting.derive_settings(deployment).get("plane") if held.reads == "place" else None
    same = new == old and plane in (None, held.more.get("plane"))
    return held if same else boardfile.replace_link_or_plane(held, new, plane)


def find_board_file(path: Path, name: str, file: Path) -> BoardFile | None:
    """Return what there is for a board on this machine."""
    return boardfile.load_board_file(file, config.load_deployment(path).site.name, name)


# Gives a board a new password, or all keys anew; cut off, it goes on where it was.
#
# What the host makes anew is on its disk before the board sees it, so a cable that was pulled
# costs nothing: the same command finds what is not on the board yet, and brings it there.

OTHERWISE = "Plug in its own board, or one that is bare"


def renew_device(job: BoardJob, keys: bool, budget: bool) -> None:
    """Give a device a new password at the broker, or with `keys` all of them, and its board too.

    Args:
        budget: with keys, all of a budget anew; refused where keys wait that have less.

    Raises:
        OperatorFault: it cannot be done, and why.
    """
    file = job.path.parent / f"{job.name}.device.json"
    with boards.resume_on_fault(job.board):
        own = job.own
        told = (
            settings.read_settings_file(own)
            if own is not None
            else settings.read_board_settings(job.board)
        )
        found = modules.read_interpreter(job.board)  # whole, before a password is worth nothing
        if keys:
            _make_new_keys(job, file, told, found.chip, budget)
            held = _hold(job.path, job.name, file)
        else:
            held = _make_new_password(job, file)
    _bring(job, held, told, OTHERWISE, None if keys else file)


def _make_new_keys(
    job: BoardJob, file: Path, told: dict[str, Any], chip: str, budget: bool
) -> None:
    """Make new keys on the host, if none wait there for this board."""
    path, name, board = job.path, job.name, job.board
    if _is_waiting(file, HOLDS) and _hold(path, name, file).chip not in ("", chip):
        file.unlink()  # of a board that never came to its end; its keys are to be no more
    if _is_waiting(file, HOLDS):
        if budget:
            _check_whole(path, name, file)
        return
    find_device(path, name)
    deployment = config.load_deployment(path)
    would = preview_board_file(path, deployment, name, None, 1)
    check_would_answer(deployment, would, told)  # before the keys of the right board are no more
    provisioning.check_may_become(board, would, told, job.files, OTHERWISE)
    provisioning.try_sensor_before_keys(board, would, told, job.files, job.say)
    with DeviceChange(path, name, file, job.say) as change:
        change.rotate(True, budget)


def _make_new_password(job: BoardJob, file: Path) -> BoardFile:
    """Return a board's file with a new password, made on the host if none waits there."""
    path, name = job.path, job.name
    if not _is_waiting(file, boardfile.LINK):
        held = _hold(path, name, file)
        _check_board(job.board, held)
        if not held.given:
            raise OperatorFault(
                f"{name} has no board yet, so there is none that a new password could be written "
                "to. Bring it to a board first: heatveil provision"
            )
        with DeviceChange(path, name, file, job.say) as change:
            change.rotate(False)
    done = boardfile.locate_board_file(file, name)
    link = _read_link_settings(file, config.load_deployment(path).site.name, name)
    return boardfile.replace_link_or_plane(_hold(path, name, done), link)


def _check_whole(path: Path, name: str, file: Path) -> None:
    """Check that keys which wait came with all of a budget, now that this is asked for."""
    deployment, devices = find_device(path, name)
    given = limitsfile.load_limits(deployment.site.devices, devices).get(name)
    key_id = enrol.read_key_id(file, devices.site)
    if given is not None and given.key_id == key_id and given.before:
        raise OperatorFault(
            f"--new-budget was given, but {file} holds new keys of {name} that were made without "
            f"it: their budget is reduced by {_tell(deployment, given.before)}, which the room "
            "has already paid, and a budget cannot be changed later. Run this without "
            "--new-budget, which brings these keys to the board, and then once more with it"
        )


def _tell(deployment: Deployment, nano_rho: int) -> str:
    unit = find_unit(plan_first_round(deployment, config.make_query(deployment)).guarantee)
    return unit.format_rho(Fraction(nano_rho, NANO)) if unit.is_epsilon else f"{nano_rho} nano-rho"


def _hold(path: Path, name: str, file: Path) -> BoardFile:
    held = find_board_file(path, name, file)
    if held is None:
        raise OperatorFault(
            f"there is no board file of {name} here, and only that says which board has its keys. "
            "If it has no board yet, run heatveil provision first; else run this where it was "
            "provisioned"
        )
    return held


def _check_board(board: Board, held: BoardFile) -> None:
    there = state.read_board_state(board, held.identity.mac_key)
    if not there.ours:
        raise OperatorFault(
            f"the board at {board.where} is {there.name or 'no device'} and not "
            f"{held.identity.name}, or has other keys; the password would go to the wrong board. "
            "Plug in the right one"
        )


def _is_waiting(file: Path, holds: str) -> bool:
    """Say whether a file waits that was made and did not come to the board."""
    return file.exists() and boardfile.read_holds(file) == holds


def _read_link_settings(file: Path, site: str, name: str) -> dict[str, object]:
    _, rows = keyfile.read_key_file(
        file, boardfile.LINK, site, lambda _, row: (row["name"], dict(row["link"]))
    )
    for whose, link in rows:
        if whose == name:
            return link
    raise OperatorFault(
        f"{file} does not hold the broker password of {name}; the broker would turn away a board "
        "with another's. Remove the file, and run this again"
    )


# The two commands; which board is meant, and what is written on it, they find out first.

Wait = Annotated[
    float, typer.Option(min=0, help="Seconds to look for it at the broker; 0 for not at all.")
]
WAIT_S = 60.0
Updates = Annotated[
    Path | None,
    typer.Option(
        help="The owner's file of releases, to take them over the air; made if it is not there."
    ),
]
Mpy = Annotated[bool, typer.Option("--mpy", help="Compiled modules: a quicker start, less flash.")]


def provision(
    name: flags.Name,
    config: flags.Config,
    board: flags.Board = "auto",
    settings: Annotated[
        Path | None,
        typer.Option(help="Its sensor and Wi-Fi, TOML; a board that has them keeps them."),
    ] = None,
    sensor: Annotated[
        int | None, typer.Option(min=0, help="Which it reads, if it is enrolled only now.")
    ] = None,
    sensors: Annotated[
        int, typer.Option(min=1, help="How many, from that one on: 64 of an 8x8 array.")
    ] = 1,
    central: flags.Central = "",
    firmware: Annotated[
        Path | None,
        typer.Option("--flash", help="A firmware of `make firmware`, .uf2, for the board first."),
    ] = None,
    mpy: Mpy = False,
    out: Out = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="End another device whose budget the board holds.")
    ] = False,
    updates: Updates = None,
    wait: Wait = WAIT_S,
) -> None:
    """Make a device of a bare board with MicroPython; cut off, it goes on where it was."""
    which = sensor, sensors, central
    with lend_board(board, wait > 0) as place:
        check_takes_releases(place, updates)
        check_before_provisioning(config, name, place, out, which)
        files = compile_modules() if mpy else None
        if firmware is not None:
            image = read_firmware(firmware)
            with boards.resume_on_fault(place):
                if not replace:
                    with suppress(BoardFault):  # bare, or in its boot loader
                        provisioning.check_no_other_budget(place, name, provisioning.OTHERWISE)
                flash_board(place, image)
            typer.echo(f"firmware     {firmware.name}")
        make_device(
            BoardJob(config, name, place, settings, files, wait, updates), out, which, replace
        )


def rotate(
    name: flags.Name,
    config: flags.Config,
    board: flags.Board = "auto",
    keys: Keys = False,
    new_budget: NewBudget = False,
    settings: Annotated[
        Path | None, typer.Option(help="Its sensor and Wi-Fi, TOML; those that it has else.")
    ] = None,
    mpy: Mpy = False,
    updates: Updates = None,
    wait: Wait = WAIT_S,
) -> None:
    """Give a device a new password, or new keys, and bring them to its board."""
    if new_budget and not keys:
        raise typer.BadParameter("a budget belongs to keys: give --keys too")
    files = compile_modules() if mpy else None
    with lend_board(board, wait > 0) as place:
        check_takes_releases(place, updates)
        job = BoardJob(config, name, place, settings, files, wait, updates)
        renew_device(job, keys, new_budget)

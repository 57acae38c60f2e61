"""Makes a device of a bare board: enrols it if it is not, and hands it what it needs."""

from collections.abc import Callable
from pathlib import Path

from .. import config
from ..faults import OperatorFault
from ..kit import boardfile, handing, settings
from ..kit.board import Board
from ..kit.boardfile import Held
from ..kit.handing import Kit
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
    compiled: Path | None,
    sensor: int | None,
    replace: bool,
    say: Say,
) -> None:
    """Enrol a device if it is not, and bring a board to be it; run again, it goes on.

    Args:
        own: the operator's settings of the board, TOML; those that it has else.
        out: the device's file, beside the deployment's else.
        folder: of the broker's files.
        compiled: what `make edge` made; the sources else.

    Raises:
        OperatorFault: it cannot be done, and why.
    """
    told = settings.read(own) if own is not None else None
    file = out or path.parent / f"{name}.device.json"
    held = kept(path, name, file)
    if held is None or unfinished(file).exists():
        with Change(path, name, folder, None, out, say) as change:
            change.add(sensor, False)
        held = kept(path, name, file)
    if held is None:
        raise OperatorFault(
            f"{name} is enrolled and {file} is not there; it held the keys that its board needs, "
            "and there is no copy. Make new ones: heatveil device rotate --keys, then this again"
        )
    handing.provisioned(board, Kit(held, told, compiled, replace), say)


def kept(path: Path, name: str, file: Path) -> Held | None:
    """Return what there is for a board on this machine."""
    return boardfile.load(file, config.load(path).site.name, name)

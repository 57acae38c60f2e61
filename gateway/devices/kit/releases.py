"""What came to a board over the air, asked and cleared by cable."""

from typing import Any

from edge.board import config, release

from ..bundle import CONFIG
from .boards import Board, BoardFault, list_files, read_file

# The record first: without it the board starts what it was given by cable.
_CLEAR = """
import os


def clear(path):
    try:
        os.remove(path)
    except OSError:
        try:
            names = os.listdir(path)
        except OSError:
            return
        for name in names:
            clear(path + "/" + name)
        os.rmdir(path)


for path in %r:
    clear(path)
"""
_PLACES = ["release.0", "release.1", *[root[1:] for root in release.ROOTS[1:]]]


def read_record(board: Board) -> release.Record:
    """Return which release a board starts; `release.NONE` where none came over the air."""
    names, found = list_files(board, "."), release.NONE
    for name in _PLACES[:2]:
        one = release.unpack(read_file(board, name)) if name in names else None
        found = one if one is not None and one.seq > found.seq else found
    return found


def read_update_settings(board: Board, key_id: bytes) -> dict[str, Any] | None:
    """Return what a board of these keys was told of releases, as its next config is to say it.

    {} where it takes none; None where it may have, and can no more: under other keys, or by a
    config that cannot be read.

    Raises:
        BoardFault: it cannot be asked.
    """
    try:
        body = config.unpack(read_file(board, CONFIG), CONFIG)
    except BoardFault as fault:
        if not fault.raised:
            raise
        return {}  # it has no config
    except ValueError:
        return None
    if not body.get("update_key"):
        return {}
    if body.get("key_id") != key_id.hex():
        return None
    newest = max(int(body["release"]), read_record(board).newest)
    return {"update_key": body["update_key"], "release": newest}


def remove_releases(board: Board) -> None:
    """Have a board start what is on its flash, and remove what came over the air."""
    board.run(_CLEAR % _PLACES)

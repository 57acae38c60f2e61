"""kill -9 of `heatveil provision` and of `heatveil rotate`, at any moment, as a real process.

What must hold afterwards: the same command ends well; the board has one budget, begun once; no
file on the host can make a second one; and it starts only when it is whole.
"""

import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from edge import copies
from gateway.devices import bundle
from gateway.devices.enrol import enrol
from gateway.devices.kit import boardfile
from gateway.devices.kit.boardfile import Held
from tests import processes

PROGRAM = "import sys; from gateway.cli import main; sys.argv[0] = 'heatveil'; main()"
NAME = "attic"
KILLS = int(os.environ.get("HEATVEIL_KILLS", "4"))  # of each command


def command(desk: Any, *words: object) -> list[str]:
    where = f"folder:{desk.path.parent / 'board'}"
    more = ("--config", desk.path, "--board", where, "--wait", 0)
    return [sys.executable, "-c", PROGRAM, *map(str, (*words, *more))]


def killed(desk: Any, after_s: float, *words: object) -> bool:
    """Return whether the command was still running when it was killed."""
    child = processes.Child(command(desk, *words), stdout=-3, stderr=-3)
    try:
        child.wait(after_s)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        return True
    return False


def finished(desk: Any, *words: object) -> float:
    """Run a command to its end; return how long that took."""
    since_s = time.monotonic()
    ran = processes.run(command(desk, *words), capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr + ran.stdout
    return time.monotonic() - since_s


def held(desk: Any) -> Held | None:
    try:
        return boardfile.load(desk.path.with_name(f"{NAME}.device.json"), "seen", NAME)
    except Exception:  # a file of another kind waits there
        return None


def records(desk: Any) -> list[bytes]:
    files = [desk.path.parent / "board" / path for path in bundle.SLOTS]
    return [file.read_bytes() for file in files if file.exists()]


def check_whole(desk: Any) -> None:
    """Say what must hold of a board and its files when all is done."""
    own = held(desk)
    assert own is not None
    assert own.given
    assert not desk.path.with_name(f"{NAME}.device.json").exists()
    found = [copies.unpack(data, own.identity.state_key) for data in records(desk)]
    assert len(found) == len(bundle.SLOTS)
    assert all(record is not None and record.spent == 0 for record in found)
    devices = enrol.load_devices(desk.path.with_name("devices.json"), "seen")
    assert devices.by_name[NAME].key_id == own.identity.key_id
    assert (desk.path.parent / "board" / "main.py").exists()
    chains = {record.chain.hex() for record in found if record is not None}
    near = [file for file in Path(desk.path.parent).glob("*") if file.is_file()]
    assert not [file for file in near for chain in chains if chain in file.read_text("latin-1")]


@pytest.mark.long
@pytest.mark.parametrize("seed", [1])
def test_a_provisioning_that_was_killed_is_finished_by_the_next(desk: Any, seed: int) -> None:
    """Enrolled once, bound to one board, one budget; until it is whole it does not start."""
    desk.board()
    rng = random.Random(seed)
    words = ("provision", NAME, "--settings", desk.own)
    once_s = 4.0
    for _ in range(KILLS):
        killed(desk, rng.uniform(0.3, once_s), *words)
        there, own = records(desk), held(desk)
        if own is None or not own.given:
            assert not (desk.path.parent / "board" / "main.py").exists()
        if there:
            assert own is not None
            assert own.chip
    finished(desk, *words)
    check_whole(desk)


@pytest.mark.long
@pytest.mark.parametrize("keys", [(), ("--keys", "--new-budget")])
def test_a_rotation_that_was_killed_is_finished_by_the_next(desk: Any, keys: Any) -> None:
    """The board has the last password or the last keys, and the broker and gateway the same."""
    desk.board()
    once_s = finished(desk, "provision", NAME, "--settings", desk.own)
    before = held(desk)
    rng = random.Random(len(keys))
    words = ("rotate", NAME, "--settings", desk.own, *keys)
    for _ in range(KILLS // 2):
        killed(desk, rng.uniform(0.3, once_s), *words)
    finished(desk, *words)
    check_whole(desk)
    own = held(desk)
    assert own is not None
    assert before is not None
    assert own.link["password"] != before.link["password"]
    assert (own.identity.key_id != before.identity.key_id) is bool(keys)

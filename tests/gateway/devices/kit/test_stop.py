"""What it costs to stop a board that works, and that it is said.

A rotation that goes on where it was cut off does what it is asked now, or says why not.
"""

import time
from pathlib import Path
from typing import Any

import pytest

from edge.core import slots
from edge.core.budget import Budget
from edge.core.limits import Limits
from gateway.cli.devices import change as devices
from gateway.cli.devices.provision import find_kept, rotate
from gateway.devices.kit import boards, state
from gateway.devices.kit.boards import Board, BoardFault
from gateway.faults import LinkFault, OperatorFault

RESTARTED = "attic"


@pytest.mark.long
def test_a_restart_says_what_it_costs(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a board that never began nothing is lost; of one that did, what it had paid ahead."""
    monkeypatch.setattr(state, "SHARE", 1)  # for a budget of three
    desk.board()
    words = ("provision", RESTARTED, "--board", f"folder:{desk.path.parent / 'board'}")
    first = desk.run(*words, "--settings", desk.own)
    assert (first.status, "\nrestart" in first.out) == (0, False), first.err

    held = find_kept(desk.path, RESTARTED, desk.path.with_name(f"{RESTARTED}.device.json"))
    assert held is not None
    place = slots.Files(str(desk.path.parent / "board" / "heatveil"), "budget")
    Budget(place, held.identity.state_key).boot()
    again = desk.run(*words)
    assert again.status == 0, again.err
    assert "restart      costs up to 2 answers" in again.out


@pytest.mark.parametrize(
    ("answers", "epoch", "aside"), [(4, 1, 0), (20, 1, 4), (99, 1, 7), (99, 0, 0)]
)
def test_as_many_as_a_lease_may_hold(answers: int, epoch: int, aside: int) -> None:
    """Less the one for which it was taken."""
    held = Limits(1, 8, 1, 500_000, answers * 1000, 0)
    seen = state.State("", "", "", "", "", "", "", True, "", "", 2, epoch, 0, 0, held, 0, 0, 0)
    assert seen.aside == aside
    assert seen._replace(limits=None).aside == 0


NAME = "attic"
READINGS = 3  # of the deployment


@pytest.fixture
def made(desk: Any) -> tuple[object, ...]:
    """Return the words that name a stand-in which is the device attic."""
    desk.board()
    where = ("--board", f"folder:{desk.path.parent / 'board'}")
    assert desk.run("provision", NAME, *where, "--settings", desk.own).status == 0
    return where


def budget(desk: Any) -> int:
    held = find_kept(desk.path, NAME, desk.path.with_name(f"{NAME}.device.json"))
    assert held is not None
    return int(held.limits.budget)


def files(desk: Any) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in desk.path.parent.glob("*.json")}


@pytest.mark.long
def test_keys_that_wait_with_less_are_not_taken_for_a_new_budget(
    desk: Any, made: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a board goes silent early which somebody believes has all of it. Each step is said."""
    whole = budget(desk)
    paid = whole // READINGS
    monkeypatch.setattr(devices, "sum_spent", lambda *_: paid)
    assert desk.run("device", "rotate", NAME, "--keys").status == 0
    assert budget(desk) == whole - paid
    before = files(desk)

    refused = desk.run("rotate", NAME, *made, "--keys", "--new-budget")
    assert refused.status == 1
    for words in ("--new-budget was given", f"{paid} nano-rho", "Run this without --new-budget"):
        assert words in refused.err
    assert files(desk) == before

    assert desk.run("rotate", NAME, *made, "--keys").status == 0
    assert budget(desk) == whole - paid
    assert desk.run("rotate", NAME, *made, "--keys", "--new-budget").status == 0
    assert budget(desk) == whole


@pytest.mark.long
@pytest.mark.parametrize("more", [(), ("--new-budget",)])
def test_keys_that_wait_with_all_of_one_are_brought(
    desk: Any, made: tuple[object, ...], monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    """The control: the same command goes on, and none is made twice."""
    whole = budget(desk)
    monkeypatch.setattr(devices, "sum_spent", lambda *_: whole // READINGS)
    assert desk.run("device", "rotate", NAME, "--keys", "--new-budget").status == 0
    waiting = files(desk)[desk.path.with_name("devices.json")]

    said = desk.run("rotate", NAME, *made, "--keys", *more)
    assert said.status == 0, said.err
    assert budget(desk) == whole
    assert files(desk)[desk.path.with_name("devices.json")] == waiting


# A board that is looked at and not changed goes on with what it did, whatever came in between.

BEAT = b"import time\nwhile True:\n    open('/beat', 'w').close()\n    time.sleep_ms(20)\n"


def down(*_: object) -> None:
    raise LinkFault("no MQTT broker at 127.0.0.1:1")


def beats(folder: Path) -> bool:
    """Return whether the board's own program runs, within the time that its start takes."""
    (folder / "beat").unlink(missing_ok=True)
    until_s = time.monotonic() + 60
    while not (folder / "beat").exists() and time.monotonic() < until_s:
        time.sleep(0.05)
    return (folder / "beat").exists()


def rotated(desk: Any, board: Board, *, keys: bool, name: str = NAME) -> None:
    rotate(desk.path, name, board, None, None, None, keys, keys, 0, lambda _: None)


@pytest.fixture
def device_folder(desk: Any) -> Path:
    """Return the folder of a board that is a device."""
    desk.board()
    folder = desk.path.parent / "board"
    words = ("--board", f"folder:{folder}", "--settings", desk.own)
    assert desk.run("provision", NAME, *words).status == 0
    return Path(folder)


@pytest.mark.long
@pytest.mark.parametrize("main", ["main.py", "main.off"])
@pytest.mark.parametrize("keys", [False, True])
def test_without_a_broker_a_rotation_leaves_the_board_at_its_work(
    desk: Any, device_folder: Path, monkeypatch: pytest.MonkeyPatch, keys: bool, main: str
) -> None:
    """Nothing came of it, so the old password counts; a board at its prompt would be silent."""
    (device_folder / "main.py").unlink()
    (device_folder / main).write_bytes(BEAT)
    before = {file: file.read_bytes() for file in desk.path.parent.glob("*.json")}
    monkeypatch.setattr(devices, "at_broker", down)
    board = desk.board(lives=True)
    try:
        with pytest.raises(LinkFault, match="no MQTT broker"):
            rotated(desk, board, keys=keys)

        assert (device_folder / "main.py").exists()
        assert (board.starts, beats(device_folder)) == (1, True)
    finally:
        board.stop()
    assert before == {file: file.read_bytes() for file in desk.path.parent.glob("*.json")}


class Gone:
    """A board whose cable was pulled: nobody answers, and each try takes its time."""

    where, tries = "the board", 0

    def run(self, code: str) -> str:
        self.tries += 1
        raise BoardFault("no board is there")

    def put(self, path: str, data: bytes) -> None:
        raise AssertionError("nothing is written")

    def restart(self) -> None:
        raise AssertionError("there is nothing to start")


def test_who_is_not_there_is_not_started() -> None:
    """Another wait would follow the first. Where it went in between, that is said as well."""
    board = Gone()
    with pytest.raises(BoardFault, match="no board is there"), boards.resume_on_fault(board):
        board.run("pass")
    assert board.tries == 1
    late = pytest.raises(OperatorFault, match=r"too late.*could not be started again")
    with late, boards.resume_on_fault(board):
        raise OperatorFault("it is too late")

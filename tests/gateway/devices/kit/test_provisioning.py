"""`heatveil provision`, on a real MicroPython: whole, cut off at every step, on wrong boards."""

import re
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from edge.core.budget import COUNT, Budget, unpack
from edge.linux import enrol as linux
from gateway.cli.devices import provision as commands
from gateway.cli.devices.provision import BoardJob, make_device
from gateway.devices import bundle
from gateway.devices.kit import boardfile, provisioning, selftest, settings, state
from gateway.devices.kit.boards import Board, read_file
from gateway.devices.kit.provisioning import Kit
from gateway.faults import OperatorFault
from tests.gateway.devices.kit.conftest import budget_place, held

NAME = "attic"
MAIN = {"main.py": b"pass\n"}


def provisioned(desk: Any, board: Board, own: bool = True, **more: Any) -> list[str]:
    said: list[str] = []
    told = desk.own if own else None
    make_device(
        BoardJob(desk.path, NAME, board, told, say=said.append, **more), None, (None, 1, ""), False
    )
    return said


@pytest.mark.long
def test_a_bare_board_becomes_a_device(desk) -> None:
    """From nothing to keys, budget, config; then the same again changes nothing."""
    address = f"folder:{desk.path.parent / 'bare'}"
    first = desk.run("provision", NAME, "--board", address, "--settings", desk.own)
    assert first.status == 0, first.err
    for step in ("interpreter", "keys", "files", "self-test", "budget", "handed over", "ready"):
        assert f"\n{step}" in f"\n{first.out}"
    folder = desk.path.parent / "bare"
    before = [(folder / path).read_bytes() for path in bundle.SLOTS]
    assert not list((folder / "edge").glob("host*"))

    second = desk.run("provision", NAME, "--board", address)
    assert "left as it is" in second.success
    assert " 0 of them written" in second.out
    assert [(folder / path).read_bytes() for path in bundle.SLOTS] == before


@pytest.mark.long
def test_no_key_of_the_noise_stays_on_the_host(desk) -> None:
    """Once the board has its chain key nobody else may; and its config never had one."""
    board = desk.board()
    provisioned(desk, board)
    own = held(desk)

    place = budget_place(desk.path.parent / "board", own)
    record = unpack(place.read(1), own.identity.state_key)
    # Bound before it starts: a copy of the flash in another board is known for one at once.
    assert unpack(read_file(board, bundle.SLOTS[1]), own.identity.state_key) is None
    chain = record.chain.hex()
    near = [file for file in desk.path.parent.glob("*") if file.is_file()]
    assert own.given
    assert not [file for file in near if chain in file.read_text()]
    assert chain not in read_file(board, bundle.CONFIG).decode()
    assert not desk.path.with_name(f"{NAME}.device.json").exists()
    assert own.path.stat().st_mode & 0o077 == 0


class Cut(Exception):
    """The cable was pulled."""


class Pulled:
    """A board whose cable is pulled before its nth step; after too, where `late`."""

    def __init__(self, board: Any, after: int, late: bool) -> None:
        self.where, self._board, self._left, self._late = board.where, board, after, late
        self.puts: list[int] = []  # which steps write a file
        self.steps = 0
        self.here = True

    def _step(self, do: Any, *words: Any) -> Any:
        self._left, self.steps = self._left - 1, self.steps + 1
        if self._left == 0 and not self._late:
            raise Cut
        found = do(*words)
        if self._left == 0:
            raise Cut
        return found

    def run(self, code: str) -> str:
        return self._step(self._board.run, code)

    def put(self, path: str, data: bytes) -> None:
        self.puts.append(self.steps + 1)
        if self._left == 1 and self._late and len(data) > 1:
            self._board.put(path, data[: len(data) // 2])  # cut in the middle of a file
            raise Cut
        self._step(self._board.put, path, data)

    def restart(self) -> None:
        self._step(self._board.restart)


@pytest.mark.long
@pytest.mark.parametrize("late", [False, True])
def test_whatever_is_cut_off_is_finished_by_running_it_again(
    desk, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every step: bound before the slots, forgotten before it can start, one record only.

    A cut behind a step is one before the next, but for a file that is written by half.
    """
    monkeypatch.setattr(bundle, "read_start_files", lambda: MAIN)
    # What only looks takes longest, and leaves nothing behind.
    monkeypatch.setattr(selftest, "compare_frame", lambda board: selftest.SelftestResult("", 0))
    monkeypatch.setattr(selftest, "try_sensor", lambda *_: selftest.SensorTrial(""))
    assert desk.run("device", "add", NAME).status == 0
    file = desk.path.with_name(f"{NAME}.device.json")
    fresh = file.read_text()
    first = held(desk).make_first_slots()
    own = settings.read_settings_file(desk.own)

    whole = Pulled(desk.board("whole"), 0, False)
    provisioning.provision_board(whole, Kit(held(desk), own), lambda _: None)
    assert whole.steps > 12
    for after in whole.puts if late else range(1, whole.steps + 1):
        for old in (desk.path.with_name(f"{NAME}.board.json"), file):
            old.unlink(missing_ok=True)
        file.write_text(fresh)
        shutil.rmtree(desk.path.parent / "board", ignore_errors=True)
        board = desk.board()
        folder = desk.path.parent / "board"
        try:
            provisioning.provision_board(
                Pulled(board, after, late), Kit(held(desk), own), lambda _: None
            )
        except Cut:
            now = held(desk)
            assert now.chip or not any((folder / path).exists() for path in bundle.SLOTS)
            assert now.given or not (folder / "main.py").exists()
        else:
            pytest.fail("it was not cut off")
        seen, _ = provisioning.provision_board(board, Kit(held(desk), own), lambda _: None)
        assert (seen.budget_state, seen.epoch, seen.ours) == ("ready", 0, True)
        place = budget_place(folder, held(desk))
        assert tuple(place.read(i) for i in range(COUNT)) == first
        assert held(desk).given


@pytest.mark.long
def test_a_second_board_gets_nothing(desk) -> None:
    """Neither when the first was only begun, nor when it is done."""
    begun = boardfile.bind_to_chip  # the moment from which the keys are somebody's
    assert desk.run("device", "add", NAME).status == 0
    begun(held(desk), str((desk.path.parent / "board").resolve()).encode().hex())
    other = desk.board("other")

    with pytest.raises(OperatorFault, match="same noise"):
        provisioned(desk, other)
    provisioned(desk, desk.board())
    with pytest.raises(OperatorFault, match="same noise"):
        provisioned(desk, other)
    assert not any((desk.path.parent / "other" / path).exists() for path in bundle.SLOTS)


def test_a_raspberry_gets_nothing_that_a_board_has(desk, tmp_path: Path) -> None:
    """The other way to a device, from the same file, must not make a second one."""
    assert desk.run("device", "add", NAME).status == 0
    file = desk.path.with_name(f"{NAME}.device.json")
    boardfile.bind_to_chip(held(desk), b"board".hex())

    with pytest.raises(ValueError, match="same noise"):
        linux.enrol(str(file), str(tmp_path / "node"), {"name": "tmp117", "bus": 1})
    assert not (tmp_path / "node").exists()


@pytest.mark.long
def test_a_lost_budget_is_not_made_again(desk) -> None:
    """Nobody knows what was spent; with the same chain key the noise would come again."""
    board = desk.board()
    provisioned(desk, board)
    for path in bundle.SLOTS:
        (desk.path.parent / "board" / path).unlink()

    with pytest.raises(OperatorFault, match="lost the budget"):
        provisioned(desk, board, own=False)


@pytest.mark.long
def test_a_budget_that_began_is_left_alone(desk) -> None:
    """A device that has answered is given new modules and keeps what it has spent."""
    board = desk.board()
    provisioned(desk, board)
    own, folder = held(desk), desk.path.parent / "board"
    budget = Budget(budget_place(desk.path.parent / "board", held(desk)), own.identity.state_key)
    budget.boot()
    budget.charge(1000, 7)
    (folder / "edge" / "core" / "noise.py").write_bytes(b"broken")

    said = provisioned(desk, board, own=False)
    assert any("1 of them written" in line for line in said)
    seen = state.read_board_state(board, own.identity.mac_key)
    assert (seen.epoch, seen.round, seen.spent) == (1, 7, 8000)


@pytest.mark.long
def test_another_devices_board_is_not_taken_by_accident(desk) -> None:
    """Its budget is written nowhere else."""
    board = desk.board()
    provisioned(desk, board)
    again = "cellar"
    assert desk.run("device", "remove", "node-4").status == 0
    words = ("provision", again, "--board", f"folder:{desk.path.parent / 'board'}")
    refused = desk.run(*words, "--settings", desk.own)
    assert "holds the budget of attic" in refused.refusal

    taken = desk.run(*words, "--settings", desk.own, "--replace")
    assert "ready" in taken.success
    assert re.search(r"ended +attic: .* Remove it from the fleet", taken.success)


@pytest.mark.parametrize(
    ("here", "words", "says"),
    [
        (True, ("--sensor", 0), "sensor 0 already belongs"),
        (True, ("--sensors", 2), "leave no 2 in a row"),
        (False, (), r"host is 127\.0\.0\.1.*the board itself.*broker init.*broker, gateway and"),
    ],
)
def test_what_the_deployment_decides_is_refused_before_the_board_is_asked(
    desk, here: bool, words: tuple[Any, ...], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is anything compiled: the operator waits for no answer that is known already."""
    board = Untouched()
    board.here = here
    monkeypatch.setattr(commands, "lend_board", lambda *_: nullcontext(board))
    monkeypatch.setattr(commands, "compile_modules", lambda: board.asked)

    refused = desk.run("provision", NAME, "--settings", desk.own, "--mpy", *words)
    assert refused.status == 1
    assert re.search(says, refused.err)
    assert NAME not in desk.path.with_name("devices.json").read_text()


class Untouched:
    """A board with which nothing may be done."""

    where = "the board"
    here = True

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "driver"),
        ("site_key = 'aa'\n" + "[driver]\nname='yours'\n", "enrolment alone"),
        ("[driver]\nname='yours'\npinn=3\n", r"'pinn' under \[driver\].*did you mean pin\?"),
        ("[driver]\nname='yours'\n[wifi]\nwake_s=3\n", r"'wake_s' under \[wifi\].*belongs above"),
        ("[driver]\nname='tmp177'\n", r"driver 'tmp177'.*did you mean tmp117\?"),
        ("[driver\n", "cannot be read"),
        ("[driver]\nname='yours'\n[wifi]\nssid='a'\npassword='short'\n", "5 bytes.*8 to 63"),
        ("tick_ms = 1\n[driver]\nname='yours'\n", "tick_ms"),
    ],
)
def test_wrong_settings_are_refused_before_anything_is_written(desk, text: str, says: str) -> None:
    """A board that would refuse its own file is a board that is silent on the wall."""
    desk.own.write_text(text)
    with pytest.raises(OperatorFault, match=says):
        provisioned(desk, desk.board())
    assert not (desk.path.parent / "board" / bundle.CONFIG).exists()

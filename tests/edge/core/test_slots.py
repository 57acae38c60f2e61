"""Where a budget is kept: what was written comes back, and a write has ended when it returns."""

import importlib.util
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from edge.core import compat
from edge.core.slots import COUNT, PAGE, Blocks, Files, Ram


class Chip:
    """A flash with erase blocks, as MicroPython's extended block devices: bits only go to 0."""

    def __init__(self, blocks: int = 4, size: int = 4096) -> None:
        self.blocks = [bytearray(b"\xff" * size) for _ in range(blocks)]

    def readblocks(self, number: int, buffer: bytearray, offset: int) -> None:
        buffer[:] = self.blocks[number][offset : offset + len(buffer)]

    def writeblocks(self, number: int, data: bytes, offset: int) -> None:
        assert len(data) % PAGE == offset % PAGE == 0
        for at, byte in enumerate(data, offset):
            self.blocks[number][at] &= byte

    def ioctl(self, what: int, number: int) -> int:
        assert what == 6
        self.blocks[number][:] = b"\xff" * len(self.blocks[number])
        return 0


@pytest.fixture(params=["files", "ram", "blocks"])
def slots(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return {
        "files": lambda: Files(str(tmp_path), "n007"),
        "ram": Ram,
        "blocks": lambda: Blocks(Chip(5), 2),
    }[request.param]()


def test_slots_start_empty_and_give_back_what_was_written(slots: Any) -> None:
    """The one that was not written stays as it was, also when a shorter record follows."""
    assert [slots.read(i) for i in range(COUNT)] == [b""] * COUNT

    slots.write(0, b"a" * 117)
    slots.write(1, b"b" * 117)
    slots.write(0, b"c" * 50)

    assert (slots.read(0), slots.read(1)) == (b"c" * 50, b"b" * 117)


def test_files_are_read_by_the_next_process(tmp_path: Path) -> None:
    """Otherwise each start would be a device that never answered anything."""
    Files(str(tmp_path), "n007").write(1, b"kept")

    assert Files(str(tmp_path), "n007").read(1) == b"kept"
    assert Files(str(tmp_path), "n008").read(1) == b""


def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    """They hold the chain key: who reads it can take the noise off a key holder's device."""
    Files(str(tmp_path), "n007").write(0, b"secret")

    assert stat.S_IMODE((tmp_path / "n007.0").stat().st_mode) == 0o600


def test_a_file_is_on_the_medium_when_the_write_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flushed to the system is not enough: the file is synced, and a new one's folder too."""
    synced: list[str] = []

    def fsync(number: int) -> None:
        synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{number}")))
        if synced[-1] != tmp_path.name:
            assert (tmp_path / synced[-1]).read_bytes() == b"all of it"  # no buffer holds it back

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("which file was synced is asked of /proc, which is not here")
    monkeypatch.setattr(os, "fsync", fsync)
    slots = Files(str(tmp_path), "n007")
    slots.write(0, b"all of it")
    slots.write(0, b"all of it")

    assert synced == ["n007.0", tmp_path.name, "n007.0"]


def test_a_file_that_cannot_be_read_is_no_empty_slot(tmp_path: Path) -> None:
    """Nothing there means a device never enrolled; unreadable means ask no further."""
    (tmp_path / "n007.0").mkdir()

    with pytest.raises(OSError, match="directory"):
        Files(str(tmp_path), "n007").read(0)


def test_a_huge_file_is_not_read_whole(tmp_path: Path) -> None:
    """A board has little memory, and no record is longer than a page."""
    (tmp_path / "n007.0").write_bytes(bytes(100_000))

    assert len(Files(str(tmp_path), "n007").read(0)) == PAGE


def test_a_port_with_sync_alone_is_asked_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Boards have no fsync; where there is a cache below the file system, sync empties it."""
    asked: list[bool] = []
    monkeypatch.delattr(os, "fsync")
    monkeypatch.setattr(os, "sync", lambda: asked.append(True))
    spec: Any = importlib.util.spec_from_file_location("edge.core.of_a_board", compat.__file__)
    board: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(board)
    board.write_durably(str(tmp_path / "x"), b"1")
    board.add_durably(str(tmp_path / "x"), b"2")

    assert (asked, (tmp_path / "x").read_bytes()) == ([True, True], b"12")

    monkeypatch.delattr(os, "sync")
    board.write_durably(str(tmp_path / "x"), b"3")


def test_a_block_holds_no_trace_of_what_was_there() -> None:
    """The chain key of a boot that is over must be gone from the chip, not merely unnamed."""
    chip = Chip()
    slots = Blocks(chip)
    slots.write(0, b"an old chain key" * 7)
    slots.write(0, b"another")

    assert b"chain" not in b"".join(chip.blocks)


def test_a_record_too_long_for_a_page_is_refused() -> None:
    """Cut short without a word it would be lost at the next start."""
    with pytest.raises(ValueError, match="at most 254"):
        Blocks(Chip()).write(0, bytes(255))


def test_half_a_page_is_read_as_it_is() -> None:
    """What a cut left must come back without an exception, for the record's MAC to refuse."""
    chip = Chip()
    chip.blocks[0][:2] = b"\xfe\x01"

    assert len(Blocks(chip).read(0)) == 254

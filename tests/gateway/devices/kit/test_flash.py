"""A firmware comes whole to the board that is meant, if it is of its own kind, or not at all."""

import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.devices.kit import boards, flash
from gateway.devices.kit.boards import BoardFault
from gateway.devices.kit.connect import StandInBoard
from gateway.faults import OperatorFault

RP2040, RP2350, ABSOLUTE = 0xE48BFF56, 0xE48BFF59, 0xE48BFF57
MACHINE = "Raspberry Pi Pico with RP2040"


def block(number: int, count: int, family: int = RP2040, says: str = "") -> bytes:
    """Return a block of UF2, of 256 bytes."""
    head = struct.pack("<6I", 0x2000, 0x10000000 + 256 * number, 256, number, count, family)
    return b"UF2\nWQ]\x9e" + head + says.encode().ljust(476, b"\0") + struct.pack("<I", 0x0AB16F30)


# The board's name goes on in the next block.
WHOLE = block(0, 3, says=MACHINE[:9].rjust(256)) + block(1, 3, says=MACHINE[9:]) + block(2, 3)


def show(drive: Path, chip: str = "RPI-RP2") -> None:
    """Have a drive of a Pico in its boot loader there."""
    drive.mkdir(parents=True, exist_ok=True)
    (drive / "INFO_UF2.TXT").write_text(f"UF2 Bootloader v3.0\r\nModel: x\r\nBoard-ID: {chip}\r\n")


class Pico:
    """A board that answers, shows its drive when it is asked to, and starts from what it gets."""

    where = "the board"

    def __init__(self, drive: Path, machine: str = MACHINE) -> None:
        self.drive, self.machine = drive, machine
        self.done: list[str] = []

    def run(self, code: str) -> str:
        if list(self.drive.glob("*.uf2")):
            return ""  # its new firmware
        if self.drive.exists():
            raise BoardFault("no board was found")
        if code == flash._BOOT:
            self.done.append("boot loader")
            show(self.drive)
            raise BoardFault("it is gone")
        self.done += ["main.py aside"] * ("stopped" in code)
        return self.machine if "_machine" in code else "stopped" if "stopped" in code else ""

    def restart(self) -> None:
        """Start."""


@pytest.fixture
def drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where the drive of a board in its boot loader is mounted."""
    monkeypatch.setattr(flash, "PLACES", (str(tmp_path / "drives" / "*"),))
    monkeypatch.setattr(flash, "PATIENCE_S", 0.0)
    return tmp_path / "drives" / "RPI-RP2"


@pytest.fixture
def image(tmp_path: Path) -> flash.Firmware:
    """Return a whole image, for a Pico."""
    (tmp_path / "ours.uf2").write_bytes(WHOLE)
    return flash.read_firmware(tmp_path / "ours.uf2")


def test_a_whole_image_comes_to_its_drive(drive: Path, image: flash.Firmware) -> None:
    """Byte by byte, and nothing else on the drive is touched; it starts without its main.py."""
    board: Any = Pico(drive)

    flash.flash_board(board, image)

    assert board.done == ["main.py aside", "boot loader"]
    assert (drive / "ours.uf2").read_bytes() == WHOLE
    assert sorted(one.name for one in drive.iterdir()) == ["INFO_UF2.TXT", "ours.uf2"]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.uf2", WHOLE[:-512]),
        ("a.uf2", WHOLE[:-1]),
        ("a.uf2", WHOLE[:512] + WHOLE[1024:]),
        ("a.uf2", block(0, 1, ABSOLUTE)),
        ("a.uf2", block(0, 2) + block(1, 2, RP2350)),
        ("a.uf2", b"no firmware"),
        ("a.uf2", b""),
        ("a.bin", WHOLE),
    ],
    ids=["no-end", "no-last-byte", "a-gap", "no-program", "two-chips", "text", "empty", "esp32"],
)
def test_no_other_file_is_an_image(tmp_path: Path, name: str, data: bytes) -> None:
    """Half a firmware starts no board."""
    (tmp_path / name).write_bytes(data)
    with pytest.raises(OperatorFault, match=name):
        flash.read_firmware(tmp_path / name)


def asks(drive: Path) -> Pico:
    """Return a board that answers though a drive is there."""
    show(drive.with_name("other"))
    return Pico(drive)


def shows(*chips: str) -> Callable[[Path], Pico]:
    """Return what has drives there, and a board that does not answer."""

    def made(drive: Path) -> Pico:
        for number, chip in enumerate(chips):
            show(drive.with_name(f"RPI-RP2{number or ''}"), chip)
        return Pico(drive)

    return made


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda drive: Pico(drive, "Raspberry Pi Pico W with RP2040"), "Pico W"),
        (asks, "runs its program"),
        (shows("RPI-RP2", "RPI-RP2"), "several boards"),
        (shows("RP2350"), "RP2350"),
        (shows("UF2-OTHER"), "UF2-OTHER"),
    ],
    ids=["another-board", "another-drive", "two-drives", "another-chip", "no-pico"],
)
def test_no_other_board_is_written_to(
    drive: Path, image: flash.Firmware, make: Callable[[Path], Any], says: str
) -> None:
    """Its file system may lie elsewhere, and then its keys and its budget are lost."""
    board = make(drive)
    with pytest.raises(OperatorFault, match=says):
        flash.flash_board(board, image)
    assert board.done == []
    assert not list(drive.parent.glob("*/*.uf2"))


@pytest.mark.parametrize("stays", [True, False])
def test_a_copy_that_fails_is_half_of_one_where_the_drive_is_still_there(
    drive: Path, image: flash.Firmware, monkeypatch: pytest.MonkeyPatch, stays: bool
) -> None:
    """A board that has all of it starts at once, and its drive is gone before that is said."""

    def fail(descriptor: int) -> None:
        if not stays:
            (drive / "INFO_UF2.TXT").unlink()
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    board: Any = Pico(drive)
    if not stays:
        flash.flash_board(board, image)
        return
    with pytest.raises(OperatorFault, match="half way"):
        flash.flash_board(board, image)


@pytest.mark.long
def test_a_device_is_made_of_a_board_that_is_flashed_first(
    desk: Any, drive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it ran is aside before that; another device's board is refused as it is."""
    board = desk.board()
    board.put(boards.MAIN, b"old\n")
    folder = desk.path.parent / "board"
    machine = board.run(flash._MACHINE).strip()
    image = desk.path.with_name("ours.uf2")
    image.write_bytes(block(0, 1, says=machine))
    run = StandInBoard.run

    def boot(self: StandInBoard, code: str) -> str:
        if code == flash._BOOT:
            assert not (folder / boards.MAIN).exists()
            show(drive)
            raise BoardFault("it is gone")
        return run(self, code)

    monkeypatch.setattr(StandInBoard, "run", boot)
    words = ("provision", "attic", "--board", f"folder:{folder}", "--settings", desk.own)
    done = desk.run(*words, "--flash", image)
    assert "firmware     ours.uf2\n" in done.success
    assert (drive / "ours.uf2").read_bytes() == image.read_bytes()
    assert not (folder / boards.ASIDE).exists()

    for file in drive.iterdir():
        file.unlink()
    assert desk.run("device", "remove", "node-4").status == 0
    refused = desk.run("provision", "other", *words[2:], "--flash", image)
    assert "holds the budget of attic" in refused.refusal
    assert not list(drive.iterdir())
    assert (folder / boards.MAIN).exists()

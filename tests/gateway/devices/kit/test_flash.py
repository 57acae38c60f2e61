"""A firmware comes whole to a board of its own kind, or not at all."""

import struct
from pathlib import Path
from typing import Any

import pytest

from gateway.devices.kit import flash
from gateway.faults import OperatorFault

RP2040, RP2350, ABSOLUTE = 0xE48BFF56, 0xE48BFF59, 0xE48BFF57


def block(number: int, count: int, family: int = RP2040) -> bytes:
    """Return a block of UF2, of 256 bytes that say nothing."""
    head = struct.pack("<6I", 0x2000, 0x10000000 + 256 * number, 256, number, count, family)
    return b"UF2\nWQ]\x9e" + head + bytes(476) + struct.pack("<I", 0x0AB16F30)


WHOLE = b"".join(block(i, 3) for i in range(3))


class Answering:
    """A board that answers."""

    where = "the board"

    def run(self, code: str) -> str:
        return ""


@pytest.fixture
def drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the drive of a Pico in its boot loader."""
    made = tmp_path / "drives" / "RPI-RP2"
    made.mkdir(parents=True)
    (made / "INFO_UF2.TXT").write_text("UF2 Bootloader v3.0\r\nModel: x\r\nBoard-ID: RPI-RP2\r\n")
    monkeypatch.setattr(flash, "PLACES", (str(tmp_path / "drives" / "*"),))
    monkeypatch.setattr(flash, "PATIENCE_S", 0.0)
    return made


def test_a_whole_image_comes_to_its_drive(drive: Path, tmp_path: Path) -> None:
    """Byte by byte, and nothing else on the drive is touched."""
    image = tmp_path / "ours.uf2"
    image.write_bytes(WHOLE)
    board: Any = Answering()

    flash.flash(board, image)

    assert (drive / "ours.uf2").read_bytes() == WHOLE
    assert sorted(one.name for one in drive.iterdir()) == ["INFO_UF2.TXT", "ours.uf2"]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.uf2", WHOLE[:-512]),
        ("a.uf2", WHOLE[:-1]),
        ("a.uf2", WHOLE[:512] + WHOLE[1024:]),
        ("a.uf2", b"".join(block(i, 1, ABSOLUTE) for i in range(1))),
        ("a.uf2", block(0, 2) + block(1, 2, RP2350)),
        ("a.uf2", b"".join(block(i, 3, RP2350) for i in range(3))),
        ("a.uf2", b"no firmware"),
        ("a.uf2", b""),
        ("a.bin", WHOLE),
    ],
)
def test_no_other_image_is_copied(drive: Path, tmp_path: Path, name: str, data: bytes) -> None:
    """Half a firmware, or another chip's, starts no board: said before anything is written."""
    image = tmp_path / name
    image.write_bytes(data)
    board: Any = Answering()
    with pytest.raises(OperatorFault):
        flash.flash(board, image)
    assert [one.name for one in drive.iterdir()] == ["INFO_UF2.TXT"]


def test_without_a_drive_it_is_said_how_one_comes(drive: Path, tmp_path: Path) -> None:
    """And that of a board which has another boot loader is none."""
    (drive / "INFO_UF2.TXT").unlink()
    image = tmp_path / "ours.uf2"
    image.write_bytes(WHOLE)
    board: Any = Answering()
    with pytest.raises(OperatorFault, match="BOOTSEL"):
        flash.flash(board, image)

"""A firmware brought to a board: its image checked, and copied to the drive that a board shows.

An RP2040 or RP2350 in its boot loader is a drive with INFO_UF2.TXT on it, which says what it is.
What lies in the board's file system, keys and budget too, is in another part of its flash and
stays where the firmware is of that very board: another's, though of the same chip, may have its
file system elsewhere. An ESP32 has no such drive; its makers' esptool writes it.

Source: the UF2 format, github.com/microsoft/uf2: blocks of 512 bytes, each with its family.
"""

import glob
import os
import struct
import time
from pathlib import Path
from typing import NamedTuple

from ...faults import OperatorFault
from . import boards
from .boards import Board, BoardFault

BLOCK, PAYLOAD = 512, 476
FAMILIES = {0xE48BFF56: "RP2040", 0xE48BFF59: "RP2350"}
DRIVES = {"RPI-RP2": "RP2040", "RP2350": "RP2350"}  # by Board-ID in INFO_UF2.TXT
PLACES = ("/media/*/*", "/run/media/*/*", "/Volumes/*", "/mnt/*", *[f"{c}:/" for c in "DEFGHIJ"])
PATIENCE_S = 30.0
_MACHINE = "import sys\nprint(sys.implementation._machine)"
_BOOT = "import machine\nmachine.bootloader()"


class Firmware(NamedTuple):
    """A firmware. data: the file's bytes. program: what of them comes into the flash."""

    file: Path
    data: bytes
    chip: str
    program: bytes


def read_firmware(file: Path) -> Firmware:
    """Return a firmware's image.

    Raises:
        OperatorFault: it is none that is copied to a drive, or it is not whole.
    """
    try:
        data = file.read_bytes()
    except OSError as fault:
        raise OperatorFault(
            f"{file} cannot be read ({fault.strerror}); it must be a firmware. Build one, "
            "in a checkout of heatveil: make firmware"
        ) from fault
    if file.suffix == ".bin":
        raise OperatorFault(
            f"{file} is firmware for an ESP32, which cannot be flashed as a USB drive. Write it "
            f"with esptool write_flash 0 {file} (0x1000 in place of 0 for an ESP32 without S3 or "
            "C3), then run this again without --flash"
        )
    chips, numbers, parts = set(), [], []
    for at in range(0, len(data), BLOCK):
        block = data[at : at + BLOCK]
        if len(block) < BLOCK or block[:8] != b"UF2\nWQ]\x9e" or block[-4:] != b"\x30\x6f\xb1\x0a":
            break
        flags, _, size, number, count, family = struct.unpack("<6I", block[8:32])
        if size > PAYLOAD or not flags & 0x2000:
            break
        if family in FAMILIES:  # RP2350 images begin with a block of another, against an erratum
            chips.add(FAMILIES[family])
            numbers.append((number, count))
            parts.append(block[32 : 32 + size])
    else:
        if len(chips) == 1 and [number for number, _ in numbers] == list(range(numbers[0][1])):
            return Firmware(file, data, chips.pop(), b"".join(parts))
    raise OperatorFault(
        f"{file} is not a complete UF2 firmware for an RP2040 or an RP2350, and a board would not "
        "start with it. Build it again, in a checkout of heatveil: make firmware"
    )


def flash_board(board: Board, image: Firmware) -> None:
    """Bring a board to have this firmware, and wait until it answers.

    It starts without its main.py then: with its keys nothing may run on modules that came with
    the firmware before they were checked.

    Raises:
        OperatorFault: the image is of another board or chip; or no drive, or no board, came.
    """
    drives, silent = find_drives(), ""
    try:
        machine = board.run(_MACHINE).strip()
    except BoardFault as fault:  # in its boot loader, or without a Python: then its drive is there
        silent = f" ({fault})"
    else:
        if drives:
            raise OperatorFault(
                f"{board.where} runs its program, so the drive {drives[0]} belongs to another "
                "board, which would get the firmware. Unplug the other board, and run this again"
            )
        if machine.encode() not in image.program:
            raise OperatorFault(
                f"{image.file} is for another board than {machine}; it may place the file system "
                "elsewhere, which would delete keys and budget. Build the firmware for this "
                "board, in a checkout of heatveil: make firmware BOARD=..."
            )
        drives, silent = _start_loader(board)
    if not drives:
        raise OperatorFault(
            "no board showed its drive, to which a firmware is copied; hold its button BOOTSEL "
            f"while you plug it in, have the drive mounted, and run this again{silent}"
        )
    if len(drives) > 1:
        raise OperatorFault(
            f"several boards show a drive: {' and '.join(map(str, drives))}. Unplug all but the "
            "one to be flashed, and run this again"
        )
    _copy_image(image, drives[0])
    boards.wait_for_board(board, PATIENCE_S)


def _start_loader(board: Board) -> tuple[list[Path], str]:
    """Return the drives that are there once a board is in its boot loader, and what it said."""
    boards.stop_board(board)
    said = ""
    try:
        board.run(_BOOT)
    except BoardFault as fault:  # as it is gone before it answers, or as it has no boot loader
        said = f" ({fault})"
    until_s = time.monotonic() + PATIENCE_S
    while not (drives := find_drives()) and time.monotonic() < until_s:
        time.sleep(0.5)
    return drives, said


def _copy_image(image: Firmware, drive: Path) -> None:
    if (is_chip := read_chip_name(drive)) != image.chip:
        raise OperatorFault(
            f"{image.file} is for an {image.chip}, but the board at {drive} is "
            f"{is_chip or 'another one'}, which would not start with it. Build the firmware for "
            "this board, in a checkout of heatveil: make firmware BOARD=..."
        )
    try:
        with open(drive / image.file.name, "wb") as copy:
            copy.write(image.data)
            copy.flush()
            os.fsync(copy.fileno())
    except OSError as fault:
        if read_chip_name(drive):  # else it has all of it, and started before it said so
            raise OperatorFault(
                f"copying {image.file.name} to {drive} stopped half way ({fault.strerror}); the "
                "board does not start until it has all of it. Its drive is still there: run this "
                "again"
            ) from fault


def find_drives() -> list[Path]:
    """Return the drives of boards in their boot loader that are mounted."""
    drives = [Path(drive) for place in PLACES for drive in glob.glob(place)]
    return list(filter(read_chip_name, drives))


def read_chip_name(drive: Path) -> str:
    """Return what a drive says that its board is, "" where it is none of a boot loader."""
    try:
        text = (drive / "INFO_UF2.TXT").read_text("ascii", "replace")
    except OSError:
        return ""
    ids = [line.partition(":")[2].strip() for line in text.splitlines() if "Board-ID" in line]
    return next((DRIVES.get(one, one) for one in ids), "")

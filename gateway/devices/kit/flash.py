"""A firmware brought to a board: its image checked, and copied to the drive that a board shows.

An RP2040 or RP2350 in its boot loader is a drive with INFO_UF2.TXT on it, which says what it is.
What lies in the board's file system, keys and budget too, is in another part of its flash and
stays. An ESP32 has no such drive; its makers' esptool writes it.

Source: the UF2 format, github.com/microsoft/uf2: blocks of 512 bytes, each with its family.
"""

import glob
import os
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from ...faults import OperatorFault
from .boards import Board, BoardFault

BLOCK, PAYLOAD = 512, 476
FAMILIES = {0xE48BFF56: "RP2040", 0xE48BFF59: "RP2350"}
DRIVES = {"RPI-RP2": "RP2040", "RP2350": "RP2350"}  # by Board-ID in INFO_UF2.TXT
PLACES = ("/media/*/*", "/run/media/*/*", "/Volumes/*", "/mnt/*", *[f"{c}:/" for c in "DEFGHIJ"])
PATIENCE_S = 30.0
_BOOT = "import machine\nmachine.bootloader()"


def read_image(file: Path) -> tuple[bytes, str]:
    """Return a firmware's image, and the chip that it is of.

    Raises:
        OperatorFault: it is none that is copied to a drive, or it is not whole.
    """
    try:
        data = file.read_bytes()
    except OSError as fault:
        raise OperatorFault(
            f"{file} cannot be read ({fault.strerror}); it must be a firmware. Build one: make "
            "firmware"
        ) from fault
    if file.suffix == ".bin":
        raise OperatorFault(
            f"{file} is for an ESP32, which shows no drive; its makers' program writes it: "
            f"esptool write_flash 0 {file} (0x1000 in place of 0 for an ESP32 without S3 or C3), "
            "then this again without --flash"
        )
    chips, numbers = set(), []
    for at in range(0, len(data), BLOCK):
        block = data[at : at + BLOCK]
        if len(block) < BLOCK or block[:8] != b"UF2\nWQ]\x9e" or block[-4:] != b"\x30\x6f\xb1\x0a":
            break
        flags, _, size, number, count, family = struct.unpack("<6I", block[8:32])
        if size > PAYLOAD or not flags & 0x2000:
            break
        if family in FAMILIES:  # others are of no program, such as a note for a chip's fault
            chips.add(FAMILIES[family])
            numbers.append((number, count))
    else:
        if len(chips) == 1 and [number for number, _ in numbers] == list(range(numbers[0][1])):
            return data, chips.pop()
    raise OperatorFault(
        f"{file} is no whole firmware in UF2 for an RP2040 or an RP2350; half of one starts no "
        "board. Build it anew, make firmware, or download it again"
    )


def flash(board: Board, file: Path) -> None:
    """Bring a board to have this firmware, and wait until it answers; its files stay.

    Raises:
        OperatorFault: the image is none, or of another chip; or no drive, or no board, came.
    """
    data, chip = read_image(file)
    drive = find_drive()
    if drive is None:
        with suppress(BoardFault):  # gone before it answers, or without a Python: the drive tells
            board.run(_BOOT)
        drive = _wait(find_drive)
    if drive is None:
        raise OperatorFault(
            "no board showed its drive, to which a firmware is copied; hold its button BOOTSEL "
            "while you plug it in, have the drive mounted, and run this again"
        )
    if (is_chip := read_chip(drive)) != chip:
        raise OperatorFault(
            f"{file} is for an {chip} and {drive} is of {is_chip or 'another board'}, which would "
            "not start. Build the one for this board: make firmware BOARD=..."
        )
    try:
        with open(drive / file.name, "wb") as copy:
            copy.write(data)
            copy.flush()
            os.fsync(copy.fileno())
    except OSError as fault:
        if read_chip(drive):  # else it has all of it, and started before it said so
            raise OperatorFault(
                f"{drive} took not all of {file.name} ({fault.strerror}); half of a firmware "
                "starts no board. Its drive is still there: run this again"
            ) from fault
    if not _wait(lambda: _answers(board)):
        raise OperatorFault(
            f"{board.where} did not answer within {PATIENCE_S:.0f} s of its new firmware, and "
            "nothing more can be done. Unplug it, plug it in, and run this again without --flash"
        )


def find_drive() -> Path | None:
    """Return the drive of a board in its boot loader, if one is mounted."""
    drives = [Path(drive) for place in PLACES for drive in glob.glob(place)]
    return next(filter(read_chip, drives), None)


def read_chip(drive: Path) -> str:
    """Return what a drive says that its board is, "" where it is none of a boot loader."""
    try:
        text = (drive / "INFO_UF2.TXT").read_text("ascii", "replace")
    except OSError:
        return ""
    ids = [line.partition(":")[2].strip() for line in text.splitlines() if "Board-ID" in line]
    return next((DRIVES.get(one, one) for one in ids), "")


def _answers(board: Board) -> bool:
    try:
        board.run("pass")
    except BoardFault:
        return False
    return True


Found = TypeVar("Found")


def _wait(look: Callable[[], Found]) -> Found:
    """Return what `look` finds once it finds something, else what it said last."""
    until_s = time.monotonic() + PATIENCE_S
    while not (found := look()) and time.monotonic() < until_s:
        time.sleep(0.5)
    return found

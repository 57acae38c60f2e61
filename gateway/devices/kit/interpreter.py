"""Which Python is on a board, and whether edge can run on it."""

from typing import NamedTuple

from ...faults import OperatorFault
from .boards import Board, BoardFault

LEAST = (1, 22)
HEAP = 40 * 1024  # bytes free below which nobody need try; what is needed `figures` says

# Each line by itself, so that a board which lacks one thing can still say the others. A product
# that is too large for one word must come out whole, which integers of 64 bits do not give.
_ASK = """
import sys
print("python", sys.implementation[0])
print("version", ".".join([str(n) for n in sys.implementation[1][:3]]))
try:
    print("whole", (1 << 70) >> 69 == 2 and (1 << 63) * 3 == 27670116110564327424)
except Exception as why:
    print("whole", False)
try:
    import hashlib
    print("sha256", hashlib.sha256(b"abc").digest()[:2] == bytes([0xba, 0x78]))
except Exception as why:
    print("sha256", False)
import gc
gc.collect()
print("heap", gc.mem_free())
import binascii
try:
    import machine
    print("chip", binascii.hexlify(machine.unique_id()).decode())
except Exception as why:
    print("chip")
try:
    import os
    print("entropy", len(os.urandom(16)) == 16)
except Exception as why:
    print("entropy", False)
try:
    import asyncio
    print("asyncio", True)
except Exception as why:
    print("asyncio", False)
try:
    import time
    print("clock", time.gmtime()[0])
except Exception as why:
    print("clock", 0)
print("platform", sys.platform)
print("mpy", getattr(sys.implementation, "_mpy", 0) & 255)
print("kind", getattr(sys.implementation, "_machine", "").split(" ")[-1])
"""


class Interpreter(NamedTuple):
    """What a board says of itself.

    heap in bytes, before edge is loaded. clock: its year. mpy: which .mpy it loads, 0 for none.
    kind: of chip, as its firmware calls it: RP2040, ESP32.
    """

    version: str
    platform: str
    chip: str
    heap: int
    entropy: bool
    clock: int
    mpy: int
    kind: str


def examine(board: Board) -> Interpreter:
    """Return what a board's Python is.

    Raises:
        OperatorFault: edge cannot run there, and why.
    """
    try:
        lines = board.run(_ASK).splitlines()
    except BoardFault as fault:
        if fault.raised:
            raise _wrong(board, f"it stopped with {fault.raised}") from fault
        raise
    said = {word: rest for word, _, rest in (line.partition(" ") for line in lines)}
    if said.get("python") != "micropython" or "version" not in said:
        raise _wrong(board, f"it is {said.get('python', 'no Python')!r}")
    version = tuple(int(part) for part in said["version"].split(".")[:2])
    if version < LEAST:
        raise _wrong(board, f"it is MicroPython {said['version']}")
    if said.get("whole") != "True":
        raise OperatorFault(
            f"the Python on {board.where} has no big integers; exact noise needs them, and "
            "would be wrong now and then without anybody noticing. Flash a firmware that is built "
            "with MICROPY_LONGINT_IMPL_MPZ, as the usual ones are"
        )
    for what, why in (("sha256", "every key and MAC"), ("asyncio", "the link to the broker")):
        if said.get(what) != "True":
            raise _wrong(board, f"it has no {what}, on which {why} rests")
    if int(said["heap"]) < HEAP:
        raise OperatorFault(
            f"{board.where} has {int(said['heap']) // 1024} KB of heap free and {HEAP // 1024} KB "
            "are the least to load anything, or it stops in the middle of its start. Take a board "
            "with more, or free some: no other main.py, a firmware without what you do not use"
        )
    if not said.get("chip"):
        raise _wrong(board, "it has no machine.unique_id(), by which keys are bound to a board")
    return Interpreter(
        said["version"],
        said["platform"],
        said["chip"],
        int(said["heap"]),
        said.get("entropy") == "True",
        int(said["clock"]),
        int(said["mpy"]),
        said.get("kind", ""),
    )


def _wrong(board: Board, what: str) -> OperatorFault:
    return OperatorFault(
        f"{board.where} has the wrong firmware: {what}. MicroPython "
        f"{'.'.join(map(str, LEAST))} or later is needed, or edge does not run. Flash one from "
        "micropython.org/download for exactly this board"
    )

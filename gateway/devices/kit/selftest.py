"""A frame made on the board and the same frame made here: alike to the last byte, or wrong.

The keys are made for the check and forgotten after it; nothing of the device's own budget is
spent, and no sensor is asked. The board verifies a Round, pays for it, draws the noise, blurs
and signs; the host opens what comes, takes the noise off with the root that only it has, and
must find the readings that it gave.
"""

import binascii
import hashlib
import os
from typing import NamedTuple

from edge import entropy, limits, slots, thermal, wire
from edge.budget import Budget
from edge.host import post, rootkeys
from edge.host.enrol import provision
from edge.node import Node
from edge.records import Grid, Guarantee, Round

from .board import Board, BoardFault

SITE, NAME, READINGS, VARIANCE = "selftest", "board", 8, 250_000
PROMISE = Guarantee((1, 1), (1, 100_000), (1, 50), "a move", "local", "unit", "presence")

_CODE = """
import gc
if hasattr(gc, "threshold"):
    gc.threshold(2000)
from binascii import hexlify, unhexlify
from edge import slots
from edge.budget import Budget
from edge.keys import Identity
from edge.node import Node
who = %r
place = slots.Ram()
for i, data in enumerate(%r):
    place.write(i, unhexlify(data))
who = Identity(*(who[:5] + [unhexlify(key) for key in who[5:]]))
budget = Budget(place, who.state_key)
budget.boot()
node = Node(who, budget)
frame = node.answer(unhexlify(%r), lambda params: %r)
gc.collect()
print("heap", gc.mem_free() if hasattr(gc, "mem_free") else 0)
print("frame", hexlify(frame).decode() if frame else node.refusal)
"""


class Passed(NamedTuple):
    """What the check found: the digest of the frame, and the heap that was left after it."""

    digest: str
    heap: int
    shows: str = "its readings come back"


def checked(board: Board, seed: bytes | None = None) -> Passed:
    """Return the digest of a frame that the board and this machine make alike.

    Raises:
        BoardFault: they do not, or the board cannot make one.
    """
    root, site_key = seed or os.urandom(32), os.urandom(32)
    who = rootkeys.identity(SITE, NAME, root, site_key, 0, "keyholder", READINGS)
    held = limits.Limits(1, 8, 1, VARIANCE, 10**9, 0)
    place = slots.Ram()
    provision(place, who.state_key, rootkeys.first_chain(root), held)
    records = [bytes(place.read(i)).hex() for i in range(slots.COUNT)]
    params = thermal.Params(READINGS, 8, -8000, 8000, VARIANCE, 1, 1)
    asked = Round(1, thermal.NAME, Grid((10, 1), 100), tuple(params), PROMISE)
    message = post.pack_round(asked, site_key, wire.round_topic(SITE, thermal.NAME))
    values = [100 * reading - 300 for reading in range(READINGS)]

    told = [key.hex() if isinstance(key, bytes) else key for key in who]
    said = board.run(_CODE % (told, records, bytes(message).hex(), values))
    lines = {word: rest for word, _, rest in (line.partition(" ") for line in said.splitlines())}

    budget = Budget(place, who.state_key)
    budget.boot()
    here = bytes(Node(who, budget).answer(message, lambda _: values))
    frame = _bytes(lines.get("frame", ""))
    if frame != here:
        there = digest(frame) if frame else lines.get("frame", "nothing")[:80]
        raise BoardFault(
            f"{board.where} makes the frame {there} and it must be {digest(here)}: its noise is "
            "not the noise that was proven, so nothing may be sent with it. Copy the files again; "
            "if it stays so, flash MicroPython anew, and tell us which board it is"
        )
    topic = wire.topic(SITE, NAME, "data")
    report = post.unpack_report(frame, rootkeys.mac_key(root), topic, NAME)
    chain = rootkeys.chain_at(root, report.epoch)
    rng = entropy.keyed(chain, NAME, report.epoch, report.seq, report.payload[0])
    opened = list(thermal.unveil(asked, report.payload, rng).values)
    if opened != values:
        raise BoardFault(
            f"a frame of {board.where} opens to other readings than it was given; every one must "
            "come back, or nothing that it sends means anything. Copy the files again"
        )
    return Passed(digest(frame), int(lines["heap"]))


def passed(board: Board, mechanism: str) -> Passed:
    """Return what the check found that is of a board's mechanism.

    Raises:
        BoardFault: as `checked`, or as `selftest_place.checked`.
    """
    if mechanism == thermal.NAME:
        return checked(board)
    from . import selftest_place

    return selftest_place.checked(board)


def digest(frame: bytes) -> str:
    """Return the short name of a frame."""
    return hashlib.sha256(frame).hexdigest()[:16]


def _bytes(text: str) -> bytes:
    try:
        return binascii.unhexlify(text)
    except ValueError:
        return b""

"""Answers of places made on a board and the same answers made here: alike to the last byte.

A device that tells its place draws from a stream that nobody repeats, so its frames cannot be held
against ours. What can be is all that a frame is made with: the Round's weights, checked and laid
out; draws from a stream of which both have the key; the cell added; packed and signed. Then the
device itself is given a Round, and answers it from a stream of its own: that frame must be signed,
and an answer that a device can give.
"""

import binascii
import os

from edge import disk_limits, entropy, footprint, place, slots, wire
from edge.expo import exp_floor
from edge.host import post, rootkeys
from edge.host.enrol import provision
from edge.records import Grid, Guarantee, Reading, Report, Round

from .boards import Board, BoardFault
from .selftest import Passed, shorten_digest

SITE, NAME = "selftest", "board"
DRAWS = 200  # so that one in a dozen which is drawn wrongly is seen, but for once in a million
FAR = 1 << 32
NEAR = exp_floor(6, 1, FAR)  # of epsilon 6, so that most draws go through the footprint's cells
# The true cell and those beside it weigh most, those a step further half as much beyond far.
PARAMS = (2, FAR, NEAR, 6, 1, 2, 1, (FAR + NEAR) // 2, 0, 1, (FAR + NEAR) // 2)
GRID = Grid((9, 7), 500)
PROMISE = Guarantee((12, 1), None, None, "any two cells", "local", "2 answers", "that it answers")

_CODE = """
import gc
if hasattr(gc, "threshold"):
    gc.threshold(2000)
from binascii import hexlify, unhexlify
from edge import entropy, footprint, place, slots, wire
from edge.budget import Budget
from edge.keys import Identity
from edge.node import Node
from edge.records import Reading, Report
told = %r
who = Identity(*(told[:5] + [unhexlify(key) for key in told[5:]]))
kept = slots.Ram()
for i, data in enumerate(%r):
    kept.write(i, unhexlify(data))
message = unhexlify(%r)
where = wire.round_topic(who.site, "disk")
asked = wire.unpack_round(message, who.site_key, where)
table = footprint.Table(asked)
rng = entropy.keyed(unhexlify(%r), who.name, 1, 1, 0)
cells = []
for i in range(%d):
    cell = (i %% 9, i %% 7)
    cells += place.veil(asked, Reading(0, cell), place.draw(table, rng))[1:]
report = Report(wire.name_of(asked), who.name, 1, 1, [0] + cells)
topic = wire.topic(who.site, who.name, "data")
frame = wire.pack_report(report, who.mac_key, topic, footprint.bits(asked))
print("frame", hexlify(frame).decode())
budget = Budget(kept, who.state_key)
budget.boot()
node = Node(who, budget, mechanism="disk")
own = node.answer(message, lambda grid: (4, 3))
gc.collect()
print("heap", gc.mem_free() if hasattr(gc, "mem_free") else 0)
print("own", hexlify(own).decode() if own else node.refusal)
"""


def check_places(board: Board, seed: bytes | None = None) -> Passed:
    """Return the digest of answers that the board and this machine make alike.

    Raises:
        BoardFault: they do not, or the board cannot make one.
    """
    root, site_key = seed or os.urandom(32), os.urandom(32)
    who = rootkeys.identity(SITE, NAME, root, site_key, 0)
    kept, chain = slots.Ram(), rootkeys.first_chain(root)
    provision(kept, who.state_key, chain, disk_limits.enrolled(6, 1, 2))
    records = [bytes(kept.read(i)).hex() for i in range(slots.COUNT)]
    asked = Round(1, place.NAME, GRID, PARAMS, PROMISE)
    message = bytes(post.pack_round(asked, site_key, wire.round_topic(SITE, place.NAME)))

    told = [key.hex() if isinstance(key, bytes) else key for key in who]
    said = board.run(_CODE % (told, records, message.hex(), chain.hex(), DRAWS))
    lines = {word: rest for word, _, rest in (line.partition(" ") for line in said.splitlines())}

    table, cells = footprint.Table(asked), [0]
    rng = entropy.keyed(chain, NAME, 1, 1, 0)
    for i in range(DRAWS):
        cells += place.veil(asked, Reading(0, (i % 9, i % 7)), place.draw(table, rng))[1:]
    topic = wire.topic(SITE, NAME, "data")
    report = Report(wire.name_of(asked), NAME, 1, 1, cells)
    here = bytes(wire.pack_report(report, who.mac_key, topic, footprint.bits(asked)))
    if lines.get("frame") != here.hex():
        raise BoardFault(
            f"{board.where} draws other answers from the same stream than "
            f"{shorten_digest(here)}: a place would be hidden by another law than the "
            "one that was proven, so nothing may be sent with it. Copy the files again; if it "
            "stays so, flash MicroPython anew, and tell us which board it is"
        )
    try:
        own = binascii.unhexlify(lines.get("own", ""))
        answer = post.unpack_report(own, who.mac_key, topic, NAME).payload
    except ValueError:
        raise BoardFault(
            f"{board.where} does not answer a Round that asks for a place "
            f"({lines.get('own', 'nothing')[:80]}); it must, or it is never heard. Copy the files "
            "again"
        ) from None
    if len(answer) != 2 or not 0 <= answer[1] < table.columns * table.rows:
        raise BoardFault(
            f"{board.where} answers a cell that no device can; it would be left out of every map. "
            "Copy the files again"
        )
    return Passed(
        shorten_digest(here), int(lines["heap"]), "it answers with a place of its Round's"
    )

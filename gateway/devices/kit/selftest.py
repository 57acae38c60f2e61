"""A board tried: its frame is the one that this machine makes, and its sensor answers.

The keys are made for the check and forgotten after it; nothing of the device's own budget is
spent. The board verifies a Round, pays for it, draws the noise, blurs and signs; the host opens
what comes, takes the noise off with the root that only it has, and must find the readings that it
gave. What the sensor says stays on the board; of what tells a place it is asked for some seconds
whether it talks, and whether it has had a fix.

Answers of places are made on a board and made here: alike to the last byte. A device that tells
its place draws from a stream that nobody repeats, so its frames cannot be held against ours. What
can be is all that a frame is made with: the Round's weights, checked and laid out; draws from a
stream of which both have the key; the cell added; packed and signed. Then the device itself is
given a Round, and answers it from a stream of its own: that frame must be signed, and an answer
that a device can give.
"""

import binascii
import hashlib
import os
from typing import Any, NamedTuple

from edge.board.sensors.bus import RUBBISH
from edge.core import entropy, wire
from edge.core.budget import COUNT, Budget, Limits
from edge.core.node import Node
from edge.core.records import Grid, Guarantee, Reading, Report, Round
from edge.core.shares import draw_shares
from edge.host import post, rootkeys
from edge.host.enrol import Ram, provision
from edge.mechanisms import disk_half, disk_limits, footprint, secure_sum
from edge.mechanisms.footprint import exp_floor

from ...mechanisms import USUAL, find_mechanism
from ...service.secure_sum import ciphers
from ..bundle import CONFIG, FOLDER
from .boards import Board, BoardFault, parse_lines

SITE, NAME, READINGS, VARIANCE = "selftest", "board", 8, 250_000
PROMISE = Guarantee((1, 1), (1, 100_000), (1, 50), "a move", "local", "unit", "presence")

_RAM = """
class Ram:
    def __init__(self):
        self.slots = {}

    def read(self, i):
        return self.slots.get(i, b"")

    def write(self, i, data):
        self.slots[i] = bytes(data)
"""

_HEAD = """
import gc
if hasattr(gc, "threshold"):
    gc.threshold(2000)
from binascii import hexlify, unhexlify
"""

_HEAP = """
gc.collect()
print("heap", gc.mem_free() if hasattr(gc, "mem_free") else 0)
"""

# What a board says whose draws are not those of this machine.
_WRONG = (
    "its noise is wrong, so nothing may be sent with it. Run this again; if it happens again, "
    "flash MicroPython anew, and report which board it is"
)

_CODE = f"""{_HEAD}
from edge.core.budget import COUNT, Budget
from edge.core.entropy import Identity
from edge.core.node import Node
who = %r
%s
place = Ram()
for i, data in enumerate(%r):
    place.write(i, unhexlify(data))
who = Identity(*(who[:5] + [unhexlify(key) for key in who[5:]]))
budget = Budget(place, who.state_key)
budget.boot()
node = Node(who, budget)
frame = node.answer(unhexlify(%r), lambda params: %r)
{_HEAP}
print("frame", hexlify(frame).decode() if frame else node.refusal)
"""


class SelftestResult(NamedTuple):
    """What the check found: the digest of the frame, and the heap that was left after it."""

    digest: str
    heap: int
    shows: str = "its readings come back"


def compare_frame(board: Board, seed: bytes | None = None) -> SelftestResult:
    """Return the digest of a frame that the board and this machine make alike.

    Raises:
        BoardFault: they do not, or the board cannot make one.
    """
    root, site_key = seed or os.urandom(32), os.urandom(32)
    who = rootkeys.identity(SITE, NAME, root, site_key, 0, "keyholder", READINGS)
    held = Limits(1, 8, 1, VARIANCE, 10**9, 0)
    kept = Ram()
    provision(kept, who.state_key, rootkeys.first_chain(root), held)
    records = [bytes(kept.read(i)).hex() for i in range(COUNT)]
    params = (READINGS, 8, -8000, 8000, VARIANCE, 1, 1)
    asked = Round(1, USUAL, Grid((10, 1), 100), params, PROMISE)
    message = post.pack_round(asked, site_key, wire.round_topic(SITE, USUAL))
    values = [100 * reading - 300 for reading in range(READINGS)]

    told = _pack_identity(who), _RAM, records, bytes(message).hex(), values
    lines = parse_lines(board.run(_CODE % told))

    budget = Budget(kept, who.state_key)
    budget.boot()
    here = bytes(Node(who, budget).answer(message, lambda _: values))
    frame = _parse_hex(lines.get("frame", ""))
    if frame != here:
        there = shorten_digest(frame) if frame else lines.get("frame", "nothing")[:80]
        raise BoardFault(
            f"{board.where} makes the frame {there} from test data, but it must be "
            f"{shorten_digest(here)}: {_WRONG}"
        )
    topic = wire.topic(SITE, NAME, "data")
    report = post.unpack_report(frame, rootkeys.mac_key(root), topic, NAME)
    chain = rootkeys.chain_at(root, report.epoch)
    rng = entropy.keyed(chain, NAME, report.epoch, report.seq, report.payload[0])
    opened = list(find_mechanism(USUAL).unveiling.unveil(asked, report.payload, rng).values)
    if opened != values:
        raise BoardFault(
            f"a test frame of {board.where} opens to other readings than it was made from, so its "
            "reports would be wrong. Run this again, which copies the files again"
        )
    return SelftestResult(shorten_digest(frame), int(lines["heap"]))


DRAWS = 200  # so that one in a dozen which is drawn wrongly is seen, but for once in a million
FAR = 1 << 32
NEAR = exp_floor(6, 1, FAR)  # of epsilon 6, so that most draws go through the footprint's cells
# The true cell and those beside it weigh most, those a step further half as much beyond far.
PLACE_PARAMS = (2, FAR, NEAR, 6, 1, 2, 1, (FAR + NEAR) // 2, 0, 1, (FAR + NEAR) // 2)
GRID = Grid((9, 7), 500)
PLACE_PROMISE = Guarantee(
    (12, 1), None, None, "any two cells", "local", "2 answers", "that it answers"
)

_PLACE_CODE = f"""{_HEAD}
from edge.core import entropy, wire
from edge.mechanisms import disk_half, footprint
from edge.core.budget import COUNT, Budget
from edge.mechanisms.footprint import exp_floor
from edge.core.entropy import Identity
from edge.core.node import Node
from edge.core.records import Reading, Report
told = %r
who = Identity(*(told[:5] + [unhexlify(key) for key in told[5:]]))
%s
kept = Ram()
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
    cells += disk_half.veil(asked, Reading(0, cell), disk_half.draw(table, rng))[1:]
report = Report(wire.name_of(asked), who.name, 1, 1, [0] + cells)
topic = wire.topic(who.site, who.name, "data")
frame = wire.pack_report(report, who.mac_key, topic, footprint.bits(asked))
print("frame", hexlify(frame).decode())
budget = Budget(kept, who.state_key)
budget.boot()
node = Node(who, budget, mechanism="disk")
own = node.answer(message, lambda grid: (4, 3))
{_HEAP}
print("own", hexlify(own).decode() if own else node.refusal)
"""


def compare_answers(board: Board, seed: bytes | None = None) -> SelftestResult:
    """Return the digest of answers that the board and this machine make alike.

    Raises:
        BoardFault: they do not, or the board cannot make one.
    """
    root, site_key = seed or os.urandom(32), os.urandom(32)
    who = rootkeys.identity(SITE, NAME, root, site_key, 0)
    kept, chain = Ram(), rootkeys.first_chain(root)
    provision(kept, who.state_key, chain, disk_limits.make_limits(6, 1, 2))
    records = [bytes(kept.read(i)).hex() for i in range(COUNT)]
    asked = Round(1, disk_half.NAME, GRID, PLACE_PARAMS, PLACE_PROMISE)
    message = bytes(post.pack_round(asked, site_key, wire.round_topic(SITE, disk_half.NAME)))

    told = _pack_identity(who), _RAM, records, message.hex(), chain.hex(), DRAWS
    lines = parse_lines(board.run(_PLACE_CODE % told))

    table, cells = footprint.Table(asked), [0]
    rng = entropy.keyed(chain, NAME, 1, 1, 0)
    for i in range(DRAWS):
        cells += disk_half.veil(asked, Reading(0, (i % 9, i % 7)), disk_half.draw(table, rng))[1:]
    topic = wire.topic(SITE, NAME, "data")
    report = Report(wire.name_of(asked), NAME, 1, 1, cells)
    here = bytes(wire.pack_report(report, who.mac_key, topic, footprint.bits(asked)))
    if lines.get("frame") != here.hex():
        raise BoardFault(
            f"{board.where} draws other answers from test data than it must "
            f"({shorten_digest(here)}): {_WRONG}"
        )
    try:
        own = _parse_hex(lines.get("own", ""))
        answer = post.unpack_report(own, who.mac_key, topic, NAME).payload
    except ValueError:
        raise BoardFault(
            f"{board.where} does not answer a test Round that asks for a place "
            f"({lines.get('own', 'nothing')[:80]}), so it would never report. Run this again, "
            "which copies the files again"
        ) from None
    if len(answer) != 2 or not 0 <= answer[1] < table.columns * table.rows:
        raise BoardFault(
            f"{board.where} answers a test Round with a cell outside the grid; its reports would "
            "be left out of every map. Run this again, which copies the files again"
        )
    return SelftestResult(
        shorten_digest(here), int(lines["heap"]), "it answers with a place of its Round's"
    )


_SUM_CODE = f"""{_HEAD}
from edge.core.entropy import Tape
from edge.core.shares import draw_shares
from edge.mechanisms import crypto, secure_sum, sum_node
seed = unhexlify(%r)
own = crypto.Secret(seed)
key = own.agree(unhexlify(%r))
made = own.public + key + crypto.seal(key, secure_sum.NONCE, key, seed)
made += crypto.aes(key, secure_sum.make_counters(0, 64))
noise = draw_shares(20, 7, 1, 2, Tape(seed))
{_HEAP}
print("made", hexlify(made).decode(), " ".join([str(one) for one in noise]))
"""


def compare_masks(board: Board) -> SelftestResult:
    """Return the digest of what hides numbers in a secure sum, made alike by board and machine.

    Raises:
        BoardFault: it is not, or the board cannot make it: some have no AES.
    """
    seed, other = os.urandom(32), ciphers.Secret(os.urandom(32)).public
    lines = parse_lines(board.run(_SUM_CODE % (seed.hex(), other.hex())))
    own = ciphers.Secret(seed)
    key = own.agree(other)
    made = own.public + key + ciphers.seal(key, secure_sum.NONCE, key, seed)
    made += ciphers.aes(key, secure_sum.make_counters(0, 64))
    noise = draw_shares(20, 7, 1, 2, entropy.Tape(seed))
    if lines.get("made") != " ".join([made.hex(), *map(str, noise)]):
        raise BoardFault(
            f"{board.where} makes other masks or other noise from test data than this machine; "
            "its masks would not cancel, and every sum with it would be garbage. Run this again; "
            "if it happens again, flash MicroPython anew, and report which board it is"
        )
    shows = "its masks and its noise are those of others"
    return SelftestResult(shorten_digest(made), int(lines["heap"]), shows)


def run_selftest(board: Board, mechanism: str) -> SelftestResult:
    """Return what the check found that is of a board's mechanism.

    Raises:
        BoardFault: as `compare_frame`, `compare_masks`, or `compare_answers`.
    """
    if find_mechanism(mechanism).trust == "distributed":
        return compare_masks(board)
    if find_mechanism(mechanism).reads == "temperature":
        return compare_frame(board)
    return compare_answers(board)


def shorten_digest(frame: bytes) -> str:
    """Return the short name of a frame."""
    return hashlib.sha256(frame).hexdigest()[:16]


def _pack_identity(who: Any) -> list[Any]:
    """Return who a device is as it can stand in code."""
    return [key.hex() if isinstance(key, bytes) else key for key in who]


def _parse_hex(text: str) -> bytes:
    try:
        return binascii.unhexlify(text)
    except ValueError:
        return b""


_ASK = """
import gc
import io
import sys
import time
if hasattr(gc, "threshold"):
    gc.threshold(2000)
from edge.board import config, drivers
from edge.core.records import check_whole
held = config.load(%r)


class Params:
    exponent = 8


WHOLE = "a part of a count would show in whether an answer comes. Return the converter's counts"


def tells(machine):
    from edge.board import places
    from edge.board.sensors.bus import GONE
    sensor = places.open_on_board(held, machine)
    for _ in range(40):
        sensor.poll()
        if sensor.find_state() == (True, True):
            break
        time.sleep_ms(100)
    there, known = sensor.find_state()
    print("place", "known" if known else "unknown")
    if not there:
        raise OSError(GONE)


def find_line(why):
    # Where a driver of one's own stops, and no word of what it says, which may be a reading.
    text = io.StringIO()
    sys.print_exception(why, text)
    lines = [line.split(", ")[1] for line in text.getvalue().split("\\n") if "/yours" in line]
    return ", " + lines[-1] if lines else ""


doing = "opening it"
try:
    import machine
    if %r:
        tells(machine)
    else:
        makes = drivers.make_i2c_opener, drivers.make_one_wire_opener, drivers.make_analog_opener
        ways = [make(machine) for make in makes]
        begun = time.ticks_ms()
        sensor = drivers.open_sensor(held.driver, *ways)
        spent = time.ticks_diff(time.ticks_ms(), begun)
        print("sensors", sensor.sensors, held.identity.sensors)
        for gives in ("counts", "read"):
            if gives == "read" or hasattr(sensor, gives):
                doing = gives + "()"
                begun = time.ticks_ms()
                found = sensor.read(Params) if gives == "read" else sensor.counts()
                if gives == "read":
                    print("took", spent + time.ticks_diff(time.ticks_ms(), begun))
                kinds = [type(one).__name__ for one in found if type(one) is not int]
                if kinds:
                    print("fault", "its", gives, "gives", kinds[0], "and must give int:", WHOLE)
                    break
                if len(check_whole(found, len(found))) != sensor.sensors:
                    print("fault", "its", gives, "gives", len(found), "of", sensor.sensors)
                    break
except (OSError, ValueError) as why:
    print("fault", why)
except Exception as why:
    print("stops", type(why).__name__, "in", doing + find_line(why))
print("driver", held.driver["name"])
"""


_WRITE = """
import os
import time
from edge.core.budget import COUNT, Copies, Files, Limits
folder, name = %r


def gone():
    for i in range(COUNT):
        try:
            os.remove("%%s/%%s.%%d" %% (folder, name, i))
        except OSError:
            pass


try:
    os.mkdir(folder)
except OSError:
    pass
gone()  # of a look that was cut off
try:
    slots = Copies(Files(folder, name), bytes(32))
    begun = time.ticks_ms()
    slots.put(0, 0, 0, bytes(32), Limits(0, 0, 0, 0, 0, 0))
    print(time.ticks_diff(time.ticks_ms(), begun))
finally:
    gone()
"""


WELL = "it answers; what it says stays on the board"
PRETENDED = "it answers, and is pretended, for a board in a folder has none"
NOWHERE = (
    "the receiver talks, but has not found its place in these seconds. Under open sky that takes "
    "about a minute. Until then the device answers nothing, or tells the place set as until_mm "
    "under [driver]"
)


class SensorTrial(NamedTuple):
    """What a look at a sensor showed. wrong: with what to do, or ""; else how it is.

    took_ms: to open and read it, where it was measured.
    """

    wrong: str
    how: str = WELL
    took_ms: int | None = None


def try_sensor(board: Board, reads: str, told: str = CONFIG) -> SensorTrial:
    """Return what is wrong with a board's sensor, or how it is.

    Args:
        reads: what its mechanism reads.
        told: the file on the board that says which it is.

    Raises:
        BoardFault: the board cannot be asked.
    """
    try:
        said = board.run(_ASK % (told, reads == "place"))
    except BoardFault as fault:
        if not fault.raised:
            raise
        return SensorTrial(f"it cannot be asked for: {fault.raised}")
    lines = parse_lines(said)
    counts = lines.get("sensors", "").split()
    if len(counts) == 2 and counts[0] != counts[1]:
        return SensorTrial(
            f"{counts[0]} sensors answer and the device is enrolled for {counts[1]}; each reading "
            "has one place in the room. Say which as roms under [driver], or wire one alone"
        )
    driver, wrong = lines.get("driver", ""), lines.get("fault", "")
    if "stops" in lines:
        mend = (
            "Correct the driver that is named as file under [driver]"
            if driver == "yours"
            else "Correct the pins and the bus under [driver]; if they are right, report it with "
            "the name of the board"
        )
        wrong = f"its driver stops with {lines['stops']}. {mend}"
    elif wrong:
        if driver == "yours" and wrong == RUBBISH:
            wrong += ", or at the bounds in your driver: what lies beyond them counts as a fault"
        wrong += getattr(board, "answers", "")
    how = PRETENDED if hasattr(board, "answers") else WELL
    if lines.get("place") == "unknown":
        how = NOWHERE
    took_ms = int(lines["took"]) if "took" in lines else None
    return SensorTrial(wrong and f"{driver}: {wrong}", how, took_ms)


def measure_slots_ms(board: Board) -> int:
    """Return how long a board takes to write all slots of a budget: others, gone afterwards.

    Raises:
        BoardFault: it cannot write them.
    """
    return int(board.run(_WRITE % ((FOLDER, "trial"),)))

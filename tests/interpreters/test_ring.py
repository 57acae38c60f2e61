"""Frames that wait for their receipt: in order, in bounded memory, through a cut at any byte.

The oracle is a Python list. A power cut is what it leaves: a file that ends at some byte.
"""

from pathlib import Path

import pytest

from tests import processes

MODEL = """
from edge.core.compat import sha256
from edge.net.ring import Ring

def frame(n):
    digest = sha256(b"%d" % n)
    return b"%06d" % n + digest[: n * 7 % 30]

ring, model, lost, made = Ring(200), [], 0, 0
seed = b"ops"
for turn in range(3000):
    if turn % 32 == 0:
        seed = sha256(seed)
    if seed[turn % 32] % 5 < 3:
        made += 1
        ring.put(frame(made))
        model.append(frame(made))
        while sum([len(held) + 2 for held in model]) > 200:
            model = model[1:]
            lost += 1
    elif ring.drop_oldest():
        model = model[1:]
    used = sum([len(held) + 2 for held in model])
    oldest = model[0] if model else None
    if (ring.oldest(), len(ring), ring.overwritten, ring.bytes_used) != (
            oldest, len(model), lost, used):
        print("wrong at", turn)
        break
print(made > 1500, lost > 100, len(ring._held))
"""


def test_a_ring_does_as_a_list_that_forgets_the_oldest(interpreter) -> None:
    """3000 random steps round and round 200 bytes: contents, count and losses agree."""
    assert interpreter.run(MODEL) == "True True 200\n"


def test_a_receipt_frees_its_own_frame_alone(interpreter) -> None:
    """The frame under way may have made room meanwhile; the next one was never sent."""
    script = """
from edge.net.ring import Ring
ring = Ring(24)
print(ring.oldest(), ring.drop_oldest(), len(ring))
ring.put(b"frame one")
sent = ring.oldest()
ring.put(b"frame two")
ring.put(b"frame three")
dropped = ring.drop_oldest(sent), ring.drop_oldest(ring.oldest())
print(ring.overwritten, *dropped, ring.oldest(), len(ring))
try:
    ring.put(bytes(23))
except ValueError as why:
    print(why)
"""
    first, second, third = interpreter.run(script).splitlines()

    assert first == "None False 0"
    assert second == "1 False True b'frame three' 1"
    assert third.startswith("a frame of 23 bytes came to a ring of 24; it must fit")


def place(interpreter, tmp_path: Path) -> str:
    """Return where an interpreter may write: the WebAssembly port has files of its own."""
    return "/spill" if interpreter.name == "wasm" else str(tmp_path / "spill")


SPILL = """
from edge.net.ring import File, Ring

def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""

def write(path, data):
    with open(path, "wb") as file:
        file.write(data)

def all_of(spill):
    got = []
    while True:
        frame = spill.oldest()
        if frame is None:
            return got
        got.append(int(frame[:4]))
        spill.drop_oldest()

def frame(n):
    return b"%04d" % n + bytes(n % 13)

path = {path!r}
{case}
"""


def test_an_outage_longer_than_memory_is_kept_in_order(interpreter, tmp_path: Path) -> None:
    """100 frames through 100 bytes of memory and a spill; another start finds what was kept."""
    case = """
ring = Ring(100, File(path, 8000))
for n in range(100):
    ring.put(frame(n))
print(len(ring), ring.overwritten, int(ring.oldest()[:4]))
for n in range(7):
    ring.drop_oldest()
ring.save()
ring = Ring(100, File(path, 8000))
print(len(ring), all_of(ring)[-93:] == list(range(7, 100)), len(ring))
print(len(File(path, 8000)), read(path + ".0"), read(path + ".1"))
"""
    assert interpreter.run(SPILL.format(path=place(interpreter, tmp_path), case=case)) == (
        "100 0 0\n100 True 0\n0 b'' b''\n"
    )


def test_a_spill_is_bounded_and_counts_what_it_loses(interpreter, tmp_path: Path) -> None:
    """Frames for ever, none freed: never more than the size, the newest there, all accounted."""
    case = """
spill, lost, most = File(path, 400), 0, 0
for n in range(200):
    lost += spill.put(frame(n))
    most = max(most, len(read(path + ".0")) + len(read(path + ".1")))
held = len(spill)
left = all_of(spill)
print(most <= 400, held + lost, left == list(range(200 - held, 200)), held > 5)
print(File(path, 400).put(bytes(200)))
"""
    assert interpreter.run(SPILL.format(path=place(interpreter, tmp_path), case=case)) == (
        "True 200 True True\n1\n"
    )


CUT = """
wrong = 0
for before in range(12):
    write(path + ".0", b"")
    write(path + ".1", b"")
    spill = File(path, 160)
    for n in range(before):
        spill.put(frame(n))
    old = [read(path + ".0"), read(path + ".1")]
    spill.put(frame(before))
    new = [read(path + ".0"), read(path + ".1")]
    i = 0 if old[0] != new[0] else 1
    write(path + ".%d" % i, old[i])
    there = all_of(File(path, 160))
    # A file that begins anew is cut from nothing; one that is added to, from what it had.
    start = len(old[i]) if new[i].startswith(old[i]) else 0
    for cut in range(start, len(new[i])):
        write(path + ".%d" % (1 - i), old[1 - i])
        write(path + ".%d" % i, new[i][:cut])
        kept = all_of(File(path, 160))
        if start:
            wrong += kept != there  # the others are as they were
        write(path + ".%d" % (1 - i), old[1 - i])
        write(path + ".%d" % i, new[i][:cut])
        spill = File(path, 160)
        spill.put(frame(900))
        spill.put(frame(901))
        again = all_of(File(path, 160))
        wrong += again[-2:] != [900, 901] or again != sorted(again)
print("wrong", wrong)
"""


@pytest.mark.long
def test_a_power_cut_at_any_byte_takes_at_most_that_frame(interpreter, tmp_path: Path) -> None:
    """Within an added record, within a file that begins anew; and the spill goes on afterwards."""
    ran = interpreter.run(SPILL.format(path=place(interpreter, tmp_path), case=CUT))

    assert ran == "wrong 0\n"


def test_flash_that_lies_gives_no_frame_that_was_not_put(interpreter, tmp_path: Path) -> None:
    """Every byte of a file in turn is another: frames vanish then, but none is made up."""
    case = """
spill = File(path, 400)
for n in range(6):
    spill.put(frame(n))
good, wrong, fewer = read(path + ".0"), 0, 0
for at in range(len(good)):
    write(path + ".0", good[:at] + bytes([good[at] ^ 0x55]) + good[at + 1 :])
    spill = File(path, 400)
    count = 0
    while spill.oldest() is not None:
        wrong += spill.oldest() != frame(count)
        count += 1
        spill.drop_oldest()
    fewer += count < 6
print(wrong, fewer == len(good))
"""
    assert interpreter.run(SPILL.format(path=place(interpreter, tmp_path), case=case)) == (
        "0 True\n"
    )


def test_a_flash_that_forgets_is_told_of_until_a_receipt_comes(
    interpreter, tmp_path: Path
) -> None:
    """Cut short, spoilt while it was off, and spoilt while it ran: frames lost are counted."""
    case = """
spill = File(path, 400)
for n in range(6):
    spill.put(frame(n))
good = read(path + ".0")
write(path + ".0", good[:-3])
ring = Ring(100, File(path, 400))
print(ring.trouble, ring.overwritten, len(ring), ring.drop_oldest(), repr(ring.trouble))
write(path + ".0", b"x" * len(good))
ring = Ring(100, File(path, 400))
print(ring.trouble, ring.overwritten, len(ring))
write(path + ".0", good)
ring = Ring(100, File(path, 400))
ring.put(frame(7))
print(repr(ring.trouble), len(ring), all_of(Ring(100, File(path, 400))) == list(range(6)))
write(path + ".0", good)
ring = Ring(100, File(path, 400))
ring.put(frame(7))
write(path + ".0", b"x" * len(good))
print(ring.oldest() == frame(7), len(ring), ring.overwritten, ring.trouble)
"""
    assert interpreter.run(SPILL.format(path=place(interpreter, tmp_path), case=case)) == (
        "flash 1 5 True ''\nflash 1 0\n'' 7 True\nTrue 1 6 flash\n"
    )


def test_a_flash_that_cannot_be_read_stops_no_device(interpreter, tmp_path: Path) -> None:
    """Where a file should be is a folder, so nothing can be opened, nor written."""
    case = """
import os
for i in (0, 1):
    os.mkdir(path + ".%d" % i)
ring = Ring(60, File(path, 400))
for n in range(20):
    ring.put(frame(n))
print(ring.trouble, len(ring) > 1, ring.overwritten > 10, all_of(ring)[-1])
"""
    assert interpreter.run(SPILL.format(path=place(interpreter, tmp_path), case=case)) == (
        "flash True True 19\n"
    )


def test_rubbish_that_looks_like_a_huge_frame_stops_no_board(need, tmp_path: Path) -> None:
    """A flash that is spoilt must not keep a board from its start; what is before it is kept."""
    script = f"""
from edge.net.spill import File, _record
path = {str(tmp_path / "frames")!r}
with open(path + ".0", "wb") as file:
    file.write(_record(b"\\0\\0\\0\\1") + _record(b"frame") + b"\\x70\\0abcd" + bytes(100))
kept = File(path, 65536)
print(len(kept), kept.oldest(), kept.put(b"next"), len(kept))
try:
    print(len(bytes(28673)))  # or the heap would have had room for it
except MemoryError:
    print("no room")
"""
    ran = processes.run(
        [need("micropython-i386"), "-X", "heapsize=24k", "-c", script],
        env={"MICROPYPATH": f"{Path(__file__).parents[2]}:.frozen"},
        capture_output=True,
        text=True,
    )

    assert ran.stdout == "1 b'frame' 0 2\nno room\n", ran.stderr

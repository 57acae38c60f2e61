"""One device of a secure sum on MicroPython: byte by byte what it would send from CPython."""

import hashlib
import json
from pathlib import Path

import pytest

from edge.core.wire import topic
from edge.host import rootkeys
from gateway.service.secure_sum.collecting import RELEASED
from tests import processes
from tests.interpreters import heaps
from tests.sums import BODY, Talk, Town, drawn, root_of, who_is

ROOT = Path(__file__).resolve().parents[2]

# Only what a device has: its roster, its keys, and what the gateway sent in a round of others.
SCRIPT = """
import gc, sys
gc.threshold(2000)  # while it loads, as at the start of a board
import edge.mechanisms.sum_member
gc.collect()
import binascii, hashlib, json
from edge.core.entropy import Tape
from edge.core.keys import Identity
from edge.mechanisms.secure_sum import Terms, read_roster
file, raw = open(sys.argv[1], "rb"), binascii.unhexlify
told = json.loads(file.readline())
who = Identity(*[raw(one[2:]) if str(one).startswith("0x") else one for one in told["who"]])
roster = read_roster(raw(told["roster"]), raw(told["key"]), told["topic"])
member = edge.mechanisms.sum_member.Member(who, roster, raw(told["static"]))
terms, rng, step = Terms(*told["terms"]), Tape(raw(told["tape"])), told["step"]
body = raw(told["body"])
told = roster = None
gc.collect()
gc.threshold(-1)
def numbers(divisor):
    made = [0] * terms.length
    for at in range(terms.length):
        made[at] = step * (at + 1) - 5
    return made
def sent(frames):
    digest = hashlib.sha256()
    for frame in frames:
        digest.update(frame)
    print(binascii.hexlify(digest.digest()).decode())
sent(member.begin(body, terms, numbers, rng))
while True:
    head = file.read(5)  # whether it came to the shard, and its length
    if not head:
        break
    sent(member.heard(file.read(int.from_bytes(head[1:], "big")), head[0] == 1))
"""


def told(town: Town, place: int) -> str:
    """Return what a script needs to be this device."""
    name = town.shard.members[place]
    who = [f"0x{one.hex()}" if isinstance(one, bytes) else one for one in who_is(name)]
    given = {
        "who": who,
        "roster": town.drawn.rosters[place].hex(),
        "key": rootkeys.roster_key(root_of(name)).hex(),
        "topic": topic("lab", name, "roster"),
        "static": rootkeys.static_key(root_of(name)).hex(),
        "terms": list(town.terms()),
        "tape": (b"device %d" % place).hex(),
        "body": BODY.hex(),
        "step": place,
    }
    return json.dumps(given) + "\n"


# In place it runs in a heap of 88 KB where words have 64 bits, of 54 KB where 32; where things lie
# depends on the length of a path. On 2026-11-26 a round of 64 took .75 and 1.4 s of CPU in 96 and
# 56 KB, of that half to collect garbage; the day before .9 s on 32 bits in 160 KB, and .8 s loaded
# into a heap, of 112 KB.
@pytest.mark.parametrize(
    ("program", "form", "n", "length", "heap_kb"),
    [
        ("micropython", "source", 16, 64, 104),
        pytest.param("micropython", "mpy", 64, 1024, 112, marks=pytest.mark.long),
        pytest.param("micropython", "in place", 64, 1024, 96, marks=pytest.mark.long),
        pytest.param("micropython-i386", "in place", 64, 1024, 56, marks=pytest.mark.long),
    ],
)
def test_a_device_on_micropython_sends_the_same_bytes(
    need, tmp_path: Path, program: str, form: str, n: int, length: int, heap_kb: int
) -> None:
    """Whoever sends other bytes spoils the sum of all."""
    start = "" if form == "source" else heaps.built(tmp_path)[form]
    town, place, sent = Town(drawn(n, 20)[0], length), 3, []
    lines = told(town, place).encode()
    talk = Talk(town)
    while talk.gateway.state < RELEASED:
        sent.append(hashlib.sha256(b"".join(talk.up[place])).hexdigest())
        talk.give()
        if talk.down:
            message = talk.to(place)
            lines += bytes([talk.down[0][0] is None]) + len(message).to_bytes(4, "big") + message
            talk.hear()
    (tmp_path / "told").write_bytes(lines)
    (tmp_path / "run.py").write_text(start + SCRIPT)
    ran = processes.run(
        [
            need(program),
            "-X",
            f"heapsize={heap_kb}k",
            tmp_path / "run.py",
            tmp_path / "told",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"MICROPYPATH": f"{ROOT}:.frozen"},
    )

    assert ran.stdout.split() == sent, ran.stderr

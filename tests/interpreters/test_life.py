"""A device's whole life, the same to the last byte on every Python and on little memory.

Three boots, a round that is refused, limits made tighter, and a budget that comes to its end:
node, budget, ticker and all that they stand on, in one heap of 64 KB.
"""

from dataclasses import replace
from typing import Any

# What the device needs, with 32-bit words and with 64; the tests' own baggage takes more.
HEAP_KB = {"unix": 128, "i386": 64}

SCRIPT = r"""
import gc

if hasattr(gc, "threshold"):
    # As a board's start does: loading leaves the heap in pieces otherwise.
    import micropython

    gc.threshold(2000)
    micropython.opt_level(3)

from edge.core.budget import Budget  # the large ones first, as they need the most to be compiled
from edge.core.node import Node
from edge.core import wire
from edge.mechanisms import thermal
from edge.net.ticker import Ticker
from edge.core import entropy
from edge.core.compat import Uptime, sha256
from edge.core.limits import Limits
from edge.core.records import Grid, Guarantee, Round
from edge.core.slots import Ram
from edge.core.tightening import topic
from edge.host import post, rootkeys
from edge.host.enrol import provision
from edge.host.post import pack_limits

ROOT, KEY = bytes(range(32)), bytes(range(32, 64))
TOPIC, DATA = wire.round_topic("lab", "thermal"), wire.topic("lab", "n", "data")
promise = Guarantee((1, 1), (1, 100000), (1, 1), "neighbours", "local", "unit", "unprotected")

def plan(number, variance=250000):
    params = (70, 8, -4000, 4000, variance, 16, 1)
    return Round(number, "thermal", Grid((100, 1), 100), params, promise)

# Ten answers of 0.001 in rho, or some more with more noise.
limits = Limits(1, 8, 500, 250000, 10000000, 1000)
tighter = Limits(2, 8, 500, 300000, 10000000, 1000)
who = rootkeys.identity("lab", "n", ROOT, KEY, 3, "keyholder", 64)
slots = Ram()
provision(slots, who.state_key, rootkeys.first_chain(ROOT), limits)
clock, sent, number = Uptime(), b"", 0
for boot in (1, 2, 3):
    budget = Budget(slots, who.state_key, 2)
    budget.boot()
    ticker = Ticker(Node(who, budget, (1, 16)), 100)
    for turn in range(4):
        number += 1
        asked = plan(number, 250000 if number < 10 else 300000)
        seen = [(37 * (number + i)) % 4000 for i in range(64)]
        now = 2000 * turn
        gc.collect()  # for our own sake: what the script holds is not the device's
        ticker.due(now)
        ticker.came(post.pack_round(asked, KEY, TOPIC), lambda params: seen, now)
        early, frame = ticker.due(now + 99), ticker.due(now + 100)
        if frame is None:
            print(boot, number, ticker.node.state(), ticker.node.refusal[:44])
            continue
        report = post.unpack_report(frame, rootkeys.mac_key(ROOT), DATA, "n")
        rng = entropy.keyed(rootkeys.chain_at(ROOT, boot), "n", boot, report.seq, 3)
        if early or list(thermal.unveil(asked, report.payload, rng).values) != seen:
            print("wrong", boot, number)
        sent = sha256(sent + frame)
    if boot == 2:
        message = pack_limits(tighter, rootkeys.config_key(ROOT), topic("lab", "n"))
        print(boot, "tightened", ticker.node.tighten(message)["taken"])
print(clock.now_ms() >= 0, "".join(["%02x" % b for b in sent[:8]]))
"""

LIFE = """\
2 tightened True
3 9 ready it asks for less noise than this device's li
3 12 exhausted its budget is spent, and with it what was pr
True beabcd1151891c7d
"""


def small(interpreter: Any) -> Any:
    """Return the interpreter with no more heap than a device needs."""
    heap = f"heapsize={HEAP_KB.get(interpreter.name)}k"
    words = [heap if word.startswith("heapsize=") else word for word in interpreter.command]
    return replace(interpreter, command=tuple(words))


def test_a_life_of_three_boots_is_the_same_everywhere(interpreter) -> None:
    """64 sensors, every frame opened again by the key holder, until nothing is left."""
    assert small(interpreter).run(SCRIPT) == LIFE

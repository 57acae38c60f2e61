"""No message stops a device, on the little memory that it has.

What is signed with the site's key can be forged by whoever steals one board, and what is not
signed by anybody at the broker; a device that stops would have to be visited.
"""

SCRIPT = r'''
import gc

if hasattr(gc, "threshold"):
    gc.threshold(2000)  # as in boot.py: loading leaves the heap in pieces otherwise

LONG = memoryview(bytes(4096))  # taken while the heap is still in one piece

from edge.core import wire
from edge.host import post, rootkeys
from edge.core.budget import Budget
from edge.host.enrol import provision
from edge.core.limits import Limits
from edge.core.node import Node
from edge.core.records import Grid, Guarantee, Round
from edge.core.slots import Ram
from edge.net.ticker import Ticker

ROOT, KEY, TOPIC = bytes(32), bytes(32), wire.round_topic("lab", "thermal")
promise = Guarantee((1, 1), (1, 100000), (1, 2), "n", "local", "u", "p")

def signed(params):
    return post.pack_round(Round(1, "thermal", Grid((9, 1), 0), params, promise), KEY, TOPIC)

def messages():
    """One at a time: they do not fit together."""
    for body in (
        (b"\xd8\x4d", 480, b"\x40"),             # a typed array of a typed array of ...
        (b"\x81", 900, b"\x00"),                 # arrays as deep
        (b"\x9b", 1, b"\xff" * 8),               # an array that promises 2**64 items
        (b"\xbb", 1, b"\xff" * 8),               # and a map
        (b"\x5b", 1, b"\x7f" * 8),               # and a string
        (b"\x99\x03\xe8", 1, b"\x80" * 1000),    # a thousand empty arrays
    ):
        gc.collect()  # for our own sake: the script must hold it in one piece
        yield wire.signed(body[0] * body[1] + body[2], KEY, TOPIC)
    for params in (
        (), (1, 2), (9, 8, 0, 4000, 250000, 1), (9, 8, 0, 4000, 250000, 1, 1, 1),
        (9, 1 << 40, 0, 4000, 250000, 1, 1), (9, -(1 << 40), 0, 4000, 250000, 1, 1),
        (9, 8, 0, 1 << 60, 250000, 1, 1), (9, 8, 0, 4000, 1 << 63, 1, 1),
        (9, 8, 0, 4000, 0, 1, 1), (1 << 50, 8, 0, 4000, 250000, 1, 0),
    ):
        yield signed(params)
    for size in (0, 1, 16, 17, 1024, 1025, 3000, 4096):
        yield LONG[:size]

who = rootkeys.identity("lab", "n", ROOT, KEY, 2, "keyholder")
slots = Ram()
provision(slots, who.state_key, rootkeys.first_chain(ROOT), Limits(1, 8, 500, 250000, 10**7, 50))
budget = Budget(slots, who.state_key)
budget.boot()
device = Node(who, budget)
ticker = Ticker(device, 100)
ticker.due(0)
count = 0
for message in messages():
    count += 1
    if device.answer(message, lambda params: (5,)) is not None or not device.refusal:
        print("answered", len(message), bytes(message[:20]))
    ack = device.tighten(message)
    if ack["taken"] or not ack["why"]:
        print("tightened", len(message), bytes(message[:20]))
    ticker.came(message, lambda params: (5,), count)
    if ticker.due(1000) is not None:
        print("sent", len(message), bytes(message[:20]))
ticker.came(signed((9, 8, 0, 4000, 250000, 1, 1)), lambda params: (5,), 1000)
ticker.due(1000)
print(count, device.state(), ticker.due(1100) is not None)
'''  # fmt: skip


def test_every_hostile_message_is_refused_and_the_next_round_answered(interpreter) -> None:
    """Refused with a reason, without an exception, on a heap of 64 KB too."""
    assert interpreter.run(SCRIPT).split() == ["24", "ready", "True"]


def test_the_harness_sees_a_device_that_answers(interpreter) -> None:
    """The same script with one message that is within the limits must say so."""
    careless = SCRIPT.replace("(9, 8, 0, 4000, 0, 1, 1)", "(9, 8, 0, 4000, 999999, 1, 1)")

    assert "answered" in interpreter.run(careless)

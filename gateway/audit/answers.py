"""The script of golden answers: one line each, the same on every Python.

It imports edge alone. It draws from every sampler, signs every kind of message, boots a device
twice, lets it answer and writes out what it keeps: what a key holder, a gateway and the device
itself must be able to read years later.
"""

SCRIPT = """
import binascii
from edge import cbor, entropy, grid, keys, limits, noise, thermal, wire, tightening
from edge.host import post, rootkeys
from edge.budget import Budget
from edge.host.enrol import provision
from edge.node import Node
from edge.records import Grid, Guarantee, Round
from edge.slots import Ram

def hexed(data):
    return binascii.hexlify(data).decode()

ROOT, SITE_KEY = bytes(range(32)), bytes(range(32, 64))

for name, several in (
    ("coin", ((1, 3), (2, 7), (10**20, 3 * 10**20))),
    ("exp_coin", ((0, 1), (1, 2), (7, 2))),
    ("geometric", ((1, 1), (3, 1000), (7, 3))),
    ("dlaplace", ((1, 1), (500, 3), (100000, 1))),
    ("dgauss", ((1, 4), (9, 2), (4000000, 1), (10**10, 1))),
    ("polya", ((7, 1, 2),)),
):
    for args in several:
        for rng in (entropy.Tape(b"answers"), entropy.keyed(ROOT, "n\\u00e9", 3, 1 << 40, 12)):
            sampler = getattr(noise, name)
            print(name, args, [int(sampler(*(args + (rng,)))) for _ in range(12)])
rng = entropy.Tape(b"below")
print("below", [rng.below(n) for n in (1, 2, 3, 256, 1000003, 2**70) for _ in range(4)])
square = Grid((8, 8), 0)
print("curve", [grid.index(square, grid.hilbert_cell(square, i)) for i in range(64)])
for value in (0, -1, 24, -65537, 2**64 - 1, [None, "\\u00e9", b"7"], {1: [2], 0: {3: 4}}):
    print("cbor", hexed(cbor.encode(value)))
for bits in (16, 32):
    print("typed", hexed(cbor.encode(cbor.Typed(bits, [0, 1, -1, 32767, -32768]))))
for epoch in (1, 2, 70):
    chain = rootkeys.chain_at(ROOT, epoch)
    print("keys", hexed(chain), hexed(keys.epoch_key(chain, epoch)))

promise = Guarantee((1, 1), (1, 100000), (3721, 8000000), "one moves", "local", "a day", "\\u00e9")
held = limits.Limits(1, 8, 232, 250000, 10**9, 0)
slots = Ram()
who = rootkeys.identity("lab", "n001", ROOT, SITE_KEY, 2, "keyholder", 3)
provision(slots, who.state_key, rootkeys.first_chain(ROOT), held)
number = 0
for boot in range(2):
    budget = Budget(slots, who.state_key)
    budget.boot()
    device = Node(who, budget)
    for variance in (250000, 250000, 4000000):
        number += 1
        params = tuple(thermal.Params(50, 8, -4000, 40000, variance, 1, 1))
        asked = Round(number, "thermal", Grid((100, 1), 100), params, promise)
        message = post.pack_round(asked, SITE_KEY, wire.round_topic("lab", "thermal"))
        print("round", hexed(message), hexed(wire.name_of(asked)))
        device.prepare()
        frame = device.answer(message, lambda params: (-7, 300 * number, 50000))
        print("frame", device.refusal or hexed(frame))
        if frame:
            topic = wire.topic("lab", "n001", "data")
            report = post.unpack_report(frame, who.mac_key, topic, "n001")
            chain = rootkeys.chain_at(ROOT, report.epoch)
            stream = entropy.keyed(chain, "n001", report.epoch, report.seq, 2)
            print("unveiled", list(thermal.unveil(asked, report.payload, stream).values))
    tighter = limits.Limits(2 + boot, 8, 232, 250001 + boot, 10**9, boot)
    order = post.pack_limits(tighter, who.config_key, tightening.topic("lab", "n001"))
    print("limits", hexed(order), device.tighten(order)["taken"])
    print("price", limits.price(tighter, 9, 3000001), budget.spent, budget.epoch, device.state())
    print("slots", " ".join([hexed(slots.read(i)) for i in (0, 1, 2)]))
"""

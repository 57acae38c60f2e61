"""A device's whole life is the same everywhere, and takes no more memory the longer it lasts."""

import ast
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import paho.mqtt.client as mqtt
import pytest

from edge.core.budget import COUNT, Limits
from edge.core.records import Grid, Guarantee, Round
from edge.core.wire import round_topic, topic
from edge.host import post, rootkeys
from edge.host.enrol import Ram, provision
from tests.interpreters.test_mqtt import Broker, Proxy, mosquitto, observed
from tests.waiting import eventually

# A device's whole life, the same to the last byte on every Python and on little memory.

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
from edge.core.budget import Limits
from edge.core.records import Grid, Guarantee, Round
from edge.host.enrol import Ram
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
        ticker.poll(now)
        ticker.take(post.pack_round(asked, KEY, TOPIC), lambda params: seen, now)
        early, frame = ticker.poll(now + 99), ticker.poll(now + 100)
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


# Edge is one source for every Python: it loads everywhere and asks for nothing to be installed.

EDGE = Path(__file__).resolve().parents[2] / "edge"
MODULES = sorted(
    ".".join(path.relative_to(EDGE.parent).with_suffix("").parts)
    for path in EDGE.rglob("*.py")
    if path.name != "__init__.py"
)

# What is on a board without `mip install`, beside edge itself. Hardware modules are for
# edge/board alone, whose files never run here.
PLAIN = {"array", "asyncio", "binascii", "collections", "gc", "hashlib", "io", "json", "os"}
PLAIN |= {"errno", "micropython", "re", "select", "socket", "struct", "sys", "time"}
LINUX = {"fcntl", "signal", "stat", "termios"}
HARDWARE = {"bluetooth", "esp32", "machine", "neopixel", "network", "ntptime", "rp2", "ssl", "tls"}
HARDWARE |= {"ds18x20", "esp", "onewire"}
# As a board loads: it collects often, and keeps no facts about lines (`edge.loading`).
AS_A_BOARD = """
import gc
if hasattr(gc, "threshold"):
    gc.threshold(2000)
try:
    import micropython
    micropython.opt_level(3)
except ImportError:
    pass
"""


def foreign_imports(source: str, allowed: set[str]) -> list[str]:
    """Return the modules this source imports that are neither its own nor allowed."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.append(node.module or "")
    return [name for name in found if name.partition(".")[0] not in allowed]


@pytest.mark.long
def test_edge_loads_on_every_interpreter(interpreter) -> None:
    """A word of newer Python anywhere in edge would stop every board at its first import."""
    # Pins and radios (its own tests load what can be loaded), the kernel's files, machine code,
    # docstrings that are put into classes.
    device = ("edge.board", "edge.linux", "edge.core.viper", "edge.records")
    boardless = [name for name in MODULES if not name.startswith(device)]

    for name in boardless:  # each alone: no device needs all of edge
        assert interpreter.run(f"{AS_A_BOARD}import {name}\nprint('all')") == "all\n", name


def test_a_module_that_does_not_load_is_noticed(interpreter) -> None:
    """The harness must fail when the script does, or the test above says nothing."""
    with pytest.raises(RuntimeError, match="absent"):
        interpreter.run("import edge.absent")


@pytest.mark.parametrize("module", MODULES)
def test_edge_imports_nothing_that_must_be_installed(module: str) -> None:
    """A board has what its firmware has; a package from elsewhere would not be there."""
    source = EDGE.parent.joinpath(*module.split(".")).with_suffix(".py").read_text()
    allowed = PLAIN | HARDWARE | {"edge"} if module.startswith("edge.board.") else PLAIN
    if module.startswith("edge.linux."):
        allowed = PLAIN | LINUX
    if module == "edge.mechanisms.crypto":
        allowed = PLAIN | {"cryptolib"}
    if module == "edge.net.tls":
        allowed = PLAIN | {"ssl", "tls"}
    if module == "edge.manifest":  # for whoever builds a firmware: no board runs it
        allowed = PLAIN | {"atexit", "shutil", "tempfile"}

    assert foreign_imports(source, allowed) == []


@pytest.mark.parametrize(
    "line",
    ["import numpy", "from dataclasses import dataclass", "import os, hmac", "import machine"],
)
def test_an_import_from_elsewhere_is_noticed(line: str) -> None:
    """The check above must see every form an import takes."""
    assert foreign_imports(line, PLAIN)


# No message stops a device, on the little memory that it has.

HOSTILE = r'''
import gc

if hasattr(gc, "threshold"):
    gc.threshold(2000)  # as in boot.py: loading leaves the heap in pieces otherwise

LONG = memoryview(bytes(4096))  # taken while the heap is still in one piece

from edge.core import wire
from edge.host import post, rootkeys
from edge.core.budget import Budget
from edge.host.enrol import provision
from edge.core.budget import Limits
from edge.core.node import Node
from edge.core.records import Grid, Guarantee, Round
from edge.host.enrol import Ram
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
        yield wire.sign(body[0] * body[1] + body[2], KEY, TOPIC)
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
ticker.poll(0)
count = 0
for message in messages():
    count += 1
    if device.answer(message, lambda params: (5,)) is not None or not device.refusal:
        print("answered", len(message), bytes(message[:20]))
    ack = device.tighten(message)
    if ack["taken"] or not ack["why"]:
        print("tightened", len(message), bytes(message[:20]))
    ticker.take(message, lambda params: (5,), count)
    if ticker.poll(1000) is not None:
        print("sent", len(message), bytes(message[:20]))
ticker.take(signed((9, 8, 0, 4000, 250000, 1, 1)), lambda params: (5,), 1000)
ticker.poll(1000)
print(count, device.state(), ticker.poll(1100) is not None)
'''  # fmt: skip


def test_every_hostile_message_is_refused_and_the_next_round_answered(interpreter) -> None:
    """Refused with a reason, without an exception, on a heap of 64 KB too."""
    assert interpreter.run(HOSTILE).split() == ["24", "ready", "True"]


def test_the_harness_sees_a_device_that_answers(interpreter) -> None:
    """The same script with one message that is within the limits must say so."""
    careless = HOSTILE.replace("(9, 8, 0, 4000, 0, 1, 1)", "(9, 8, 0, 4000, 999999, 1, 1)")

    assert "answered" in interpreter.run(careless)


# A whole device on a real broker, its line cut again and again: every answer arrives, in order.

ROUNDS, CUTS = 25, 20
ROOT, KEY = bytes(range(32)), bytes(range(32, 64))
LIMITS = Limits(1, 8, 500, 250000, 10**10, 0)
PROMISE = Guarantee((1, 1), (1, 100000), (1, 50), "a move", "local", "a day", "presence")

DEVICE = """
import asyncio
from edge.core.entropy import Identity
from edge.core.budget import COUNT
from edge.host.enrol import Ram
from edge.core.budget import Budget
from edge.net.device import Device
from edge.net.mqtt import Client
from edge.net.link import Pauses, sleep_ms
from edge.net.ring import Ring

who, kept = Identity(*{who}), Ram()
kept.write(0, {kept}[0])
kept.write(1, {kept}[1])
budget = Budget(kept, who.state_key)
budget.boot()

async def main():
    client, ring = Client("127.0.0.1", {port}, "soak-" + who.name, wait_s=5), Ring(1024)
    client.pauses = Pauses(10, 40)
    device = Device(who, budget, lambda params: [5000], client, ring, tick_ms=20, diag_s=1)
    tasks = [asyncio.create_task(client.run()), asyncio.create_task(device.run())]
    for _ in range(6000):
        await sleep_ms(10)
        if device.node.ahead.seq == {rounds} and not len(ring):
            break
    print(device.node.ahead.seq, len(ring), ring.overwritten, device.node.forged)
    print(client.reconnects)
    await client.stop()

asyncio.run(main())
"""


class Gateway:
    """Asks the next Round when the last one was answered; `frames` are all that came, by seq."""

    def __init__(self, paho: mqtt.Client, name: str) -> None:
        self.frames: dict[int, list[bytes]] = {}
        self._paho, self._name, self._asked = paho, name, 0
        paho.on_message = self._came

    def ask(self) -> None:
        """Open the next Round, if there is one."""
        if self._asked < ROUNDS:
            self._asked += 1
            params = (9, 8, 0, 10000, 250000, 1, 1)
            plan = Round(self._asked, "thermal", Grid((9, 1), 0), params, PROMISE)
            where = round_topic(self._name, "thermal")
            self._paho.publish(where, post.pack_round(plan, KEY, where), 1, retain=True)

    def _came(self, _client: object, _data: object, message: mqtt.MQTTMessage) -> None:
        frame = bytes(message.payload)
        where = topic(self._name, self._name, "receipt")
        report = post.unpack_report(frame, rootkeys.mac_key(ROOT), message.topic, self._name)
        new = report.seq not in self.frames
        self.frames.setdefault(report.seq, []).append(frame)
        signed = (report.epoch, report.seq, True, rootkeys.config_key(ROOT), where)
        self._paho.publish(where, post.pack_receipt(*signed), 1)
        if new:
            self.ask()


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_a_line_that_is_cut_again_and_again_loses_no_answer(
    interpreter: Any,
    need: Callable[[str], str],
    answers: Callable[[int], None],
    tmp_path: Path,
    seed: int,
) -> None:
    """25 answers through 20 cuts: all there, in order, and what came twice was the same bytes."""
    name = f"{interpreter.name}{seed}"
    who = rootkeys.identity(name, name, ROOT, KEY, 2, "keyholder")
    place = Ram()
    provision(place, who.state_key, rootkeys.first_chain(ROOT), LIMITS)
    with mosquitto(need("mosquitto"), tmp_path, answers, tls=False) as broker:
        proxy = Proxy(broker.port, random.Random(seed), CUTS, 90, 1500)
        with observed(Broker(broker.port, ""), topic(name, name, "data")) as (paho, _):
            gateway = Gateway(paho, name)
            gateway.ask()
            kept = [place.read(i) for i in range(COUNT)]
            script = DEVICE.format(who=tuple(who), kept=kept, port=proxy.port, rounds=ROUNDS)
            # How small a heap may be is the business of test_heap; here are a test's needs too.
            command = [
                re.sub(r"heapsize=\d+k", "heapsize=192k", word) for word in interpreter.command
            ]
            try:
                said, reconnects = replace(interpreter, command=command).run(script).splitlines()
            finally:
                proxy.close()
            assert eventually(lambda: len(gateway.frames) == ROUNDS)

    assert said == f"{ROUNDS} 0 0 0"
    assert int(reconnects) >= CUTS // 2
    assert list(gateway.frames) == list(range(1, ROUNDS + 1))
    assert all(len(set(frames)) == 1 for frames in gateway.frames.values())

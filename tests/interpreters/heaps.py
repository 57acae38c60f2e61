"""A real device in a heap of a given size, on 32-bit MicroPython, and the host that it talks to.

It is loaded in each form in which a board may be given it:

    source   the modules made small, as `heatveil provision` gives them
    mpy      compiled, as `make edge` writes them
    in place the same as a ROMFS image, mapped as a board maps its flash: outside of the heap
    frozen   in the firmware, of who has built one for this PC: make firmware BOARD=unix32
"""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

from edge.core import wire
from edge.core.budget import Files, Limits
from edge.core.records import Grid, Guarantee, Round
from edge.core.wire import round_topic, topic
from edge.host import post, rootkeys
from edge.host.enrol import provision
from gateway.devices import bundle
from tests import processes

ROOT = Path(__file__).resolve().parents[2]
FORMS = ("source", "mpy", "in place")
SITE, NAME = "lab", "n"
KEYS, SITE_KEY = bytes(range(32)), bytes(range(32, 64))
VARIANCE = 250000  # grains squared

MAPPED = """
import os, sys, ffi, uctypes, vfs
libc = ffi.open("libc.so.6")
size = os.stat(IMAGE)[6]
at = libc.func("p", "mmap", "piiiii")(0, size, 1, 2, libc.func("i", "open", "si")(IMAGE, 0), 0)
vfs.mount(vfs.VfsRom(uctypes.bytearray_at(at, size)), "/rom")
sys.path[:] = ["/rom", ".frozen"]
del libc, at, size, os, sys, ffi, uctypes, vfs, IMAGE
"""
USED = """
import gc
def used():
    gc.collect()
    gc.collect()
    return gc.mem_alloc()
"""
LOAD = """
gc.threshold(2000)
from edge import loading
loading.load()
del loading
loaded = used()
"""
PARTS = """
from edge.core.budget import Budget, Files
from edge.net.device import Device
from edge.core.entropy import Identity
from edge.net.mqtt import Client
from edge.net.ring import Ring
"""
LIVE = """
import asyncio
print(loaded, used())
who = Identity(*IDENTITY)
own = Budget(Files(FOLDER, "n"), who.state_key)
own.boot()
answers = 0
def read(params):
    global answers
    answers += 1
    return [5000]
async def live():
    will = "heatveil/1/lab/n/state", b"lost", 1, True
    client = Client("127.0.0.1", PORT, "n-5d1f", will=will)
    device = Device(who, own, read, client, Ring(2048), tick_ms=TICK_MS)
    tasks = [asyncio.create_task(client.run()), asyncio.create_task(device.run())]
    for mark in MARKS:
        before = waited = 0
        while answers < mark:
            await asyncio.sleep_ms(20)
            waited = waited + 1 if answers == before else 0
            before = answers
            if waited == 250 or tasks[0].done() or tasks[1].done():
                raise MemoryError("no frame for five seconds: " + client.trouble)
        least = used()
        for _ in range(10):  # what is on its way is there for a moment
            await asyncio.sleep_ms(7)
            least = min(used(), least)
        print(answers, least)
asyncio.run(live())
"""

FRAMES = """
gc.threshold(-1)
from edge.core import budget, node, records, wire
from edge.core.entropy import Identity
from edge.mechanisms import thermal_half
from edge.net import ring
who = Identity(*IDENTITY)
own = budget.Budget(budget.Files(FOLDER, "n"), who.state_key)
own.boot()
with open(FOLDER + "/round", "rb") as file:
    message = file.read()
asked = wire.unpack_round(message, who.site_key, wire.round_topic("lab", "thermal"))
name, noise, waiting = wire.name_of(asked), node.Ahead(who, own), ring.Ring(2048)
where = wire.topic("lab", "n", "data")
# KEPT
def made(count):
    for _ in range(count):
        drawn = noise.take(thermal_half, thermal_half.Params(*asked.params).variance)
        blurred = thermal_half.veil(asked, records.Reading(2, (5000,)), drawn)
        report = records.Report(name, "n", own.epoch, noise.seq, blurred)
        frame = wire.pack_report(report, who.mac_key, where, thermal_half.bits(asked))
        waiting.put(frame)
        # KEEP
        if not waiting.drop_oldest(frame):
            raise ValueError("another frame was the oldest")
made(100)
early = used()
made(COUNT)
print(noise.seq, used() - early)
"""

ANSWERS = """
import time
from edge.core import budget, node
from edge.core.entropy import Identity
who = Identity(*IDENTITY)
own = budget.Budget(budget.Files(FOLDER, "n"), who.state_key)
own.boot()
device, values = node.Node(who, own), (5000,) * who.sensors
with open(FOLDER + "/rounds", "rb") as file:
    messages = [file.read(SIZE) for _ in range(COUNT)]
def read(params):
    return values
def answer(message):
    if device.answer(message, read) is None:
        raise ValueError(device.refusal)
    device.prepare()
for message in messages[:8]:
    answer(message)
gc.collect()
gc.disable()
spent = [0] * COUNT
held = gc.mem_alloc()
for i in range(8, COUNT):
    begun = time.ticks_us()
    answer(messages[i])
    spent[i] = time.ticks_diff(time.ticks_us(), begun)
print((gc.mem_alloc() - held) // (COUNT - 8), sorted(spent[8:])[COUNT // 2 - 4])
"""


def find_programs(program: str) -> dict[str, str]:
    """Return what runs each form: this 32-bit MicroPython, or one of its own where it is there."""
    own = shutil.which("unix32", path=ROOT / "dist" / "firmware")
    return dict.fromkeys(FORMS, program) | ({"frozen": own} if own else {})


def built(folder: Path) -> dict[str, str]:
    """Return the first lines of a script for each form; the files are in this folder by then."""
    sources = bundle.read_sources()
    compiled = bundle.compile_sources(sources)
    bundle.write_files(folder / "source", bundle.shrink_sources(sources))
    bundle.write_release(folder / "mpy", compiled)
    (folder / "edge.romfs").write_bytes(bundle.make_romfs_image(compiled))
    # From there, for the names of files are held, too, and a board's are as short.
    path = "import os, sys\nos.chdir(%r)\nsys.path[:] = ['', '.frozen']\ndel os, sys\n"
    return {
        "source": path % str(folder / "source"),
        "mpy": path % str(folder / "mpy"),
        "in place": f"IMAGE = {str(folder / 'edge.romfs')!r}\n" + MAPPED,
        "frozen": "import sys\nsys.path[:] = ['.frozen']\ndel sys\n",
    }


def living(form: str, port: int, tick_ms: int, marks: list[int]) -> str:
    """Return the script of a device that says what it holds after so many answers."""
    return f"PORT, TICK_MS, MARKS = {port}, {tick_ms}, {marks}\n" + USED + LOAD + PARTS + LIVE


def frames(folder: Path, count: int) -> str:
    """Return the script of a device that makes so many frames, and says what more it holds then.

    A frame is noise drawn, a reading veiled, a report packed, put into the ring and freed.
    """
    told = enrolled(folder)
    (folder / "round").write_bytes(asked(1))
    return told + f"COUNT = {count}\n" + USED + LOAD + FRAMES


def answers(folder: Path, sensors: int) -> str:
    """Return the script of a device that says what an answer allocates, and its microseconds.

    From a Round's message to the frame, and the noise of the next one: the mean of four leases,
    the budget's slots included, and the median time. Nothing is collected in between.
    """
    rounds = [asked(number, sensors) for number in range(256, 256 + 40)]
    told = enrolled(folder, sensors) + f"COUNT, SIZE = {len(rounds)}, {len(rounds[0])}\n"
    (folder / "rounds").write_bytes(b"".join(rounds))
    return told + USED + ANSWERS


def run(
    program: str, script: str, heap_kb: int, folder: Path, patience_s: float = 60
) -> list[list[int]]:
    """Return the numbers that a script prints, line by line.

    Raises:
        MemoryError: the heap is too small.
        RuntimeError: it did not end well for another reason.
    """
    ran = processes.run(
        [program, "-X", f"heapsize={heap_kb}k", "-c", script],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=patience_s,
    )
    if "MemoryError" in ran.stderr or "memory allocation failed" in ran.stderr:
        raise MemoryError(ran.stderr[-500:])
    if ran.returncode:
        raise RuntimeError(ran.stdout[-500:] + ran.stderr[-1000:])
    return [[int(word) for word in line.split()] for line in ran.stdout.splitlines()]


def enrolled(folder: Path, sensors: int = 1) -> str:
    """Return the lines that tell a script who it is, in a folder that holds its budget."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.glob("n.*"):
        file.unlink()
    who = rootkeys.identity(SITE, NAME, KEYS, SITE_KEY, 2, sensors=sensors)
    limits = Limits(1, 8, 500, VARIANCE, 10**13, 0)
    provision(Files(str(folder), NAME), who.state_key, rootkeys.first_chain(KEYS), limits)
    return f"IDENTITY, FOLDER = {tuple(who)!r}, {str(folder)!r}\n"


def asked(number: int, sensors: int = 7) -> bytes:
    """Return the message of a Round that a device of so many sensors answers."""
    promise = Guarantee((1, 1), (1, 100000), (1, 50), "a move", "local", "a day", "presence")
    params = (2 + sensors, 8, 0, 10000, VARIANCE, 1, 0)
    plan = Round(number, "thermal", Grid((9, 1), 0), params, promise)
    return bytes(post.pack_round(plan, SITE_KEY, round_topic(SITE, "thermal")))


@contextmanager
def host(port: int) -> Iterator[list[int]]:
    """Ask, receipt what comes and ask again; yield the list of the numbers that came."""
    config_key = rootkeys.identity(SITE, NAME, KEYS, SITE_KEY, 2).config_key
    where, came = topic(SITE, NAME, "receipt"), []
    first = time.time_ns() // 10**6  # beyond whatever an earlier host left retained

    def heard(client: Any, _: Any, message: Any) -> None:
        frame = wire.decode(bytes(message.payload)[: -wire.MAC_BYTES])
        receipt = post.pack_receipt(frame[2], frame[1], True, config_key, where)
        client.publish(where, receipt, 1)
        if not came or frame[1] != came[-1]:
            came.append(frame[1])
            client.publish(round_topic(SITE, "thermal"), asked(first + len(came)), 1, True)

    client = mqtt.Client(CallbackAPIVersion.VERSION2)
    client.on_message = heard
    client.connect("127.0.0.1", port)
    client.subscribe(topic(SITE, NAME, "data"), 1)
    client.publish(round_topic(SITE, "thermal"), asked(first), 1, True)
    client.loop_start()
    try:
        yield came
    finally:
        client.disconnect()
        client.loop_stop()

"""Layer: every Python gives the same answers, bit for bit, or a reading is lost or laid bare.

A script that imports edge alone runs here and on each MicroPython that is on PATH or in .tools:
the unix port, the same with the small words of boards, and the WebAssembly port. A port that is
not here is a claim that was not measured. What it cannot see: a board's own compiler.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, NamedTuple

import edge

from ..claim import Claim, Effort, true

Side = Literal["device", "holder"]

NOISE_SCRIPT = """
import binascii, hashlib, time
from edge import budget, entropy, keys, limits, noise, slots
from edge.host import rootkeys
from edge.host.enrol import provision

ROOT, NAME, SENSOR = bytes(range(32)), "attic-3", 4

def device(boot, readings):
    kept, state_key = slots.Ram(), rootkeys.state_key(ROOT)
    most = limits.Limits(1, 8, 1, 1, 1, 0)
    provision(kept, state_key, rootkeys.first_chain(ROOT), most)
    for _ in range(boot):
        own = budget.Budget(kept, state_key)
        own.boot()
    key = keys.epoch_key(own.chain, own.epoch)
    for seq in range(1, readings + 1):
        yield entropy.opened(key, NAME, own.epoch, seq, SENSOR)

def holder(boot, readings):
    chain = rootkeys.chain_at(ROOT, boot)
    for seq in range(1, readings + 1):
        yield entropy.keyed(chain, NAME, boot, seq, SENSOR)

def ticks_us():
    if hasattr(time, "ticks_us"):
        return time.ticks_us()
    return time.perf_counter_ns() // 1000

def since_us(begun):
    if hasattr(time, "ticks_diff"):
        return time.ticks_diff(ticks_us(), begun)
    return ticks_us() - begun

def tell(streams, variance, chunk, values):
    count = blocks = spent = 0
    digest, begun = hashlib.sha256(), ticks_us()
    for rng in streams:
        for _ in range(values):
            digest.update((noise.dgauss(variance, 1, rng) + (1 << 40)).to_bytes(8, "big"))
        count += values
        blocks += rng._counter
        if count % chunk == 0:
            spent += since_us(begun)
            print(count, binascii.hexlify(digest.digest()).decode()[:16], blocks, spent)
            digest, begun = hashlib.sha256(), ticks_us()
"""


def source(
    side: Side, sigma: int, *, boot: int, readings: int, chunk: int, values: int = 1
) -> str:
    """Return a script that prints a line for each chunk of the noise values of one boot.

    The device goes the device's way: its budget steps the chain key on at each boot, and gives
    each of its readings a stream. The key holder goes the holder's way: from the root key to the
    key of each boot by itself, and to the same streams from that. What a side prints, a digest of
    every chunk of values, is the same line by line, on CPython and on every board, or readings are
    lost.

    The script imports `edge` alone and is plain text, because the Pythons that run it are other
    programs: MicroPython's ports as well as this one.

    A line is: values so far, digest of the chunk's values, HMAC blocks so far, microseconds so
    far. All but the last are the same wherever it runs. A million values at once are too many for
    the WebAssembly port, which frees no memory before a script ends; a hundred thousand are not.

    Args:
        side: whose way to the same streams is gone.
        sigma: of the noise, in grains.
        boot: which one, from 1 on; a device goes through those before it.
        readings: how many there are in it, a stream each.
        values: how many one stream gives: as many as the device has sensors.
        chunk: how many readings one digest covers; divides all of them.
    """
    drawn = f"tell({side}({boot}, {readings}), {sigma * sigma}, {chunk * values}, {values})"
    return f"{NOISE_SCRIPT}\n{drawn}"


# The script of golden answers: one line each, the same on every Python.
#
# It imports edge alone. It draws from every sampler, signs every kind of message, boots a device
# twice, lets it answer and writes out what it keeps: what a key holder, a gateway and the device
# itself must be able to read years later.

ANSWERS_SCRIPT = """
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


HOME = Path(str(edge.__file__)).resolve().parent.parent
WASM = ".tools/wasm/node_modules/@micropython/micropython-webassembly-pyscript"
PLACES = os.pathsep.join([os.environ.get("PATH", ""), str(HOME / ".tools"), str(HOME / WASM)])
PATIENCE_S = 600
RUNNER = """
import { readdirSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
const { loadMicroPython } = await import(pathToFileURL(process.argv[2]));
const vm = await loadMicroPython({ stdout: (line) => console.log(line), linebuffer: true });
const copy = (folder) => {
  vm.FS.mkdirTree("/" + folder);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = folder + "/" + entry.name;
    if (entry.isDirectory()) copy(path);
    else if (path.endsWith(".py")) vm.FS.writeFile("/" + path, readFileSync(path));
  }
};
copy("edge");
vm.FS.chdir("/");
try {
  vm.runPython('import sys\\nsys.path.insert(0, "/")\\n' + readFileSync(0, "utf8"));
} catch (fault) { console.error(String(fault.message ?? fault)); process.exitCode = 1; }
"""

# What every answer together hashes to. It changes only with what a key holder can read, and so
# never without an entry under Privacy in CHANGELOG.md.
GOLDEN = "bfbf3e45ae52b45e"


class Port(NamedTuple):
    """A Python, and the programs that it takes."""

    name: str
    programs: tuple[str, ...]

    @property
    def command(self) -> list[str]:
        """The command that runs a script given on standard input; nothing if it is not here."""
        paths = [shutil.which(one, mode=os.F_OK, path=PLACES) for one in self.programs]
        found = [path for path in paths if path]
        if len(found) < len(paths):
            return []
        if self.name == "WebAssembly":
            return [found[0], "--input-type=module", "-e", RUNNER, "run", found[1]]
        return found


PORTS = (
    Port("unix", ("micropython",)),
    Port("unix with 32-bit words", ("micropython-i386",)),
    Port("WebAssembly", ("node", "micropython.mjs")),
)


def claims(_: None, effort: Effort) -> Iterator[Claim]:
    """Yield what every Python answers."""
    here = run([sys.executable, "-S", "-"], ANSWERS_SCRIPT)
    found = hashlib.sha256("\n".join(here).encode()).hexdigest()[:16]
    yield true(
        "what a key holder can read is what it always was",
        found == GOLDEN,
        samples=len(here),
        detail="" if found == GOLDEN else f"the answers hash to {found}, not to {GOLDEN}",
    )
    boots, readings, chunk = (10, 100_000, 10_000) if effort.full else (1, 2000, 500)
    held = _values("holder", [sys.executable, "-S", "-"], boots, readings, chunk)
    own = _values("device", [sys.executable, "-S", "-"], boots, readings, chunk)
    yield _agree("CPython", held, own, boots * readings)
    with ThreadPoolExecutor(2) as pool:
        yield from pool.map(lambda port: _same(port, here), PORTS)
        present = [port for port in PORTS if port.command]
        drawn = pool.map(
            lambda port: _values("device", port.command, boots, readings, chunk), present
        )
        for port, values in zip(present, drawn, strict=True):
            yield _agree(f"MicroPython, {port.name}", held, values, boots * readings)


def run(command: list[str], script: str) -> list[str]:
    """Return the lines that a script prints; one line, its traceback, where it breaks off."""
    if Path(command[0]).name.startswith("micropython"):
        command = [*command, "-X", "heapsize=4m", "-c", script]
    ran = subprocess.run(
        command,
        input=script,
        cwd=HOME,
        env={"PATH": os.environ.get("PATH", ""), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    if ran.returncode:
        return [" ".join(ran.stderr[-500:].split())]
    return ran.stdout.splitlines()


def _same(port: Port, here: list[str]) -> Claim:
    sentence = f"MicroPython, {port.name}: every answer is CPython's, bit for bit"
    if not port.command:
        lacks = f"no {' or no '.join(port.programs)} on PATH or in .tools; `make tools` fetches it"
        return true(sentence, True, samples=0, detail=lacks)
    there = run(port.command, ANSWERS_SCRIPT)
    wrong = [f"{a} is {b}" for a, b in zip(here, there, strict=False) if a != b]
    return true(
        sentence,
        there == here,
        samples=len(here),
        detail=(wrong or [f"{len(there)} answers, {len(here)} expected"])[0][:200]
        if there != here
        else "",
    )


def _values(side: Any, command: list[str], boots: int, readings: int, chunk: int) -> list[str]:
    """Return the digests of every chunk of values, boot after boot."""
    lines = []
    for boot in range(1, boots + 1):
        script = source(side, 1000, boot=boot, readings=readings, chunk=chunk)
        lines += [" ".join(line.split()[1:3]) for line in run(command, script)]
    return lines


def _agree(name: str, held: list[str], drawn: list[str], count: int) -> Claim:
    return true(
        f"{name}: a device and its key holder draw the same {count:,} values in a row",
        held == drawn and len(set(held)) == len(held) > 1,
        samples=count,
        detail="" if held == drawn else f"first: {drawn[:1]}",
    )

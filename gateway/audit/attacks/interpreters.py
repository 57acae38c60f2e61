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
from typing import NamedTuple

import edge

from ..claim import Claim, Effort, true

# The script of golden answers: one line each, the same on every Python.
#
# It imports edge alone. It draws from every sampler, signs every kind of message, boots a device
# twice, lets it answer and writes out what it keeps: what a key holder, a gateway and the device
# itself must be able to read years later.

ANSWERS_SCRIPT = """
import binascii
from edge.core import cbor, entropy, grid, keys, limits, noise, shares, wire, tightening
from edge.mechanisms import thermal
from edge.host import post, rootkeys
from edge.core.budget import Budget
from edge.host.enrol import provision
from edge.core.node import Node
from edge.core.records import Grid, Guarantee, Round
from edge.core.slots import Ram

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
            sampler = getattr(shares if name == "polya" else noise, name)
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
    with ThreadPoolExecutor(2) as pool:
        yield from pool.map(lambda port: _same(port, here), PORTS)


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

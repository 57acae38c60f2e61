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
from typing import Any, NamedTuple

import edge

from . import agreement
from .answers import SCRIPT
from .claim import Claim, Effort, true

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
    here = run([sys.executable, "-S", "-"], SCRIPT)
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
    there = run(port.command, SCRIPT)
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
        script = agreement.source(side, 1000, boot=boot, readings=readings, chunk=chunk)
        lines += [" ".join(line.split()[1:3]) for line in run(command, script)]
    return lines


def _agree(name: str, held: list[str], drawn: list[str], count: int) -> Claim:
    return true(
        f"{name}: a device and its key holder draw the same {count:,} values in a row",
        held == drawn and len(set(held)) == len(held) > 1,
        samples=count,
        detail="" if held == drawn else f"first: {drawn[:1]}",
    )

"""Show that a keyed device and its key holder draw the same noise, and time what it costs.

Run it: `python tests/bench/bench_keyed.py [values]`, a million values without an argument. The
device runs on CPython and on each MicroPython that is here, two at a time, over twenty boots; its
key holder on CPython, who gets to the same streams by another way. Then what one value costs, in
microseconds and HMAC blocks, with a stream for each value and with one for a frame of 64, and
OpenDP's sampler of the same law beside it where that is installed (`pip install opendp`).
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

from gateway.audit.attacks.interpreters import Side, source

ROOT = Path(__file__).resolve().parents[2]
WASM = ".tools/wasm/node_modules/@micropython/micropython-webassembly-pyscript/micropython.mjs"
SIGMA, BOOTS, CHUNKS = 1000, 20, 5  # so many digests of each boot
SIGMAS = (1, 10, 100, 1000, 100_000)
READINGS, FRAMES, FRAME = 4000, 80, 64  # readings of one value each; frames of so many values
STRETCHES = 20
TOGETHER = 2  # interpreters at a time

# The table of the privacy requirements, section 3.2: sigma, HMAC blocks a value, microseconds on
# CPython, on MicroPython's WebAssembly and on its unix port. A prototype, with its keys at hand.
REQUIRED = {
    1: (1.00, 11, 120, 60),
    10: (1.00, 10, 110, 60),
    100: (1.00, 12, 140, 40),
    1000: (1.00, 11, 120, 40),
    100_000: (1.00, 12, 200, 50),
}
COLUMN = {"CPython": 1, "MicroPython wasm": 2, "MicroPython": 3, "MicroPython i386": 3}


def interpreters() -> dict[str, list[str]]:
    """Return the commands that run a script, by the name of what runs it."""
    places = os.pathsep.join([str(ROOT / ".tools"), os.environ.get("PATH", "")])
    found = {"CPython": [sys.executable, "-S", "-c"]}
    for name, program in (
        ("MicroPython", "micropython"),
        ("MicroPython i386", "micropython-i386"),
    ):
        if path := shutil.which(program, path=places):
            found[name] = [path, "-X", "heapsize=128k", "-c"]
    node = shutil.which("node")
    if node and (ROOT / WASM).exists():
        runner = ROOT / "tests" / "interpreters" / "wasm.mjs"
        found["MicroPython wasm"] = [node, str(runner), str(ROOT / WASM)]
    return found


def rows(command: list[str], script: str) -> Iterator[tuple[int, str, int, int]]:
    """Yield the lines of a script as they come: values, digest, HMAC blocks, microseconds."""
    with subprocess.Popen([*command, script], cwd=ROOT, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout
        for line in run.stdout:
            count, digest, blocks, spent = line.split()
            yield int(count), digest, int(blocks), int(spent)
    if run.returncode:
        raise SystemExit(f"{command[0]} ended with status {run.returncode}")


def digests(side: Side, command: list[str], boot: int, readings: int) -> list[str]:
    """Return the digests of the noise values of one boot."""
    script = source(side, SIGMA, boot=boot, readings=readings, chunk=readings // CHUNKS)
    return [digest for _, digest, _, _ in rows(command, script)]


def agree(found: dict[str, list[str]], values: int) -> bool:
    """Print for each device whether its key holder has every value of it."""
    sides: dict[str, tuple[Side, list[str]]] = {
        "key holder on CPython": ("holder", found["CPython"]),
        **{f"device on {name}": ("device", command) for name, command in found.items()},
    }
    heard: dict[str, list[list[str]]] = {name: [] for name in sides}
    with ThreadPoolExecutor(TOGETHER) as pool:
        asked = [
            (name, pool.submit(digests, side, command, boot, values // BOOTS))
            for name, (side, command) in sides.items()
            for boot in range(1, BOOTS + 1)
        ]
        for name, future in asked:
            heard[name].append(future.result())
            print(f"  {name}: boot {len(heard[name])} of {BOOTS}", file=sys.stderr, flush=True)
    holder = heard.pop("key holder on CPython")
    for name, seen in heard.items():
        pairs = [
            pair for boots in zip(seen, holder, strict=True) for pair in zip(*boots, strict=True)
        ]
        same = sum(mine == theirs for mine, theirs in pairs)
        verdict = "agrees" if same == len(pairs) else "DIFFERS"
        print(f"  {name:28s} {verdict}: {same} of {len(pairs)} digests over {values} values")
    return all(seen == holder for seen in heard.values())


def cost(command: list[str], sigma: int, values: int) -> tuple[float, float]:
    """Return (microseconds, HMAC blocks) of one value, in streams of so many.

    The time is that of the quickest of many stretches: other work on the machine only slows.
    """
    readings = READINGS if values == 1 else FRAMES
    script = source(
        "device", sigma, boot=1, readings=readings, chunk=readings // STRETCHES, values=values
    )
    seen = list(rows(command, script))
    times = [later[3] - sooner[3] for sooner, later in pairwise(seen)]
    return STRETCHES * min(times) / seen[-1][0], seen[-1][2] / seen[-1][0]


def opendp_us(sigma: int) -> float | None:
    """Return the microseconds of one number from OpenDP, None where it is not installed."""
    from bench_noise import opendp_sampler  # beside this script, and found from it alone

    sampler = opendp_sampler(sigma)
    if sampler is None:
        return None
    times = []
    for _ in range(STRETCHES):
        begun_s = time.perf_counter()
        for _ in range(READINGS // STRETCHES):
            sampler(0)
        times.append(time.perf_counter() - begun_s)
    return 1e6 * STRETCHES * min(times) / READINGS


def costs(found: dict[str, list[str]]) -> None:
    """Print the table."""
    print(
        "\n"
        "                    sigma,    one stream a value       one stream a frame of 64\n"
        "                   grains       us  blocks  required        us   blocks   OpenDP, us"
        "   ours/OpenDP"
    )
    for name, command in found.items():
        for sigma in SIGMAS:
            (one_us, one), (many_us, many) = (cost(command, sigma, n) for n in (1, FRAME))
            required = f"{REQUIRED[sigma][COLUMN[name]]} us, {REQUIRED[sigma][0]:.2f}"
            line = f"{name:16s} {sigma:9d} {one_us:8.1f} {one:7.3f}  {required:>12s}"
            line += f" {many_us:8.1f} {many:8.3f}"
            if name == "CPython" and (peer := opendp_us(sigma)):
                line += f" {peer:12.1f} {one_us / peer:13.2f}"
            print(line, flush=True)
    if opendp_us(SIGMA) is None:
        print("OpenDP is not installed; pip install opendp, to see it beside")


def main() -> None:
    """Print both parts; status 1 when a device and its key holder differ."""
    values = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    if values < BOOTS * CHUNKS or values % (BOOTS * CHUNKS):
        raise SystemExit(
            f"{values} values do not fall into {BOOTS} boots of {CHUNKS} chunks; ask for a "
            f"multiple of {BOOTS * CHUNKS}"
        )
    found = interpreters()
    print(f"{values} noise values of sigma {SIGMA} grains, over {BOOTS} boots:", flush=True)
    same = agree(found, values)
    costs(found)
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()

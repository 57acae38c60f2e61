"""What noise and messages cost an RP2040 at 125 MHz: a real firmware, emulated or on USB.

    HEATVEIL_UF2=dist/firmware/RPI_PICO.uf2 python tests/bench/bench_rp2040.py
    python tests/bench/bench_rp2040.py --board /dev/ttyACM0

Microseconds by the board's own clock; that of the emulator is within a third of silicon, and an
hour of it takes days, so each number is of a few repetitions. A sample of a table is one of an
array's 64; `plain` is what a port without machine code takes. The peer is the time of hashing
alone that the same bits need: two hashes of the chip's own firmware for every 256.

Where the firmware has edge in it, answers too: from a Round's message to the frame, without the
flash of its slots, then the noise of the next, and what both leave to collect. Its peer is the
frame's own MAC: nothing that is believed takes less.
"""

import argparse
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
SIGMAS = (10, 25, 50, 1273)

SCRIPT = """
import gc, sys, time
from edge.core import compat, noise, table, wire
from edge.core.entropy import Tape
from edge.core.table import Sampler
def spent(do, times):
    gc.collect()
    begun = time.ticks_us()
    for _ in range(times): do()
    return time.ticks_diff(time.ticks_us(), begun) / times
key, out = bytes(32), [0] * 64
long, rng = bytes(100), Tape(b"block")
hashing = 2 * spent(lambda: compat.sha256(long), 8)
drawn, mac = spent(lambda: rng.bits(256), 8), spent(lambda: compat.hmac_sha256(key, key), 8)
print("block", hashing, drawn, mac)
print("pack", spent(lambda: wire._put_numbers(bytearray(), 16, out, 0), 2))
for sigma in {sigmas}:
    made = Sampler(sigma * sigma, 1, table.BITS)
    rng = Tape(b"bench")
    def exact():
        noise.dgauss(sigma * sigma, 1, rng)
    slow = spent(exact, 16)
    rng = Tape(b"bench")
    fast = spent(lambda: made.fill(out, rng), 1) / 64
    bits = (rng._counter * 256 - rng._left) / 64
    for _, part in made.parts:
        part._look_up, part._split = table.look_up_noise, table.split
    print(sigma, len(made.parts), slow, fast, spent(lambda: made.fill(out, rng), 1) / 64, bits)
"""

ANSWERS = """
import sys
sys.path[:] = [".frozen"]
import heatveil_frozen
import gc, time
from edge import loading
loading.load()
from edge.core import budget, node
from edge.core.entropy import Identity
class Ram:  # as in edge.host, which no firmware holds
    def __init__(self, held): self.held = held
    def read(self, i): return self.held[i]
    def write(self, i, data): self.held[i] = bytes(data)
who = Identity(*{identity})
own = budget.Budget(Ram({slots}), who.state_key)
own.boot()
device, values = node.Node(who, own), (5000,) * who.sensors
device.prepare()
for message in {rounds}:
    gc.collect()
    gc.disable()
    held, begun = gc.mem_alloc(), time.ticks_us()
    frame = device.answer(message, lambda params: values)
    answered = time.ticks_us()
    device.prepare()
    ready, more = time.ticks_us(), gc.mem_alloc() - held
    gc.enable()
    if frame is None:
        raise ValueError(device.refusal)
    print(time.ticks_diff(answered, begun), time.ticks_diff(ready, answered), more)
"""


def write_answers(readings: int, count: int) -> str:
    """Return the script of a device that answers so many Rounds with so many readings each."""
    from edge.core.budget import Limits
    from edge.host import rootkeys
    from edge.host.enrol import Ram, provision
    from tests.interpreters import heaps

    words = heaps.SITE, heaps.NAME, heaps.KEYS, heaps.SITE_KEY, 2
    who, place = rootkeys.identity(*words, sensors=readings), Ram()
    limits = Limits(1, 8, 500, heaps.VARIANCE, 10**13, 0)
    provision(place, who.state_key, rootkeys.first_chain(heaps.KEYS), limits)
    return ANSWERS.format(
        identity=tuple(who),
        slots=[place.read(at) for at in range(3)],
        rounds=[heaps.asked(number, readings) for number in range(256, 256 + count)],
    )


def main() -> None:
    """Print the tables."""
    sys.path.insert(0, str(ROOT))
    from tests import emulator

    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--board", help="a board that is there, as mpremote calls it")
    given = asked.parse_args()
    if not given.board and (why := emulator.lacking()):
        print(why)
        return
    with tempfile.TemporaryDirectory() as folder:
        script, log = Path(folder, "script.py"), Path(folder, "log")
        opened = nullcontext(given.board) if given.board else emulator.emulated(log)
        with opened as address:
            script.write_text(SCRIPT.format(sigmas=SIGMAS))
            told = emulator.run(address, script, ROOT, 3600.0)
            answers = {}
            try:
                for readings, count in ((1, 12), (64, 3)):
                    script.write_text(write_answers(readings, count))
                    answers[readings] = emulator.run(address, script, ROOT, 3600.0).split()
            except RuntimeError as fault:
                if "no module named 'heatveil_frozen'" not in str(fault):
                    raise
                print("no edge is in this firmware, so no answers are timed: make firmware")
    block, pack, *rows = [line.split() for line in told.splitlines()]
    hashing, drawn, mac = map(float, block[1:])
    print(
        f"256 bits of a stream {drawn:.0f} us, of that hashing {hashing:.0f}; a MAC {mac:.0f} us"
    )
    print(f"64 readings packed {float(pack[1]) / 1000:.2f} ms")
    print(" sigma tables  exact,us  table,us plain,us bits  exact/table table/hashing")
    for row in rows:
        sigma, parts, slow, fast, plain, bits = map(float, row)
        print(
            f"{sigma:6.0f} {parts:6.0f} {slow:9.0f} {fast:9.0f} {plain:8.0f} {bits:4.0f} "
            f"{slow / fast:12.1f} {fast / (hashing * bits / 256):13.1f}"
        )
    for readings, numbers in answers.items():
        answered, drawn, left = (sorted(map(int, numbers[at::3])) for at in range(3))
        print(
            f"an answer of {readings}: {median(answered) / 1000:.1f} ms, "
            f"{median(answered) / mac:.0f} MACs; the next one's noise {drawn[0] / 1000:.1f} to "
            f"{drawn[-1] / 1000:.1f} ms; {median(left) / 1024:.1f} KB to collect"
        )


if __name__ == "__main__":
    main()

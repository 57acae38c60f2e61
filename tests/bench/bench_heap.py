"""What a device takes of a small board: memory held, needed and left to collect, flash, and drift.

    python tests/bench/bench_heap.py [--answers 200] [--frames 20000]

On MicroPython with 32-bit words, by its own meter, with a mosquitto on loopback. Held is what is
allocated after a collection while the device answers, with a ring of 2 KB; needed is the least
heap in which it still does. MicroPython's own asyncio and the loop that measures are in both.
The peer is an MQTT client alone, on the same asyncio and broker, that subscribes and publishes.
"""

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LEAST_KB, MOST_KB = 16, 128
SLOW = 200  # frames a second, on the slowest machine that is waited for
ALONE = """
import asyncio
from edge.net.mqtt import Client
answers = 0
def came(topic, payload):
    global answers
    answers += 1
async def live():
    client = Client("127.0.0.1", PORT, "n-5d1f", on_message=came)
    client.topics = ["heatveil/1/lab/round/thermal"]
    tasks = [asyncio.create_task(client.run())]
    waited = 0
    while not answers:
        await asyncio.sleep_ms(20)
        waited += 1
        if waited == 250:
            raise MemoryError("no connection: " + client.trouble)
    if not await client.publish("heatveil/1/lab/n/state", b"ready", 1):
        raise MemoryError("no acknowledgement")
    print(answers, used())
asyncio.run(live())
"""


def main() -> None:
    """Print the table."""
    sys.path.insert(0, str(ROOT))
    from gateway.devices import bundle
    from gateway.devices.broker.embedded import run_broker
    from tests.interpreters import heaps

    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--answers", type=int, default=200, help="over the broker, for the drift")
    asked.add_argument("--frames", type=int, default=20000, help="without it, for the drift")
    asked.add_argument("--forms", help="those alone, such as source,mpy")
    given = asked.parse_args()
    program = shutil.which("micropython-i386", path=str(ROOT / ".tools"))
    if program is None:
        sys.exit("micropython-i386 is not in .tools: make tools, on a PC that runs 32 bits")

    with tempfile.TemporaryDirectory() as made, run_broker("mosquitto") as broker:
        folder = Path(made)
        forms, programs = heaps.built(folder), heaps.find_programs(program)

        def lives(form: str, heap_kb: int, marks: list[int]) -> list[int]:
            script = forms[form] + heaps.enrolled(folder / "home")
            with heaps.host(broker.port):
                script += heaps.living(form, broker.port, 10, marks)
                return [held for _, held in heaps.run(programs[form], script, heap_kb, folder)[1:]]

        def alone(heap_kb: int) -> list[int]:
            script = forms["source"] + f"PORT = {broker.port}\n" + heaps.USED + ALONE
            with heaps.host(broker.port):
                return [held for _, held in heaps.run(program, script, heap_kb, folder)]

        print("form        held KB  needed KB   more after answers   more after frames   frames/s")
        for form in given.forms.split(",") if given.forms else programs:
            held, later = lives(form, MOST_KB, [50, 50 + given.answers])
            needed = least(lambda kb, form=form: lives(form, kb, [15]))
            script = forms[form] + heaps.frames(folder / "home", given.frames)
            start_s = time.monotonic()
            ((_, more),) = heaps.run(
                programs[form], script, MOST_KB, folder, 60 + given.frames / SLOW
            )
            rate = given.frames / (time.monotonic() - start_s)
            print(
                f"{form:10} {held / 1024:8.1f} {needed:10d} {later - held:10d} B / {given.answers}"
                f" {more:10d} B / {given.frames} {rate:8.0f}"
            )
        for name in ("micropython-i386", "micropython"):
            for sensors in (1, 64):
                ran = []
                for _ in range(5):
                    script = forms["source"] + heaps.answers(folder / "home", sensors)
                    ran += heaps.run(str(ROOT / ".tools" / name), script, 4096, folder)
                size, us = sorted(ran)[2]
                print(f"an answer of {sensors}: {size} B allocated, {us} us, by {name}")
        (held,) = alone(MOST_KB)
        print(f"MQTT alone {held / 1024:8.1f} {least(alone):10d}   from source")
        files = bundle.compile_sources(
            bundle.pick_modules(bundle.read_sources(), "edge/loading.py", "thermal")
        )
        size, words = sum(map(len, files.values())), len(files[bundle.WORDS])
        print(f".mpy of a thermometer, without TLS, pins and sensors: {size - words} bytes in")
        print(f"{len(files) - 1} files, and {words} of sentences")


def least(lives) -> int:
    """Return the least heap in KB in which something lives."""
    low, high = LEAST_KB, MOST_KB
    while low < high:
        middle = (low + high) // 2
        try:
            lives(middle)
            high = middle
        except (MemoryError, RuntimeError):
            low = middle + 1
    return high


if __name__ == "__main__":
    main()

"""What `heatveil budget` rests on, measured again, beside what its table says.

    python tests/bench/bench_kit.py [--write]

Memory on a 32-bit MicroPython with a real broker (`tests/interpreters/heaps.py`): a device at
work, from source, as `make edge` writes it, in place in ROMFS, and frozen for who ran `make
firmware BOARD=unix32`; the smallest heap in which each starts and answers; what the files for pins
and radio take on top, the smallest driver among them. Files as a board is given them. How long an
RP2040 takes is not measured here: it needs one.
--write puts what was found into gateway/devices/kit/figures.csv, which edge/README.md quotes.
"""

import csv
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

TABLE = Path(__file__).resolve().parents[2] / "gateway" / "devices" / "kit" / "figures.csv"
FORMS = {"source": "_kb", "mpy": "_mpy_kb", "in place": "_rom_kb", "frozen": "_frozen_kb"}
ROOMY_KB, STEP_KB = 256, 2
ANSWERS = [5, 12]
BOARD = """
before = used()
from edge.board import start
from edge.board.drivers import find_driver
find_driver("tmp117")
print(used() - before)
"""


def smallest(starts: Callable[[int], bool], least: int = 16, most: int = ROOMY_KB) -> int:
    """Return the smallest heap, in KB, in which something starts; steps of 2 KB."""
    while most - least > STEP_KB:
        middle = (least + most) // 2 // STEP_KB * STEP_KB
        least, most = (least, middle) if starts(middle) else (middle, most)
    return most


def measured(program: str, port: int, folder: Path) -> dict[str, float]:
    """Return the figures that can be measured on a PC, by their name in the table."""
    from gateway.devices import bundle
    from tests.interpreters import heaps

    ways, found = heaps.built(folder), dict[str, float]()
    for form, own in heaps.find_programs(program).items():
        end = FORMS[form]
        living = ways[form] + heaps.enrolled(folder / form)
        living += heaps.living(form, port, 20, ANSWERS)

        def starts(
            heap_kb: int, script: str = living, at: Path = folder / form, by: str = own
        ) -> bool:
            heaps.enrolled(at)  # a budget that was cut off is begun anew
            try:
                with heaps.host(port):
                    heaps.run(by, script, heap_kb, at)
            except MemoryError:
                return False
            return True

        heaps.enrolled(folder / form)
        with heaps.host(port):
            lines = heaps.run(own, living, ROOMY_KB, folder / form)
        found[f"heap{end}"] = round(lines[-1][1] / 1024, 1)
        found[f"load{end}"] = smallest(starts)
        script = ways[form] + heaps.USED + heaps.LOAD + heaps.PARTS
        ((more,),) = heaps.run(own, script + BOARD, ROOMY_KB, folder)
        found[f"board{end}"] = round(more / 1024, 1)
    sources = bundle.read_sources()
    small = bundle.shrink_sources(sources)
    found["source_kb"] = round(sum(map(len, small.values())) / 1024, 1)
    found["mpy_kb"] = round(sum(map(len, bundle.compile_sources(sources).values())) / 1024, 1)
    found["files"] = len(sources)
    return found


def told() -> list[dict[str, str]]:
    """Return the rows of the table."""
    return list(csv.DictReader(TABLE.read_text("utf-8").splitlines()))


def write(found: dict[str, float]) -> None:
    """Put what was found into the table."""
    rows = told()
    for row in rows:
        if row["name"] in found:
            row["value"] = f"{found[row['name']]:g}"
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main(arguments: list[str]) -> int:
    """Measure and print; return the status to leave with."""
    import shutil

    sys.path.insert(0, str(TABLE.parents[3]))
    from gateway.devices.broker.embedded import run_broker

    tools = TABLE.parents[3] / ".tools"
    program = shutil.which("micropython-i386", path=f"{tools}:/usr/bin")
    if program is None:
        print("no micropython-i386 here: make tools")
        return 0
    with run_broker("mosquitto") as broker, tempfile.TemporaryDirectory() as folder:
        found = measured(program, broker.port, Path(folder))
    values = {row["name"]: float(row["value"]) for row in told()}
    print("figure            table      now  now/table")
    for name, now in found.items():
        print(f"{name:14} {values[name]:8g} {now:8g} {now / values[name]:10.2f}")
    if "--write" in arguments:
        write(found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""A device that answers its place, on every Python: its law, its life, what memory it takes."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.edge.mechanisms.disk_law import disc, law
from tests.interpreters import heaps

SHAPE, PARAMS = (3, 2), (3, 1, 7, 2, 1, 1, 3, 5, 4, 2, 1, 2, 6, 3, 0, 1, 1)

# Prints, for each cell, how many of all numbers give each answer.
LAW = """
from edge.mechanisms import disk
from edge.core.records import Grid, Reading, Round
round = Round(1, "disk", Grid(SHAPE, 0), PARAMS, None)
table = disk.Table(round)
class At:
    def below(self, most):
        return self.number
at = At()
for y in range(SHAPE[1]):
    for x in range(SHAPE[0]):
        counts = {}
        for at.number in range(table.total):
            place = disk.report(round, Reading(0, (x, y)), at, table)[1]
            counts[place] = counts.get(place, 0) + 1
        print(sorted(counts.items()))
"""

# Two boots of one device, until it has nothing left; it says what it refuses, and the lengths.
LIFE = """
import gc
if hasattr(gc, "threshold"):
    gc.threshold(2000)
from edge.core import wire
from edge.mechanisms import disk_limits
from edge.host import post, rootkeys
from edge.core.budget import Budget
from edge.host.enrol import provision
from edge.core.node import Node
from edge.core.records import Grid, Guarantee, Round
from edge.core.slots import Ram
ROOT, KEY = bytes(range(32)), bytes(range(32, 64))
WHERE, DATA = wire.round_topic("lab", "disk"), wire.topic("lab", "n", "data")
GRID = Grid((20, 20), 500)
promise = Guarantee((1, 1), None, None, "any two cells", "local", "a life", "that it answers")
who = rootkeys.identity("lab", "n", ROOT, KEY, 3)
slots, number, lengths, places = Ram(), 0, set(), set()
provision(slots, who.state_key, rootkeys.first_chain(ROOT), disk_limits.enrolled(1, 1, 24))
for boot in (1, 2):
    budget = Budget(slots, who.state_key)
    budget.boot()
    node = Node(who, budget, mechanism="disk")
    wrong = PARAMS[:2] + (PARAMS[2] + 1,) + PARAMS[3:]
    for params in (PARAMS, wrong, (0, 4, 10, 1, 1, 1, 0)) * 6:
        number += 1
        gc.collect()
        node.prepare()
        asked = Round(number, "disk", GRID, params, promise)
        frame = node.answer(post.pack_round(asked, KEY, WHERE), lambda grid: (grid.shape[0], 7))
        if frame is None:
            print(number, node.refusal[:40])
            continue
        lengths.add(len(frame))
        places.add(post.unpack_report(frame, rootkeys.mac_key(ROOT), DATA, "n").payload[1])
print(node.state(), sorted(lengths), len(places) > 8)
"""


def test_the_law_is_the_same_everywhere(interpreter: Any) -> None:
    """Whole numbers of any size, and every number that can be drawn."""
    meant = law(SHAPE, PARAMS)
    told = interpreter.run(f"SHAPE, PARAMS = {SHAPE}, {PARAMS}\n" + LAW).splitlines()

    assert told == [str(sorted(meant[x, y].items())) for y in range(2) for x in range(3)]


def test_a_life_is_the_same_everywhere(interpreter: Any) -> None:
    """Two boots, Rounds that are not what their epsilon allows between those that are."""
    if interpreter.name == "wasm":
        pytest.skip("WebAssembly has no entropy, so nothing there can be sealed")
    command = [re.sub(r"heapsize=\d+k", "heapsize=112k", word) for word in interpreter.command]
    told = replace(interpreter, command=command).run(f"PARAMS = {disc(10)}\n" + LIFE).splitlines()

    spent = next(int(line.split()[0]) for line in told if "budget is spent" in line)
    wrong = [f"{n} its weights are wrong" for n in range(2, spent, 3)]

    assert [line[: len(meant)] for line, meant in zip(told, wrong, strict=False)] == wrong
    assert [line.split()[0] for line in told[len(wrong) : -1]] == [*map(str, range(spent, 37))]
    assert 18 < spent < 37, "two boots, of which the first leaves enough"
    assert told[-1] == "exhausted [37] True"


def test_the_pages_device_answers_its_place(interpreter: Any) -> None:
    """Somebody types this first; with all that the page had before, it wants a larger heap."""
    if interpreter.name == "wasm":
        pytest.skip("WebAssembly has no entropy, so nothing there can be sealed")
    page = (heaps.ROOT / "edge" / "README.md").read_text()
    code = "\n".join(re.findall(r"```py(?:thon)?\n(.*?)```", page, re.S))
    command = [re.sub(r"heapsize=\d+k", "heapsize=160k", word) for word in interpreter.command]
    told = replace(interpreter, command=command).run(code + "print(node.refusal, len(frame))")

    assert told.splitlines()[-1] == " 37"


def test_a_table_takes_little_of_a_board(need: Any, tmp_path: Path) -> None:
    """20 x 20 cells and radius 10 in two thirds of a KB, radius 60 in under 3."""
    script = (
        heaps.USED
        + "from edge.mechanisms.disk_half import Table\n"
        + "from edge.core.records import Grid, Round\n"
    )
    for side, reach, params in ((20, 10, disc(10)), (200, 60, disc(60))):
        script += f"plan = Round(1, 'disk', Grid(({side}, {side}), 0), {params}, None)\n"
        script += f"before = used()\nmade = Table(plan)\nprint({reach}, used() - before)\n"
    path = f"import sys\nsys.path[:] = [{str(heaps.ROOT)!r}, '.frozen']\n"
    held = dict(heaps.run(need("micropython-i386"), path + script, 96, tmp_path))

    assert held[10] <= 700
    assert held[60] <= 2900

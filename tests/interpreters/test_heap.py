"""What a device's memory goes to: loading, the smallest heap that it lives in, and no drift.

Measured where words have 32 bits, with heap blocks of 16 bytes, as on small boards. The bounds
are what was reached, with a little room; they are there to be lowered.
"""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from edge.host import post, rootkeys
from edge.host.enrol import provision
from edge.limits import Limits
from edge.records import Grid, Guarantee, Round
from edge.slots import Files
from edge.wire import round_topic

EDGE = Path(__file__).resolve().parents[2]
# Measured with MicroPython 1.25.0, i386, on 2026-11-22, from source, in bytes of heap.
LOADED = 37500  # node, ticker, budget, slots, receipts: 36300; 41400 before the host's half left
LINKED = 54500  # with mqtt, asyncio, ring and tls: 52900
HEAP_KB = 52  # in which it loads one by one, boots and answers; by itself it would take 77
POOL = 256  # bits of the stream of noise that are drawn and not used differ from time to time
ROUNDS = 40
ROOT, KEY = bytes(range(32)), bytes(range(32, 64))

USED = """
import gc
def used():
    gc.collect()
    gc.collect()
    return gc.mem_alloc()
start = used()
"""
DEVICE = "from edge import budget, node, receipts, slots, ticker\n"
LINK = "from edge import mqtt, ring, tls\n"
LIFE = """
from edge import loading
loading.load()
from edge import budget, keys, node, slots, ticker
who = keys.Identity(*IDENTITY)
own = budget.Budget(slots.Files(FOLDER, "n"), who.state_key)
own.boot()
clock = ticker.Ticker(node.Node(who, own), 100)
clock.due(0)
made = halfway = 0
for number in range(ROUNDS):
    with open(FOLDER + "/round%d" % number, "rb") as file:
        message = file.read()
    clock.came(message, lambda params: [5000], number * 1000)
    clock.due(number * 1000 + 1)
    made += clock.due(number * 1000 + 999) is not None
    clock.due(number * 1000 + 999)
    message = file = None
    if number == ROUNDS // 2:
        halfway = used()
print(made, used() - halfway)
"""


@pytest.fixture
def run(need: Callable[[str], str]) -> Callable[[str, int], str]:
    """Return what runs a script in so many KB of heap and gives what it prints."""
    program = need("micropython-i386")

    def of(source: str, heap_kb: int) -> str:
        ran = subprocess.run(
            [program, "-X", f"heapsize={heap_kb}k", "-c", source],
            cwd=EDGE,
            env={"MICROPYPATH": ":.frozen"},
            capture_output=True,
            text=True,
            timeout=60,
        )
        if ran.returncode:
            raise MemoryError(ran.stderr[-500:])
        return ran.stdout

    return of


@pytest.fixture
def enrolled(tmp_path: Path) -> str:
    """Return the script of a device that is enrolled in a folder, with Rounds to answer."""
    who = rootkeys.identity("lab", "n", ROOT, KEY, 2)
    limits = Limits(1, 8, 500, 250000, 10**12, 0)
    provision(Files(str(tmp_path), "n"), who.state_key, rootkeys.first_chain(ROOT), limits)
    promise = Guarantee((1, 1), (1, 100000), (1, 50), "a move", "local", "a day", "presence")
    for number in range(ROUNDS):
        params = (9, 8, 0, 10000, 250000, 1, 0)
        plan = Round(number, "thermal", Grid((9, 1), 0), params, promise)
        message = post.pack_round(plan, KEY, round_topic("lab", "thermal"))
        (tmp_path / f"round{number}").write_bytes(message)
    names = f"IDENTITY, FOLDER, ROUNDS = {tuple(who)!r}, {str(tmp_path)!r}, {ROUNDS}\n"
    return USED + names + LIFE


@pytest.mark.parametrize(("modules", "most"), [(DEVICE, LOADED), (DEVICE + LINK, LINKED)])
def test_what_loading_takes_is_kept_small(run, modules: str, most: int) -> None:
    """A board has little; what is loaded is gone for good."""
    assert int(run(USED + modules + "print(used() - start)", 256)) <= most


def test_nothing_of_a_host_is_loaded_on_a_device(run) -> None:
    """One import too many brings the host's half back, and nothing else would show it."""
    printed = run(DEVICE + LINK + "import sys\nprint(sorted(sys.modules))", 256)

    assert "edge.wire" in printed
    for name in ("edge.host", "edge.thermal", "edge.tightening", "edge.grid"):
        assert name not in printed


def test_a_device_lives_in_a_small_heap_and_nothing_drifts(run, enrolled: str) -> None:
    """It boots, answers every Round, and holds afterwards what it held before."""
    made, drift = run(enrolled, HEAP_KB).split()

    assert int(made) == ROUNDS
    assert int(drift) <= POOL


def test_a_heap_that_is_too_small_is_noticed(run, enrolled: str) -> None:
    """A heap that the interpreter enlarges by itself would prove nothing."""
    with pytest.raises(MemoryError, match="memory allocation failed"):
        run(enrolled, 32)


def test_a_drift_is_noticed(run, enrolled: str) -> None:
    """What is kept of each Round must show, or the law above says nothing."""
    leaking = enrolled.replace(
        "message = file = None", "kept = [message, locals().get('kept')]", 1
    )

    assert int(run(leaking, 128).split()[1]) > POOL

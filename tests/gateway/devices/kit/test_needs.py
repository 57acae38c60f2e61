"""What a board needs, and what a secure sum takes of it."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edge.core.budget import Limits
from edge.host import rootkeys
from gateway.devices.broker.embedded import run_broker
from gateway.devices.kit import needs
from gateway.devices.kit.needs import FIGURES, DevicePlan, compute_needs, find_least_heap_kb
from gateway.faults import OperatorFault
from tests.gateway.devices.kit.conftest import Ran, first_frame, running
from tests.gateway.devices.kit.test_tells import FIXED, Park
from tests.processes import find_free_port
from tests.waiting import eventually

# `heatveil budget`: what it says, held against frames that a real node makes.

PLAN = DevicePlan("ds18b20", 1, 60, 250_000, 2500)


@pytest.mark.parametrize(("readings", "variance"), [(1, 250_000), (64, 250_000), (1, 1 << 40)])
def test_a_frame_is_as_long_as_it_says(readings: int, variance: int) -> None:
    """Its counters are told at their longest; a young device's are some bytes shorter."""
    told = compute_needs(PLAN._replace(readings=readings, variance=variance)).bytes
    root = bytes(range(32))
    who = rootkeys.identity("lab", "n001", root, bytes(32), 0, "sealed", readings)
    real = len(first_frame(who, root, variance))

    assert real <= told.frame <= real + 8
    topic = len("heatveil/1/lab/n001/data")
    assert told.packet - told.frame - topic in (6, 7)


def test_a_tick_is_twice_the_longest_answer() -> None:
    """An emulated RP2040 answers within 215 ms, and draws an array's noise for 553."""
    held = Limits(1, 8, 1, 250_000, 10**12, 0)
    single = needs.plan_device("thermal", "tmp117", 1, held)
    array = needs.plan_device("thermal", "amg8833", 64, held)
    widest = array._replace(variance=(1 << 62) - 1)
    slow, quick = needs.BoardTimes(900, 300), needs.BoardTimes(1, 1)

    assert needs.choose_tick_ms(single) >= 2 * 215
    assert needs.choose_tick_ms(array) == 100 * math.ceil(
        2 * (300 + 100 + 3 * 60 + 553 + 6.8) / 100
    )
    assert needs.choose_tick_ms(array, slow) >= 2 * (900 + 300 + 553)
    assert needs.choose_tick_ms(array, quick) == needs.choose_tick_ms(array)
    assert needs.choose_tick_ms(widest) < 5000  # of a config that says none


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"sensor": "dht11"}, "dht11"),
        ({"variance": 0}, "hides nothing"),
        ({"every_s": 0.0}, "seconds"),
        ({"every_s": float("nan")}, "seconds"),
        ({"battery_mah": -1.0}, "battery"),
        ({"every_s": 0.5}, "not keep up"),
        ({"readings": 9000, "every_s": 600}, "16384"),
        ({"variance": 1 << 61}, "coarser grain"),
        ({"own": {"slep_ma": 1.0}}, "did you mean sleep_ma"),
    ],
)
def test_what_is_of_no_board_is_refused(wrong: dict[str, Any], says: str) -> None:
    """A number for a board that cannot be would be believed."""
    with pytest.raises(OperatorFault, match=says):
        compute_needs(PLAN._replace(**wrong))


def test_a_deployment_says_its_noise(heatveil, tmp_path) -> None:
    """Then nobody has to copy a variance, and the life of the promise is said beside it."""
    path = tmp_path / "site.toml"
    path.write_text(
        "[room]\ncells = 40\nlength_m = 10.0\n[heat]\nspread_m2 = 1.0\n[sensors]\ncount = 6\n"
        '[privacy]\nepsilon = "8/1"\ndelta = "1/100000"\nreadings = 3\n[rounds]\nevery_s = 90\n'
        "[mqtt]\ninsecure = true\n"
    )
    found = heatveil("budget", "--config", path)

    assert found.status == 0, found.err
    awake = heatveil("budget", "--config", path, "--awake")
    lasts = [float(re.findall(r"battery +(\S+) days", one.out)[0]) for one in (found, awake)]
    assert lasts[0] > 5 * lasts[1], "who never sleeps is not promised the life of one that does"
    assert "promise is for 3 readings" in found.out
    assert "each 90 s" in found.out
    assert "tables" not in heatveil("budget", "--config", path, "--sensor", "amg8833").out
    path.write_text(path.read_text().replace("every_s = 90", 'every_s = 90\nsampler = "table"'))
    found = heatveil("budget", "--config", path, "--sensor", "amg8833")
    assert "KB more for tables of noise" in found.out, found.err
    assert "tables" not in heatveil("budget", "--config", path).out, "one reading needs none"


@pytest.mark.parametrize(("sensor", "own"), [("mlx90640", 16), ("mlx90641", 10), ("tmp117", None)])
def test_the_heap_of_an_array_s_driver_is_told_beside_that_of_a_device(
    heatveil, sensor: str, own: int | None
) -> None:
    """The device whose heap was measured had a TMP117: a board of 100 KB looked like enough."""
    found = heatveil("budget", "--sensor", sensor)

    assert (f" {own} KB more for the array's driver" in found.out) == (own is not None), found.err
    assert ("array's driver" in found.out) == (own is not None)


@pytest.mark.long
def test_what_the_table_says_of_memory_is_what_is_measured(
    need: Callable[[str], str], tmp_path: Path
) -> None:
    """On 32 bits, with a real broker; a device that grew, or shrank, is told anew."""
    from tests.bench import bench_kit

    program = need("micropython-i386")
    need("mpy-cross")
    need("mosquitto")
    with run_broker("mosquitto") as broker:
        found = bench_kit.measured(program, broker.port, tmp_path)
    for name, now in found.items():
        told = FIGURES[name].value
        assert now == pytest.approx(told, rel=0.2), f"{name}: run bench_kit.py --write"
    assert found["load_kb"] > found["heap_kb"] > found["heap_rom_kb"]


def test_the_pages_numbers_of_heap_are_those_that_a_plan_is_reckoned_with() -> None:
    """They were measured by two programs at two times, and none of them agreed."""
    page = (Path(__file__).parents[4] / "edge" / "README.md").read_text("utf-8")
    rows = re.findall(
        r"^\| (source|`\.mpy` of `make edge`|the same in ROMFS|in the firmware) \|(.*)\|$",
        page,
        re.M,
    )
    ends = ("_kb", "_mpy_kb", "_rom_kb", "_frozen_kb")
    said = [[float(cell) for cell in cells.split("|") if cell.strip()] for _, cells in rows]
    names = ("heap", "load", "board", "place")
    table = [[FIGURES[n + end].value for n in names if n + end in FIGURES] for end in ends]
    (most,) = re.findall(r"A board with (\d+) KB of free heap or more needs none of this", page)

    assert said == table
    assert int(most) - 10 < find_least_heap_kb("") <= int(most)
    (placed,) = re.findall(r"in place, in (\d+) KB of heap", page)
    assert int(placed) == math.ceil(find_least_heap_kb("_rom"))


def test_budget_and_provision_say_the_same_heap() -> None:
    """One of them counted the check of a certificate, and the other did not."""
    memory = compute_needs(PLAN._replace(readings=1)).memory
    loads = {"": memory.load_source, "_mpy": memory.load_mpy}

    assert {end: size - 12 for end, size in loads.items()} == {  # a reading, its noise, its answer
        end: round(1024 * find_least_heap_kb(end)) for end in loads
    }


def test_the_page_s_days_of_battery_are_what_the_command_says(heatveil) -> None:
    """Whoever buys cells by this page is not to find others in the estimate."""
    page = (Path(__file__).parents[4] / "edge" / "README.md").read_text("utf-8")
    rows = re.findall(r"^\| every (\d+) s \| (\d+) days \| (\d+) days \|$", page, re.M)
    found = []
    for every, *_ in rows:
        words = ("budget", "--sensor", "tmp117", "--every", every, "--chip")
        said = [heatveil(*words, chip).success for chip in ("rp2", "esp32")]
        days = [float(re.findall(r"battery +(\S+) days", one)[0]) for one in said]
        found.append((every, *(f"{one:.0f}" for one in days)))

    assert len(rows) == 3
    assert found == rows
    assert "rp2 or esp32" in heatveil("budget", "--chip", "esp8266").refusal
    assert heatveil("budget").success == heatveil("budget", "--chip", "rp2").success


# A board in a served secure sum: provisioned from the fleet it was enrolled with, then added up.

NAME = "node-3"
SITE = """
[site]
name = "square"
[room]
cells = [8, 8]
[quadtree]
devices = 4
adjacency = "replace-one"
rounds = 1
[privacy]
epsilon = "64/1"
[rounds]
mechanism = "quadtree"
gather_s = 120
every_s = 0
[mqtt]
port = {port}
insecure = true
"""


@pytest.fixture
def square(desk: Any) -> Park:
    """Return a deployment of four people, and a board with edge on it beside it."""
    folder = desk.path.parent / "square"
    folder.mkdir()
    made = Park(folder / "site.toml", folder / "own.toml", desk)
    made.path.write_text(SITE.format(port=find_free_port()))
    made.own.write_text(FIXED)
    assert desk.heatveil("enrol", "--config", made.path).status == 0
    desk.board()
    return made


@pytest.mark.long
def test_a_board_is_in_the_sum_that_the_gateway_opens(square: Park, brokers: Ran) -> None:
    """Of four devices that must all be there, one is a board: the map is of four."""
    done = square.run("provision", NAME, "--settings", square.own)
    assert "its masks and its noise are those of others" in done.success
    left = json.loads(square.path.with_name("secrets.json").read_text())["devices"]
    assert NAME not in [one["name"] for one in left]
    looked = square.run("doctor")
    assert looked.status == 0, looked.out + looked.err
    board, path = square.board(lives=True), square.path
    with brokers(path), running(path, "fleet"), running(path, "serve") as said:
        board.restart()
        over = eventually(lambda: "done.epsilon" in said.read_text(), 150, 0.1)
        board.stop()

    assert over, said.read_text()[-3000:] + board.read_last_line()
    shown = square.desk.heatveil("show", "--config", square.path)
    assert "4 of 4 devices" in shown.out, shown.out + said.read_text()[-2000:]

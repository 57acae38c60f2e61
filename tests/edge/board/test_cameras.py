"""Arrays that send counts and a memory: what is reckoned of them, on every interpreter.

Expected degrees are those of the data sheets' worked examples, and for whole arrays what the
makers' own libraries, with floats, make of the same words: adafruit-circuitpython-mlx90640 1.3.9
and mlx90641-driver 1.2.0, told that the emissivity is 1.
"""

from array import array
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.board.sensors import bus, mlx9064x, mlx90640, mlx90641
from gateway.devices.kit.needs import DRIVER_KB
from tests import processes
from tests.edge.board import chips as simulated

ROOT = Path(__file__).resolve().parents[3]
CHIPS = (Path(__file__).parent / "chips.py").read_text("utf-8")
OPENED = """
from edge.board.sensors import bus, mlx9064x
from edge.board.sensors.mlx{kind} import Sensor
chip = an_mlx{kind}({words})
bus.pause = chip.pause
sensor = Sensor(Bus(x33=chip), 0)
"""


def test_the_worked_example_of_the_mlx90640(interpreter) -> None:
    """80.36 degrees for pixel (12, 16), of what sends all its warmth.

    The sheet's own sum of the blind pixel is 21.63 where its numbers make 25.67 (2.8 of 679 in
    all); a blind pixel of -58 in place of -54 makes it 21.6, and the rest is as printed.
    """
    script = OPENED.format(kind="90640", words="")
    script += "print(sensor.counts()[11 * 32 + 15])\n"
    script += "for words in chip.beside: words[0x0708] = 65536 - 58\n"
    script += "print(sensor.counts()[11 * 32 + 15], *chip.control)\n"

    assert interpreter.run(CHIPS + script) == "8015\n8036 32781 b'\\x19\\x81'\n"


def test_the_worked_example_of_the_mlx90641(interpreter) -> None:
    """80.13 degrees of what sends 486/512; we take that as all, which shows every change as less.

    The sheet has 42.022 for the chip's own and its numbers make 42.098: .06 K of what is found.
    """
    script = OPENED.format(kind="90641", words="")
    script += "print(sensor.counts()[5 * 16 + 8], *chip.control)\n"
    told, control = interpreter.run(CHIPS + script).split(maxsplit=1)
    sends, found, around = 486 / 512, 80.13 + 273.15, 42.022 - 5 + 273.15  # it warms itself by 5
    shown = (sends * found**4 + (1 - sends) * around**4) ** 0.25 - 273.15

    assert abs(int(told) / 100 - shown) < 0.07
    assert control == "32781 b'\\t\\x81'\n"


# Every 64th pixel of one array from the fifth on, every 16th of the other from the third.
DEGREES = {
    ("90640", "Chance(7), 0"): "6.664 14.920 28.970 40.090 11.784 25.925 41.013 30.162 "
    "35.788 36.277 21.569 7.790",
    ("90640", "Chance(7), 0, False"): "6.516 14.810 28.919 40.070 11.673 25.868 40.992 30.114 "
    "35.749 36.237 21.475 7.650",
    ("90640", "Chance(7), 6"): "5.594 14.103 28.376 39.682 11.048 25.377 40.616 29.642 "
    "35.302 35.764 20.737 6.631",
    ("90641", "Chance(7)"): "31.069 40.032 25.401 41.481 32.088 9.230 25.228 41.729 "
    "21.171 24.574 27.363 43.080",
    ("90641", "Chance(7), 20"): "30.227 39.273 24.617 40.598 31.213 7.878 24.544 41.169 "
    "20.346 23.744 26.592 42.371",
}


@pytest.mark.parametrize(("kind", "words"), DEGREES)
def test_an_array_is_what_its_maker_reckons(interpreter, kind: str, words: str) -> None:
    """To .04 K, of which a hundredth is rounding down; what is below fifteen degrees is fifteen.

    The libraries go round once more for what sends much: .03 K at 45 degrees.
    """
    first, each = (5, 64) if kind == "90640" else (3, 16)
    script = OPENED.format(kind=kind, words=words)
    script += f"found = sensor.counts()\nprint(len(found), *found[{first}::{each}])\n"
    count, *found = map(int, interpreter.run(CHIPS + script).split())

    assert count == sensor_of(kind).sensors
    for told, degrees in zip(found, DEGREES[kind, words].split(), strict=True):
        assert max(float(degrees), 15) - 0.04 < told / 100 < max(float(degrees), 15) + 0.001


def sensor_of(kind: str) -> Any:
    """Return the class of that kind."""
    return {"90640": mlx90640.Sensor, "90641": mlx90641.Sensor}[kind]


def opened(chip: Any, kind: str, monkeypatch: pytest.MonkeyPatch, empty: Any = 0) -> Any:
    """Return a sensor of a chip; what it waits for is there at once."""
    monkeypatch.setattr(bus, "pause", chip.pause)
    return sensor_of(kind)(simulated.Bus(x33=chip), empty)


@pytest.mark.parametrize(
    ("kind", "warms", "raws"),
    [
        ("90640", 1488, range(-52, -40)),
        ("90640", 1250, range(-4, 2)),
        ("90641", 1495, range(-520, -495)),
    ],
)
def test_no_count_of_a_chip_is_coarser_than_is_planned_for(
    kind: str, warms: int, raws: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the cold, of pixels of any sensitivity, in the frame of least gain that is taken.

    One count of the chip may flip on all pixels at once, whatever their hundredths are. warms: the
    chip's own warmth, a word more of which is a tenth of a kelvin: 15 degrees, where ksto alone
    makes a count one part in a hundred coarser, and -13, where it does so by three.
    """
    chip = getattr(simulated, f"an_mlx{kind}")()
    if kind == "90640":
        chip.memory[33] -= 2400  # of all alphas; row and column make them differ
        chip.memory[18:32] = array("H", [0] * 14)  # all offsets are one
    else:
        for i in range(192):
            chip.memory[256 + i] = simulated.checked(294 + i)
    sensor = opened(chip, kind, monkeypatch)
    for words in chip.beside:
        words[sensor._kind.besides + 32] = warms
    ones = [1 << 16] * 64
    alphas = [
        sensor._kind.trim(i, sensor._kind.find_page(i, (0, 1)), ones, ones)[1]
        for i in range(sensor.sensors)
    ]
    nearest = min(alpha for alpha in alphas if alpha >= sensor._least)
    taken, refused, cold = 20000, 0, mlx9064x.COLDEST
    while taken - refused > 1:
        for words in chip.beside:
            words[sensor._kind.besides + 10] = (taken + refused) // 2
        try:
            sensor.counts()
            taken = (taken + refused) // 2
        except ValueError:
            refused = (taken + refused) // 2
    for words in chip.beside:
        words[sensor._kind.besides + 10] = taken
    most = told = 0
    for less, raw in product(range(5), raws):
        for words in chip.beside:
            words[sensor._kind.besides + 32] = warms - less
        shown = []
        for one in (raw, raw + 1):
            chip.pixels = array("H", [one % 65536] * len(chip.pixels))
            chip.page = 0  # of one whose pages have offsets of their own
            shown.append(list(sensor.counts()))
        moves = [after - before for before, after in zip(*shown, strict=True) if before > cold]
        most = max([most, *moves])
        told = sum(map(bool, shown[0]))

    num, den = sensor.behind
    assert nearest < 1.001 * sensor._least
    assert 100 * num // den - 1 <= most <= 100 * num // den
    assert 0 < told < sensor.sensors  # of the others their empty room


@pytest.mark.parametrize("kind", ["90640", "90641"])
def test_a_broken_pixel_always_shows_its_empty_room(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A neighbour in its place would be counted twice, for which the noise is not made."""
    chip = getattr(simulated, f"an_mlx{kind}")(simulated.Chance(3))
    for at in (64 + 7, 256 + 7, 448 + 7, 640 + 7):
        chip.memory[at] = 0
    empty = list(range(1500, 1500 + sensor_of(kind).sensors))
    sensor = opened(chip, kind, monkeypatch, empty)

    assert sensor.counts()[7] == empty[7]
    assert sensor.read(SimpleNamespace(exponent=8))[7] == 0
    assert sensor.counts()[8] != empty[8]


@pytest.mark.parametrize("kind", ["90640", "90641"])
def test_what_a_chip_does_not_measure_is_not_told(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor are pages of two frames put together, nor is one chip taken for the other."""
    make = getattr(simulated, f"an_mlx{kind}")
    sensor = opened(chip := make(simulated.Chance(3)), kind, monkeypatch)
    pages = [list(sensor.counts()) for _ in range(2)]
    chip.hurry = 1
    assert list(sensor.counts()) in pages
    assert chip.hurry == 0
    for change in ({"stuck": True, "new": 0}, {"hurry": 1000}):
        for name, value in change.items():
            setattr(chip, name, value)
        with pytest.raises(ValueError, match="cannot measure"):
            sensor.counts()
        chip.stuck, chip.hurry = False, 0
    for at, part in ((0, 0.0), (10, 0.0), (32, 0.0), (10, 0.75)):  # of it, beside the pixels
        was = [words[sensor._kind.besides + at] for words in chip.beside]
        for words, word in zip(chip.beside, was, strict=True):
            words[sensor._kind.besides + at] = int(part * word)
        with pytest.raises(ValueError, match="cannot measure"):
            sensor.counts()
        for words, word in zip(chip.beside, was, strict=True):
            words[sensor._kind.besides + at] = word
    chip.memory[10] ^= 0x40
    with pytest.raises(ValueError, match=f"no MLX{kind}"):
        opened(chip, kind, monkeypatch)


def test_a_memory_that_was_read_wrong_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any bit of a word of the MLX90641's, and any two of it."""
    words = [0xB7E8, 0xD016, 0xC2FD, 0x1A43, 0xF849, 0xB8C0, 0xFFFF, 0xD847, 0]  # of its sheet
    assert all(map(mlx90641.is_whole, words))
    for word, one, two in product(words, range(16), range(16)):
        assert mlx90641.is_whole(word ^ (1 << one | 1 << two)) is False

    chip = simulated.an_mlx90641()
    chip.memory[500] ^= 1
    with pytest.raises(ValueError, match="cannot measure"):
        opened(chip, "90641", monkeypatch)


@given(st.integers(0, 1 << 70), st.integers(0, 60000))
def test_a_fourth_root_is_rounded_down_from_any_guess(number: int, near: int) -> None:
    """So a frame is the same whatever pixel came before, and on every interpreter."""
    found = mlx9064x.find_fourth_root(number, near)

    assert found**4 <= number < (found + 1) ** 4


HEAP = """
import gc
def used():
    gc.collect()
    gc.collect()
    return gc.mem_alloc()
from edge.board.sensors import bus
from edge.core import pixels
chip = an_mlx{kind}()
bus.pause, line = chip.pause, Bus(x33=chip)
before = used()
from edge.board.sensors import mlx{kind}
loaded = used()
sensor = mlx{kind}.Sensor(line)
sensor.counts()
held = used()
print(loaded - before, held - loaded)
"""


@pytest.mark.parametrize("kind", ["90640", "90641"])
def test_an_array_is_read_in_a_board_s_heap(need, kind: str) -> None:
    """Its modules, from source, and the opened sensor, words of 32 bits: as it is told."""
    program = need("micropython-i386")
    script = CHIPS + HEAP.format(kind=kind)
    ran = processes.run(
        [program, "-X", "heapsize=512k", "-c", script], cwd=ROOT, capture_output=True, text=True
    )
    loaded, held = map(int, ran.stdout.split())

    assert round((loaded + held) / 1024) == DRIVER_KB[f"mlx{kind}"]
    page = (ROOT / "edge/README.md").read_text("utf-8")
    assert "{mlx90640} KB of heap for an MLX90640 and {mlx90641} for".format(**DRIVER_KB) in page

"""A place kept at hand: a receiver on a line that breaks, lies and falls silent, on all Pythons.

The line is one of ours, the clock too: nothing here waits. What is expected is counted by hand in
a grid whose plane is a thousand millimetres for each 1e-7 degree.
"""

from fractions import Fraction
from functools import reduce
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from edge.board import config, places
from edge.board.sensors import gps, plane
from edge.core.records import Grid

U = plane.UNIT
# A unit east of 13 degrees is 100 mm of x; y is 10 m at 52 degrees, and a unit north 100 mm less.
PLANE = [52 * 10**7, 13 * 10**7, 100 * U, 0, 0, -100 * U, 0, 10_000]
WORDS = ("empty", "address", "bus", "sda", "scl", "pin", "roms", "khz", "uart", "tx", "rx")
WORDS += ("baud", "port", "cell", "place_mm", "until_mm")
ROOT = Path(__file__).parents[3]
TEMPLATE = ROOT / "edge" / "board" / "sensors" / "yours_place.py"


def said(north_7: int, east_7: int, kind: str = "GGA", fixed: bool = True) -> bytes:
    """Return a sentence with this many units north of 52 degrees and east of 13."""
    north, east = (f"00.{unit * 60:07}" for unit in (north_7, east_7))  # minutes
    where = f"52{north},N,013{east},E" if fixed else ",,,"
    body = f"GPGGA,120000,{where},{int(fixed)},08,1.0,40.0,M,45.0,M,,"
    if kind == "RMC":
        body = f"GPRMC,120000,{'A' if fixed else 'V'},{where},0,0,010126,,,A"
    return f"${body}*{reduce(lambda held, letter: held ^ ord(letter), body, 0):02X}\r\n".encode()


HERE, THERE = said(75, 15), said(40, 120)  # of cells of 500 mm: (3, 5) and (24, 12)
LOST = said(0, 0, fixed=False)

HELD = """
from edge.board import places
from edge.board.sensors import gps
from edge.core.records import Grid
class Line:
    came, broken, reads = b"", False, 0
    def readinto(self, buffer):
        self.reads += 1
        if self.broken:
            raise OSError("52.1234567 on ttyACM0")
        count = min(len(buffer), len(self.came))
        buffer[:count] = self.came[:count]
        self.came = self.came[count:]
        return count or None
class Clock:
    now = 0
    def now_ms(self):
        return Clock.now
gps.Uptime = places.Uptime = Clock
line, grid, opened = Line(), Grid((20, 20), 500), []
def opening():
    opened.append(1)
    return gps.Sensor(line, {plane})
def hears(one, text=b"", ms=1000):
    Clock.now += ms
    line.came += text
    one.poll()
def told(one):
    try:
        return one.read(grid)
    except Exception as why:
        return type(why).__name__ + ": " + str(why)
one = places.Held(opening, None, 100)
"""
GONE = "OSError: the sensor does not answer; look at its wires, its power and its address"
NONE = "ValueError: the sensor answers what it cannot measure; look at its wires and its power"


def run(interpreter: Any, script: str) -> list[str]:
    """Return the lines that a script prints after `HELD`."""
    text: str = interpreter.run(HELD.format(plane=PLANE) + script)
    return text.splitlines()


@pytest.mark.long
def test_a_fix_that_is_lost_does_not_show(interpreter) -> None:
    """Under a roof the last place of this run is told, however old; in a new run there is none."""
    script = f"""
hears(one, {LOST!r})
print(told(one), one.find_state())
hears(one, {HERE!r})
print(told(one), one.find_state())
for _ in range(5000):
    hears(one, {LOST!r})
print(told(one), one.find_state())
hears(one, {said(40, 120, "RMC")!r})
print(told(one))
print(told(places.Held(opening, None, 100)))
hears(one, {HERE + said(0, 0, "RMC", False)!r})
print(told(one), len(opened))
"""
    assert run(interpreter, script) == [
        f"{NONE} (True, False)",
        "(3, 5) (True, True)",
        "(3, 5) (True, True)",
        "(24, 12)",
        GONE,
        "(3, 5) 2",
    ]


def test_a_receiver_that_vanished_is_a_thermometer_that_vanished(interpreter) -> None:
    """Silent for ten seconds, or pulled with a place in the system's words: the one sentence."""
    script = f"""
print(told(one))
hears(one, {HERE!r})
hears(one, b"", 9000)
print(told(one))
hears(one, b"", 1500)
print(told(one), len(opened))
hears(one, {LOST!r})
print(told(one), len(opened))
line.broken = True
hears(one, b"", 300)
print(told(one))
hears(one)
hears(one)
line.broken = False
hears(one)
print(told(one))
hears(one, {LOST!r})
print(told(one))
"""
    assert run(interpreter, script) == [
        GONE,
        "(3, 5)",
        f"{GONE} 1",
        "(3, 5) 2",
        GONE,
        GONE,
        "(3, 5)",
    ]


def test_a_device_may_always_answer(interpreter) -> None:
    """With until_mm nothing shows of whether a fix was had, but a receiver that is not there."""
    script = f"""
one = places.Held(opening, [1000, 9999], 100)
print(told(one))
hears(one, {LOST!r})
print(told(one))
hears(one, {HERE!r})
print(told(one))
grid = Grid((20, 20), 0)
print(told(one))
"""
    assert run(interpreter, script) == [GONE, "(2, 19)", "(3, 5)", NONE]


def test_rubbish_is_heard_and_never_believed(interpreter) -> None:
    """Torn, doubled, endless, at every length and cut, byte by byte: a true place or none."""
    script = f"""
right, state, seen = {HERE!r}, 1, set()
def noise():
    global state
    state = (state * 1103515245 + 12345) % 2147483648
    return state >> 16 & 255
for turn in range({{turns}}):
    text = bytearray()
    for _ in range(noise() % 5):
        piece = bytearray(right if noise() < 200 else bytes([noise() for _ in range(40)]))
        for _ in range(noise() % 3):
            piece[noise() % len(piece)] = noise()
        text += piece[noise() % 70 if noise() < 100 else 0 :]
    hears(one, bytes(text), 250)
    if one.find_state()[1]:
        seen.add(one.read(grid))
        one._last = None
print(seen)
line.came = b"$" * 100 + b"$GPGGA," + b"1" * 5000
for _ in range(12):
    hears(one, b"", 100)
print(len(line.came), one.find_state())
hears(one, right)
print(told(one))
reads = line.reads
hears(one, right * 40)
print(line.reads - reads, len(line.came) > 0)
"""
    turns = 150 if interpreter.name == "wasm" else 600
    lines = run(interpreter, script.replace("{turns}", str(turns)))
    assert lines[0] == "{(3, 5)}"
    assert lines[1:3] == ["0 (True, False)", "(3, 5)"]
    assert lines[3] == "8 True"


def test_what_is_said_of_a_line_stays_with_the_driver(interpreter) -> None:
    """A driver of one's own may raise what it likes, when asked or between: none of it goes on."""
    script = """
class Own:
    unit = "mm"
    def where(self):
        raise RuntimeError("15000 7500")
def told_of(one):
    try:
        one.poll()
        one.read(grid)
    except Exception as why:
        print(type(why).__name__, str(why))
told_of(places.Held(Own, None, 100))
for found in ((1.5, 2), (1, 2, 3), "ab", 7, [1, None]):
    Own.where = lambda self: found
    told_of(places.Held(Own, None, 100))
"""
    assert set(run(interpreter, script)) == {GONE.replace(":", "")}


def test_nothing_is_heard_when_a_round_comes(interpreter) -> None:
    """How much waits on the line, and whether a fix is in it, must not cost the answer a tick."""
    script = f"""
hears(one, {HERE!r})
reads, line.came = line.reads, {THERE * 10!r}
print(told(one), line.reads - reads)
hears(one, b"", 250)
print(told(one))
class Asked:
    unit, looks = "mm", 0
    def where(self):
        self.looks += 1
        return (1500, 2500) if self.looks < 3 else False
one = places.Held(Asked, None, 100)
one.poll()
print(told(one), told(one), told(one))
"""
    assert run(interpreter, script) == ["(3, 5) 0", "(24, 12)", "(3, 5) (3, 5) (3, 5)"]


def test_nothing_is_worked_out_while_a_frame_may_wait(interpreter) -> None:
    """For two ticks after an answer: else a fix would show in when the frame leaves."""
    script = f"""
hears(one, {HERE!r})
print(told(one))
reads = line.reads
for _ in range(10):
    hears(one, b"", 19)
print(line.reads - reads)
hears(one, b"", 19)
print(line.reads - reads)
"""
    assert run(interpreter, script) == ["(3, 5)", "0", "1"]


def told(name: str, mechanism: str = "disk", **words: Any) -> Any:
    """Return what is looked at of a Config."""
    driver = {"name": name, **dict.fromkeys(WORDS), **words}
    wake_s, plane = driver.pop("wake_s", 0), driver.pop("plane", PLANE)
    return SimpleNamespace(
        driver=driver, plane=plane, wake_s=wake_s, tick_ms=100, mechanism=mechanism
    )


def test_a_device_that_stays_is_where_its_config_says() -> None:
    """As a cell whatever the grid, or as millimetres in the cells of the Round that asks."""
    grid = Grid((20, 20), 500)
    assert places.open_place(told("fixed", cell=[3, 7])).read(grid) == (3, 7)
    assert places.open_place(told("fixed", cell=[3, 7])).read(Grid((9, 9), 0)) == (3, 7)
    assert places.open_place(told("fixed", place_mm=[1999, 500])).read(grid) == (3, 1)
    assert places.open_place(told("fixed", place_mm=[-1, 500], wake_s=60)).read(grid) == (-1, 1)


@pytest.mark.parametrize(
    ("config_of", "says"),
    [
        (told("tmp117"), "tmp117 tells no place; gps, fixed, yours do"),
        (told("fixed"), "one of cell and place_mm"),
        (told("fixed", cell=[1, 2], place_mm=[1, 2]), "one of cell and place_mm"),
        (told("fixed", cell=[1234567]), "its cell is not two whole numbers"),
        (told("fixed", place_mm=[1.5, 2]), "its place_mm is not two"),
        (told("gps", until_mm=["a", 2]), "its until_mm is not two"),
        (told("gps", plane=None), "its plane is not 8 whole numbers"),
        (told("gps", plane=[1.0] * 8), "its plane is not 8 whole numbers"),
        (told("gps", wake_s=60), "wake_s goes with until_mm alone"),
        (told("yours", wake_s=60, uart=1), "wake_s goes with until_mm alone"),
    ],
)
def test_what_could_not_tell_a_place_is_refused_at_the_start(config_of: Any, says: str) -> None:
    """With no number of it in the sentence, for a console shows that."""
    with pytest.raises(ValueError, match=says) as caught:
        places.open_place(config_of)
    assert "1234567" not in str(caught.value)
    assert "heatveil provision" in str(caught.value)


def test_the_line_is_opened_as_the_words_say() -> None:
    """Pins, number and speed; nothing waits, and there is room for what comes in a draw."""
    asked: list[Any] = []
    machine = SimpleNamespace(Pin=lambda number: f"pin {number}")
    machine.UART = lambda *numbers, **words: asked.append((numbers, words))
    places.make_uart_opener(machine)(told("gps", uart=2, tx=4, rx=5, baud=115200).driver)
    places.make_uart_opener(machine)(told("gps").driver)

    assert asked[0][0] == (2,)
    assert asked[0][1]["baudrate"] == 115200
    assert (asked[0][1]["tx"], asked[0][1]["rx"]) == ("pin 4", "pin 5")
    assert asked[1] == ((1,), {"baudrate": 9600, "timeout": 0, "rxbuf": places.BUFFER})
    with pytest.raises(ValueError, match="not read on this computer"):
        places.open_sensor(told("gps").driver, PLANE)


def test_what_a_computer_has_not_is_said_at_its_start() -> None:
    """Later it would be a sensor that does not answer, and somebody would look at its wires."""
    line, bus = [], []
    for words in ({}, {"pin": 4}):
        with pytest.raises(ValueError, match="yours is not read on this computer"):
            places.open_place(told("yours", **words), line.append, bus.append)
    places.open_place(told("yours", port="/dev/ttyUSB0"), line.append)
    places.open_place(told("yours", bus=1), None, bus.append)
    places.open_place(told("fixed", cell=[1, 2]))

    assert line == bus == []  # and nothing is opened before it is looked at


TAG = """
{template}
class Line:
    def __init__(self):
        self.asked, self.answer = [], None
    def write(self, data):
        self.asked.append(bytes(data))
    def readinto(self, buffer):
        if self.answer is None:
            return None
        buffer[: len(self.answer)] = self.answer
        return len(self.answer)
line = Line()
tag = Sensor(line)
print(tag.where(), line.asked)
for quality in (100, 0):
    line.answer = bytes([64, 1, 0, 65, 13]) + bytes.fromhex({answer!r}) + bytes([quality])
    print(tag.where())
line.answer = line.answer[:9]
print(tag.where())
"""


def test_the_template_is_the_tag_of_its_makers_guide(interpreter) -> None:
    """The guide's own example: x 121, y 50 and z 251 mm; quality 0 is no place; ten lines."""
    from tests.edge.board.test_config import code

    text, answer = TEMPLATE.read_text(), "79000000" + "32000000" + "fb000000"
    lines = interpreter.run(TAG.format(template=text, answer=answer)).splitlines()

    assert lines == ["False [b'\\x02\\x00']", "(121, 50)", "None", "None"]
    assert len(code(text)) <= 11


def test_a_config_says_what_a_device_answers(tmp_path: Path) -> None:
    """Several sensors, or tables, are a thermometer's; another mechanism nobody's."""
    from tests.edge.board.test_config import NOTHING, written

    right = ("mechanism", "disk"), ("driver", {"name": "fixed", "cell": [1, 2]})
    assert config.load(written(tmp_path, *right)).mechanism == "disk"
    assert config.load(written(tmp_path, ("wifi", NOTHING))).mechanism == "thermal"
    for wrong in (("mechanism", "sum"), ("sensors", 2), ("tables", True), ("plane", 7)):
        with pytest.raises(ValueError, match=r"mechanism|of one sensor|no plane"):
            config.load(written(tmp_path, *right, wrong))


# Sentences of a receiver, whole, spoilt and cut: angles in whole numbers, or nothing at all.

# The two of 1994 that every text on NMEA shows, and those of u-blox, M8 protocol, section 31.
PRINTED = {
    "GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47": ("48 7.038", "11 31"),
    "GPRMC,123519,A,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W*6A": ("48 7.038", "11 31"),
    "GPGGA,092725.00,4717.11399,N,00833.91590,E,1,08,1.01,499.6,M,48.0,M,,*5B": (
        "47 17.11399",
        "8 33.91590",
    ),
    "GPRMC,083559.00,A,4717.11437,N,00833.91522,E,0.004,77.52,091202,,,A*57": (
        "47 17.11437",
        "8 33.91522",
    ),
}
NOWHERE = [
    "GPGGA,123519,,,,,0,00,99.99,,,,,,",
    "GPRMC,123519,V,,,,,,,230394,,,N",
    "GPRMC,123519,V,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W",
    "GPGGA,123519,4807.038,N,01131.000,E,0,08,0.9,545.4,M,46.9,M,,",
    "GPGGA,123519,4807.038,N,01131.000,E,8,08,0.9,545.4,M,46.9,M,,",
    "GPRMC,123519,A,4807.038,N,01131.000,E,0,0,230394,,,S",
    "GPGGA,123519,4860.000,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,",
    "GPGGA,123519,9100.000,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,",
    "GPGGA,123519,9000.001,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,",
    "GPGGA,123519,4807.038,N,18000.001,E,1,08,0.9,545.4,M,46.9,M,,",
    "GPGGA,123519,4807.038,X,01131.000,E,1,08,0.9,545.4,M,46.9,M,,",
    "GPGGA,123519,4807.038,NS,01131.000,E,1,08,0.9,545.4,M,46.9,M,,",
    "GPGGA,123519,+807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,",
    "GPGGA,123519,4807.-38,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,",
    "GPGGA,123519",
    "GPRMC,123519,A",
    "GPGSV,3,1,11,03,03,111,00,04,15,270,00,06,01,010,00,13,06,292,00",
    "",
]


def signed(body: str) -> bytes:
    """Return a sentence with the sum of its bytes, as the standard makes it."""
    return f"{body}*{reduce(lambda held, letter: held ^ ord(letter), body, 0):02X}".encode()


def angle(text: str) -> Fraction:
    """Return degrees of what is printed as degrees and minutes."""
    degrees, minutes = text.split()
    return Fraction(degrees) + Fraction(minutes) / 60


@pytest.mark.parametrize("sentence", PRINTED)
def test_what_the_manuals_print_is_read(sentence: str) -> None:
    """To the unit of 1e-7 degree, which is 11 mm: their own checksums, their own places."""
    north, east = PRINTED[sentence]
    found = gps.parse_fix(sentence.encode())

    assert found
    assert abs(found[0] - angle(north) * 10**7) <= Fraction(1, 2)
    assert abs(found[1] - angle(east) * 10**7) <= Fraction(1, 2)


@pytest.mark.parametrize(
    ("sides", "signs"), [("NE", (1, 1)), ("NW", (1, -1)), ("SE", (-1, 1)), ("SW", (-1, -1))]
)
def test_south_and_west_are_negative(sides: str, signs: tuple[int, int]) -> None:
    """Whatever stars are above: GN and others talk as GP does."""
    body = f"GNGGA,000000,3351.6,{sides[0]},15112.34567891,{sides[1]},4,20,0.5,5,M,0,M,,"

    assert gps.parse_fix(signed(body)) == (signs[0] * 338600000, signs[1] * 1512057613)


@pytest.mark.parametrize("body", NOWHERE)
def test_without_a_fix_there_is_no_place(body: str) -> None:
    """No sky, a place that somebody typed in, one that is on no globe, another kind."""
    assert gps.parse_fix(signed(body)) is None


def test_every_spoilt_byte_is_noticed() -> None:
    """One byte of a line that is torn: never another place; the sum holds against each of them."""
    right = next(iter(PRINTED)).encode()
    place = gps.parse_fix(right)
    for i in range(len(right)):
        for byte in (0, 42, 44, 48, 57, 69, 255, right[i] ^ 1):
            spoilt = right[:i] + bytes([byte]) + right[i + 1 :]
            found = gps.parse_fix(spoilt)
            assert found is gps.SPOILT or (found == place and spoilt == right), spoilt
        assert gps.parse_fix(right[:i]) is gps.SPOILT
        assert gps.parse_fix(right[i + 1 :]) is gps.SPOILT
    assert gps.parse_fix(right.partition(b"*")[0]) is gps.SPOILT


SCRIPT = """
from edge.board.sensors.gps import parse_fix
for line in {lines}:
    print(parse_fix(line))
state = 1
for _ in range(2000):
    line = bytearray(nothing)
    for i in range(len(line)):
        state = (state * 1103515245 + 12345) % 2147483648
        line[i] = state >> 16 & 127
    body = bytes(line)
    sum = 0
    for byte in body:
        sum ^= byte
    found = parse_fix(body + b"*%02X" % sum)
    if found not in (None, False):
        print("a place of", body)
print("done")
"""


def test_every_interpreter_reads_them_alike(interpreter) -> None:
    """Small words, big words: and a thousand sentences of nothing, with a right sum, are none."""
    lines = [line.encode() for line in PRINTED] + [signed(body) for body in NOWHERE]
    script = "nothing = 24\n" + SCRIPT.format(lines=lines)
    expected = [str(gps.parse_fix(line)) for line in lines]

    assert interpreter.run(script).splitlines() == [*expected, "done"]

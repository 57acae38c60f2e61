"""Drivers against the tables of the data sheets, on every interpreter and on simulated chips.

The expected numbers are the tables' degrees in exact fractions, and no line of a driver.
"""

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from edge.board import drivers
from recovery.noise.worst import find_least_shown

CHIPS = (Path(__file__).parent / "chips.py").read_text("utf-8")

# Degrees and words, as printed in the data sheets: temperature tables of each.
GRIDEYE = {125: 0x1F4, 25: 0x064, "0.25": 0x001, 0: 0x000, "-0.25": 0xFFF, -25: 0xF9C}
TMP117 = {100: 0x3200, 25: 0x0C80, 1: 0x0080, "0.125": 0x0010, "0.0078125": 0x0001}
TMP117 |= {0: 0x0000, "-0.015625": 0xFFFE, "-0.125": 0xFFF0, -25: 0xF380}
DS18B20 = {125: 0x07D0, "25.0625": 0x0191, "10.125": 0x00A2, "0.5": 0x0008, 0: 0x0000}
DS18B20 |= {"-0.5": 0xFFF8, "-10.125": 0xFF5E, "-25.0625": 0xFE6F, -55: 0xFC90}


def grains(degrees: object, exponent: int = 8) -> int:
    """Return a temperature in grains of 2**-exponent, the nearest, ties up."""
    return (Fraction(str(degrees)) * 2**exponent * 2 + 1) // 2


def told(values: object) -> str:
    """Return what the script prints of whole numbers."""
    return " ".join(map(str, values)) + "\n"  # type: ignore[call-overload]


@pytest.mark.long
def test_a_grideye_is_its_data_sheet(interpreter) -> None:
    """All 64 pixels, low byte first, twelve bits signed; before its reset it says nothing."""
    words = [list(GRIDEYE.values())[i % len(GRIDEYE)] for i in range(64)]
    script = f"""
from edge.board.sensors.amg8833 import Sensor
chip = GridEye({words})
sensor = Sensor(Bus(x69=chip), 0)
print(*sensor.read(Params))
print(sensor.step, sensor.sensors, all([type(v) is int for v in sensor.read(Params)]))
print(*Sensor(Bus(x68=chip), {list(range(64))}, 0x68).counts()[:4])
chip.started = False
print(fault_of(sensor.read, Params))
"""
    cycle = [grains(degrees) for degrees in GRIDEYE]
    expected = told(cycle[i % len(cycle)] for i in range(64))
    expected += "(1, 4) 64 True\n500 100 1 0\n"
    expected += "ValueError: the sensor answers what it cannot measure; look at its wires and "

    assert interpreter.run(CHIPS + script).startswith(expected)


def test_a_tmp117_is_its_data_sheet(interpreter) -> None:
    """High byte first, sixteen bits signed, and nobody else's identity."""
    script = f"""
from edge.board.sensors.tmp117 import Sensor
chip = Tmp117(0)
sensor = Sensor(Bus(x48=chip), 0)
for word in {list(TMP117.values())}:
    chip.words[0] = word
    print(*sensor.read(Params))
chip.words[0] = 0x8000
print(fault_of(sensor.read, Params)[:40])
print(fault_of(Sensor, Bus(x48=Tmp117(0, 0x0075)))[:46])
"""
    expected = "".join(told([grains(degrees)]) for degrees in TMP117)
    expected += "ValueError: the sensor answers what it c\n"
    expected += "ValueError: what answers at this address is no\n"

    assert interpreter.run(CHIPS + script) == expected


def test_an_mcp9808_is_its_data_sheet(interpreter) -> None:
    """Thirteen bits signed below the alarms, nobody else's identity, and none before the first."""
    words = {"25.25": 0xC194, 0: 0x0000, "-0.0625": 0x1FFF, -40: 0xFD80, 125: 0x07D0}
    script = f"""
from edge.board.sensors import bus
from edge.board.sensors.mcp9808 import Sensor
chip = Mcp9808(0xC194)
bus.pause = chip.pause
sensor = Sensor(Bus(x18=chip), 0)
print(*sensor.read(Params))
for word in {list(words.values())}:
    chip.words[5] = word
    print(*sensor.read(Params))
chip.words[5] = 0x0FFF
print(fault_of(sensor.read, Params)[:40])
for wrong in (Mcp9808(0, 0x0055), Mcp9808(0, 0x0054, 0x0200)):
    print(fault_of(Sensor, Bus(x18=wrong))[:46])
"""
    expected = "".join(told([grains(degrees)]) for degrees in ("25.25", *words))
    expected += "ValueError: the sensor answers what it c\n"
    expected += "ValueError: what answers at this address is no\n" * 2

    assert interpreter.run(CHIPS + script) == expected


def test_a_bme280_is_its_data_sheet(interpreter) -> None:
    """The worked example of its formula, 25.08 degrees; no old result, and no other chip.

    A device that is silent at one temperature would tell it: 26.46 degrees are a result too, which
    a chip that measured nothing gives as well.
    """
    script = """
from edge.board.sensors import bus
bus.pause = lambda wait_ms: None
from edge.board.sensors.bme280 import Sensor
trim = 27504, 26435, -1000
chip = Bme280(519888, trim)
sensor = Sensor(Bus(x76=chip), 0)
print(*sensor.counts(), *sensor.read(Params))
print(*Sensor(Bus(x77=Bme280(519888, trim, 0x58)), 0, 0x77).counts())
chip.page[0xF3] = 8
print(fault_of(sensor.read, Params)[:30])
chip.page[0xF3], chip.result = 0, 0x80000
print(fault_of(sensor.read, Params))
chip.dark = True
print(fault_of(sensor.read, Params)[:30])
print(fault_of(Sensor, Bus(x76=Bme280(0, (1, 1, 1), 0x61)))[:46])
print(fault_of(Sensor, Bus(x76=Bme280(0, (27504, 26435, -8000))))[:30])
"""
    shown = interpreter.run(CHIPS + script).splitlines()

    assert shown[:2] == [f"2508 {grains('25.08')}", "2508"]
    assert shown[2:5] == [
        "ValueError: the sensor answers",
        "nothing",
        "ValueError: the sensor answers",
    ]
    assert shown[5:] == [
        "ValueError: what answers at this address is no",
        "ValueError: the sensor answers",  # with counts that are coarser than is planned for
    ]


@pytest.mark.parametrize("trim", [(27504, 26435, -1000), (28900, 32767, 900), (0, 26000, -1900)])
def test_no_count_of_a_bme280_is_coarser_than_is_planned_for(trim: tuple[int, int, int]) -> None:
    """From each result of its converter to the next, and not by what the driver says of it."""
    from edge.board.sensors.bme280 import Sensor, compensate, find_widest_step

    made = [compensate(found, trim) for found in range(0, 1 << 20, 8)]
    most = max(abs(after - before) for before, after in pairwise(made))

    assert most <= find_widest_step(trim) <= most + 4
    assert Fraction(find_widest_step(trim), 5120) <= Fraction(*Sensor.behind)
    assert Fraction(*Sensor.step) == Fraction(1, 100)


def test_an_mlx90614_is_its_data_sheet(interpreter) -> None:
    """The application note's example: 0x3AD2 with PEC 0x30, 28.01 degrees; each bit matters."""
    script = """
from edge.board.sensors import bus
bus.pause = lambda wait_ms: None
from edge.board.sensors.mlx90614 import Sensor
chip = Mlx90614(0x3AD2, 0x30)
sensor = Sensor(Bus(x5A=chip), 0)
print(*sensor.counts(), *sensor.read(Params))
for bit in range(24):
    chip.word, chip.pec = 0x3AD2 ^ (1 << bit) % 65536, 0x30 ^ (1 << bit) // 65536
    print(fault_of(sensor.read, Params)[:30])
chip.word, chip.pec = 0xBAD2, bus.crc8(bytes([0xB4, 7, 0xB5, 0xD2, 0xBA]), 0, 7)
print(fault_of(sensor.read, Params)[:30])
"""
    shown = interpreter.run(CHIPS + script).splitlines()

    kelvin = Fraction("28.01") + Fraction("273.15")
    assert shown[0] == f"{0x3AD2} {grains(kelvin)}"
    assert shown[1:] == ["ValueError: the sensor answers"] * 25


def test_an_sht4x_is_its_data_sheet(interpreter) -> None:
    """The data sheet's example of the CRC, 0x92 for 0xBEEF, and each byte of it matters."""
    count = 0xBEEF
    degrees = -45 + Fraction(175 * count, 65535)
    script = """
from edge.board.sensors.sht4x import Sensor
print(*Sensor(Bus(x44=Sht4x(0xBE, 0xEF, 0x92, 0xBE, 0xEF, 0x92)), 0).read(Params))
for i in range(6):
    said = [0xBE, 0xEF, 0x92, 0xBE, 0xEF, 0x92]
    said[i] ^= 1
    print(fault_of(Sensor, Bus(x44=Sht4x(*said)))[:30])
"""
    shown = interpreter.run(CHIPS + script).splitlines()

    assert int(shown[0]) == grains(degrees + 45)  # 0 counts are -45 degrees
    assert shown[1:] == ["ValueError: the sensor answers"] * 6


def test_a_ds18b20_is_its_data_sheet(interpreter) -> None:
    """Low byte first; the CRC holds; a coarser sensor is set to twelve bits; 85 is no reading."""
    script = f"""
from edge.board.sensors import bus, ds18b20
bus.pause = lambda wait_ms: print("waits", wait_ms)
print(ds18b20.crc8_low_first(bytes([0x02, 0x1C, 0xB8, 1, 0, 0, 0, 0xA2])))
words = {list(DS18B20.values())}
pads = {{bytes([i]): pad(word) for i, word in enumerate(words)}}
wire = Wire(pads)
sensor = ds18b20.Sensor(wire, [bytes([i]) for i in range(len(words))], 0)
print(*sensor.read(Params))
print(wire.converted, wire.written, sensor.sensors)
wire.pads[b"\\x00"] = pad(0x0550)
print(fault_of(sensor.read, Params)[:40])
for k in range(9):
    broken = bytearray(pad(0x0191))
    broken[k] ^= 4
    wire.pads[b"\\x00"] = broken
    print(fault_of(sensor.read, Params)[:30])
wire.pads[b"\\x00"] = pad(0x0190, 0x1F)
ds18b20.Sensor(wire, [b"\\x00"])
print(wire.written)
print(fault_of(sensor.read, Params)[:30])
"""
    shown = interpreter.run(CHIPS + script).splitlines()
    kept = [line for line in shown if line != "waits 750"]

    assert kept[0] == "0"
    assert kept[1] + "\n" == told(map(grains, DS18B20))
    assert kept[2:4] == ["1 [] 9", "ValueError: the sensor answers what it c"]
    assert kept[4:13] == ["ValueError: the sensor answers"] * 9
    assert kept[13] == "[(b'\\x00', b'\\x00\\x00\\x7f')]"
    assert kept[14] == "ValueError: the sensor answers"  # of nine bits, since power was gone


@pytest.mark.parametrize("name", drivers.NAMES)
def test_a_driver_holds_rounds_against_what_its_least_move_shows(name: str) -> None:
    """As they are planned, and not against the finer of two converters alone."""
    step, behind = drivers.find_steps(name)
    least = Fraction(*drivers.least_shown(step, behind))

    assert least == find_least_shown(Fraction(*step), Fraction(*behind))
    assert least > Fraction(*behind)


@pytest.mark.parametrize("empty", [[1, 2], [21.5], ["x"]])
def test_an_empty_room_must_fit_the_sensor(empty: list[object]) -> None:
    """Counts of another array, or degrees in place of counts, would shift every reading."""
    from edge.board.sensors.yours import Sensor

    with pytest.raises(ValueError, match="whole"):
        Sensor(None, empty)


# Sensors that send noise, break off or come back as another: counts within bounds, or a sentence.

HELD = """
from edge.board.sensors import amg8833, bme280, bus, ds18b20, mcp9808, mlx90614, mlx90641
from edge.board.sensors import sht4x, tmp117, yours
bus.pause = lambda wait_ms: None

class Noise:
    '''A bus, a wire and a converter that say anything at all, or break off.'''

    def __init__(self):
        self.state, self.breaks, self.well = 1, 0, True

    def byte(self):
        self.state = (self.state * 1103515245 + 12345) % 2147483648
        return self.state >> 16 & 255

    def fails(self):
        if not self.well and self.byte() < self.breaks:
            raise (OSError, ValueError, RuntimeError)[self.byte() % 3]("-71 degrees at 0x48")

    def writeto(self, address, data):
        self.fails()

    def writeto_mem(self, address, register, data, addrsize=8):
        self.fails()

    def readfrom_into(self, address, buffer):
        self.fails()
        for i in range(len(buffer)):
            buffer[i] = self.byte()
        if self.well:
            buffer[:] = b"\\xbe\\xef\\x92\\xbe\\xef\\x92"

    def readfrom_mem_into(self, address, register, buffer, addrsize=8):
        self.fails()
        for i in range(len(buffer)):
            buffer[i] = self.byte()
        if self.well and addrsize == 16:
            buffer[:] = ARRAY.load(register, len(buffer))
        elif self.well:
            said = WELL.get((register, len(buffer)), b"\\x64\\x00" * 64)
            buffer[:] = said[: len(buffer)]

    def convert_temp(self):
        self.fails()

    def read_scratch(self, rom):
        self.fails()
        if self.well:
            return pad(0x0191)
        return bytes([self.byte() for _ in range(self.byte() % 12)])

    def write_scratch(self, rom, data):
        self.fails()

    def read_u16(self):
        self.fails()
        return 14000 if self.well else self.byte() << 8 | self.byte()

ARRAY = an_mlx90641()
WELL = {
    (15, 2): b"\\x01\\x17", (6, 2): b"\\x00\\x54", (7, 2): b"\\x04\\x00",
    (7, 3): b"\\xd2\\x3a\\x30", (0xFA, 3): b"\\x7e\\xed\\x00", (0xF3, 1): b"\\x00",
    (0xD0, 1): b"\\x60", (0x88, 6): b"\\x70\\x6b\\x43\\x67\\x18\\xfc",
}
noise = Noise()
held = [amg8833.Sensor(noise), tmp117.Sensor(noise), sht4x.Sensor(noise),
    bme280.Sensor(noise), mcp9808.Sensor(noise), mlx90614.Sensor(noise),
    ds18b20.Sensor(noise, [b"r", b"s"]), mlx90641.Sensor(noise), yours.Sensor(noise)]
"""

READ = """
from edge.board.drivers import Held
noise.well = False
told, given, sentences = 0, 0, set()
for turn in range({turns}):
    noise.breaks = turn % 3 * 100
    for sensor in held:
        kept = Held(lambda: sensor, sensor.sensors, sensor.step)
        try:
            found = kept.read(Params)
            given += 1
            if len(found) != sensor.sensors or not all([type(value) is int for value in found]):
                print("no counts", sensor)
            if max(found) > 1000 << 8 or min(found) < -1000 << 8:
                print("beyond", sensor)
        except (OSError, ValueError) as why:
            told += 1
            sentences.add(str(why))
print(told > 0, given > 0, sorted(sentences))
"""


def test_whatever_comes_is_a_count_or_one_of_two_sentences(interpreter) -> None:
    """No byte of what was read is in them, though what broke off had it in its words."""
    turns = 20 if interpreter.name == "wasm" else 60
    said = interpreter.run(CHIPS + HELD + READ.format(turns=turns))

    assert said.startswith("True True ['the sensor answers what it cannot measure; look at its")
    assert "71" not in said
    assert "no counts" not in said


LEAK = """
class Wrong:
    sensors, step = 1, (1, 1)
    def read(self, params):
        raise OSError("-71 degrees at 0x48")
try:
    Wrong().read(Params)
except OSError as why:
    print(why)
"""


def test_a_driver_without_the_guards_would_tell(interpreter) -> None:
    """So the sentence above is of the guards, and not of the bus."""
    assert "71" in interpreter.run(CHIPS + LEAK)

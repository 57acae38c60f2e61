"""A sensor of one's own in ten lines, from the file to a frame, as its docstring promises."""

import ast
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import edge
from edge.board import drivers
from edge.board.sensors import yours

TEMPLATE = Path(str(edge.__file__)).parent / "board" / "sensors" / "yours.py"
PARAMS = SimpleNamespace(exponent=8)
WORDS = ("empty", "address", "bus", "sda", "scl", "pin", "roms", "khz")


def words(**told: Any) -> dict[str, Any]:
    """Return a driver's words as `config` gives them."""
    return {"name": "yours", **dict.fromkeys(WORDS), **told}


def code(text: str) -> list[str]:
    """Return the lines that do something: no docstring, no comment, nothing empty."""
    said: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            said.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = [line for i, line in enumerate(text.splitlines(), 1) if i not in said]
    return [line for line in lines if line.strip() and not line.strip().startswith("#")]


def test_ten_lines_are_enough() -> None:
    """That is what the README says, of whoever has another sensor."""
    assert len(code(TEMPLATE.read_text())) <= 10


@pytest.mark.parametrize("degrees", [-30, 0, 20, 25, 99])
def test_the_template_is_the_data_sheet_of_a_tmp36(degrees: int) -> None:
    """500 mV at zero and 10 mV a kelvin, at a converter of 4096 counts in 3.3 V."""
    count = int(Fraction(500 + 10 * degrees, 3300) * 4096)
    converter = SimpleNamespace(read_u16=lambda: count << 4 | count >> 8)
    sensor = drivers.open_sensor(words(pin=26), analog=lambda told: converter)
    (grains,) = sensor.read(PARAMS)

    assert abs(Fraction(grains, 256) - (degrees - 20)) < Fraction(1, 8)
    assert Fraction(*yours.Sensor.step) == Fraction(3300, 4096 * 10)


@pytest.mark.parametrize("count", [0, 100, 2200, 4095])
def test_a_wire_that_is_off_is_no_temperature(count: int) -> None:
    """An open input reads nought or full, and no room has that."""
    converter = SimpleNamespace(read_u16=lambda: count << 4)

    with pytest.raises(ValueError, match="cannot measure"):
        yours.Sensor(converter).read(PARAMS)


OWN = """
class Sensor:
    step, sensors = (1, 32), 2

    def __init__(self, i2c, empty=None):
        self._i2c, self._empty = i2c, bus.level(empty, 20 * 32, 2)

    def counts(self):
        raw = bus.fill(self._i2c, 0x18, 5, bytearray(4))
        return bus.possible((raw[0] << 8 | raw[1], raw[2] << 8 | raw[3]), 0, 128 * 32)

    def read(self, params):
        return bus.above(self.counts(), self._empty, params.exponent, self.step)
"""

ON_A_BUS = """
import sys
from edge.board.sensors import bus
{own}
class Module:
    pass
module = Module()
module.Sensor = Sensor
sys.modules["edge.board.sensors.yours"] = module
from edge.board import drivers
class Bus:
    def readfrom_mem_into(self, address, register, buffer):
        if gone:
            raise OSError("0x0280")
        buffer[:] = bytes([0x02, 0x90, 0x02, 0x80])
class Params:
    exponent = 8
told = {{"name": "yours", "empty": None, "sda": 4, "bus": None, "scl": None, "pin": None}}
gone = False
held = drivers.Held(lambda: drivers.open_sensor(told, lambda driver: Bus()), 2, (1, 32))
print(*held.read(Params))
gone = True
try:
    held.read(Params)
except OSError as why:
    print(why)
"""


def test_another_one_on_a_bus_runs_on_every_interpreter(interpreter) -> None:
    """The file exchanged, a chip of two words at 32 counts a kelvin; gone, it says no number."""
    assert len(code(OWN)) <= 10
    said = interpreter.run(ON_A_BUS.format(own=OWN))

    assert (
        said == "128 0\nthe sensor does not answer; look at its wires, its power and its address\n"
    )


def test_a_computer_without_a_converter_says_so() -> None:
    """A Raspberry Pi has no analog pin."""
    with pytest.raises(ValueError, match="not read on this computer"):
        drivers.open_sensor(words(pin=26), i2c=lambda told: None)

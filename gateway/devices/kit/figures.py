"""Every figure that the reckoning of a board rests on: its source, and whether it was measured.

They stand in figures.csv. A figure is *measured* where this code ran: on a 32-bit MicroPython for
memory and files, on an emulated RP2040 at 125 MHz for times (its clock is within a third of
silicon's). It is *estimated* where it comes from a data sheet or from general experience; energy
is nearly all of that kind. What can be measured on a PC `tests/bench/bench_kit.py` prints anew.
"""

import csv
import math
from importlib.resources import files
from typing import NamedTuple


class Figure(NamedTuple):
    """One number, what it is of, and where it comes from."""

    value: float
    unit: str
    measured: bool
    source: str


class Sensor(NamedTuple):
    """A sensor as a battery sees it: currents in milliamperes at 3.3 V.

    opens_s: what its driver takes to set it up, which it does anew after each fault.
    """

    readings: int
    opens_s: float
    converts_s: float
    active_ma: float
    idle_ma: float
    source: str


HOW = {"measured": True, "estimated": False}


def table() -> dict[str, Figure]:
    """Return the figures of figures.csv by their name."""
    text = files(__package__).joinpath("figures.csv").read_text("utf-8")
    return {
        row["name"]: Figure(float(row["value"]), row["unit"], HOW[row["how"]], row["source"])
        for row in csv.DictReader(text.splitlines())
    }


FIGURES = table()


def heap_kb(compiled: bool) -> float:
    """Return the free heap, in KB, that a board needs to start."""
    end = "_mpy_kb" if compiled else "_kb"
    return FIGURES[f"load{end}"].value + FIGURES[f"board{end}"].value


# By which figure a draw takes its time: the exact sampler is what `thermal` draws with.
SAMPLERS = {"exact": "exact_ms", "table": "table_ms", "viper": "viper_ms"}

SENSORS: dict[str, Sensor] = {
    "ds18b20": Sensor(1, 0.03, 0.75, 1.0, 0.00075, "data sheet: 12 bits, typical currents"),
    "tmp117": Sensor(1, 0.001, 0.0155, 0.135, 0.00015, "data sheet: one shot without averaging"),
    "sht4x": Sensor(1, 0.0, 0.0083, 0.32, 0.00008, "data sheet: high repeatability, heater off"),
    "amg8833": Sensor(64, 0.3, 0.1, 4.5, 0.2, "data sheet: 10 frames a second; asleep between"),
    "gps": Sensor(1, 0.0, 0.0, 0.0, 25.0, "data sheet, u-blox NEO-M8: tracking; it is never off"),
    "fixed": Sensor(1, 0.0, 0.0, 0.0, 0.0, "nothing is read"),
    "mlx90640": Sensor(
        768, 0.5, 0.5, 20.0, 20.0, "data sheet: 2 frames a second; it does not sleep"
    ),
}


TELL = ("gps", "fixed")  # a place, and no warmth

# Up to which deviation, in grains, an exact draw takes how many times as long as at 50. The first
# two were measured on another port of MicroPython; beyond them it is estimated by the digits.
SLOWER = ((1_000, 1.2), (100_000, 1.8), (math.inf, 3.6))

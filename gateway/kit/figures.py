"""Every figure that the reckoning of a board rests on: its source, and whether it was measured.

A figure is *measured* where this code ran: on a 32-bit MicroPython for memory, on an emulated
RP2040 at 125 MHz for times (its clock is within a third of silicon's). It is *estimated* where it
comes from a data sheet or from general experience; energy is nearly all of that kind.
"""

from typing import NamedTuple


class Figure(NamedTuple):
    """One number, what it is of, and where it comes from."""

    value: float
    unit: str
    measured: bool
    source: str


class Sensor(NamedTuple):
    """A sensor as a battery sees it: currents in milliamperes at 3.3 V."""

    readings: int
    converts_s: float
    active_ma: float
    idle_ma: float
    source: str


EMULATED = "emulated RP2040 at 125 MHz, within a third of silicon"
VM32 = "32-bit MicroPython, by its own heap meter"
TYPICAL = "typical of boards of this kind, by data sheets"

FIGURES: dict[str, Figure] = {
    "supply_v": Figure(3.3, "V", False, "boards of this kind regulate to it"),
    "join_s": Figure(1.5, "s", False, TYPICAL),
    "radio_ma": Figure(100, "mA", False, TYPICAL),
    "listen_ma": Figure(40, "mA", False, TYPICAL + "; joined and saving power between beacons"),
    "handshake_s": Figure(1.0, "s", False, "TLS with an elliptic curve, at the radio's current"),
    "awake_ma": Figure(25, "mA", False, TYPICAL + "; processor alone"),
    "start_s": Figure(0.5, "s", False, "from waking to the first line of main.py"),
    "sleep_ma": Figure(1.3, "mA", False, "a board asleep with its regulator; a bare chip less"),
    "usable": Figure(0.85, "", False, "of a battery's rated charge, before its voltage falls"),
    "fade_year": Figure(
        0.03, "", False, "of its charge that a lithium cell loses by itself a year"
    ),
    "exact_ms": Figure(3.94, "ms", True, EMULATED + "; a deviation of 50 grains"),
    "table_ms": Figure(0.634, "ms", True, EMULATED),
    "viper_ms": Figure(0.062, "ms", True, EMULATED),
    "pack_ms": Figure(0.9, "ms", True, EMULATED + "; 64 readings in CBOR"),
    "publish_ms": Figure(
        5.8, "ms", True, EMULATED + "; QoS 1, its receipt by the broker included"
    ),
    "heap_kb": Figure(21, "KB", True, VM32 + "; loaded from source, running"),
    "heap_mpy_kb": Figure(20, "KB", True, VM32 + "; loaded from .mpy, running"),
    "load_kb": Figure(40, "KB", True, VM32 + "; the smallest heap that loads it from source"),
    "load_mpy_kb": Figure(32, "KB", True, VM32 + "; the smallest heap that loads it from .mpy"),
    "tls_kb": Figure(5.5, "KB", True, VM32 + "; the certificate's check, once"),
    "table_entry_b": Figure(8.3, "bytes", True, "3.7 KB for 444 entries"),
    "mpy_share": Figure(0.375, "", True, "5.0 KB of .mpy for 13.4 KB of source"),
    "block_b": Figure(4096, "bytes", False, "littlefs2 on most boards; a file takes one at least"),
    "erasures": Figure(1 / 12, "", True, "blocks of 4 KB that littlefs2 erases for each lease"),
    "lease": Figure(8, "answers", True, "what a device pays for at a time"),
    "segment_b": Figure(80, "bytes", False, "headers of a TCP segment and of its acknowledgement"),
    "record_b": Figure(29, "bytes", False, "what TLS 1.2 adds to a record"),
    "opening_b": Figure(5000, "bytes", False, "a TLS handshake with a certificate, both ways"),
}

# By which figure a draw takes its time: the exact sampler is what `thermal` draws with.
SAMPLERS = {"exact": "exact_ms", "table": "table_ms", "viper": "viper_ms"}

SENSORS: dict[str, Sensor] = {
    "ds18b20": Sensor(1, 0.75, 1.0, 0.00075, "data sheet: 12 bits, typical currents"),
    "tmp117": Sensor(1, 0.0155, 0.135, 0.00015, "data sheet: one shot without averaging"),
    "sht4x": Sensor(1, 0.0083, 0.32, 0.00008, "data sheet: high repeatability, heater off"),
    "amg8833": Sensor(64, 0.1, 4.5, 0.2, "data sheet: 10 frames a second; asleep between"),
    "mlx90640": Sensor(768, 0.5, 20.0, 20.0, "data sheet: 2 frames a second; it does not sleep"),
}


# Up to which deviation, in grains, an exact draw takes how many times as long as at 50. The first
# two were measured on another port of MicroPython; beyond them it is estimated by the digits.
SLOWER = ((1_000, 1.2), (100_000, 1.8), (1 << 63, 3.6))

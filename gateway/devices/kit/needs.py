"""What a board with this sensor, cadence and noise needs: charge, memory, flash, bytes.

Bytes of a frame are counted, on a frame that `edge.core.wire` makes; the rest is in figures.csv. A
figure is *measured* where this code ran: on a 32-bit MicroPython for memory and files, on an
emulated RP2040 at 125 MHz for times (its clock is within a third of silicon's). It is *estimated*
where it comes from a data sheet or from general experience, as nearly all of energy does: trust
how two plans compare, and measure your own board before you promise anybody a year. What can be
measured on a PC `tests/bench/bench_kit.py` prints anew.
"""

import csv
import math
from collections.abc import Iterable, Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple

from edge.core import wire
from edge.core.budget import COUNT, Limits
from edge.core.records import Grid, Guarantee, Report, Round
from edge.host.post import REPORT_BYTES

from ...faults import OperatorFault, suggest_name
from ...mechanisms import USUAL, find_mechanism


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


def read_figures() -> dict[str, Figure]:
    """Return the figures of figures.csv by their name."""
    text = files(__package__).joinpath("figures.csv").read_text("utf-8")
    return {
        row["name"]: Figure(float(row["value"]), row["unit"], HOW[row["how"]], row["source"])
        for row in csv.DictReader(text.splitlines())
    }


FIGURES = read_figures()


def find_least_heap_kb(end: str) -> float:
    """Return the free heap, in KB, that a board needs to start and to come to its broker.

    Args:
        end: of the names of its figures: "" for sources, "_mpy", "_rom" (in place) or "_frozen".
    """
    names = (f"load{end}_kb", f"board{end}_kb", "tls_kb")
    return sum(FIGURES[name].value for name in names)


SENSORS: dict[str, Sensor] = {
    "ds18b20": Sensor(1, 0.03, 0.75, 1.0, 0.00075, "data sheet: 12 bits, typical currents"),
    "tmp117": Sensor(1, 0.001, 0.0155, 0.135, 0.00015, "data sheet: one shot without averaging"),
    "sht4x": Sensor(1, 0.0, 0.0083, 0.32, 0.00008, "data sheet: high repeatability, heater off"),
    "mcp9808": Sensor(1, 0.001, 0.25, 0.2, 0.2, "data sheet: typical; it is not put to sleep"),
    "bme280": Sensor(1, 0.001, 0.04, 0.35, 0.0001, "data sheet: temperature alone, averaged 16x"),
    "mlx90614": Sensor(1, 0.25, 0.001, 1.5, 1.5, "data sheet: typical, 3 V; it does not sleep"),
    "amg8833": Sensor(64, 0.3, 0.1, 4.5, 0.2, "data sheet: 10 frames a second; asleep between"),
    "gps": Sensor(1, 0.0, 0.0, 0.0, 25.0, "data sheet, u-blox NEO-M8: tracking; it is never off"),
    "fixed": Sensor(1, 0.0, 0.0, 0.0, 0.0, "nothing is read"),
    "mlx90640": Sensor(768, 0.3, 2.5, 20.0, 20.0, "data sheet: never asleep; reckoning estimated"),
    "mlx90641": Sensor(192, 0.3, 0.8, 12.0, 12.0, "data sheet: never asleep; reckoning estimated"),
}

# What the driver of an array takes of the heap by itself, from source: its modules and what it
# keeps. It was measured, and is in none of the figures, whose device had a TMP117.
DRIVER_KB = {"mlx90640": 16, "mlx90641": 10}


# How boards sleep, by data sheets. A Pico W has no memory that outlives it, so it writes its slots
# for each answer. ESP32, S3 and C3 take 0.005 to 0.01 mA themselves; the rest is a regulator made
# for batteries, and a board with a light and a USB bridge takes 1 mA and more.
CHIPS: dict[str, dict[str, float]] = {
    "rp2": {"sleep_ma": 1.3, "lease": 1, "boots": 1},
    "esp32": {"sleep_ma": 0.05, "lease": 8, "boots": 17},
}


TELL = ("gps", "fixed")  # a place, and no warmth

# Up to which deviation, in grains, an exact draw takes how many times as long as at 50. The first
# two were measured on another port of MicroPython; beyond them it is estimated by the digits.
SLOWER = ((1_000, 1.2), (100_000, 1.8), (math.inf, 3.6))


DAY_S = 86_400.0


class DevicePlan(NamedTuple):
    """What is asked about. variance in grains squared; readings of the array in one frame."""

    sensor: str
    readings: int
    every_s: float
    variance: int
    battery_mah: float
    sleeps: bool = True
    site: str = "lab"
    name: str = "n001"
    own: Mapping[str, float] = MappingProxyType({})
    neighbours: int = (
        0  # of a device of secure sums, with each of whom it agrees on two keys a step
    )

    @property
    def is_of_places(self) -> bool:
        """Say whether it answers with a place."""
        return self.sensor in TELL

    def get_figure(self, name: str) -> float:
        """Return a figure of the table, or what was measured on one's own board instead."""
        return self.own.get(name, FIGURES[name].value)


def parse_figures(pairs: Iterable[str], chip: str | None = None) -> dict[str, float]:
    """Return what NAME=VALUE says, above what is known of a chip.

    Raises:
        OperatorFault: it is no such pair, or no number from nought up; or no such chip.
    """
    if chip is not None and chip not in CHIPS:
        raise OperatorFault(
            f"--chip {chip} is none whose sleep is known. Name {' or '.join(CHIPS)}, or give your "
            "own board's with --set sleep_ma=0.02"
        )
    found = {} if chip is None else dict(CHIPS[chip])
    for pair in pairs:
        name, _, text = pair.partition("=")
        try:
            found[name] = float(text)
        except ValueError:
            found[name] = math.nan
        if not 0 <= found[name] < 1e12:
            raise OperatorFault(
                f"--set {pair} is not NAME=VALUE with a number from 0 up, so it cannot be used in "
                "the estimate. Write for instance --set sleep_ma=0.02"
            )
    return found


def check_plan(plan: DevicePlan) -> Sensor:
    """Return the sensor of a plan that a board can carry out.

    Raises:
        OperatorFault: none can.
    """
    if plan.sensor not in SENSORS:
        raise OperatorFault(
            f"the sensor {plan.sensor!r} is not known, so its battery life cannot be estimated. "
            f"Name the most similar of {', '.join(SENSORS)}"
        )
    if not 1 <= plan.variance < 1 << 62:
        raise OperatorFault(
            f"--variance is {plan.variance}; a variance from 1 to 2**62 grains squared is needed, "
            "for less hides nothing. Take it from `heatveil calibrate`"
        )
    if not 0.1 <= plan.every_s <= 366 * DAY_S or not 0 < plan.battery_mah < 1e9:
        raise OperatorFault(
            f"an answer every {plan.every_s:g} s from a battery of {plan.battery_mah:g} mAh "
            "cannot be estimated; give an interval from 0.1 s to a year, and a capacity above 0. "
            "Is the interval in seconds?"
        )
    if unknown := [name for name in plan.own if name not in FIGURES]:
        raise OperatorFault(
            f"--set {unknown[0]} names no figure of the estimate, and would be silently ignored; "
            f"{suggest_name(unknown[0], FIGURES)}"
        )
    sensor = SENSORS[plan.sensor]
    busy_s = sensor.converts_s + plan.readings * estimate_draw_ms(plan) / 1000
    if busy_s > plan.every_s:
        raise OperatorFault(
            f"an answer takes {busy_s:.3g} s to measure and to blur, but one is asked every "
            f"{plan.every_s:g} s: the board could not keep up. Ask less often, take a sensor of "
            "fewer pixels, or have an array's noise drawn from tables ([rounds] sampler), which "
            "takes a fifth of the time"
        )
    return sensor


def estimate_draw_ms(plan: DevicePlan) -> float:
    """Return the time of one draw by the exact sampler: a wide one has more digits.

    From tables an array's noise takes a fifth of that, or less.
    """
    if plan.is_of_places:
        return plan.get_figure("place_ms")
    sd = math.isqrt(plan.variance)
    return plan.get_figure("exact_ms") * next(times for upto, times in SLOWER if sd <= upto)


CLAMP = 8000  # grains: 31 K either way in grains of 2**-8 K
KEY = bytes(wire.MAC_BYTES * 2)
MARGIN, TICK_MS = 2, 100  # the longest answer fits so often into a tick, which is so many of these


class BytesSent(NamedTuple):
    """What goes over the air. frame and packet are counted; the day has estimated headers."""

    frame: int
    packet: int
    day: int


class BoardTimes(NamedTuple):
    """What was measured on a board: its sensor opened and read, its slots written."""

    sensor_ms: float
    slots_ms: float


class Memory(NamedTuple):
    """Of a 32-bit board, in bytes."""

    running: int
    running_mpy: int
    load_source: int
    load_mpy: int
    flash_source: int
    flash_mpy: int
    erasures_year: float


class Energy(NamedTuple):
    """Charge of one answer by what takes it, in milliampere-seconds, and what follows from it."""

    parts: dict[str, float]
    answer_mas: float
    answer_j: float
    day_mah: float
    days: float


class Needs(NamedTuple):
    """The whole answer.

    tick_ms: as `tick_ms` says.
    sleepless_s: how long a sleeping board would be awake for an answer, where that is longer than
    from one to the next, so that the plan was reckoned as one that never sleeps; or 0.
    """

    plan: DevicePlan
    tick_ms: int
    noise_ms: float
    awake_s: float
    bytes: BytesSent
    memory: Memory
    energy: Energy
    sleepless_s: float = 0.0


def compute_needs(plan: DevicePlan) -> Needs:
    """Return what a plan needs of its board.

    Raises:
        OperatorFault: the plan is of no board, or no frame can carry it.
    """
    sensor = check_plan(plan)
    noise_ms = plan.readings * estimate_draw_ms(plan)
    frame = _measure_frame_bytes(plan)
    energy, awake_s = _estimate_energy(plan, sensor, noise_ms)
    sleepless_s = 0.0
    if plan.sleeps and awake_s > plan.every_s:
        sleepless_s, plan = awake_s, plan._replace(sleeps=False)
        energy, awake_s = _estimate_energy(plan, sensor, noise_ms)
    air = _estimate_bytes_sent(plan, frame)
    tick = choose_tick_ms(plan)
    return Needs(plan, tick, noise_ms, awake_s, air, _estimate_memory(plan), energy, sleepless_s)


def plan_device(mechanism: str, driver: str, readings: int, limits: Limits) -> DevicePlan:
    """Return the plan of a device whose answers take as long as any: by the exact sampler."""
    sensor = driver if find_mechanism(mechanism).reads == "temperature" else TELL[0]
    return DevicePlan(sensor, readings, DAY_S, limits.variance, 1.0)


def estimate_answer_ms(plan: DevicePlan, took: BoardTimes | None = None) -> float:
    """Return how long an answer takes at the most, in milliseconds.

    Its sensor has to be opened anew, a lease is paid for in all slots, and no noise lies ready.

    Args:
        took: what was measured, which counts where it is more than the figures say. Of a sensor
            of one's own nothing else is known.
    """
    known = SENSORS.get(plan.sensor)
    sensor_ms = 1000 * (known.opens_s + known.converts_s) if known else 0.0
    slots_ms = COUNT * plan.get_figure("slot_ms")
    if took is not None:
        sensor_ms, slots_ms = max(sensor_ms, took.sensor_ms), max(slots_ms, took.slots_ms)
    keys_ms = 2 * plan.neighbours * plan.get_figure("agree_ms")
    return sensor_ms + slots_ms + plan.readings * estimate_draw_ms(plan) + _pack_ms(plan) + keys_ms


def choose_tick_ms(plan: DevicePlan, took: BoardTimes | None = None) -> int:
    """Return the tick of a device, in milliseconds: its longest answer twice, in whole hundreds.

    Twice, for the figures are those of another board, and draws are not all alike. A frame that
    was not there by then goes out a tick later, and tells that its draw was a long one.
    """
    return TICK_MS * math.ceil(MARGIN * estimate_answer_ms(plan, took) / TICK_MS)


def choose_sum_tick_ms(plan: DevicePlan, draws: int, numbers: int) -> int:
    """Return the tick that the step of a secure sum needs in which the numbers are masked.

    A key is agreed on with each neighbour, it is paid for, and noise is drawn after its message
    came: how long that took must not be seen.

    Args:
        draws: whole numbers that are drawn for the noise, at the most.
        numbers: of the sum, each masked with each neighbour.
    """
    agreed_ms = plan.neighbours * plan.get_figure("agree_ms") + COUNT * plan.get_figure("slot_ms")
    masked_ms = plan.get_figure("pack_ms") * numbers / 64 * (1 + plan.neighbours)
    step_ms = agreed_ms + draws * plan.get_figure("below_ms") + masked_ms
    return TICK_MS * math.ceil(MARGIN * step_ms / TICK_MS)


def _measure_frame_bytes(plan: DevicePlan) -> int:
    """Return how long a frame is, the longest that this plan's board sends."""
    if plan.is_of_places:  # a cell of a large grid
        return len(_pack(plan, [0, (1 << 31) - 1], 32))
    promise = Guarantee((1, 1), (1, 100_000), (1, 8), "a move", "local", "a day", "presence")
    params, usual = (plan.readings, 8, -CLAMP, CLAMP, plan.variance, 1, 0), find_mechanism(USUAL)
    try:
        bits = usual.bits(Round(1, USUAL, Grid((1, 1), 0), params, promise))
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault
    full = (1 << (bits - 1)) - 1
    frame = len(_pack(plan, [0] + [full] * plan.readings, bits))
    if frame > REPORT_BYTES:
        raise OperatorFault(
            f"a frame of {plan.readings} readings has {frame} bytes, and a gateway accepts "
            f"{REPORT_BYTES} at most, so it would refuse every one. Sum pixels into fewer readings"
        )
    return frame


def _pack(plan: DevicePlan, payload: list[int], bits: int) -> bytes:
    report = Report(bytes(4), plan.name, 70_000, 70_000, payload)
    return bytes(wire.pack_report(report, KEY, _make_topic(plan, "data"), bits))


def _make_topic(plan: DevicePlan, what: str) -> str:
    return str(wire.topic(plan.site, plan.name, what))


def _estimate_bytes_sent(plan: DevicePlan, frame: int) -> BytesSent:
    # The topic's length; the packet's number
    inside = 2 + len(_make_topic(plan, "data")) + 2 + frame
    packet = 1 + (1 if inside < 128 else 2 if inside < 16_384 else 3) + inside
    around = plan.get_figure("segment_b") + plan.get_figure("record_b")
    # The frame and the broker's word on it; the Round; the gateway's receipt and our word.
    one = packet + 4 + 400 + 60 + 4 + 4 * around
    if plan.sleeps:
        one += 2 * around + 150 + plan.get_figure("opening_b")
    return BytesSent(frame, packet, round(one * DAY_S / plan.every_s))


def _estimate_memory(plan: DevicePlan) -> Memory:
    block, files = plan.get_figure("block_b"), plan.get_figure("files")
    more = files * block / 2 + 4 * block  # half a block is lost at a file's end; budget and frames
    array = 3 * 4 * plan.readings  # readings, noise and payload, a word each
    rest = round(array + plan.get_figure("tls_kb") * 1024)

    def heap(what: str, form: str) -> int:
        place = plan.get_figure(f"place{form}_kb") if plan.is_of_places else 0.0
        held = plan.get_figure(f"{what}{form}_kb") + plan.get_figure(f"board{form}_kb")
        return round(held * 1024) + rest + round(place * 1024)

    answers = 365 * DAY_S / plan.every_s
    written = 1 / plan.get_figure("lease") + (1 / plan.get_figure("boots") if plan.sleeps else 0)
    return Memory(
        running=heap("heap", ""),
        running_mpy=heap("heap", "_mpy"),
        load_source=heap("load", ""),
        load_mpy=heap("load", "_mpy"),
        flash_source=round(plan.get_figure("source_kb") * 1024 + more),
        flash_mpy=round(plan.get_figure("mpy_kb") * 1024 + more),
        erasures_year=answers * written * plan.get_figure("erasures"),
    )


def _pack_ms(plan: DevicePlan) -> float:
    return plan.get_figure("pack_ms") * max(plan.readings, 1) / 64


def _estimate_energy(plan: DevicePlan, sensor: Sensor, noise_ms: float) -> tuple[Energy, float]:
    """Return charge and days, and how long a board is awake for an answer."""
    work_s = (noise_ms + _pack_ms(plan)) / 1000
    held_s = choose_tick_ms(plan) / 1000 - work_s - sensor.converts_s if plan.sleeps else 0.0
    radio_s = plan.get_figure("publish_ms") / 1000
    parts = {
        "noise": noise_ms / 1000 * plan.get_figure("awake_ma"),
        "sensor": sensor.converts_s * (sensor.active_ma + plan.get_figure("awake_ma")),
        "frame": (work_s - noise_ms / 1000) * plan.get_figure("awake_ma")
        + radio_s * plan.get_figure("radio_ma"),
        "hold": held_s * plan.get_figure("listen_ma"),
    }
    awake_s = work_s + sensor.converts_s + held_s + radio_s
    if plan.sleeps:
        joined_s = plan.get_figure("join_s") + plan.get_figure("handshake_s")
        parts["join"] = joined_s * plan.get_figure("radio_ma")
        parts["start"] = plan.get_figure("start_s") * plan.get_figure("awake_ma")
        awake_s += joined_s + plan.get_figure("start_s")
    idle_s = max(plan.every_s - awake_s, 0.0)
    resting = plan.get_figure("sleep_ma") if plan.sleeps else plan.get_figure("listen_ma")
    parts["rest"] = idle_s * resting + (plan.every_s - sensor.converts_s) * sensor.idle_ma
    total = sum(parts.values())
    day_mah = total / 3600 * DAY_S / plan.every_s
    held = plan.battery_mah * plan.get_figure("usable")
    faded = plan.battery_mah * plan.get_figure("fade_year") / 365
    days = held / (day_mah + faded)
    return Energy(parts, total, total / 1000 * plan.get_figure("supply_v"), day_mah, days), awake_s

"""What a board with this sensor, cadence and noise needs: charge, memory, flash, bytes.

Bytes of a frame are not reckoned but counted, on a frame that `edge.wire` makes. All else rests
on the table in `figures`, whose energies are estimates: trust how two plans compare, and measure
your own board before you promise anybody a year.
"""

import math
from typing import NamedTuple

from edge import thermal, wire
from edge.host.post import REPORT_BYTES
from edge.limits import Limits
from edge.records import Grid, Guarantee, Report, Round
from edge.slots import COUNT

from ...faults import OperatorFault
from .asked import DAY_S, Plan, checked, draw_ms, tables
from .figures import SENSORS, TELL, Sensor

CLAMP = 8000  # grains: 31 K either way in grains of 2**-8 K
KEY = bytes(wire.MAC_BYTES * 2)
MARGIN, TICK_MS = 2, 100  # the longest answer fits so often into a tick, which is so many of these


class Bytes(NamedTuple):
    """What goes over the air. frame and packet are counted; the day has estimated headers."""

    frame: int
    packet: int
    day: int


class Took(NamedTuple):
    """What was measured on a board: its sensor opened and read, its slots written."""

    sensor_ms: float
    slots_ms: float


class Memory(NamedTuple):
    """Of a 32-bit board, in bytes."""

    running: int
    running_mpy: int
    table: int
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

    plan: Plan
    tick_ms: int
    noise_ms: float
    awake_s: float
    bytes: Bytes
    memory: Memory
    energy: Energy
    sleepless_s: float = 0.0


def needs(plan: Plan) -> Needs:
    """Return what a plan needs of its board.

    Raises:
        OperatorFault: the plan is of no board, or no frame can carry it.
    """
    sensor = checked(plan)
    noise_ms = plan.readings * draw_ms(plan)
    frame = _frame(plan)
    energy, awake_s = _energy(plan, sensor, noise_ms)
    sleepless_s = 0.0
    if plan.sleeps and awake_s > plan.every_s:
        sleepless_s, plan = awake_s, plan._replace(sleeps=False)
        energy, awake_s = _energy(plan, sensor, noise_ms)
    air = _air(plan, frame)
    tick = tick_ms(plan)
    return Needs(plan, tick, noise_ms, awake_s, air, _memory(plan), energy, sleepless_s)


def of_device(mechanism: str, driver: str, readings: int, limits: Limits) -> Plan:
    """Return the plan of a device whose answers take as long as any: by the exact sampler."""
    sensor = driver if mechanism == thermal.NAME else TELL[0]
    return Plan(sensor, readings, DAY_S, limits.variance, 1.0)


def answer_ms(plan: Plan, took: Took | None = None) -> float:
    """Return how long an answer takes at the most, in milliseconds.

    Its sensor has to be opened anew, a lease is paid for in all slots, and no noise lies ready.

    Args:
        took: what was measured, which counts where it is more than the figures say. Of a sensor
            of one's own nothing else is known.
    """
    known = SENSORS.get(plan.sensor)
    sensor_ms = 1000 * (known.opens_s + known.converts_s) if known else 0.0
    slots_ms = COUNT * plan.figure("slot_ms")
    if took is not None:
        sensor_ms, slots_ms = max(sensor_ms, took.sensor_ms), max(slots_ms, took.slots_ms)
    return sensor_ms + slots_ms + plan.readings * draw_ms(plan) + _pack_ms(plan)


def tick_ms(plan: Plan, took: Took | None = None) -> int:
    """Return the tick of a device, in milliseconds: its longest answer twice, in whole hundreds.

    Twice, for the figures are those of another board, and draws are not all alike. A frame that
    was not there by then goes out a tick later, and tells that its draw was a long one.
    """
    return TICK_MS * math.ceil(MARGIN * answer_ms(plan, took) / TICK_MS)


def _frame(plan: Plan) -> int:
    """Return how long a frame is, the longest that this plan's board sends."""
    if plan.tells:  # a cell of a large grid
        return len(_packed(plan, [0, (1 << 31) - 1], 32))
    promise = Guarantee((1, 1), (1, 100_000), (1, 8), "a move", "local", "a day", "presence")
    params = thermal.Params(plan.readings, 8, -CLAMP, CLAMP, plan.variance, 1, 0)
    try:
        bits = thermal.bits(Round(1, thermal.NAME, Grid((1, 1), 0), tuple(params), promise))
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault
    full = (1 << (bits - 1)) - 1
    frame = len(_packed(plan, [0] + [full] * plan.readings, bits))
    if frame > REPORT_BYTES:
        raise OperatorFault(
            f"a frame of {plan.readings} readings has {frame} bytes and a gateway takes "
            f"{REPORT_BYTES} at most, or it could be flooded. Sum pixels into fewer readings"
        )
    return frame


def _packed(plan: Plan, payload: list[int], bits: int) -> bytes:
    report = Report(bytes(4), plan.name, 70_000, 70_000, payload)
    return bytes(wire.pack_report(report, KEY, _topic(plan, "data"), bits))


def _topic(plan: Plan, what: str) -> str:
    return str(wire.topic(plan.site, plan.name, what))


def _air(plan: Plan, frame: int) -> Bytes:
    inside = 2 + len(_topic(plan, "data")) + 2 + frame  # the topic's length; the packet's number
    packet = 1 + (1 if inside < 128 else 2 if inside < 16_384 else 3) + inside
    around = plan.figure("segment_b") + (plan.figure("record_b") if plan.tls else 0)
    # The frame and the broker's word on it; the Round; the gateway's receipt and our word.
    one = packet + 4 + 400 + 60 + 4 + 4 * around
    if plan.sleeps:
        one += 2 * around + 150 + (plan.figure("opening_b") if plan.tls else 0)
    return Bytes(frame, packet, round(one * DAY_S / plan.every_s))


def _memory(plan: Plan) -> Memory:
    block, files = plan.figure("block_b"), plan.figure("files")
    more = files * block / 2 + 4 * block  # half a block is lost at a file's end; budget and frames
    entries = sum(tables(plan.variance)) if plan.sampler != "exact" else 0
    table = round(entries * plan.figure("table_entry_b"))
    array = 3 * 4 * plan.readings  # readings, noise and payload, a word each
    tls = plan.figure("tls_kb") * 1024 if plan.tls else 0
    rest = round(table + array + tls)
    rest_mpy = rest + round(plan.figure("place_mpy_kb") * 1024 if plan.tells else 0)
    rest += round(plan.figure("place_kb") * 1024 if plan.tells else 0)
    answers = 365 * DAY_S / plan.every_s
    written = 1 / plan.figure("lease") + (1 / plan.figure("boots") if plan.sleeps else 0)
    return Memory(
        running=round((plan.figure("heap_kb") + plan.figure("board_kb")) * 1024) + rest,
        running_mpy=round((plan.figure("heap_mpy_kb") + plan.figure("board_mpy_kb")) * 1024)
        + rest_mpy,
        table=table,
        load_source=round((plan.figure("load_kb") + plan.figure("board_kb")) * 1024) + rest,
        load_mpy=round((plan.figure("load_mpy_kb") + plan.figure("board_mpy_kb")) * 1024)
        + rest_mpy,
        flash_source=round(plan.figure("source_kb") * 1024 + more),
        flash_mpy=round(plan.figure("mpy_kb") * 1024 + more),
        erasures_year=answers * written * plan.figure("erasures"),
    )


def _pack_ms(plan: Plan) -> float:
    return plan.figure("pack_ms") * max(plan.readings, 1) / 64


def _energy(plan: Plan, sensor: Sensor, noise_ms: float) -> tuple[Energy, float]:
    """Return charge and days, and how long a board is awake for an answer."""
    work_s = (noise_ms + _pack_ms(plan)) / 1000
    held_s = tick_ms(plan) / 1000 - work_s - sensor.converts_s if plan.sleeps else 0.0
    radio_s = plan.figure("publish_ms") / 1000
    parts = {
        "noise": noise_ms / 1000 * plan.figure("awake_ma"),
        "sensor": sensor.converts_s * (sensor.active_ma + plan.figure("awake_ma")),
        "frame": (work_s - noise_ms / 1000) * plan.figure("awake_ma")
        + radio_s * plan.figure("radio_ma"),
        "hold": held_s * plan.figure("listen_ma"),
    }
    awake_s = work_s + sensor.converts_s + held_s + radio_s
    if plan.sleeps:
        joined_s = plan.figure("join_s") + (plan.figure("handshake_s") if plan.tls else 0)
        parts["join"] = joined_s * plan.figure("radio_ma")
        parts["start"] = plan.figure("start_s") * plan.figure("awake_ma")
        awake_s += joined_s + plan.figure("start_s")
    idle_s = max(plan.every_s - awake_s, 0.0)
    resting = plan.figure("sleep_ma") if plan.sleeps else plan.figure("listen_ma")
    parts["rest"] = idle_s * resting + (plan.every_s - sensor.converts_s) * sensor.idle_ma
    total = sum(parts.values())
    day_mah = total / 3600 * DAY_S / plan.every_s
    held = plan.battery_mah * plan.figure("usable")
    faded = plan.battery_mah * plan.figure("fade_year") / 365
    days = held / (day_mah + faded)
    return Energy(parts, total, total / 1000 * plan.figure("supply_v"), day_mah, days), awake_s

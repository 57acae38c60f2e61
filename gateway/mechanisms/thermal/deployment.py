"""Thermal, as the service needs it: warmth, thermometers, noise that is calibrated."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from edge.core.records import Release, Round
from edge.core.tightening import explain_loosening
from edge.mechanisms.thermal import params_of
from recovery.maps.guarantee import format_ratio, round_up
from recovery.noise.worst import NOT_BEHIND
from recovery.thermal import Query, calibrate_query, plan
from recovery.thermal.guarantee import KEYS
from recovery.thermal.query import cell_m

from ...faults import OperatorFault
from ...settings.roomfile import compute_response
from ..flags import parse_shape, plan_or_refuse
from ..record import Payload
from . import granting

if TYPE_CHECKING:
    from ...settings.deployment import Deployment
    from ...store.message_rows import SlotSum


def make_query(deployment: "Deployment") -> Query:
    """Return what the analyst asks of this deployment.

    Raises:
        ValueError: there is no such room or promise.
    """
    step, slew = deployment.sensors.adc_step, deployment.sensors.slew
    behind = deployment.sensors.adc_behind or (0, 1)
    plan, distance_m = deployment.room.plan, deployment.privacy.protect_distance_m
    if plan is None:
        _check_count(deployment.sensors.count, deployment.room.cells)
        if distance_m is not None:  # what hides a whole cell hides every part of it
            distance_m = max(distance_m, cell_m(deployment.room.grid))
    return Query(
        grid=deployment.room.grid,
        sensors=_trim(deployment.sensors.count),
        spread_m2=deployment.heat.spread_m2 or math.inf,
        epsilon=deployment.privacy.epsilon,
        delta=deployment.privacy.delta or (0, 1),  # never: see `sections`
        protect_distance_m=distance_m,
        intensity_max=deployment.heat.intensity_max,
        sources_max=deployment.heat.sources_max,
        walls=deployment.room.walls,
        step=None if step is None else Fraction(*step),
        behind=Fraction(*behind),
        readings=deployment.privacy.readings,
        window_h=deployment.privacy.window_h,
        calibration=deployment.rounds.calibration,
        sampler=deployment.rounds.sampler,
        estimator=deployment.rounds.estimator,
        keyholder=deployment.privacy.keyholder,
        sensor_noise=deployment.sensors.noise_sd,
        sources=deployment.heat.sources,
        intensity_min=deployment.heat.intensity_min,
        furniture=deployment.room.furniture,
        spread_max_m2=deployment.heat.spread_max_m2,
        drift=deployment.sensors.drift_sd,
        background=deployment.sensors.background,
        slew=None if slew is None else Fraction(*slew),
        background_k=deployment.sensors.background_k,
        empty_readings=deployment.sensors.empty_readings,
        response=None if plan is None else compute_response(plan, distance_m),
    )


def _check_count(count: tuple[int, int], cells: tuple[int, int]) -> None:
    """Refuse thermometers along a line in a plane, and the other way round.

    Raises:
        ValueError: they are; with what to write instead.
    """
    sensors = math.prod(count)
    if (cells[1] == 1) == (count[1] == 1):
        return
    if cells[1] == 1:
        given, room, instead = f"[{count[0]}, {count[1]}]", "line", f"{sensors}"
    else:
        # As many or a few more, the distances between columns and between rows as near as can be.
        rows = max(2, round(math.sqrt(sensors * cells[1] / cells[0])))
        given, room = str(sensors), f"plane of {cells[0]} by {cells[1]} cells"
        columns = max(2, math.ceil(sensors / rows))
        instead = f"[{columns}, {rows}], or the columns and rows that there are"
    raise ValueError(
        f"[sensors] count is {given} and [room] is a {room}; the map needs to know where they "
        f"stand, evenly spaced over the whole of it. Write count = {instead}"
    )


def _trim(shape: tuple[int, int]) -> tuple[int, ...]:
    return shape[:1] if shape[1] == 1 else shape


def check_enrolled(query: Query, sensors: Mapping[str, int], held: Mapping[str, Any]) -> None:
    """Check that enrolled devices fit the query, answer its noise and may draw by its sampler.

    Raises:
        OperatorFault: one does not.
    """
    granting.check_rounds_answered(query, held)
    granting.check_tables_allowed(query, sensors, held)


def describe_least_noise(limits: Any) -> str:
    """Return in words how much noise they ask for at the least."""
    sigma = math.sqrt(limits.variance) * 2.0**-limits.exponent
    return f"a standard deviation of at least {sigma:.4g} kelvin"


def list_slots(payload: Payload) -> Iterable[tuple[int, int]]:
    """Return each reading under its sensor."""
    return enumerate(payload[1:], payload[0])


def release_sums(round: Any, sums: "Mapping[int, SlotSum]", reports: int) -> Any:
    """Return what `release` in edge does: a sensor's sum is its one reading, or None."""
    sensors = params_of(round).sensors
    for sensor, (_, count) in sums.items():
        if not 0 <= sensor < sensors or count != 1:
            raise ValueError(
                f"sensor {sensor} answers round {round.number} {count} times, and the round has "
                f"sensors 0 to {sensors - 1}, once each; more would average the noise away"
            )
    readings = {sensor: amount for sensor, (amount, _) in sums.items()}
    return Release(round, [readings.get(sensor) for sensor in range(sensors)], reports)


def describe_whole_budget(limits: Any) -> str:
    """Return in words what these limits pay for in all."""
    return f"{limits.budget} nano-rho"


def tighten_limits(last: Any, wished: Any) -> tuple[Any, str]:
    """Return the wished limits, and why they would protect less than the last, or ""."""
    return wished, explain_loosening(last, wished)


def find_key_limit(deployment: "Deployment") -> int | None:
    """Return how many keys of one sensor the promise is for, None for any number."""
    return KEYS if deployment.rounds.sampler == "table" else None


def make_page_values(plan: Any) -> dict[str, Any]:
    """Return the exponent of a Round: a grain is 2**-exponent kelvin."""
    return {"exponent": params_of(plan).exponent}


# What the options of a thermal query must agree in, and what it asks first.

# The operator from cells to sensors is kept in memory, eight bytes an entry.
_ENTRIES_MAX = 50_000_000
WIDER = 1.25  # from here on what widens the noise deserves a word of its own


def check_sensor_axes(texts: Mapping[str, str]) -> None:
    """Refuse one place alone, and sensors along a line in a plane or the other way round.

    Raises:
        OperatorFault: in the words of the flags, where a Query speaks of its fields.
    """
    cells, sensors = texts["cells"], texts["sensors"]
    columns, rows = parse_shape(cells, "--cells")
    parse_shape(sensors, "--sensors")
    if max(columns, rows) < 2:
        raise OperatorFault(
            f"--cells {cells} is one place; two cells at least are needed, for one alone hides "
            "nothing. Write --cells 100 for a line and 40x30 for a plane"
        )
    if (rows > 1) != ("x" in sensors and not sensors.endswith("x1")):
        kind, write = ("a plane", "8x8") if rows > 1 else ("a line", "50")
        raise OperatorFault(
            f"--sensors {sensors} came with --cells {cells}, {kind}; sensors need a count for "
            f"each of its axes, or they have no places. Write for instance --sensors {write}"
        )


def check_memory_need(found: Query) -> None:
    """Refuse what needs too much memory.

    Raises:
        OperatorFault: it does.
    """
    entries = math.prod(found.grid.shape) * math.prod(found.sensors)
    if entries > _ENTRIES_MAX:
        raise OperatorFault(
            f"{math.prod(found.grid.shape)} cells and {math.prod(found.sensors)} sensors make "
            f"{entries} pairs; at most {_ENTRIES_MAX} fit in memory. Ask for fewer cells"
        )


def list_cautions(query: Query) -> list[str]:
    """Return by how much a converter behind the one that is read widens the noise, where it is."""
    if not query.behind:
        return []
    wider = calibrate_query(query).sigma / calibrate_query(replace(query, behind=NOT_BEHIND)).sigma
    if wider <= WIDER:
        return []
    behind = format_ratio(query.behind.as_integer_ratio())
    return [
        f"the converter behind the one that is read (adc_behind {behind}) may flip on all sensors "
        f"at once, and makes the noise {round_up(wider)} times as wide. With fewer sensors, or "
        "ones without it, maps are nearer: heatveil calibrate says how near"
    ]


def describe_blur(query: Query) -> str:
    """Return sigma of the noise on one reading, in words."""
    return f"sigma {calibrate_query(query).sigma:.4g}{' K' * bool(query.grid.cell_mm)}"


def plan_first_round(query: Query) -> Round:
    """Return what the query asks first.

    Raises:
        OperatorFault: it cannot be served.
    """
    return plan_or_refuse(query, plan)

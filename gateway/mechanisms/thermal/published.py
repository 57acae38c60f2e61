"""Published thermal readings: what `play` writes of them, and their rows in an export."""

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from edge.core.records import Release, Round
from edge.mechanisms import thermal
from edge.mechanisms.thermal import PARAMS, Params, params_of
from recovery.estimators import HOMES
from recovery.maps.guarantee import from_json
from recovery.thermal import Query

from ...faults import OperatorFault
from ..record import Tail

# What a file of published readings holds of thermal sensors.
#
# Values are whole grains by sensor, null where none came; `params` are those of the device.

# A reading this many standard deviations outside what a sensor can read is no accident.
_FAR = 40


def list_public_fields(query: Query) -> Sequence[str]:
    """Return the names of the fields that the file holds.

    Raises:
        OperatorFault: the query holds what no file does.
    """
    if query.response is not None:
        why = "hold no response of a room, without which there is no map; leave --published out"
        raise OperatorFault(f"published readings {why}")
    left = {"response"}
    if query.sampler == "exact":
        left.add("sampler")  # which older readers do not know
    if not query.behind:
        left.add("behind")
    if not query.window_h:
        left.add("window_h")
    if query.estimator not in HOMES:
        left.add("estimator")  # which nobody else has
    return [field.name for field in fields(query) if field.name not in left]


def read_release(query: Query, written: Any) -> Release:
    """Return the release that a round of the file holds.

    Raises:
        ValueError: it has not the shape of one.
    """
    number, params, values = written["number"], tuple(written["params"]), list(written["values"])
    sensors = math.prod(query.sensors)
    whole = all(type(part) is int for part in (number, *params))
    held = PARAMS + (query.sampler == "table")
    if not whole or len(params) != held or Params(*params[:PARAMS]).sensors != sensors:
        raise ValueError(f"the params of round {number!r} are {params!r} for {sensors} sensors")
    if not -64 <= params[1] <= 64 or params[4] < 1:
        raise ValueError(f"the params {params!r} have no usable grain or no noise")
    if len(values) != sensors:
        raise ValueError(
            f"round {number} has {len(values)} values for {sensors} sensors, of which a silent "
            "one is null"
        )
    for sensor, value in enumerate(values):
        if value is not None and type(value) is not int:
            raise ValueError(f"sensor {sensor} has {value!r}, which is no whole number of grains")
    guarantee = from_json(json.dumps(written["guarantee"]))
    round = Round(number, thermal.NAME, query.grid, params, guarantee)
    return Release(round, values, sum(value is not None for value in values))


def check_values_possible(release: Release, path: Path) -> None:
    """Refuse what no sensor and no noise can have made; a little below nought is only noise.

    Raises:
        OperatorFault: a reading is too far out.
    """
    params = params_of(release.round)
    slack = _FAR * (math.isqrt(params.variance) + 1)
    low, high = params.low - slack, params.high + slack
    for sensor, value in enumerate(release.values):
        if value is not None and not low <= value <= high:
            given, *bounds = (
                f"{math.ldexp(grains, -params.exponent):.4g}" for grains in (value, low, high)
            )
            raise OperatorFault(
                f"{path}: sensor {sensor} published {given}, but with this noise it lies between "
                f"{bounds[0]} and {bounds[1]} (below zero too, for noise goes both ways); it "
                "seems to be of another unit, room or noise. Correct it, or leave it out"
            )


def make_grain_exporter(body: Any) -> Callable[..., Iterable[Tail]]:
    """Return what gives the rows of readings as whole grains, as they left the device.

    To round them otherwise would pretend that they are exact.
    """
    exponent = int(thermal.Params(*body[4][: thermal.PARAMS]).exponent)

    def tails(values: Sequence[int | None], first: int = 0) -> Iterable[Tail]:
        return [(place, grains, exponent) for place, grains in enumerate(values, first)]

    return tails

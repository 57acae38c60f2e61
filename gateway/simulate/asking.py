"""The rounds of a simulated day: read, veiled on the device, and mapped as a gateway would."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge.pixels import above
from edge.records import Reading
from edge.thermal import params_of
from physics.instruments.records import FINEST
from recovery.maps.heatmap import Heatmap
from recovery.thermal import Query
from recovery.thermal.noise import follower

from ..mechanisms import Mechanism
from ..output import Stage
from .background import known_grains, less
from .records import Counts, Lived, Read

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Asked:
    """One round of a day: when, what was sent, and what came of it."""

    at_s: float
    release: Any
    known: Any  # the same release, less what is publicly known of the empty room
    found: Any  # Heatmap | Unresolved; None while the hours are known to be empty


def ask(
    mechanism: Mechanism,
    query: Query,
    lived: Lived,
    read: Read,
    baseline_c: float,
    moments_s: Sequence[float],
    rng: Any,
    stage: Stage,
) -> list[Asked]:
    """Return the rounds of a lived day, each with its own map."""
    rounds: list[Asked] = []
    ratio = (query.step or FINEST).as_integer_ratio()
    levels = _levels(query, read, baseline_c)
    followers: list[Any] = [follower(query) for _ in levels]
    learnt = query.empty_readings
    for at_s in moments_s:
        round = mechanism.plan(query, [asked.release for asked in rounds])
        if round is None:
            break
        step, exponent = lived.step_of(at_s), params_of(round).exponent
        payloads = []
        for sensor, (count, level) in enumerate(zip(read.counts[step], levels, strict=True)):
            if count is None or level is None:
                continue  # a device without a reading makes no frame
            values = above([count], [level], exponent, ratio)
            own = followers[sensor]
            if own is not None:
                values = own.less(values, exponent)
            payloads.append(mechanism.report(round, Reading(sensor, values), rng))
            if own is not None:
                own.follow()
        release = mechanism.release(round, payloads, rng)
        known = less(release, known_grains(query, lived, step, exponent))
        stage(f"drawing the maps, {len(rounds) + 1} of {len(moments_s)}")
        found = None
        if len(rounds) >= learnt:
            found = mechanism.recover(query, [*(one.known for one in rounds[:learnt]), known])
        rounds.append(Asked(at_s, release, known, found))
    return rounds


def mass_of(found: Any) -> Floats | None:
    """Return the map, or None where there is none or it is no estimate."""
    return found.mass if isinstance(found, Heatmap) and found.total > 0 else None


def _levels(query: Query, read: Read, baseline_c: float) -> Counts:
    """Return what each device takes off; where the gateway does that, the baseline alone."""
    if query.background != "gateway":
        return read.level
    constants = np.rint(baseline_c / read.step_k).astype(int)
    return tuple(int(count) for count in constants)

"""Thermal readings, analyst half: plan the noise, and draw the map from what was blurred.

Source: Gilbert and McMillan 2017, Section 3 and Algorithm 1.

Differs from the paper:
1. The least heat that explains the readings, "l1", is one estimator of many, and a weak one;
   the others, and how one is chosen, are in `recovery.estimators`.
2. Where no heat at all is the answer the paper divides nought by nought. Here the map is
   uniform, its total 0, and its status says that it is no estimate.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from edge.core.records import Guarantee, Release, Round
from edge.core.table import BITS
from edge.mechanisms.thermal import NAME as NAME
from edge.mechanisms.thermal import Params, bits
from edge.mechanisms.thermal_half import EXPONENTS
from physics.places import length_m

from ..estimators.record import COOLEST, Estimate, Seen
from ..estimators.table import estimate_judged
from ..estimators.verdict import (
    FALSE_ALARMS,
    FAR,
    describe_misfit,
    join_verdicts,
    judge,
    measure_misfit,
)
from ..maps.heatmap import Band, Heatmap, Unresolved, Verdict
from ..maps.sentence import Wording, join_sentences
from ..proofs.certified import certify_band, measure_least_deviation
from .guarantee import make_guarantee
from .noise import bound_warmth_felt, is_printed
from .noise import calibrate_query as calibrate_query
from .noise import make_operator as make_operator
from .query import Query as Query
from .query import has_unknown_physics
from .seen import Levels, Readings, drop_weights, find_clamped
from .seen import add_up as add_up
from .seen import find_shared_params as find_shared_params
from .seen import make_seen as look

# What the readings of a thermal map prove without a prior: a band, or that the query is wrong.
#
# It is proved for every heat whose total is within `bound_totals`, with no more in one cell than
# the warmest source has and none in furniture, standing in the middles of the cells, that has
# spread as the query says, or has stood there for one of the times that its room's response knows.
# It needs no number of sources and no law of their places.

# More cells than this, each for several times, take seconds.
_CELLS_MAX = 1000


def bound_totals(query: Query) -> tuple[float, float]:
    """Return the least and the most heat of the whole room that the certificate is good for.

    As few sources as there can be, but one, each as cool as it can be; and as many, each as warm.
    Of a room with less heat, such as an empty one, or with more the certificate says nothing.
    """
    coolest = query.intensity_min or COOLEST * query.intensity_max
    most = query.sources or query.sources_max
    return (query.sources or 1) * coolest, most * query.intensity_max


def certify_shares(query: Query, seen: Seen) -> tuple[Band | None, Verdict | None]:
    """Return between what the cumulative share of heat lies, and whether there is such a heat.

    The band is None in a plane, and where no heat of such a total explains the readings. Both
    are None where they would be slow; and for "l1-printed", whose deviation leaves out what
    sensors and rounding add, so is too small.
    """
    rows, cells = seen.shape
    if rows * cells > _CELLS_MAX or query.estimator == "l1-printed":
        return None, None
    seen = seen.stack_times()
    upper = np.full(len(seen.places), seen.upper)
    if seen.open is not None:
        upper[~seen.open.ravel()] = 0.0
    heats = (seen.operator, seen.readings, seen.sigma)
    least, most = bound_totals(query)
    if rows == 1:
        band = certify_band(*heats, (least, most), upper, seen.level).band
        if band is not None:
            return band, Verdict("fits")
    # An empty room is no contradiction, unless the query knows of sources.
    total = least if query.sources else 0.0, min(most, float(upper.sum()))
    off, chance = measure_least_deviation(*heats, total, upper)
    if chance >= FALSE_ALARMS:
        return None, Verdict("fits")
    return None, Verdict(
        "assumptions",
        _CONTRADICTED(off=float(f"{off:.3g}"), rounds=f"{1 / FALSE_ALARMS:.0f}"),
    )


_CONTRADICTED = Wording(
    "verdict.contradicted",
    "the readings contradict what is stated of the room: no heat that this allows comes nearer to "
    "them than {off:g} deviations of the noise, and noise alone is that far off in less than one "
    "of {rounds} rounds. More or warmer sources than stated, another spread, walls, outside heat "
    "or a broken sensor can be the cause",
)


def plan(query: Query, releases: Sequence[Release]) -> Round | None:
    """Return the next Round of whole numbers, None when there are readings enough.

    In windows of hours that is never: how often to ask follows from the devices' budgets.

    Raises:
        ValueError: the noise that is asked for does not fit a device, or cannot be had.
    """
    if len(releases) >= query.readings and not query.window_h:
        return None
    made = calibrate_query(query)
    if abs(made.exponent) > EXPONENTS:
        raise ValueError(
            f"the noise would be counted in grains of 2**{-made.exponent} K but a device takes "
            f"2**-{EXPONENTS} to 2**{EXPONENTS}: others are none that a sensor has. Correct "
            "intensity_max, or what else is huge or tiny."
        )
    # What every source at its warmest, and eight sigmas of a sensor's own noise, can reach.
    # Below the baseline too: clamping there would bend the readings of a cold sensor.
    one = float(make_operator(query).max()) if is_printed(query) else bound_warmth_felt(query)
    most = query.sources_max * query.intensity_max * one + query.background_k
    reach = math.ceil(math.ldexp(most + 8 * query.sensor_noise, made.exponent)) + made.step
    params = Params(
        sensors=math.prod(query.sensors),
        exponent=made.exponent,
        low=-reach,
        high=reach,
        variance=made.variance,
        step=made.step,
        keyholder=int(query.keyholder),
    )
    asked = tuple(params) + (BITS,) * (query.sampler == "table")
    planned = Round(len(releases) + 1, NAME, query.grid, asked, make_guarantee(query, made))
    try:
        bits(planned)
    except ValueError as fault:
        raise ValueError(
            f"the readings reach {reach} grains and the noise's sigma {made.variance**0.5:.3g} "
            "but a report holds numbers below 2**31: it would be cut. Ask for a "
            f"{'larger' if made.variance > reach**2 else 'smaller'} epsilon, or lower "
            "intensity_max or sources_max."
        ) from fault
    return planned


def recover(
    query: Query,
    releases: Sequence[Release],
    certify: bool = True,
    levels: Levels | None = None,
) -> Heatmap | Unresolved:
    """Return the map that the query's estimator draws of the readings, or why there is none.

    Args:
        query: what was planned with; what it knows of the sources steers the estimator.
        releases: of the same query, one a reading; silent sensors are None and left out.
        certify: with the certified band and a verdict, where there can be one; it takes a tenth
            of a second.
        levels: of the room alone, as for `recovery.thermal.seen.add_up`.

    Raises:
        ValueError: no release, or one that does not belong to the query, or an estimator that
            cannot draw a map of such a room.
    """
    readings = add_up(query, releases, levels)
    at_clamp = () if query.estimator == "l1-printed" else find_clamped(query, readings)
    kept = readings.leave_out(at_clamp)
    seen = look(query, kept)
    guarantee = releases[0].round.guarantee
    if seen is None:
        unheard = _UNHEARD_SINCE if query.background == "gateway" else _UNHEARD
        every = look(query, readings)
        if every is not None:
            far = _find_misfit(query, every) or (math.inf, math.inf, "take another reading")
            return Unresolved(
                query.grid, guarantee, *far[:2], join_sentences((_at_clamp(at_clamp), far[2]))
            )
        return Unresolved(query.grid, guarantee, math.inf, math.inf, unheard)
    seen, verdict, kept = _judge(query, kept, seen)
    if at_clamp:
        why = join_sentences((_at_clamp(at_clamp), verdict.why))
        verdict = Verdict("clamp", why, verdict.dropped, at_clamp)
    if has_unknown_physics(query):
        drawn = _estimate_jointly(query, kept, seen)
        # Nothing was held against what the query says of spread and drift.
        return make_map(query, guarantee, drawn, None, None if verdict.fits else verdict)
    if fault := _find_misfit(query, seen):
        found = Unresolved(query.grid, guarantee, *fault)
        return replace(found, why=join_sentences((verdict.why, found.why)))
    drawn = estimate_judged(query.estimator, seen)
    if drawn.verdict is not None and drawn.verdict.level == "other":
        # What is proved is so of rooms as stated alone.
        return make_map(query, guarantee, drawn, None, join_verdicts(verdict, drawn.verdict))
    band, proved = certify_shares(query, seen) if certify else (None, None)
    # Sensors and clamp alone cannot say that a query is right.
    said = proved if verdict.fits else join_verdicts(verdict, proved)
    if drawn.verdict is not None:
        said = join_verdicts(said or Verdict("fits"), drawn.verdict)
    return make_map(query, guarantee, drawn, band, said)


def _estimate_jointly(query: Query, readings: Readings, weighed: Seen) -> Estimate:
    """Return the estimate where spread or drift are not known: they are found beside the sources.

    Source: `recovery.bayes.unknown_physics`.
    """
    # Loaded here alone: few queries need it, and every gateway starts with this file.
    from ..bayes.unknown_physics import Physics, estimate_jointly

    seen, sensors_m = drop_weights(query, readings, weighed)
    physics = Physics(
        sensors_m,
        (query.spread_m2, query.spread_max_m2 or query.spread_m2),
        query.walls,
        length_m=length_m(query.grid),
        offset=query.drift,
        slope=query.drift_slope,
    )
    joint = estimate_jointly(seen, physics)
    area, kelvin = (" m2", " K") if query.grid.cell_mm else ("", "")
    said = []
    if query.spread_max_m2 is not None:
        low, high = joint.spread_m2.find_interval(query.level)
        said.append(f"a spread of {low:.3g} to {high:.3g}{area} ({query.level:.0%} sure)")
    if query.drift or query.drift_slope:
        said.append(f"sensors {joint.offset:+.2g}{kelvin} off")
    why = f"sources and physics together, for they were not known; found {', '.join(said)}"
    return replace(joint.estimate, estimator="posterior", why=why)


def _judge(query: Query, readings: Readings, seen: Seen) -> tuple[Seen, Verdict, Readings]:
    """Return all that is left without the sensors that are at odds with the others, and which.

    What follows the printed algorithm takes the readings as they are.
    """
    # Rows that share noise are mixtures of sensors, so none of them has a name.
    mixed = readings.levels is not None and readings.levels.shared_k is not None
    if mixed or query.estimator == "l1-printed":
        return seen, Verdict("fits"), readings
    found, verdict = judge(seen, np.flatnonzero(readings.heard).tolist())
    if not verdict.dropped:
        return found, verdict, readings
    rest = readings.leave_out([sensor for sensor, _ in verdict.dropped])
    # The others are weighed anew, for one that was off may have been the one blurred most.
    again = look(query, rest)
    if again is None:
        return seen, verdict, readings
    again = replace(again, sigma=again.sigma * found.sigma / seen.sigma)
    return again, verdict, rest


def _at_clamp(sensors: Sequence[int]) -> str:
    """Return in words that these sensors show the most or the least they can."""
    listed, many = ", ".join(map(str, sensors)), len(sensors) > 1
    forms = ("s", "", "they are") if many else ("", "s", "it is")
    return _AT_CLAMP(many=forms[0], sensors=listed, one=forms[1], out=forms[2])


_AT_CLAMP = Wording(
    "map.clamp",
    "sensor{many} {sensors} show{one} the most or the least that a device can, so the truth is "
    "beyond it: there are more, warmer or nearer sources than stated, or the level is wrong; "
    "{out} left out",
)
_UNHEARD = Wording(
    "map.unheard", "no sensor was heard; wait for reports, or look at the sensors' link"
)()
_UNHEARD_SINCE = Wording(
    "map.unheard.empty",
    "no sensor was heard yet both in the empty room and after it; wait for reports",
)()


def make_map(
    query: Query,
    guarantee: Guarantee,
    found: Estimate,
    band: Band | None = None,
    verdict: Verdict | None = None,
) -> Heatmap:
    """Return the map of an estimate, uniform where it says that there is none.

    How sure the estimate is goes by the query, so it counts for nothing where that is wrong.
    """
    columns, rows = query.grid.shape
    mass = np.full((rows, columns), 1 / (rows * columns))
    total = float(found.heat.sum())
    if total > 0:
        mass = found.heat.reshape(rows, columns) / total
    return Heatmap(
        query.grid,
        mass,
        guarantee,
        total,
        found.status,
        found.estimator or query.estimator,
        found.why,
        None if verdict is not None and verdict.contradicts else found.credible,
        None if verdict is not None and verdict.contradicts else band,
        verdict,
    )


def _find_misfit(query: Query, seen: Seen) -> tuple[float, float, str] | None:
    """Return least residual, radius and why, where no heat explains the readings.

    The estimator "l1-printed" alone goes on: the paper's rule is to take what comes nearest.
    """
    if query.estimator == "l1-printed":
        return None
    # What promises a radius keeps to it; the others are only kept from a world that is not theirs.
    fault = measure_misfit(seen, query.failure if query.estimator == "l1" else FAR)
    return None if fault is None else (*fault, describe_misfit(*fault))

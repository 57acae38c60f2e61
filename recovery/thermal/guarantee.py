"""The promise of a thermal round, in whole numbers and in words."""

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

from edge.core.budget import BEHIND
from edge.core.records import Guarantee, Round
from edge.core.table import BITS, ROUNDS, SLACK, Sampler
from edge.mechanisms.thermal_half import NAME, table_bits
from physics.response import Response

from ..maps.guarantee import TOGETHER, describe_window, format_ratio, round_up
from ..maps.sentence import Wording, join_sentences, recognise
from ..noise import Ratio, reduce_ratio
from ..noise.calibrate import Calibration, delta_of_variance, epsilon_of
from ..noise.tables import bound_exponential, bound_sampler_distance
from .query import Query, count_protected_cells

# What noise from tables takes of a thermal promise: a hundredth of delta, set aside for it.
#
# A Round may ask devices to draw from tables, whose law is a little off. Devices
# hold to how little that is, and to how often, whatever they are asked: all sensors together are
# within sensors ROUNDS BEHIND SLACK of exact noise in total variation, for the life of their keys.
# KEYS of them are counted, one after the other, for a device that is enrolled again in the middle
# of a window. So
#
#     noise is calibrated, and prices are reckoned, for 99/100 of delta;
#     the rest must pay for that variation, (1 + exp(epsilon)) times (`recovery.noise.tables`),
#
# or the query is refused. As the second grows with epsilon, a promise for a longer way, which has
# the larger epsilon, ends where the hundredth does: from there on nothing is promised, infinity.

ASIDE = Fraction(1, 100)  # of delta
KEYS = 16  # of a device, in one window
_WIDE = 64  # of epsilon: beyond, one sensor's tables take all of delta, and fractions get long


def find_exact_delta(query: Query) -> Ratio:
    """Return the delta that noise is calibrated for; the query's is promised.

    Raises:
        ValueError: what is set aside does not pay for tables at this epsilon.
    """
    if query.sampler == "exact":
        return query.delta
    if query.readings > ROUNDS:
        raise ValueError(
            f"{query.readings} readings were asked for but a device gives no more than {ROUNDS} "
            "with noise from tables: what that noise takes of delta is counted so far. Ask for "
            'the exact sampler (sampler = "exact")'
        )
    asked = Fraction(*query.delta)
    if compute_table_delta(query, Fraction(*query.epsilon)) > ASIDE * asked:
        raise ValueError(
            "noise from tables takes "
            f"{float(compute_table_delta(query, Fraction(*query.epsilon))):.2g} of "
            f"delta {query.delta[0]}/{query.delta[1]} at epsilon {query.epsilon[0]}/"
            f"{query.epsilon[1]} with {math.prod(query.sensors)} sensors, but {float(ASIDE):g} of "
            "it is set aside for them, and what is promised is kept to the last digit. Ask for "
            'the exact sampler (sampler = "exact"), or for a smaller epsilon'
        )
    return reduce_ratio(((1 - ASIDE) * asked).as_integer_ratio())


def find_price_delta(round: Round) -> float:
    """Return the delta at which the prices of such Rounds add up to an epsilon."""
    delta = Fraction(*round.guarantee.delta)
    tables = round.mechanism == NAME and table_bits(round)
    return float((1 - ASIDE) * delta if tables else delta)


def compute_table_delta(query: Query, epsilon: Fraction, windows: int = 1) -> Fraction:
    """Return what tables take of delta at an epsilon, in so many windows."""
    if epsilon > _WIDE:
        return Fraction(1)
    samples = windows * KEYS * ROUNDS * BEHIND * math.prod(query.sensors)
    return (1 + bound_exponential(epsilon)) * samples * Fraction(*SLACK)


def adjust_epsilon(query: Query, epsilon: float, windows: int = 1) -> float:
    """Return an epsilon that was reckoned at `find_exact_delta`, infinity where delta is not kept.

    Args:
        windows: that it is for, one after the other.
    """
    if query.sampler == "exact" or math.isinf(epsilon):
        return epsilon
    aside = ASIDE * Fraction(*query.delta)
    if compute_table_delta(query, Fraction(epsilon), windows) > aside:
        return math.inf
    return epsilon


@lru_cache(maxsize=64)
def check_variance(variance: int) -> None:
    """Check that tables of this variance are as near to their law as devices are trusted to be.

    Raises:
        ValueError: there are none, or they are not.
    """
    made: Any = Sampler(variance, 1, BITS)
    found = bound_sampler_distance(made)
    if found > Fraction(*SLACK):
        raise ValueError(
            f"tables of variance {variance} are off by {float(found):.3g} a sample but at most "
            f"{SLACK[0]}/{SLACK[1]} is paid for: the promise would not hold. Ask for the exact "
            "sampler"
        )


_UNPROTECTED = Wording(
    "guarantee.not.warmth",
    "that somebody is there, how many they are and how warm; that a device exists and when it "
    "speaks; and the further a source moves, the less of that is hidden",
)()
_BEYOND = Wording(
    "guarantee.not.beyond",
    "; a stronger source; and what the true room does otherwise than its model",
)()
_LINGERS = Wording(
    "guarantee.not.lingers",
    "; warmth that lingers from before counts as a source that still stands there",
)()
_WHICH_ROOM = Wording(
    "guarantee.not.room", "in which of the rooms that walls and shut doors part somebody is; "
)()


def make_guarantee(query: Query, made: Calibration) -> Guarantee:
    """Return what a round of this query promises; true of the whole numbers really sent."""
    return Guarantee(
        epsilon=reduce_ratio(query.epsilon) if query.sigma is None else epsilon_of(made),
        delta=reduce_ratio(query.delta),
        rho=made.rho,
        neighbours=_describe_neighbours(query),
        trust=_trust(query),
        unit=_describe_unit(query, made),
        unprotected=_list_unprotected(query),
    )


def _list_unprotected(query: Query) -> str:
    made, lingers = query.response, _LINGERS if query.window_h else ""
    if made is None:
        return join_sentences((_UNPROTECTED, lingers), by="")
    room = "" if made.through_walls else _WHICH_ROOM
    return join_sentences((room, _UNPROTECTED, _BEYOND, lingers), by="")


_METRES = Wording("guarantee.metres", "at most {far} m")
_CELLS = Wording("guarantee.cells", "at most {n} cell{s} of 1/{all} of the room")
_EXACTLY = Wording("guarantee.exactly", "exactly")()
_AT_LEAST = Wording("guarantee.least", "at least")()
_NO_WALLS = Wording("guarantee.walls.none", "there are no walls")()
_INSULATED = Wording("guarantee.walls", "no heat passes the walls")()
_SOURCE = Wording(
    "guarantee.source",
    "whether one source stands in one place or in another {far} away, all else the same, if no "
    "source is stronger than {most}, all stand at points of the map's grid, heat had a spread of "
    "{least} {spread}, {converter}and {walls}",
)
_THROUGH = Wording("guarantee.through", "through walls too")()
_ON_FOOT = Wording(
    "guarantee.foot",
    "on foot, never through a wall or through a door that is shut at that moment",
)()
_PATH = Wording(
    "guarantee.path",
    "the path of one source is displaced by {far} at every moment, {way}, everything else the "
    "same, if no source gives off more than {most} W, {converter}and the room answers heat as the "
    "model of room {room} does, response {digest}, over the {hours} h since it was empty and at "
    "its baseline, {doors}",
)
_STILL = Wording("guarantee.doors", "no door moving")
_STEPS = Wording("guarantee.steps", "converters show whole steps of {step}{behind}, ")
_BEHIND = Wording("guarantee.behind", " of what others show in counts of at most {count}")


def _describe_neighbours(query: Query) -> str:
    columns, rows = query.grid.shape
    cells = count_protected_cells(query)
    if query.grid.cell_mm:
        far = _METRES(far=_format_exactly(cells * query.grid.cell_mm / 1000))
    else:
        far = _CELLS(n=cells, s="s" * (cells > 1), all=max(columns, rows))
    if query.response is not None:
        return _describe_path(query, query.response, far)
    # The printed formula knows one spread; all other noise is enough for longer ones too.
    printed = query.calibration == "paper" and query.sigma is None
    spread = f"{_format_exactly(query.spread_m2)}{' m2' if query.grid.cell_mm else ''}"
    return _SOURCE(
        far=far,
        most=_format_exactly(query.intensity_max),
        least=_EXACTLY if printed else _AT_LEAST,
        spread=spread,
        converter=_describe_converter(query),
        walls=_NO_WALLS if query.walls == "none" else _INSULATED,
    )


def _describe_path(query: Query, made: Response, far: str) -> str:
    return _PATH(
        far=far,
        way=_THROUGH if made.through_walls else _ON_FOOT,
        most=_format_exactly(query.intensity_max),
        converter=_describe_converter(query),
        room=made.name,
        digest=made.digest,
        hours=_format_exactly(made.lasts_s / 3600),
        doors=recognise(made.doors, [_STILL]),
    )


def _format_exactly(value: float) -> str:
    """Return a number with all digits that tell: rounded, it could promise what is not kept.

    And promises that differ must read differently, for a database holds charges of one.

    >>> _format_exactly(4.0), _format_exactly(0.1), _format_exactly(1.2345674)
    ('4', '0.1', '1.2345674')
    """
    return f"{value:.15g}"


def _describe_converter(query: Query) -> str:
    if query.step is None:
        return ""
    step = format_ratio(query.step.as_integer_ratio())
    unit = " K" if query.grid.cell_mm else ""
    behind: str = ""
    if query.behind:
        behind = _BEHIND(count=f"{format_ratio(query.behind.as_integer_ratio())}{unit}")
    return _STEPS(step=f"{step}{unit}", behind=behind)


def _trust(query: Query) -> str:
    if query.keyholder:
        return _KEYHOLDER
    return _LOCAL


_KEYHOLDER = Wording(
    "guarantee.trust.keyholder",
    "local: each device blurs its own readings, for everybody who cannot break the cipher "
    "(SIM-CDP); against the holder of the devices' keys nothing is promised",
)()
_LOCAL = Wording(
    "guarantee.trust.local",
    "local: each device blurs its own readings before they leave it, and nobody has a key",
)()
_READINGS = Wording("guarantee.readings", "{n} reading{s} of every sensor")
_TABLES = Wording(
    "guarantee.tables",
    "{window} together, of noise from tables, which a part of delta pays for",
)
_LEVEL = Wording(
    "guarantee.level",
    ", each less a level that follows them by at most {slew} an answer and begins where it was "
    "recorded in the empty room, when a device starts and again after {n} answers, all",
)


def _describe_unit(query: Query, made: Calibration) -> str:
    readings = _READINGS(n=made.readings, s="s" * (made.readings > 1))
    window = join_sentences(
        (describe_window(query.window_h, readings, "rho"), _describe_level(query)), by=""
    )
    if query.sampler == "table":
        return _TABLES(window=window)
    if query.calibration == "exact" or query.sigma is not None:
        return TOGETHER(window=window)
    epsilon, delta = compute_true_promise(query, made)
    return (
        f"{window} together; the noise is the paper's printed formula and really gives epsilon "
        f"{round_up(epsilon)} at delta {format_ratio(reduce_ratio(query.delta))}, or delta "
        f"{round_up(delta)} at epsilon {format_ratio(reduce_ratio(query.epsilon))}, at the stated "
        "spread alone and not at longer ones"
    )


def _describe_level(query: Query) -> str:
    """Return what the readings are taken less, where that is no constant that all know."""
    if query.slew is None:
        return ""
    slew = format_ratio(query.slew.as_integer_ratio()) + " K" * bool(query.grid.cell_mm)
    return _LEVEL(slew=slew, n=query.readings)


def compute_true_promise(query: Query, made: Calibration) -> tuple[float, float]:
    """Return the epsilon at the query's delta, and the delta at the epsilon that is promised.

    The printed formula's label is neither; noise that was calibrated gives just what it says.
    """
    num, den = query.epsilon if query.sigma is None else epsilon_of(made)
    asked = num / den
    delta = delta_of_variance(made.sensitivity_squared, made.variance, made.readings, asked)
    return made.epsilon, delta + float(Fraction(*query.delta) - Fraction(*find_exact_delta(query)))

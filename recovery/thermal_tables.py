"""What noise from tables takes of a thermal promise: a hundredth of delta, set aside for it.

A Round may ask devices to draw from tables (`edge.bulk`), whose law is a little off. Devices hold
to how little that is, and to how often, whatever they are asked: all sensors together are within
sensors ROUNDS BEHIND SLACK of exact noise in total variation, for the life of their keys. KEYS of
them are counted, one after the other, for a device that is enrolled again in the middle of a
window. So

    noise is calibrated, and prices are reckoned, for 99/100 of delta;
    the rest must pay for that variation, (1 + exp(epsilon)) times (`recovery.tabled`),

or the query is refused. As the second grows with epsilon, a promise for a longer way, which has
the larger epsilon, ends where the hundredth does: from there on nothing is promised, infinity.
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

from edge.budget import BEHIND
from edge.bulk import BITS, ROUNDS, SLACK
from edge.records import Round
from edge.sampler import Sampler
from edge.veil import NAME, digits

from .ratio import Ratio, lowest
from .sampled import slack
from .tabled import exponential
from .thermal_query import Query

ASIDE = Fraction(1, 100)  # of delta
KEYS = 16  # of a device, in one window
_WIDE = 64  # of epsilon: beyond, one sensor's tables take all of delta, and fractions get long


def exact_delta(query: Query) -> Ratio:
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
    if taken(query, Fraction(*query.epsilon)) > ASIDE * asked:
        raise ValueError(
            f"noise from tables takes {float(taken(query, Fraction(*query.epsilon))):.2g} of "
            f"delta {query.delta[0]}/{query.delta[1]} at epsilon {query.epsilon[0]}/"
            f"{query.epsilon[1]} with {math.prod(query.sensors)} sensors, but {float(ASIDE):g} of "
            "it is set aside for them, and what is promised is kept to the last digit. Ask for "
            'the exact sampler (sampler = "exact"), or for a smaller epsilon'
        )
    return lowest(((1 - ASIDE) * asked).as_integer_ratio())


def priced_delta(round: Round) -> float:
    """Return the delta at which the prices of such Rounds add up to an epsilon."""
    delta = Fraction(*round.guarantee.delta)
    tables = round.mechanism == NAME and digits(round)
    return float((1 - ASIDE) * delta if tables else delta)


def taken(query: Query, epsilon: Fraction, windows: int = 1) -> Fraction:
    """Return what tables take of delta at an epsilon, in so many windows."""
    if epsilon > _WIDE:
        return Fraction(1)
    samples = windows * KEYS * ROUNDS * BEHIND * math.prod(query.sensors)
    return (1 + exponential(epsilon)) * samples * Fraction(*SLACK)


def held(query: Query, epsilon: float, windows: int = 1) -> float:
    """Return an epsilon that was reckoned at `exact_delta`, infinity where delta is not kept.

    Args:
        windows: that it is for, one after the other.
    """
    if query.sampler == "exact" or math.isinf(epsilon):
        return epsilon
    aside = ASIDE * Fraction(*query.delta)
    if taken(query, Fraction(epsilon), windows) > aside:
        return math.inf
    return epsilon


@lru_cache(maxsize=64)
def check_variance(variance: int) -> None:
    """Check that tables of this variance are as near to their law as devices are trusted to be.

    Raises:
        ValueError: there are none, or they are not.
    """
    made: Any = Sampler(variance, 1, BITS)
    found = slack(made)
    if found > Fraction(*SLACK):
        raise ValueError(
            f"tables of variance {variance} are off by {float(found):.3g} a sample but at most "
            f"{SLACK[0]}/{SLACK[1]} is paid for: the promise would not hold. Ask for the exact "
            "sampler"
        )

"""Heatmaps of many devices by a secure sum, analyst half: a pyramid whose gateway sees sums alone.

Guarantee: epsilon, pure, for all reports of one device together. Neighbours: in which of any two
places a device is. Trust: distributed, nobody may see less than the sum over a shard. Unit: the
device's reports, which share epsilon evenly. Not protected: that a device takes part, and when;
how many do.

Source: paper 000 as in `recovery.pyramid`; sums and shares of noise as in paper 001.

Differs from `recovery.pyramid`:
1. All squares of the measured levels come, for a sum is made before anybody looks.
2. Noise is twice as wide, for it hides where somebody is and not only whether somebody is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from edge.core.records import Guarantee, Release, Round
from edge.mechanisms import pyramid, pyramid_sum
from edge.mechanisms.pyramid_sum import LONGEST, Params, count_sums, list_levels, params_of
from edge.mechanisms.pyramid_sum import NAME as NAME

from ..fields import COLLUDERS, DROPOUT, SHARD, check_releases, describe
from ..maps.guarantee import LAST_PLACE, REPORTS, TOGETHER, describe_window
from ..maps.heatmap import Heatmap, Unresolved
from ..maps.sentence import join_sentences
from ..noise import Ratio, epsilon_of_report
from ..noise.sums import NONE_OPENED, REPLACED, check_shards, count_bits, shard_of
from ..noise.sums import promise as _promise
from ..pyramid import recover_checked
from ..pyramid.query import EPSILON_MAX, Levels, compute_weights, estimator_of, levels_of
from ..pyramid.query import Query as Trusted


@dataclass(frozen=True, slots=True)
class Query(Trusted):
    """A map of where devices are, from sums over shards of devices that nobody can see alone.

    Raises:
        ValueError: a field has no meaning, alone or beside the others.
    """

    # Less than a trusted gateway's: a sum of many must fit into 32 bits.
    units: int = field(
        default=16,
        metadata=describe("Parts that one device's mass is divided into.", low=1, high=1 << 20),
    )
    shard: int = field(default=10_000, metadata=SHARD)
    dropout: Ratio = field(default=(0, 1), metadata=DROPOUT)
    colluders: Ratio = field(default=(0, 1), metadata=COLLUDERS)

    def __post_init__(self) -> None:
        Trusted.__post_init__(self)
        if Fraction(*self.epsilon) > EPSILON_MAX:
            raise ValueError(
                f"epsilon is {Fraction(*self.epsilon)} for all reports but must be {EPSILON_MAX} "
                "at most, or nothing is hidden. Correct it."
            )
        check_shards(self)


def choose_levels(query: Query) -> Levels:
    """Return what is measured: the levels of a pyramid with half the epsilon.

    To hide where somebody is takes twice the noise that hides whether somebody is; what is chosen
    by epsilon and users is chosen for that. Of every level all squares are in the sum, and they
    cost nothing: `sparse` alone keeps fewer of them, for its estimate.
    """
    half = _at_half(query)
    found = levels_of(half)
    if estimator_of(half) == "sparse":
        return found
    return found._replace(kept=4 ** (found.first + found.levels - 1))


def _at_half(query: Query) -> Query:
    num, den = (Fraction(*query.epsilon) / 2).as_integer_ratio()
    return replace(query, epsilon=(num, den))


def plan(query: Query, releases: Sequence[Release]) -> Round | None:
    """Return the next Round of whole numbers, None when every device has reported enough.

    In windows of hours that is never: how often to ask follows from the devices' budgets.

    Raises:
        ValueError: nobody knows how many devices there are, or a sum would be too long or wide.
    """
    if len(releases) >= query.readings and not query.window_h:
        return None
    _, first, count = choose_levels(query)
    shard, (num, den) = shard_of(query), epsilon_of_report(query).as_integer_ratio()
    params = Params(
        first,
        1,
        num,
        den,
        shard.shards,
        shard.threshold,
        shard.colluders,
        0,
        query.units,
        query.places or 1,
        compute_weights(count),
    )
    round = Round(len(releases) + 1, NAME, query.grid, _flat(params), promise(query))
    rate_num, rate_den = min(pyramid_sum.list_rates(round), key=lambda rate: rate[0] / rate[1])
    params = params._replace(bits=count_bits(shard, query.units, Fraction(rate_den, rate_num)))
    round = round._replace(params=_flat(params))
    if count_sums(round) > LONGEST:
        raise ValueError(
            f"the measured levels have {count_sums(round)} squares but a sum has at most "
            f'{LONGEST} numbers. Take estimator "auto", which measures fewer levels, or larger '
            "cells."
        )
    return round


def promise(query: Query) -> Guarantee:
    """Return what the Releases of this query promise; true of the numbers really drawn."""
    reports = REPORTS(n=query.readings, s="s" * (query.readings > 1))
    unit = TOGETHER(window=describe_window(query.window_h, reports, "epsilon"))
    promised = _promise(query, epsilon_of_report(query), REPLACED, unit)
    more = LAST_PLACE if query.window_h else ""
    return promised._replace(unprotected=join_sentences((promised.unprotected, more), by=""))


def recover(query: Query, releases: Sequence[Release]) -> Heatmap | Unresolved:
    """Return the map of where devices are, or why there is none.

    Args:
        query: what was planned with.
        releases: of the same query, one a reading; their maps are added up.

    Raises:
        ValueError: there is no release, or one does not belong to the query.
    """
    check_releases(query, releases, plan(query, ()))
    opened = [release for release in releases if release.reports]
    if not opened:
        return Unresolved(query.grid, promise(query), float("inf"), float("inf"), NONE_OPENED)
    made = [to_pyramid_release(query, release) for release in opened]
    return recover_checked(query, made, estimator_of(_at_half(query)))


def to_pyramid_release(query: Query, release: Release) -> Release:
    """Return a Release as that of a pyramid: of what its estimator keeps, the squares' numbers.

    Raises:
        ValueError: it has not a whole number for every square.
    """
    round = release.round
    p, squares = params_of(round), list_levels(round)
    if len(release.values) != sum(map(len, squares)):
        raise ValueError(
            f"round {round.number} released {len(release.values)} values but must release one for "
            f"each of {sum(map(len, squares))} squares. Take it as published."
        )
    params = (p.units, p.points, choose_levels(query).kept, p.first, p.num, p.den, *p.weights)
    made = Round(round.number, pyramid.NAME, round.grid, params, round.guarantee)
    values = iter(release.values)
    found = [{square: next(values) for square in level} for level in squares]
    kept = pyramid.gather_values(made, lambda k, some: [found[k][square] for square in some])
    return Release(made, kept, release.reports)


def _flat(params: Params) -> tuple[int, ...]:
    return (*params[:-1], *params.weights)

"""Round after round: what each may spend, and into which squares it looks.

    v = (b n / L)**2 m / n               variance aimed at in one of S shards, L numbers       (7)
    epsilon = D ln(1 + (1 + sqrt(2 v + 1)) / v)                                                (8)
    last where no square is new, no Round is left, or less than psi epsilon                    (9)
    low = sqrt(2 r) / (1 - r) sqrt(S)    least deviation of a later count, r = e**(-e' / D)    (5)
    split where a count is above k low, and its level is not the deepest                       (6)

e' is what is left after this Round, or its own epsilon where that is more; D is by how much one
device changes all numbers. What was spent is added in exact fractions: the last Round has all the
rest, and all Rounds together have epsilon, neither more nor less.

Source: paper 001, Section 5, Algorithm 2. Its copies have lost these equations; they are rebuilt
from the text, the discrete Laplace law and the authors' public code.

Differs from the paper:
1. (5) has the root of S, for the noise of all shards is in a count.
2. (8) and (5) know of D, and a count of many marks is divided by their scale.
3. Where squares fall back to their parents, none does that was made by the Round before, and no
   parent is split again before its own count was seen. Else the pair takes turns for ever.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from edge.core.records import Guarantee, Release, Round
from edge.mechanisms.quadtree import (
    COUNTS,
    NAME,
    PROPORTIONS,
    STOCHASTIC,
    Params,
    params_of,
    sensitivity,
)

from ..maps.sentence import Wording
from ..noise.sums import REPLACED, count_bits, shard_of
from ..noise.sums import promise as _promise
from .query import KINDS, Query, choose_first_squares, depth_of
from .tree import find_level, find_owners, split_squares

FINE = 1 << 20  # an epsilon is a whole number of so many parts of one, but for the last

_ALL_ROUNDS = Wording(
    "guarantee.rounds", "one device's answers to all rounds of the query together"
)()
_NEIGHBOURS = {
    "zero-out": Wording(
        "guarantee.marks",
        "whether a device's marks are counted or none; that it takes part is known",
    )(),
    "replace-one": REPLACED,
}


class Step(NamedTuple):
    """What the next Round asks."""

    squares: tuple[int, ...]
    epsilon: Fraction
    last: bool


def promise(query: Query, epsilon: Fraction) -> Guarantee:
    """Return what the answers to this query promise; epsilon is one Round's."""
    return _promise(query, epsilon, _NEIGHBOURS[query.adjacency], _ALL_ROUNDS)


def plan(query: Query, releases: Sequence[Release]) -> Round | None:
    """Return the next Round, None when all of epsilon is spent.

    Raises:
        ValueError: the releases are of another query.
    """
    if _sum_spent(releases) >= Fraction(*query.epsilon):
        return None
    one = query_one_map(query)
    step = choose_next_step(one, group_by_map(query, releases)[-1]) or choose_next_step(one, ())
    if step is None:
        return None
    params = _make_params(query, step)
    return Round(len(releases) + 1, NAME, query.grid, _flat(params), promise(query, step.epsilon))


def query_one_map(query: Query) -> Query:
    """Return the query of one of its maps, which share epsilon evenly."""
    epsilon = Fraction(*query.epsilon) / query.readings
    return replace(query, epsilon=epsilon.as_integer_ratio(), readings=1)


def group_by_map(query: Query, releases: Sequence[Release]) -> list[list[Release]]:
    """Return the releases of each map: the next one begins when one's epsilon is spent."""
    whole, several = Fraction(*query.epsilon) / query.readings, [list[Release]()]
    for release in releases:
        if _sum_spent(several[-1]) >= whole:
            several.append([])
        several[-1].append(release)
    return several


def choose_next_step(query: Query, releases: Sequence[Release]) -> Step | None:
    """Return what the next Round of one map asks, None when there is none.

    A Round of which no sum was opened has cost its epsilon. Its squares are asked again, with what
    is left.
    """
    left = Fraction(*query.epsilon) - _sum_spent(releases)
    if not releases:
        squares = choose_first_squares(query)
        return _plan_step(query, squares, left, _bound_rounds(query) == 1)
    _check(query, releases)
    if left <= 0:
        return None
    before = params_of(releases[-1].round).squares
    squares = grow_squares(query, releases) if releases[-1].reports else before
    grows = squares != before or not releases[-1].reports
    last = not grows or len(releases) + 1 >= _bound_rounds(query)
    return _plan_step(query, squares, left, last)


def _sum_spent(releases: Sequence[Release]) -> Fraction:
    return sum((epsilon_of(release.round) for release in releases), Fraction(0))


def _plan_step(query: Query, squares: tuple[int, ...], left: Fraction, last: bool) -> Step:
    wanted = choose_epsilon(query, squares)
    if last or left < query.reserve * wanted:
        return Step(squares, left, True)
    return Step(squares, Fraction(max(1, math.floor(wanted * FINE)), FINE), False)


def choose_epsilon(query: Query, squares: Sequence[int]) -> float:
    """Return the epsilon whose noise is as wide as equation 7 says, by equation 8."""
    unit = _make_params(query, Step(tuple(squares), Fraction(1), False))
    shards = unit.shards
    numbers = len(squares) * (2 if unit.kind == PROPORTIONS else 1)
    width = query.aim * query.users / numbers / math.sqrt(shards) * unit.scale
    v = max(width * width, 1e-12)
    return sensitivity(unit) * math.log1p((1 + math.sqrt(2 * v + 1)) / v)


def grow_squares(query: Query, releases: Sequence[Release]) -> tuple[int, ...]:
    """Return the squares of the Round after these releases, by equations 5 and 6."""
    left = Fraction(*query.epsilon) - _sum_spent(releases)
    releases = [release for release in releases if release.reports]
    last = releases[-1]
    params = params_of(last.round)
    squares = np.array(params.squares, dtype=np.int64)
    low = predict_deviation(params, max(left, epsilon_of(last.round)), params.shards)
    counts = np.array(last.values, dtype=np.float64) / params.scale
    # Of two counts the smaller decides: a share is known by both.
    least = counts.reshape(-1, 2).min(axis=1) if params.kind == PROPORTIONS else counts
    deep = find_level(squares)
    full = (least > query.threshold * low) & (deep < depth_of(query))
    found = {*params.squares, *split_squares(squares[full].tolist())}
    if query.collapse and len(releases) > 1:
        known = set(params_of(releases[-2].round).squares)
        empty = (least <= query.collapse * low) & (deep > 1) & ~full
        back = {square for square in squares[empty].tolist() if square in known}
        found = (found - back) | {square >> 2 for square in back}
    return find_owners(found, query.grid.shape)


def predict_deviation(params: Params, epsilon: Fraction, shards: float) -> float:
    """Return the standard deviation of a number's noise at an epsilon, in devices.

    Args:
        shards: how many whole noises are in it: reports over those who share one.
    """
    step = float(epsilon) / sensitivity(params)
    return math.sqrt(2 * shards) * math.exp(-step / 2) / -math.expm1(-step) / params.scale


def epsilon_of(round: Round) -> Fraction:
    """Return the epsilon that one Round costs."""
    return Fraction(round.params[2], round.params[3])


def _bound_rounds(query: Query) -> int:
    return query.rounds or max(1, depth_of(query))


def _make_params(query: Query, step: Step) -> Params:
    """Return the params of a Round; what they promise is a fact about these whole numbers."""
    shard = shard_of(query)
    kind = KINDS.index(query.kind)
    single = kind in (COUNTS, PROPORTIONS)
    num, den = step.epsilon.as_integer_ratio()
    made = Params(
        kind,
        int(query.adjacency == "replace-one"),
        num,
        den,
        shard.shards,
        shard.threshold,
        shard.colluders,
        0,
        1 if single else query.scale,
        1 if single else query.places,
        step.squares,
    )
    most = made.scale + (kind == STOCHASTIC)
    return made._replace(bits=count_bits(shard, most, Fraction(sensitivity(made) * den, num)))


def _flat(params: Params) -> tuple[int, ...]:
    return (*params[:-1], *params.squares)


def _check(query: Query, releases: Sequence[Release]) -> None:
    """Refuse releases that are of another query.

    Raises:
        ValueError: they are.
    """
    for number, release in enumerate(releases, 1):
        round = release.round
        made = params_of(round)
        meant = _make_params(query, Step(made.squares, epsilon_of(round), False))
        size = len(made.squares) * (2 if made.kind == PROPORTIONS else 1)
        if (
            round.mechanism != NAME
            or made != meant
            or round.grid != query.grid
            or (len(release.values) != size and release.reports)
        ):
            raise ValueError(
                f"release {number} is of round {round.number}, which is not this query's: its "
                "noise and squares are others, and the map would be wrong. Give the releases of "
                "the query that they were planned with."
            )

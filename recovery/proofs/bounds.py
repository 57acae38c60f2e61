"""How far the least heat can lie from the truth, said before any reading: Theorem 9, in numbers.

The paper bounds the error by unnamed constants. Here every sum is taken as it is, over the
sensors, cells and sources at hand, so that what comes out is a length. For one source it says
something at the noise of everyday promises; for more, only where they stand many sqrt(T) apart.
A bound that is the whole length is labelled vacuous.

Differs from the paper:
1. The sums over sensors are weighted together by Cauchy and Schwarz, instead of each by the
   largest weight (its C_2, which is also printed without a factor 1 / sqrt(T)).
2. Each source's weights are scaled to one at the source, so that the sensors need not stand
   alike about every source, as "by the uniformity of the sensor locations" asks.
3. What the bound leaves unassigned is at most B / k of the shares, for the least heat has no
   more in all than the truth; so no quotient 1 / (1 - C) is left.
4. The last step looks at every cell, as a linear program over them, instead of one constant
   within sqrt(T / 2) of a source and another beyond (C_5 and C_3). `printed` has those.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincinv

from physics.kernel import forward, heat_kernel, sensitivity

from ..noise.gaussian import gaussian_sigma, paper_sigma

# The steps of Theorem 9's proof: what each sensor weighs, and how far heat can then lie.
#
# Weigh the readings so that heat at a source weighs most. Least heat that weighs nearly as much
# as the truth then lies nearly where the truth does.

Floats = NDArray[np.float64]


def find_weights(sensors: Floats, source: float, spread: float) -> Floats | None:
    """Return what each sensor within sqrt(T / 2) of the source counts, or None if none can.

    They are paired, the farthest on the left with the nearest on the right, and each counts
    as much as the reading of the other changes with the source's place: so the weighted
    reading is greatest for heat at the source itself. Source: Lemma 14, W_ij.
    """
    reach = math.sqrt(spread / 2)
    order = np.argsort(sensors)
    away = sensors[order] - source
    left, right = order[(away < 0) & (away >= -reach)], order[(away > 0) & (away <= reach)]
    pairs = min(len(left), len(right))
    if not pairs:
        return None
    left, right = left[-pairs:], right[:pairs]
    weights = np.zeros(len(sensors))
    slope = np.abs(sensors - source) * heat_kernel(sensors - source, spread) / (2 * spread)
    weights[left], weights[right] = slope[right], slope[left]
    return weights


def find_farthest(budget: float, missing: Floats, away: Floats) -> float:
    """Return the largest mean of `away` over shares of cells whose mean of `missing` fits.

    Its dual has one price: the least over price of price budget + max (away - price missing).
    """
    low, high = 0.0, float((away[away > 0] / missing[away > 0]).max(initial=0.0))

    def dual(price: float) -> float:
        return price * budget + float((away - price * missing).max())

    for _ in range(200):  # a convex function of one number, by thirds
        third = (high - low) / 3
        if dual(low + third) <= dual(high - third):
            high -= third
        else:
            low += third
    return dual((low + high) / 2)


def inequality_2(
    excess: float,
    missing: Floats,
    away: Floats,
    near: NDArray[np.bool_],
    count: int,
    length: float,
) -> float:
    """Return the paper's inequality (2), its constants in the unit where C_4 is one."""
    if excess >= 1:
        return length
    inner = near & (away > 0)
    curve = float((missing[inner] / away[inner] ** 2).min(initial=math.inf))
    beyond = float(missing[~near].min(initial=math.inf))
    kept = 1 - excess
    within = math.sqrt(excess / curve) / (count * kept)
    return within + length * (count * excess / kept + min(1.0, excess / beyond) / (count * kept))


@dataclass(frozen=True, slots=True)
class UpperBound:
    """A length that the error does not exceed if the truth explains the readings.

    Args:
        distance: the bound, in the unit of the places; never more than the whole length.
        printed: the same by the paper's last inequality, (2), with its constants put right.
        vacuous: the bound is the whole length, which needs no theorem.
        why: what makes it vacuous, in words; "" where it is not.
    """

    distance: float
    printed: float
    vacuous: bool
    why: str


def theorem_9(
    cells: ArrayLike, sensors: ArrayLike, spread: float, radius: float, sources: ArrayLike
) -> UpperBound:
    """Return how far the least heat can lie from unit sources at these places.

    The distance is the earth mover's between the two, each divided by its sum. It holds for
    every heat that has no more in all than the truth and comes within the radius of the
    readings, when the truth does too: that is the caller's to make likely.

    Args:
        cells: where heat may be, (cells,), on an open line.
        sensors: where it is read, (sensors,).
        spread: T, diffusivity times time, in the square of the unit of the places.
        radius: ||A f - y|| allowed, for both.
        sources: x_1..x_k, where the unit sources stand, all different.

    Raises:
        ValueError: a number is not finite or positive, or a source stands outside of the cells
            or where another does.

    Source: Gilbert and McMillan 2017, Theorem 9 and Appendix C.
    """
    places, read, at = _check(cells, sensors, spread, radius, sources)
    length, count = float(np.ptp(places)), len(at)
    owner = np.abs(places[:, None] - at).argmin(axis=1)
    weights = np.zeros(len(read))
    missing, away = np.zeros(len(places)), np.zeros(len(places))
    near = np.abs(places - at[owner]) < math.sqrt(spread / 2)
    tail = 0.0
    for index, source in enumerate(at):
        mine = owner == index
        weighing = find_weights(read, source, spread)
        if weighing is None:
            return _make_vacuous(length, f"the source at {source:g} has no sensor on one side")
        seen = heat_kernel(places[:, None] - read, spread) @ weighing
        top = float(weighing @ heat_kernel(read - source, spread))
        weights += weighing / top
        missing[mine] = 1 - seen[mine] / top
        away[mine] = np.abs(places[mine] - source)
        if count > 1:
            others = heat_kernel(places[~mine, None] - read, spread).max(axis=0)
            tail += count * float(others @ weighing) / top
    if missing[away > 0].min(initial=1.0) <= 0:
        return _make_vacuous(length, "a cell weighs as much as the source beside it")
    excess = 2 * radius * float(np.linalg.norm(weights)) + tail
    printed = inequality_2(excess, missing, away, near, count, length)
    if excess >= count:
        return _make_vacuous(length, _explain_vacuous(excess - tail, tail, count))
    distance = find_farthest(excess / count, missing, away)
    distance += (count > 1) * length * excess / count
    if distance >= length:
        return _make_vacuous(length, _explain_vacuous(excess - tail, tail, count))
    return UpperBound(distance, min(printed, length), False, "")


def corollary_10(
    cells: ArrayLike,
    sensors: ArrayLike,
    spread: float,
    sources: ArrayLike,
    epsilon: float,
    delta: float,
    failure: float = 0.05,
    printed_noise: bool = False,
) -> UpperBound:
    """Return Theorem 9 at the noise that hides a move to the next cell.

    Args:
        cells, sensors, spread, sources: as for `theorem_9`.
        epsilon, delta: the promise, for a unit source.
        failure: chance that the truth does not explain the readings, and the bound fails.
        printed_noise: the deviation of the paper's Lemma 3, instead of the least private one.

    Raises:
        ValueError: as for `theorem_9`, or no such promise or chance.

    Source: Gilbert and McMillan 2017, Corollary 10, with the exact radius instead of Lemma 7's.
    """
    if not 0 < failure < 1:
        raise ValueError(
            f"failure is {failure:g} but must be between 0 and 1: it is the chance that the "
            "noise exceeds the radius. Write 0.05 for one in twenty."
        )
    moved = sensitivity(forward(cells, sensors, spread))
    sigma = (paper_sigma if printed_noise else gaussian_sigma)(epsilon, delta, moved)
    radius = sigma * math.sqrt(2 * gammaincinv(len(np.atleast_1d(sensors)) / 2, 1 - failure))
    return theorem_9(cells, sensors, spread, radius, sources)


def _make_vacuous(length: float, why: str) -> UpperBound:
    return UpperBound(length, length, True, why)


def _explain_vacuous(noise: float, tail: float, count: int) -> str:
    """Say which of the two parts of B is too much."""
    if tail >= noise:
        return f"the other sources are too near: they weigh {tail:.2g} where {count} is all"
    return f"the noise is too much: it weighs {noise:.2g} where {count} is all"


def _check(
    cells: ArrayLike, sensors: ArrayLike, spread: float, radius: float, sources: ArrayLike
) -> tuple[Floats, Floats, Floats]:
    places, read, at = (np.atleast_1d(np.asarray(x, float)) for x in (cells, sensors, sources))
    for name, given in (("cells", places), ("sensors", read), ("sources", at)):
        if given.ndim != 1 or not given.size or not np.isfinite(given).all():
            raise ValueError(
                f"{name} has shape {given.shape} or a place that is not finite but must be a "
                "list of places along a line: the theorem knows no other. Leave out what "
                "has no place."
            )
    if not (0 < spread < math.inf and 0 <= radius < math.inf):
        raise ValueError(
            f"spread is {spread:g} and radius {radius:g} but must be positive and at least 0: "
            "they say how blurred the readings are. Check where they were computed."
        )
    if at.min() < places.min() or at.max() > places.max():
        raise ValueError(
            f"the sources are at {at.tolist()} but must be between the cells, which go from "
            f"{places.min():g} to {places.max():g}: no heat could explain one elsewhere, and the "
            "bound would say nothing. Move them, or extend the cells."
        )
    if len(np.unique(at)) < len(at):
        raise ValueError(
            f"the sources are at {at.tolist()} but must all differ: the theorem gives each its "
            "own cells around it. Leave one of the two out."
        )
    return places, read, at

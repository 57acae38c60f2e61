"""Sources that give off heat at a constant rate: a person at a desk, a radiator that is on.

What they leave is the kernel added up over the ages of their heat. Without walls it has a closed
form; between walls the heat that is young is added up from mirror images, and the rest mode by
mode: a mode of rate q has (exp(-q s1) - exp(-q s2)) / q of it, and the mean between insulated
walls, which never fades, grows with time for ever.
"""

import itertools
import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfc, erfcx, exp1, k0

from ..kernel import Lengths, room
from ..places import Floats
from .modes import NEGLIGIBLE
from .robin import SWITCH, Between, axis_modes, forward_between

# What a point that has given off heat at a constant rate leaves at a distance, without walls.
#
#     U(r, s) = integral over s' from 0 to s of (4 pi s')**(-d/2) exp(-r**2 / 4 s' - c s') ds'
#
# with d axes, s the spread since it began, and c the loss over the diffusivity, in 1/m2. Divided
# by the diffusivity it is kelvin per K m**d a second.
#
# Source: Carslaw and Jaeger 1959, Sections 10.2 and 10.4; Hantush and Jacob 1955 for the plane
# that loses heat, whose integral is the well function of a leaky aquifer.

# Below it eleven terms of the loss's own series are exact, above it the closed forms are.
_SLIGHT = 0.1
_TERMS = 12
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_PANELS = 4
# exp(-40) is lost beside one.
_NEGLIGIBLE = 40.0


def emitted(distance_m: Floats, spread_m2: float, axes: int, loss_per_m2: float = 0.0) -> Floats:
    """Return U, in m**(2 - axes), at distances of any shape.

    Args:
        distance_m: r, positive; along a line 0 too.
        spread_m2: s, positive: diffusivity times the time since the source began.
        axes: d, 1 to 3.
        loss_per_m2: c, the rate of loss over the diffusivity, 0 or more.

    >>> emitted(np.array([0.0, 1.0]), 0.25, 1).round(4).tolist()
    [0.2821, 0.0251]
    """
    with np.errstate(under="ignore"):
        if loss_per_m2 * spread_m2 <= _SLIGHT:
            return _slight(distance_m, spread_m2, axes, loss_per_m2)
        if axes == 2:
            return _plane(distance_m, spread_m2, loss_per_m2)
        kappa, swept = math.sqrt(loss_per_m2), math.sqrt(loss_per_m2 * spread_m2)
        way = distance_m / (2 * math.sqrt(spread_m2))
        gone = np.exp(-kappa * distance_m) * erfc(way - swept)
        back = np.exp(-np.square(way) - swept**2) * erfcx(way + swept)
        if axes == 1:
            return np.asarray((gone - back) / (4 * kappa))
        return np.asarray((gone + back) / (8 * math.pi * distance_m))


def _slight(distance: Floats, spread: float, axes: int, loss: float) -> Floats:
    """Add the powers of the loss: I(p) = integral of s'**p exp(-r**2 / 4 s'), p = k - d/2.

    By parts, (p + 1) I(p) = s**(p + 1) exp(-r**2 / 4 s) - r**2 / 4 I(p - 1).
    """
    quarter = np.square(distance) / 4
    way, fallen = distance / (2 * math.sqrt(spread)), np.exp(-quarter / spread)
    if axes == 1:
        integral = 2 * math.sqrt(spread) * fallen - math.sqrt(math.pi) * distance * erfc(way)
    elif axes == 2:
        integral = exp1(np.square(way))
    else:
        integral = 2 * math.sqrt(math.pi) * erfc(way) / distance
    total, factor = integral, 1.0
    for power in range(1, _TERMS if loss else 1):
        above = power - axes / 2 + 1
        integral = (spread**above * fallen - quarter * integral) / above
        factor *= -loss / power
        total = total + factor * integral
    return np.asarray(total / (4 * math.pi) ** (axes / 2))


def _plane(distance: Floats, spread: float, loss: float) -> Floats:
    """Return W(r**2 / 4 s, r sqrt(c)) / 4 pi, W the well function of a leaky aquifer.

    With b = r sqrt(c), W is the integral of exp(-b cosh v) from v0 = log(r / 2 s sqrt(c)) on. The
    whole of it is 2 K0(b), and it is even in v: so only what lies beyond |v0| is summed.
    """
    b = distance * math.sqrt(loss)
    first = np.log(distance / (2 * spread * math.sqrt(loss)))
    start = np.abs(first)
    last = np.arccosh(np.cosh(start) + _NEGLIGIBLE / b)
    # Far out v is as wide as the logarithm of b: the panels are as many as that needs.
    half = (last - start) / (2 * _PANELS)
    total = np.zeros_like(b)
    for panel in range(_PANELS):
        middle = start + (2 * panel + 1) * half
        for node, weight in zip(_NODES.tolist(), _WEIGHTS.tolist(), strict=True):
            total += weight * np.exp(-b * np.cosh(middle + half * node))
    total *= half
    return np.asarray(np.where(first >= 0, total, 2 * k0(b) - total) / (4 * math.pi))


# What heat leaves that was given off lately, added up over its ages.
#
# It has not met both walls of any axis yet, so three images of each source are enough; or it is
# added up from the kernel itself, at ages that lie evenly on a logarithmic scale.

# exp(x) times exp(-exp(x)) over a stretch of one: sixteen nodes are exact to rounding.
_AGES, _AGE_WEIGHTS = np.polynomial.legendre.leggauss(16)


def young_from_images(
    sources: Floats, sensors: Floats, last: float, loss: float, walls: str, lengths: Floats
) -> Floats:
    """Return the integral of K exp(-loss s) over the spreads s from 0 to `last`.

    Args:
        sources, sensors: (places, axes).
        last: at most `robin.SWITCH` times the square of the shortest axis, or no walls.
        walls: "none", "insulated" or "cold".
    """
    total = np.zeros((len(sensors), len(sources)))
    sign = -1.0 if walls == "cold" else 1.0
    # The source, and its image in the near wall and in the far one.
    images = ((1, 0), (-1, 0), (-1, 2)) if walls != "none" else ((1, 0),)
    for turned in itertools.product(images, repeat=len(lengths)):
        squares = np.zeros_like(total)
        for axis, (mirror, shift) in enumerate(turned):
            image = mirror * sources[:, axis] + shift * lengths[axis]
            squares += np.square(sensors[:, axis, None] - image)
        mirrors = sum(mirror < 0 for mirror, _ in turned)
        total += sign**mirrors * emitted(np.sqrt(squares), last, len(lengths), loss)
    return total


def young_from_kernels(
    sources: Floats,
    sensors: Floats,
    first: float,
    last: float,
    walls: Between,
    lengths: tuple[float, ...],
    origin: float,
    loss: float,
) -> Floats:
    """Return the integral of K exp(-loss (s - origin)) over s from `first`, positive, to `last`.

    By Gauss and Legendre on stretches of log s no longer than one.
    """
    total = np.zeros((len(sensors), len(sources)))
    low, high = math.log(first), math.log(last)
    ends = np.linspace(low, high, 1 + max(1, math.ceil(high - low)))
    for start, end in itertools.pairwise(ends.tolist()):
        half = (end - start) / 2
        for node, weight in zip(_AGES.tolist(), _AGE_WEIGHTS.tolist(), strict=True):
            spread = math.exp(start + half * (1 + node))
            share = weight * half * spread * math.exp(-loss * (spread - origin))
            total += share * forward_between(sources, sensors, spread, walls, lengths)
    return total


_BLOCK = 2048  # modes at a time, so that they stay in a processor's memory
_MOST = 50_000  # modes that cost no more than the kernel at some hundred ages


def forward_continuous(
    sources_m: ArrayLike,
    sensors_m: ArrayLike,
    diffusivity_m2_per_s: float,
    duration_s: float,
    walls: Between = "none",
    length_m: Lengths = 1.0,
    *,
    off_s: float = 0.0,
    source_sd_m: float = 0.0,
    loss_per_s: float = 0.0,
) -> Floats:
    """Return A, (sensors, sources), with readings = A @ rates, for sources that have been on.

    Args:
        sources_m, sensors_m, length_m: as for `physics.kernel.forward`.
        diffusivity_m2_per_s: positive.
        duration_s: how long the sources were on, positive.
        walls: by name, or by what they lose, as for `physics.kernels.robin.forward_between`.
        off_s: for how long they have been off since.
        source_sd_m: the standard deviation of every source along each axis; 0 for points.
        loss_per_s: what ventilation takes away, 0 or more: `physics.air.loss_per_s`.

    Returns:
        Kelvin for one unit of heat a second: with `physics.air.warmth` of the watts, in K m a
        second along a line, K m2 in a plan, K m3 in a room.

    Raises:
        ValueError: numbers out of range; in a plane or a room, a sensor at a point that is still
            on, where it is infinitely warm; and as `physics.kernels.robin.forward_between`.

    >>> forward_continuous([0.0], [0.0, 1.0], 0.25, 1.0).round(4)[:, 0].tolist()
    [1.1284, 0.1005]
    >>> float(forward_continuous([0.5], [0.5], 1.0, 9.0, "insulated")[0, 0].round(4))
    9.0833
    """
    check(diffusivity_m2_per_s, off_s, source_sd_m, loss_per_s)
    if not 0 < duration_s < math.inf:
        raise ValueError(
            f"duration_s is {duration_s:g} but must be positive and finite: a source that was "
            "never on warms nothing, and one that always was may warm without end. Give seconds."
        )
    sources, sensors, lengths = room(sources_m, sensors_m, length_m)
    origin = source_sd_m**2 / 2
    first = origin + diffusivity_m2_per_s * off_s
    last = first + diffusivity_m2_per_s * duration_s
    loss = loss_per_s / diffusivity_m2_per_s
    # One row and one column refuse what cannot be a place in the room.
    forward_between(sources, sensors[:1], last, walls, tuple(lengths.tolist()))
    forward_between(sources[:1], sensors, last, walls, tuple(lengths.tolist()))
    named = isinstance(walls, str)
    change = last
    if not (named and walls == "none"):
        change = min(last, max(first, SWITCH * float(lengths.min()) ** 2))
        # The modes of heat that has spread a little already are many, but quick to add up.
        if first > 0 and np.prod(1 + np.sqrt(NEGLIGIBLE / first) * lengths / math.pi) < _MOST:
            change = first
    total = np.zeros((len(sensors), len(sources)))
    if first == 0:
        for source in sources:
            refuse_touching(source, sensors)
        if named:
            total += young_from_images(sources, sensors, change, loss, str(walls), lengths)
        else:
            # Heat so young has not come anywhere, or along a line is too little to be felt.
            nearest = _nearest(sources, sensors)
            first = min(change, nearest**2 / 200 if nearest else 1e-28 * last)
    if first > 0 and change > first:
        given = (sources, sensors, first, change, walls, tuple(lengths.tolist()))
        total += young_from_kernels(*given, origin, loss)
    if last > change:
        total += _old(sources, sensors, change, last, walls, lengths, origin, loss)
    return np.maximum(total / diffusivity_m2_per_s, 0.0)


def check(diffusivity: float, off_s: float, source_sd_m: float, loss_per_s: float) -> None:
    """Refuse numbers that no source can have.

    Raises:
        ValueError: one of them is out of range.
    """
    for name, value, least in (
        ("diffusivity_m2_per_s", diffusivity, 5e-324),
        ("off_s", off_s, 0.0),
        ("source_sd_m", source_sd_m, 0.0),
        ("loss_per_s", loss_per_s, 0.0),
    ):
        if not least <= value < math.inf:
            raise ValueError(
                f"{name} is {value:g} but must be {'0 or more' if least == 0 else 'positive'} "
                "and finite, or the heat would come from nowhere. Give SI units."
            )


def refuse_touching(source: Floats, sensors: Floats) -> None:
    """Refuse a sensor where a point, (axes,), is on.

    Raises:
        ValueError: there is one, and two axes or more.
    """
    touching = np.flatnonzero((sensors == source).all(axis=1))
    if len(touching) and len(source) > 1:
        raise ValueError(
            f"sensors_m[{touching[0]}] is at {source}, where a point is on, but must be away from "
            f"it: with {len(source)} axes a point is infinitely warm. Give the source its size, "
            "as source_sd_m=0.15 for a person."
        )


def _nearest(sources: Floats, sensors: Floats) -> float:
    """Return the shortest way from a source to a sensor."""
    squares = np.zeros((len(sensors), len(sources)))
    for here, there in zip(sensors.T, sources.T, strict=True):
        squares += np.square(here[:, None] - there)
    return math.sqrt(float(np.min(squares, initial=math.inf)))


def _old(
    sources: Floats,
    sensors: Floats,
    first: float,
    last: float,
    walls: Between,
    lengths: Floats,
    origin: float,
    loss: float,
) -> Floats:
    """Return what is left of heat that has spread from `first` to `last`, mode by mode."""
    axes = axis_modes(sources, sensors, first, walls, lengths)
    rates = np.square(axes[0].rates)
    for axis in axes[1:]:
        rates = rates[..., None] + np.square(axis.rates)
    kept = np.nonzero((rates - rates.min()) * first <= NEGLIGIBLE)
    quick = rates[kept] + loss
    span = last - first
    grown = -np.expm1(-quick * span) / np.where(quick == 0, 1.0, quick)
    weights = np.where(quick == 0, span, grown) * np.exp(-quick * first + loss * origin)
    total = np.zeros((len(sensors), len(sources)))
    for start in range(0, len(quick), _BLOCK):
        block = slice(start, start + _BLOCK)
        here = np.repeat(weights[block, None], len(sensors), axis=1)
        there = np.ones((len(here), len(sources)))
        for axis, index in zip(axes, kept, strict=True):
            here *= axis.at_sensors[index[block]]
            there *= axis.at_sources[index[block]]
        total += here.T @ there
    return total

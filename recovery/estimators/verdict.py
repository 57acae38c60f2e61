"""Whether readings can be at all, and which sensors are at odds with all the others.

Heat that has spread tells a handful of combinations of the readings. In all the others there is
noise alone, whose law is known exactly, for it is the veil's own. A sensor that shows more there
than noise does is broken or read wrongly; when all of them do there is more noise than stated.

    z_i = (P y)_i / (sigma sqrt(P_ii)),   P = I - U U'

U spans what heat can do to the readings, at the stated spread and at others near it, between
other walls, from a little outside, and what a level or a slope of the whole room adds.

Limits: in the handful of combinations that heat moves nothing is tested here, and a scene that
the prior allows comes near almost any five numbers: a wrong spread, walls, or heat from outside
are not seen this way.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import scipy  # its parts are loaded when they are used

from ..kernels.active_set import CLOSE
from ..maps.heatmap import Verdict
from ..maps.sentence import Wording, join_sentences
from ..sparse import find_misfit, minimise_l1
from .convex import compute_chi_radius
from .record import Floats, Room, Seen

# The chance that a test alarms though all is as stated. There are five: of each sensor, of their
# sum, of readings at the clamp, of all heat that the query allows, and of other worlds.
FALSE_ALARMS = 0.002
# By this ratio of evidence the readings speak for other worlds: by Markov's inequality it is
# reached in one of so many readings of the stated one, at the most.
ODDS = 1 / FALSE_ALARMS
# Readings that lie farther from all heat than noise takes one in so many are of another world.
FAR = 1e-6
# At most so many sensors are left out; when more are at odds the room is not as stated.
DROPPED_MAX = 10
# What any place may leave outside of U, in deviations, for one source.
_LEAK = 0.03
# So many places, at the most, stand for all cells of a spread.
_PLACES = 120
# What is known of other operators than a kernel's is worth so much less.
_CAUTIOUS = 2.0


def judge(seen: Seen, names: Sequence[int] | None = None) -> tuple[Seen, Verdict]:
    """Return the readings without the sensors that are at odds with the others, and which.

    Where the noise of all of them is larger than stated, the readings come back with as much
    noise as there is.

    Args:
        names: what the verdict calls the sensors of the rows; without, their numbers from 0.

    >>> calm, loud = np.zeros(30), np.eye(30)[3] * 9.0
    >>> seen = Seen(np.ones((30, 2)), calm, 1.0, np.array([[0.0], [1.0]]), (1, 2))
    >>> judge(seen)[1].level, judge(replace(seen, readings=loud))[1].dropped[0][0]
    ('fits', 3)
    """
    sensors = len(seen.readings)
    basis = find_heat_directions(seen.make_room(), seen.sigma)
    dof = sensors - basis.shape[1]
    # Of two combinations left, no sensor could be told from another.
    if dof < 3:
        return _drop_misfit(seen, names)
    least = basis.shape[1] + 3
    caution = 1.0 if seen.near is not None else _CAUTIOUS
    threshold = caution * -scipy.special.ndtri(FALSE_ALARMS / sensors / 2)
    readings = seen.readings / seen.sigma
    kept, dropped = np.arange(sensors), list[tuple[int, float]]()
    while True:
        spanned, _ = np.linalg.qr(basis[kept])
        silent = readings[kept] - spanned @ (spanned.T @ readings[kept])
        free = 1 - np.square(spanned).sum(axis=1)
        # A sensor that alone tells something is compared with none.
        z = np.where(free > 1e-6, silent / np.sqrt(np.maximum(free, 1e-6)), 0.0)
        worst = int(np.argmax(np.abs(z)))
        if not abs(z[worst]) > threshold:
            break
        if len(dropped) == DROPPED_MAX or len(kept) <= least:
            most = float(f"{abs(dropped[0][1] if dropped else z[worst]):.3g}")
            return seen, Verdict(
                "assumptions",
                _TOO_FEW(most=most) if len(kept) <= least else _AT_ODDS(n=DROPPED_MAX, most=most),
            )
        row = kept[worst]
        dropped.append((int(row if names is None else names[row]), float(z[worst])))
        kept = np.delete(kept, worst)
    if dropped:
        seen = seen.select_sensors(kept)
    square, freedom = float(silent @ silent), len(kept) - basis.shape[1]
    verdict = Verdict("fits")
    if dropped:
        verdict = Verdict("sensors", describe_dropped(dropped), tuple(dropped))
    if seen.near is None or square <= scipy.special.chdtri(freedom, FALSE_ALARMS):
        return seen, verdict
    times = math.sqrt(square / freedom)
    why = join_sentences((verdict.why, _SCATTER(times=float(f"{times:.2g}"))))
    return replace(seen, sigma=seen.sigma * times), replace(verdict, level="sensors", why=why)


def _drop_misfit(seen: Seen, names: Sequence[int] | None) -> tuple[Seen, Verdict]:
    """Return the readings without the one sensor that no heat explains, where the rest is fine.

    Where someone beside any sensor would warm that one alone, nothing else tells that it lies.
    """
    if measure_misfit(seen) is None:
        return seen, Verdict("fits")
    every = np.arange(len(seen.readings))
    rest = [seen.select_sensors(np.delete(every, row)) for row in every] if len(every) > 1 else []
    good = [row for row, one in zip(every, rest, strict=False) if measure_misfit(one) is None]
    if len(good) != 1:
        return seen, Verdict("fits")
    row, kept = int(good[0]), rest[good[0]]
    radius = kept.sigma * compute_chi_radius(len(kept.readings), FAR)
    wide = seen.stack_times()
    heat = minimise_l1(
        wide.select_sensors(np.delete(every, row)).operator,
        kept.readings,
        radius,
        _bound_heat(wide),
    )
    off = float(seen.readings[row] - wide.operator[row] @ heat.heat) / seen.sigma
    dropped = ((row if names is None else names[row], off),)
    return kept, Verdict("sensors", describe_dropped(dropped), dropped)


def join_verdicts(verdict: Verdict, other: Verdict | None) -> Verdict:
    """Return what both say, at the level of the graver; of two that are alike, of the other."""
    if other is None or other.fits:
        return verdict
    why = join_sentences((verdict.why, other.why))
    graver = verdict.contradicts or (other.level == "weak" and not verdict.fits)
    level = verdict.level if graver else other.level
    return replace(verdict, level=level, why=why)


def describe_dropped(dropped: Sequence[tuple[int, float]]) -> str:
    """Return which sensors are left out and why, in words.

    >>> describe_dropped([(17, 20.13), (3, -8.0)])
    'sensors 17 (+20.1), 3 (-8.0) are at odds with the others by so many deviations of the noise, \
and are left out'
    """
    listed = ", ".join(f"{sensor} ({z:+.1f})" for sensor, z in dropped)
    some, verb = ("sensors", "are") if len(dropped) > 1 else ("sensor", "is")
    return _LEFT_OUT(some=some, sensors=listed, verb=verb)


_LEFT_OUT = Wording(
    "verdict.sensors",
    "{some} {sensors} {verb} at odds with the others by so many deviations of the noise, and "
    "{verb} left out",
)


def find_heat_directions(room: Room, sigma: float) -> Floats:
    """Return U, (sensors, r): all that heat, level and slope can do to readings of such noise."""
    left, beyond = decompose(room)
    return left[:, : int((beyond > (_LEAK * sigma) ** 2).sum())]


@lru_cache(maxsize=2)
def decompose(room: Room) -> tuple[Floats, Floats]:
    """Return directions of the readings, (sensors, r), and how much any heat leaves beyond each.

    That is in squared kelvin, and of what is left without that direction and all after it.
    """
    seen = room.seen
    cells = np.arange(seen.operator.shape[1])
    few = cells if len(cells) <= _PLACES else np.linspace(0, cells[-1], _PLACES).astype(np.int64)
    near = seen.near
    others = (
        np.ones((len(seen.operator), 1)) if near is None else near.make_columns(seen.places[few])
    )
    longer = () if seen.others is None else seen.others[:, :, few]
    made = np.hstack([seen.operator[:, few], *longer, others]) * seen.prior.warmest
    made = made[:, np.any(made, axis=0)]
    if not made.size:
        return np.zeros((len(seen.operator), 0)), np.zeros(0)
    left, values, right = np.linalg.svd(made, full_matrices=False)
    # What each column leaves outside of the first r directions, for every r.
    outside = np.square(values[:, None] * right)
    return left, np.cumsum(outside[::-1], axis=0)[::-1].max(axis=1)


def measure_misfit(seen: Seen, failure: float = FAR) -> tuple[float, float] | None:
    """Return least residual and radius in kelvin, where no heat at all explains the readings."""
    radius, seen = seen.sigma * compute_chi_radius(len(seen.readings), failure), seen.stack_times()
    radius = max(radius, CLOSE * float(np.linalg.norm(seen.readings)))
    residual = find_misfit(seen.operator, seen.readings, radius, _bound_heat(seen))
    return None if residual is None else (residual, radius)


def _bound_heat(seen: Seen) -> float | Floats:
    """Return the most heat that each cell can hold, by the bound or by the prior."""
    most = max(seen.upper, seen.prior.warmest)
    return most if seen.open is None else np.where(seen.open, most, 0.0)


_SCATTER = Wording(
    "verdict.scatter",
    "the sensors scatter {times:g} times as much as is stated; the map already allows for that",
)
_AT_ODDS = Wording(
    "verdict.odds",
    "more than {n} sensors are at odds with all the others, by up to {most:g} deviations of the "
    "noise: sensors are broken, or there is other noise than stated or heat that has not spread",
)
_TOO_FEW = Wording(
    "verdict.few",
    "the sensors are at odds with each other, by up to {most:g} deviations of the noise, and too "
    "few of them are left to tell which is wrong: a sensor is broken, or there is other noise "
    "than stated or heat that has not spread",
)


def describe_misfit(residual: float, radius: float) -> str:
    """Return in words that no heat explains the readings, and what can be the cause."""
    return _MISFIT(residual=float(f"{residual:.4g}"), radius=float(f"{radius:.4g}"))


_MISFIT = Wording(
    "map.misfit",
    "no heat within the bounds comes nearer to the readings than {residual:g}, and "
    "the noise explains {radius:g}: by bad luck, or because the spread, the walls, the "
    "greatest intensity or the sensors' own noise are set wrongly. Take another reading, "
    "allow a smaller chance of failure, or check those settings",
)

"""What an analyst may ask of people who trust nobody, checked before anything is planned."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Literal, NamedTuple, get_args

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import NDArray

from edge.core.records import Grid

from ..fields import EPSILON, GRID, WINDOW_H, check, check_grid, check_rules, describe
from ..noise import Ratio, check_epsilon_of_report, epsilon_of_report
from .footprint import choose_radius

Floats = NDArray[np.float64]
Scheme = Literal["auto", "dam", "dam-ns", "area", "huem", "wave", "krr"]
EstimatorName = Literal["auto", "em", "ems"]

# Above it a promise is empty, below it a report tells less than its weights are rounded by.
EPSILON_MAX, EPSILON_MIN = 16, Fraction(1, 1000)
OUTER_MAX = 1 << 24  # cells that may be answered: arrays of them are held in memory


@dataclass(frozen=True, slots=True)
class Query:
    """A map of where people are, from devices that answer a cell near theirs more often.

    Raises:
        ValueError: a field has no meaning, alone or beside the others.
    """

    grid: Grid = field(metadata=GRID)
    epsilon: Ratio = field(metadata=EPSILON)  # for all reports of one device together
    readings: int = 1  # reports of one device, which share epsilon evenly
    scheme: Scheme = field(  # `scheme_of` says which
        default="auto",
        metadata=describe(
            'How answers fall around the true cell: or "wave", "dam", "dam-ns", "area", "huem", '
            '"krr"'
        ),
    )
    radius: float | None = field(  # None for the one that is chosen for the scheme
        default=None,
        metadata=describe(
            "Cells around the true one that are likelier; leave out both for the usual.",
            low=0,
            example="3",
        ),
    )
    estimator: EstimatorName = field(
        default="auto",
        metadata=describe(
            f"Who draws the map: {', '.join(get_args(EstimatorName))}.",
            flag="estimator",
            map_only=True,
        ),
    )
    level: float = field(
        default=0.9,
        metadata=describe(
            "Of what is said about how sure the map is.", low=0, high=1, map_only=True
        ),
    )
    window_h: int = field(default=0, metadata=WINDOW_H)

    def __post_init__(self) -> None:
        check_grid(self.grid)
        check(self)
        some = type(self.readings) is int and self.readings > 0
        near = "left out or 0 for krr, whose answers know no distance"
        rules = [
            ("readings", some, "a whole number from 1: they share the promise"),
            ("radius", self.scheme != "krr" or not self.radius, near),
            ("level", 0 < self.level < 1, "between 0 and 1: nothing is sure"),
        ]
        check_rules(self, rules)
        check_epsilon_of_report(self, EPSILON_MIN, EPSILON_MAX)
        _check_outer(self)


def scheme_of(query: Query) -> str:
    """Return the scheme of the footprint: the query's; or the printed one, at a radius of its own.

    With neither stated, the one that is chosen for the grid and epsilon.
    """
    if query.scheme != "auto":
        return query.scheme
    return "dam" if query.radius is not None else _choose_for_query(query)[0]


def find_radius_cells(query: Query) -> float:
    """Return the radius of the footprint, in cells: the query's, or the one that is chosen."""
    if query.scheme == "krr":
        return 0
    if query.radius is not None:
        return query.radius
    epsilon, shape = float(epsilon_of_report(query)), query.grid.shape
    if query.scheme == "wave":
        return find_wave_reach(epsilon, shape)
    return _choose_for_query(query)[1] if query.scheme == "auto" else choose_radius(epsilon, shape)


def _choose_for_query(query: Query) -> tuple[str, float]:
    return choose_scheme(float(epsilon_of_report(query)), query.grid.shape)


def _check_outer(query: Query) -> None:
    columns, rows = query.grid.shape
    reach = math.ceil(find_radius_cells(query))
    if (columns + 2 * reach) * (rows + 2 * reach) > OUTER_MAX:
        raise ValueError(
            f"with a radius of {reach} cells around {columns} x {rows} there would be more than "
            f"{OUTER_MAX} cells to answer, too many to count. Take a smaller radius or larger "
            "cells."
        )


# Which scheme and which radius, before anybody has answered: by what a map would be wrong by.
#
# A map that differs from the truth is mended by moving mass across the edges between cells.
# Between maps on a grid that are near each other, the squared distance W2 is what flows, times one
# cell each: whoever goes two cells is two who go one. The least flow follows the gradient of a
# potential, so with errors of covariance C
#
#     E W2**2  about  sum over edges of sqrt(2 / pi) sd of the flow,
#     flow = grad laplacian^+ error,
#
# which where all edges are alike is the trace of C weighted by the Laplacian's inverse. C is what
# answers leave open of maps f0 (1 + h) around a public one f0, h smooth:
#
#     C = (prior^-1 + reports J)^-1,   J = P' diag(1 / P f0) P,   P the channel,
#
# with J the Fisher information; the prior does what stopping early does. Public are an even map, a
# heap, two heaps, two roads and a ramp: no device's data are looked at. The score is the geometric
# mean over them, and of whole squares and the cross the one with the least is taken.
#
# Smoothness and size of h were set once, on four hundred footprints at sides of 10 and 15 and
# epsilons of 0.7 to 3.5, where the score's logarithm and that of the measured W2 have correlations
# of 0.81 to 0.96. W2 of the four best scores was 0 to 2 % above that of the four best measured,
# and 6 % at 10 x 10 and epsilon 3.5, where `footprint`'s holes, which this score does not ask for,
# gain it back. Where epsilon is small the reach comes out at about half of the printed radius.
#
# Source: the disk area mechanism's paper, Section V.C, for what is replaced.


_LENGTH = 0.5  # over which h changes, in longer sides
_VARIANCE = 0.06  # of h
_MODES = 8  # along the longer side; finer ones hold a hundredth of the variance
_SMOOTH = 1.5  # Matern's


class Doubt(NamedTuple):
    """A public map, and what may be otherwise."""

    mass: Floats  # (rows, columns), adds to one
    changes: Floats  # (modes, rows, columns): independent, of variance one, adding to nothing
    flows: Floats  # (modes, edges): what mends them


@cache
def list_doubts(shape: tuple[int, int]) -> tuple[Doubt, ...]:
    """Return the public maps on a grid of (columns, rows), and what may be otherwise in them."""
    columns, rows = shape
    side = max(shape)
    across, down = (np.arange(_MODES) * side / length for length in shape)
    here = (np.arange(_MODES) < columns)[None, :] & (np.arange(_MODES) < rows)[:, None]
    pitch = np.hypot(down[:, None], across[None, :])  # in half waves a side
    v, u = np.nonzero(here & (pitch > 0) & (pitch < _MODES))
    power = (1 + np.square(math.pi * pitch[v, u] * _LENGTH) / (2 * _SMOOTH)) ** -(_SMOOTH + 1)
    y, x = ((np.arange(length) + 0.5) / length for length in (rows, columns))
    waves = 2 * np.cos(math.pi * v[:, None] * y)[:, :, None]
    waves = waves * np.cos(math.pi * u[:, None] * x)[:, None, :]
    waves /= np.sqrt(np.square(waves).mean(axis=(1, 2), keepdims=True))
    waves *= np.sqrt(_VARIANCE * power / power.sum())[:, None, None]
    return tuple(
        _make_doubt(mass / mass.sum(), waves) for mass in _make_public_maps(y[:, None], x[None, :])
    )


def _make_doubt(mass: Floats, waves: Floats) -> Doubt:
    changes = waves * mass
    changes -= changes.sum(axis=(1, 2))[:, None, None] * mass
    rows, columns = mass.shape
    bend = [2 - 2 * np.cos(math.pi * np.arange(length) / length) for length in (rows, columns)]
    laplacian = bend[0][:, None] + bend[1][None, :]
    laplacian[0, 0] = 1.0  # of the mean, which does not change
    potential = scipy.fft.idctn(scipy.fft.dctn(changes, axes=(1, 2)) / laplacian, axes=(1, 2))
    edges = [np.diff(potential, axis=axis).reshape(len(changes), -1) for axis in (1, 2)]
    return Doubt(mass, changes, np.concatenate(edges, axis=1))


def _make_public_maps(y: Floats, x: Floats) -> tuple[Floats, ...]:
    """Return an even map, a heap, two heaps, two roads and a ramp, on the unit square."""

    def heap(left: float, top: float, wide: float) -> Floats:
        return np.exp(-(np.square(x - left) + np.square(y - top)) / (2 * wide**2)) / wide**2

    def road(off: Floats) -> Floats:
        return np.exp(-np.square(off / 0.03) / 2)

    return (
        np.ones(np.broadcast_shapes(y.shape, x.shape)),
        heap(0.5, 0.5, 0.1),
        0.6 * heap(0.25, 0.3, 0.05) + 0.4 * heap(0.7, 0.75, 0.1),
        road(x - y / 2 - 0.25) + road(x + y - 1) + 1e-9,
        1 / ((1 + x) * (1 + y)),
    )


REPORTS = 200_000  # of the paper's settings, 1e5 to 3e5; four times as many change few choices
AS_GOOD = 1.008  # times the least score: there measured maps favour the longer reach
_SIDE_MAX = 20  # larger grids are scored with fewer, larger cells
_WORSE = 3  # so many longer reaches in a row score worse: no longer one is tried


def choose_scheme(epsilon: float, shape: tuple[int, int]) -> tuple[str, float]:
    """Return the scheme and the radius, in cells, for one report of epsilon on a grid.

    The wave, where it reaches less far than the printed disk; where it does not, epsilon is so
    great that answers fall next to the true cell, and a disk without border cells was nearer.
    Along a line both are the interval, and its printed radius holds there.

    Args and Raises: as for `find_wave_reach`.

    >>> choose_scheme(3.5, (15, 15)), choose_scheme(5, (15, 15))
    (('wave', 2), ('dam-ns', 1))
    """
    reach, printed = find_wave_reach(epsilon, shape), choose_radius(epsilon, shape)
    return ("wave", reach) if reach < printed else ("dam-ns", printed)


def find_wave_reach(epsilon: float, shape: tuple[int, int]) -> float:
    """Return how far the wave goes, in cells, for one report of epsilon on a grid.

    Args:
        epsilon: of one report.
        shape: (columns, rows). Along a line it is the printed choice, which holds there.

    Raises:
        ValueError: epsilon is not positive, or the grid has no cell.

    >>> find_wave_reach(3.5, (15, 15))
    2
    """
    if min(shape) < 1 or not 0 < epsilon < math.inf:
        raise ValueError(
            f"epsilon is {epsilon!r} on {shape[0]} x {shape[1]} cells but must be positive, on "
            "at least one cell: there is nothing to choose from. Correct it."
        )
    coarse = max(1.0, max(shape) / _SIDE_MAX)
    if min(shape) < 2 * coarse:
        return 0 if shape == (1, 1) else choose_radius(epsilon, shape)
    columns, rows = (round(side / coarse) for side in shape)
    reach = find_best_reach(epsilon, (columns, rows))
    if coarse > 1:
        # As wide in cells as it is in coarse ones; a single coarse one may be too wide.
        wide = round(((2 * reach + 1) * coarse - 1) / 2)
        reach = wide if reach else min(wide, choose_radius(epsilon, shape))
    return reach


@cache
def find_best_reach(epsilon: float, shape: tuple[int, int]) -> float:
    """Return the reach, of 0, 1/2, 1, 2, ..., with the least score, or the next if as good."""
    tried: list[float] = [0, 0.5, *range(1, max(shape) + 1)]  # beyond there is only more margin
    scores: list[float] = []
    best = 0
    while len(scores) < min(len(tried), best + _WORSE + 1):
        scores.append(predict_error(unfold_shares(tried[len(scores)]), epsilon, shape))
        best = scores.index(min(scores))
    as_good = best + 1 < len(scores) and scores[best + 1] <= AS_GOOD * scores[best]
    return tried[best + as_good]


def predict_error(footprint: Floats, epsilon: float, shape: tuple[int, int]) -> float:
    """Return about which W2, in cells, maps will be wrong by; to compare footprints with.

    A footprint is (2 reach + 1, 2 reach + 1) shares in [0, 1], NaN outside it.
    """
    return math.exp(
        np.mean([math.log(_estimate_error(footprint, epsilon, d)) for d in list_doubts(shape)])
    )


def _estimate_error(footprint: Floats, epsilon: float, doubt: Doubt) -> float:
    outer = np.add(doubt.mass.shape, footprint.shape) - 1
    # A little more room than is answered: no change reaches it, so it tells nothing.
    size = tuple(scipy.fft.next_fast_len(int(length), real=True) for length in outer)
    gain = math.expm1(epsilon)
    kernel = scipy.fft.rfft2(np.nan_to_num(footprint), size)
    reached = scipy.fft.irfft2(
        scipy.fft.rfft2(np.ones(doubt.mass.shape), size) * scipy.fft.rfft2(footprint >= 0, size),
        size,
    )
    total = float((reached > 0.5).sum()) + gain * float(np.nansum(footprint))
    law = (1 + gain * scipy.fft.irfft2(scipy.fft.rfft2(doubt.mass, size) * kernel, size)) / total
    told = (
        scipy.fft.irfft2(scipy.fft.rfft2(doubt.changes, size) * kernel, size)
        * (gain / total)
        / np.sqrt(law)
    )
    told = told.reshape(len(told), -1)
    known = np.eye(len(told)) + REPORTS * (told @ told.T)
    left = np.linalg.solve(np.linalg.cholesky(known), doubt.flows)
    moved = np.sqrt(np.square(left).sum(axis=0)).sum()
    return math.sqrt(math.sqrt(2 / math.pi) * float(moved))


def unfold_shares(reach: float) -> Floats:
    """Return the shares of the whole square, or of the cross that stands for half a reach."""
    if reach == 0.5:
        arm, none = 1.0, math.nan
        return np.array([[none, arm, none], [arm, 1.0, arm], [none, arm, none]])
    side = 2 * int(reach) + 1
    return np.ones((side, side))

"""What may be asked of people who trust nobody."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from edge.core.records import Grid
from recovery.disk.footprint import (
    best_area_ratio,
    best_radius,
    choose_radius,
    compute_wave_shares,
)
from recovery.disk.query import (
    AS_GOOD,
    REPORTS,
    Query,
    choose_scheme,
    find_best_reach,
    find_radius_cells,
    list_doubts,
    predict_error,
    scheme_of,
    unfold_shares,
)


def asked(**more: Any) -> Query:
    return Query(**({"grid": Grid((15, 15), 100), "epsilon": (7, 2)} | more))


def test_the_radius_is_the_one_that_tells_most_of_one_report() -> None:
    """Four reports have a quarter of epsilon each, and reach further; a radius given is kept."""
    assert find_radius_cells(asked(scheme="dam")) == 3
    assert find_radius_cells(asked(scheme="dam", readings=5)) == 14  # 7/10
    assert find_radius_cells(asked(radius=2.5)) == 2.5
    assert find_radius_cells(asked(scheme="krr")) == 0
    assert find_radius_cells(asked(scheme="wave")) == 2  # by its own score
    # Legal: randomised response
    assert find_radius_cells(asked(scheme="dam", epsilon=(7, 1))) == 0


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"grid": Grid((0, 5), 0)}, "the grid is"),
        ({"grid": Grid((5.0, 5), 0)}, "the grid is"),
        ({"grid": Grid((5, 5), -1)}, "the grid is"),
        ({"grid": Grid((5, 5), 0.5)}, "the grid is"),
        ({"grid": Grid((2000, 2000), 0)}, "Take larger cells"),
        ({"epsilon": 3.5}, "epsilon is 3.5 but must be a pair"),
        ({"epsilon": (0, 1)}, "epsilon is"),
        ({"epsilon": (17, 1)}, "epsilon of one report is 17"),
        ({"epsilon": (1, 10), "readings": 1000}, "or readings, by which it is divided"),
        ({"readings": 0}, "readings is 0"),
        ({"readings": True}, "readings is True"),
        ({"scheme": "circle"}, "scheme is 'circle' but must be one of auto, dam, "),
        ({"radius": -1}, "radius is -1"),
        ({"radius": float("nan")}, "radius is nan"),
        ({"radius": float("inf")}, "radius is inf"),
        ({"radius": "3"}, "radius is '3'"),
        ({"radius": 1e9}, "Take a smaller radius or larger cells"),
        ({"radius": 2, "scheme": "krr"}, "answers know no distance"),
        ({"estimator": "l1"}, "estimator is 'l1' but must be one of auto, em"),
        ({"level": 1.0}, "level is 1.0"),
        ({"level": True}, "level is True"),
        ({"level": Fraction(1)}, "level is Fraction"),
        ({"level": np.float64("nan")}, "level is "),
        ({"epsilon": (3141592653, 10**9)}, "epsilon is 3141592653/.*with fewer digits"),
    ],
)
def test_what_means_nothing_is_refused_with_what_to_do(more: dict[str, Any], words: str) -> None:
    """Before anything is planned, in one sentence."""
    with pytest.raises(ValueError, match=words):
        asked(**more)


@pytest.mark.parametrize("kind", [float, np.float64, Fraction])
def test_a_fraction_may_be_of_any_kind(kind: type) -> None:
    """An array's number and an exact one mean the same query."""
    assert asked(level=kind(0.75), radius=kind(2.5)) == asked(level=0.75, radius=2.5)


# The radius that tells most: the formula against the bound itself, and the known values.


def bound(radius: float, epsilon: float, around: float, within: float, line: bool) -> float:
    """Return the bound on the mutual information, in nats: Equation (11) of the paper."""
    disk = 2 * radius if line else math.pi * radius**2
    rest = around * radius + within
    all_in = disk * math.exp(epsilon) + rest
    return math.log((disk + rest) / all_in) + epsilon * disk * math.exp(epsilon) / all_in


@pytest.mark.parametrize("epsilon", [0.1, 0.4999, 0.5001, 1.0, 3.5, 10.0])
@pytest.mark.parametrize("sides", [(1.0, 1.0), (15.0, 15.0), (20.0, 5.0), (40.0, 1.0)])
def test_the_formula_is_where_the_bound_is_greatest(
    epsilon: float, sides: tuple[float, float]
) -> None:
    """On squares, oblongs and lines, by maximising the bound itself."""
    line = sides == (40.0, 1.0)
    around, within = (0.0, 40.0) if line else (2 * sum(sides), sides[0] * sides[1])
    # A logarithm for its argument: radii go from a thousandth of a side to many sides.
    found = minimize_scalar(
        lambda log: -bound(math.exp(log), epsilon, around, within, line),
        bounds=(math.log(max(sides) * 1e-4), math.log(max(sides) * 10)),
        method="bounded",
        options={"xatol": 1e-10},
    )

    assert best_radius(epsilon, *sides) == pytest.approx(math.exp(found.x), rel=1e-5)


def test_the_radii_at_fifteen_cells_are_the_known_ones() -> None:
    """As they were found by an independent implementation."""
    epsilons = (0.5, 0.7, 1.4, 2.1, 2.8, 3.5, 5, 7)

    assert [choose_radius(e, (15, 15)) for e in epsilons] == [16, 14, 10, 7, 4, 3, 1, 0]
    assert choose_radius(0.7, (20, 20)) == 19


@pytest.mark.parametrize("epsilon", ["1e-12", "1e-8", "1e-3", "0.499", "0.5", "2", "40"])
def test_no_digit_is_lost_to_cancellation(epsilon: str) -> None:
    """m1 and m2 are second order: as printed nothing of them is left at 1e-8."""
    with localcontext(prec=80):
        e = Decimal(epsilon)
        power = e.exp()
        exact = float((1 - power + e * power) / (power * (power - 1 - e)))

    assert best_area_ratio(float(epsilon)) == pytest.approx(exact, rel=1e-12)
    if epsilon == "1e-8":
        assert math.exp(1e-8) - 1 - 1e-8 <= 0  # the printed m1, which is 5e-17


# The choice of scheme and reach, against brute force and the score written out.


def wave(epsilon: tuple[int, int], shape: tuple[int, int], radius: float | None = None) -> Query:
    return Query(Grid(shape, 0), epsilon, scheme="wave", radius=radius)


@pytest.mark.parametrize("shape", [(9, 1), (1, 9), (200, 3)])
def test_along_a_line_the_wave_is_the_interval_and_the_choice_the_printed_one(
    shape: tuple[int, int],
) -> None:
    """Nothing was measured there to be better than the square wave of one dimension."""
    assert min(shape) > 1 or compute_wave_shares(2, 1.0, shape) == [[1.0, 1.0, 1.0]]
    assert choose_scheme(1.0, shape) == ("dam-ns", choose_radius(1.0, shape))


@pytest.mark.parametrize("shape", [(4, 4), (6, 4), (8, 8)])
@pytest.mark.parametrize("epsilon", [0.4, 1.4, 2.8, 5.0])
def test_the_reach_scores_best_of_all_or_is_the_next_and_as_good(
    shape: tuple[int, int], epsilon: float
) -> None:
    """The search stops early; whoever tries every reach finds none that is better."""
    tried = [0, 0.5, *range(1, 2 * max(shape))]
    scores = [predict_error(unfold_shares(reach), epsilon, shape) for reach in tried]
    best = int(np.argmin(scores))

    as_good = scores[best + 1] <= AS_GOOD * scores[best]
    assert find_best_reach(epsilon, shape) == tried[best + as_good]


@pytest.mark.parametrize("radius", [0, 0.5, 2])
def test_the_score_is_that_of_the_channel_written_out(radius: float) -> None:
    """Transforms, normaliser and flows against matrices and the information's definition."""
    shape, epsilon = (6, 5), 1.4
    reach = math.ceil(radius)
    footprint = unfold_shares(radius)
    rows, columns = shape[1], shape[0]
    law = np.ones((rows + 2 * reach, columns + 2 * reach, rows, columns))
    for y in range(rows):
        for x in range(columns):
            here = law[y : y + 2 * reach + 1, x : x + 2 * reach + 1, y, x]
            here[footprint > 0] = math.exp(epsilon)
    matrix = law.reshape(-1, rows * columns)
    matrix = matrix[matrix.max(axis=1) > 1]  # what no footprint reaches is not answered
    matrix /= matrix.sum(axis=0)
    down, across = (np.diff(np.eye(length), axis=0) for length in (rows, columns))
    edges = np.concatenate([np.kron(down, np.eye(columns)), np.kron(np.eye(rows), across)])
    wrong = []
    for doubt in list_doubts(shape):
        spread = doubt.changes.reshape(len(doubt.changes), -1).T
        fisher = matrix.T @ np.diag(1 / (matrix @ doubt.mass.ravel())) @ matrix
        known = np.eye(spread.shape[1]) + REPORTS * spread.T @ fisher @ spread
        error = spread @ np.linalg.inv(known) @ spread.T
        flow = edges @ np.linalg.pinv(edges.T @ edges)
        sd = np.sqrt(np.diag(flow @ error @ flow.T))
        wrong.append(math.log(math.sqrt(math.sqrt(2 / math.pi) * sd.sum())))

    assert predict_error(footprint, epsilon, shape) == pytest.approx(
        math.exp(np.mean(wrong)), rel=1e-9
    )


def test_the_wave_is_taken_where_it_reaches_less_far_than_the_disk() -> None:
    """A stated radius is the printed disk's; a stated scheme brings its own."""
    small, great = (Query(Grid((15, 15), 0), epsilon) for epsilon in ((7, 2), (5, 1)))
    assert (scheme_of(small), find_radius_cells(small)) == ("wave", 2)
    assert (scheme_of(great), find_radius_cells(great)) == ("dam-ns", choose_radius(5.0, (15, 15)))
    assert scheme_of(Query(Grid((15, 15), 0), (7, 2), radius=3)) == "dam"
    assert find_radius_cells(Query(Grid((15, 15), 0), (7, 2), scheme="dam")) == 3

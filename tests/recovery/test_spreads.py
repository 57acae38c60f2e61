"""The promise holds at the stated spread and at every longer one, wherever sensors stand."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from edge.records import Grid
from recovery.calibrate import calibrate
from recovery.thermal import Query, plan
from recovery.thermal_noise import calibration, operator, room
from recovery.thermal_query import protected_cells
from recovery.whole import reach, shifts, whole_square

SPARSE = Query(Grid((20, 1), 500), (10,), 0.01, (1, 1), walls="insulated")
PAPER = Query(Grid((100, 1), 0), (50,), 0.05, (1, 1))


def worst(query: Query, exponent: int, spreads: int = 400) -> int:
    """The greatest squared change of the whole numbers sent, over a fine ladder of spreads."""
    length = query.grid.shape[0] * (query.grid.cell_mm / 1000 or 1 / query.grid.shape[0])
    moved = reach(query.grid.shape, protected_cells(query))
    return max(
        whole_square(
            shifts(
                room(query).operator(spread),
                query.grid.shape,
                moved,
                query.intensity_max,
            ),
            exponent,
            query.step,
        )
        for spread in np.geomspace(query.spread_m2, 4 * length**2, spreads)
    )


@pytest.mark.parametrize(
    "query",
    [
        SPARSE,
        replace(SPARSE, spread_m2=0.003),
        replace(SPARSE, spread_m2=0.003, protect_distance_m=2.0),
        replace(SPARSE, walls="none", step=Fraction(1, 4), intensity_max=8.0),
        Query(Grid((6, 5), 500), (3, 2), 0.01, (1, 1)),
    ],
)
@pytest.mark.parametrize("sigma", [None, (1, 2)])
def test_heat_that_had_longer_is_hidden_too(query: Query, sigma: tuple[int, int] | None) -> None:
    """Between two sensors fresh heat is hardly felt, and the noise for it was far too little."""
    made = calibration(replace(query, sigma=sigma))
    fresh = calibrate(
        operator(query),
        query.grid.shape,
        protected_cells(query),
        query.epsilon,
        query.delta,
        intensity_max=query.intensity_max,
        step=query.step,
    )

    assert worst(query, made.exponent) <= made.sensitivity_squared
    # The control: noise for the stated spread alone.
    assert worst(query, fresh.exponent) > 1.2 * fresh.sensitivity_squared


@pytest.mark.parametrize("distance", [None, 1.0])
def test_nothing_is_added_where_the_stated_spread_is_the_worst(distance: float | None) -> None:
    """With sensors as dense as the paper's, and its sensitivity of .135897."""
    query = replace(PAPER, protect_distance_m=distance)
    alone = calibrate(operator(query), (100, 1), protected_cells(query), (1, 1), query.delta)
    made = calibration(query)

    # Up to half a part in a thousand, for what may happen between two spreads.
    assert alone.sigma <= made.sigma <= alone.sigma * 1.0006
    assert made.sensitivity == pytest.approx(alone.sensitivity, rel=1e-6)
    assert distance or made.sensitivity == pytest.approx(0.135897, abs=1e-6)


def test_the_printed_formula_is_for_the_stated_spread_and_says_so() -> None:
    """It reproduces figures; what it does not promise stands beside it."""
    query = replace(SPARSE, delta=(1, 10), calibration="paper")

    made = calibration(query)
    same = calibrate(operator(query), (20, 1), 1, (1, 1), (1, 10), method="paper")
    assert made == same
    assert "at the stated spread alone" in plan(query, ()).guarantee.unit
    assert "at the stated spread alone" not in plan(SPARSE, ()).guarantee.unit

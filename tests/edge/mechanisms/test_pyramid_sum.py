"""What a member of a pyramid's secure sum marks, and what it does not answer."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge.core.entropy import Tape
from edge.core.records import Grid, Reading, Round
from edge.mechanisms import pyramid_sum, summing
from edge.mechanisms.pyramid_sum import length, marks, objection, params_of, report
from recovery.pyramid_sum import Query, plan

SIDES = st.integers(1, 12)


@settings(max_examples=60, deadline=None)
@given(SIDES, SIDES, st.lists(st.tuples(SIDES, SIDES), min_size=1, max_size=4))
def test_each_level_holds_the_mass_in_the_squares_that_hold_the_cells(
    columns: int, rows: int, cells: list[tuple[int, int]]
) -> None:
    """By geometry alone: cells are painted on a padded grid, whose blocks are added up."""
    units, cells = 12, [(x % columns, y % rows) for x, y in cells]
    query = Query(
        Grid((columns, rows), 0), (1, 1), users=9, units=units, places=4, estimator="sparse"
    )
    round = plan(query, ())
    assert round is not None
    values = tuple(n for x, y in cells for n in (x, y, units // len(cells)))
    told = np.zeros(length(round), dtype=int)
    for place, parts in marks(round, Reading(0, values), None):
        told[place] += parts

    side = 1 << (max(columns, rows) - 1).bit_length()
    painted = np.zeros((side, side), dtype=int)
    for x, y in cells:
        painted[y, x] += units // len(cells)
    expected: list[Any] = []
    p = params_of(round)
    for level in range(p.first, p.first + len(p.weights)):
        wide = side >> level
        blocks = painted.reshape(1 << level, wide, 1 << level, wide).sum(axis=(1, 3))
        expected += blocks[: -(-rows // wide), : -(-columns // wide)].ravel().tolist()
    assert told.tolist() == expected


def test_noise_is_for_who_does_not_collude_and_of_each_levels_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who stands elsewhere takes 12 parts from one square of a level, for another."""
    asked: list[tuple[int, int, Fraction]] = []

    def shares(size: int, divisor: int, num: int, den: int, rng: Any) -> list[int]:
        asked.append((size, divisor, Fraction(num, den)))
        return [0] * size

    monkeypatch.setattr(pyramid_sum, "shares", shares)
    params = (1, 1, 3, 2, 1, 10, 4, 16, 12, 4, 5, 3)
    round = Round(1, pyramid_sum.NAME, Grid((8, 5), 0), params, None)
    found = pyramid_sum.noise(round, None)

    epsilon = Fraction(3, 2) / (2 * 12)
    assert asked == [(4, 6, epsilon * Fraction(5, 8)), (12, 6, epsilon * Fraction(3, 8))]
    assert found == [0] * 16
    assert [len(squares) for squares in pyramid_sum.levels(round)] == [4, 12]


def test_levels_end_with_the_cells_and_no_params_are_missing() -> None:
    """The finest level that there is can be asked for, and none beyond it."""
    params = (3, 1, 1, 1, 1, 9, 1, 16, 12, 4)
    round = Round(1, pyramid_sum.NAME, Grid((8, 8), 0), (*params, 1), None)

    assert objection(round) == ""
    assert "levels" in objection(round._replace(params=(*params, 1, 1)))
    for wrong in (params, (*params, "1")):
        assert "cut short" in objection(round._replace(params=wrong))


@pytest.mark.parametrize(
    ("at", "value", "why"),
    [
        (0, 9, "levels"),
        (1, 0, "hides whether"),
        (2, 0, "not above 0"),
        (4, 0, "nobody is left"),
        (5, 0, "nobody is left"),
        (6, -1, "nobody is left"),
        (7, 63, "bits"),
        (8, 0, "parts"),
        (10, 0, "levels"),
    ],
)
def test_a_round_that_means_nothing_is_not_answered(at: int, value: int, why: str) -> None:
    """And the one that was planned is."""
    round = plan(Query(Grid((8, 8), 0), (1, 1), users=9), ())
    assert round is not None
    assert objection(round) == ""
    wrong: Round = round._replace(params=(*round.params[:at], value, *round.params[at + 1 :]))

    assert why in objection(wrong)
    with pytest.raises(ValueError, match="is not answered"):
        report(wrong, Reading(0, (0, 0)), Tape(b""))


@pytest.mark.parametrize("bits", [1, 62])
def test_sums_have_from_one_bit_to_62(bits: int) -> None:
    """Both ends are answered."""
    round = plan(Query(Grid((8, 8), 0), (1, 1), users=9), ())
    assert round is not None
    asked = round._replace(params=(*round.params[:7], bits, *round.params[8:]))

    assert objection(asked) == ""


def test_the_upper_half_of_what_a_sum_can_be_is_below_nought() -> None:
    """Noise has both signs, and the sum is opened as the nearest to nought that it can be."""
    round = plan(Query(Grid((8, 8), 0), (1, 1), users=9), ())
    assert round is not None
    params = params_of(round)._replace(bits=4, shards=1, threshold=1)

    assert summing.release(round, [[3, 8, 7, 6, 15]], params, 4).values == [-8, 7, 6, -1]


def test_a_sum_of_too_many_numbers_is_not_planned() -> None:
    """All levels of 512 x 512 cells are a third of a million numbers."""
    with pytest.raises(ValueError, match="at most 100000 numbers"):
        plan(Query(Grid((512, 512), 0), (1, 1), users=9, estimator="sparse"), ())

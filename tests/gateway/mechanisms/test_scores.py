"""Scores of maps: what scripts average must be right, and nothing may pass for a nought."""

import numpy as np
import pytest

from gateway.mechanisms.scores import data_free, scores


def _at(cell: int, cells: int = 100) -> np.ndarray:
    heat = np.zeros((1, cells))
    heat[0, cell] = 1
    return heat


def test_a_map_one_tenth_off_has_the_distance_one_tenth() -> None:
    """Distances are in units of the interval, as the paper's figures are."""
    found = scores(_at(20), _at(30))

    assert found["emd_l1"] == pytest.approx(0.1)
    assert found["w2"] == pytest.approx(0.1)
    assert found["similarity"] == 0


def test_the_truth_need_not_add_to_one() -> None:
    """Sources have intensities; only where their heat is counts."""
    assert scores(7 * _at(20), _at(30)) == scores(_at(20), _at(30))


def test_a_score_that_does_not_apply_is_null() -> None:
    """A flat map has no correlation with anything, and a correlation of 0 says something else."""
    assert scores(_at(20), np.full((1, 100), 0.01))["pearson"] is None


def _striped(side: int) -> tuple[np.ndarray, np.ndarray]:
    """Every other column twice as warm, beside a map that is warm everywhere."""
    truth = np.ones((side, side))
    truth[:, ::2] = 2
    return truth, np.full((side, side), 1 / side**2)


def test_a_plane_is_scored_exactly() -> None:
    """By hand: a sixth of the heat moves by one column, whatever the ground distance."""
    found = scores(*_striped(40))

    assert found["emd_l1"] == pytest.approx(1 / 6 / 40)
    assert found["emd_l2"] == pytest.approx(1 / 6 / 40)
    assert found["w2"] == pytest.approx((1 / 6) ** 0.5 / 40)


def test_a_plane_too_large_for_an_exact_distance_has_null() -> None:
    """The other scores are still there."""
    found = scores(*_striped(200))

    assert found["w2"] is None
    assert found["emd_l1"] == pytest.approx(1 / 6 / 200)
    assert found["mse"] is not None


@pytest.mark.parametrize(("cell", "guess"), [(0, 0.495), (50, 0.25), (99, 0.495)])
def test_a_guess_without_data_is_scored_as_heat_everywhere(cell: int, guess: float) -> None:
    """By hand: the mean distance to the cell, (sum of |j - i|) / 100**2."""
    assert data_free(_at(cell)) == pytest.approx(guess)

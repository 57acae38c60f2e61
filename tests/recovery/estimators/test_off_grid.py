"""Bregman's iteration and sliding Frank-Wolfe, against the programs that they are to solve."""

import math
from dataclasses import replace

import numpy as np
import pytest

from physics.kernel import forward
from recovery.distance import earth_movers
from recovery.estimators import frank_wolfe, least_l1, least_squares, quadratic
from recovery.estimators.frank_wolfe import around, grid, shared_out, splines
from recovery.estimators.small import small


def test_bregman_ends_within_the_printed_radius_about_where_the_printed_program_does(
    line, plane
) -> None:
    """Same verdict on whether heat is within; no less heat than the least; and not far away."""
    answered = 0
    for seed in range(12):
        for seen in (line(seed, furniture=True)[1], plane(seed, furniture=True)[1]):
            found, printed = (
                least_squares.estimate_by_bregman(seen),
                least_l1.estimate_as_printed(seen),
            )
            radius = seen.sigma * math.sqrt(len(seen.readings))

            assert found.status.split(":")[0] == printed.status.split(":")[0]
            assert not found.heat[~seen.open].any()
            if found.status == "optimal":
                answered += 1
                assert found.residual <= radius * (1 + 1e-6)
                assert found.heat.sum() >= printed.heat.sum() * (1 - 1e-5)
                assert earth_movers(found.heat, printed.heat, normalise=True) < 0.05
    assert answered > 10


def test_a_dearer_price_comes_nearer_to_the_printed_program(line, monkeypatch) -> None:
    """The iteration's theorem: what it has too much of vanishes as the price grows."""
    more = []
    for dear in (2.0, 20.0, 200.0):
        monkeypatch.setattr(least_squares, "_DEAR", dear)
        over = 0.0
        for seed in range(8):
            _, seen = line(seed)
            found, printed = (
                least_squares.estimate_by_bregman(seen),
                least_l1.estimate_as_printed(seen),
            )
            if found.status == "optimal":
                over += found.heat.sum() - printed.heat.sum()
        more.append(over)

    assert more[2] < more[1] < more[0]


def exact(places: np.ndarray, seen, price: float, powers: np.ndarray) -> float:
    """The objective of atoms at these places, by the heat kernel itself."""
    sensors = np.arange(1, len(seen.readings) + 1) / len(seen.readings)
    left = forward(places, sensors, 0.05) @ powers - seen.readings
    return left @ left / 2 + price * powers.sum()


@pytest.mark.long
def test_atoms_between_cells_are_the_best_of_a_grid_twenty_times_as_fine(line) -> None:
    """By the kernel, not by the splines: as good as the fine lasso, better than the coarse."""
    better = 0
    for seed in range(6):
        _, seen = line(seed, sigma=0.05)
        made, free = small(seen), grid(seen)
        price = seen.sigma * np.linalg.norm(seen.operator, axis=0).max()
        places, powers, status = frank_wolfe.measure(
            splines(made.operator, free), made, price, free
        )
        ours = exact((places[:, 0] + 1) / 40, seen, price, powers)
        sensors = np.arange(1, 26) / 25
        fine = forward(np.arange(20, 801) / 800, sensors, 0.05)
        finely = quadratic.fit(fine, seen.readings, 100.0, price).objective
        coarsely = quadratic.fit(seen.operator, seen.readings, 100.0, price).objective

        assert status == "optimal"
        assert ours == pytest.approx(finely, rel=1e-3)
        better += ours < coarsely - 1e-6
    assert better >= 4


@pytest.mark.long
def test_it_draws_what_the_lasso_draws(line, plane) -> None:
    """To the width of a cell, along a line and in a plane, furniture left alone."""
    for seed in range(3):
        for seen, cell in (
            (line(seed, furniture=True)[1], 1 / 40),
            (plane(seed, furniture=True)[1], 1 / 8),
        ):
            found = frank_wolfe.estimate(seen)
            other = least_squares.estimate_by_lasso(replace(seen, upper=100.0))
            places = seen.places if seen.places.shape[1] == 2 else seen.places[:, 0]
            shape = (1, -1) if places.ndim == 1 else seen.shape
            away = earth_movers(
                found.heat.reshape(shape),
                other.heat.reshape(shape),
                positions=places,
                normalise=True,
            )

            assert found.status == "optimal"
            assert away < cell
            # One atom between four cells warms as much as a little more heat in them.
            assert 0.85 <= found.heat.sum() / other.heat.sum() <= 1.01
            assert not found.heat[~seen.open].any()


def test_splines_meet_the_cells_and_the_kernel_between_them(line) -> None:
    """And their slopes are differences of them."""
    _, seen = line(1)
    made = small(seen)
    drawn = splines(made.operator, grid(seen))
    at = np.array([[3.0], [17.37]])
    sensors = np.arange(1, 26) / 25
    kernel = forward((at[:, 0] + 1) / 40, sensors, 0.05)

    assert drawn.columns(at)[0] == pytest.approx(made.operator[:, 3])
    assert drawn.columns(at) @ drawn.columns(at).T == pytest.approx(kernel.T @ kernel, rel=1e-4)
    assert drawn.slopes(at)[0] == pytest.approx(
        (drawn.columns(at + 1e-5) - drawn.columns(at - 1e-5)) / 2e-5, rel=1e-5, abs=1e-7
    )


def test_what_stands_between_cells_keeps_its_place_on_average() -> None:
    """A tenth of the way to the next cell is nine tenths here; furniture takes none."""
    free = np.ones(5, dtype=bool)
    half = np.array([True, True, True, False, True])

    assert shared_out(np.array([[2.1]]), np.array([2.0]), free) == pytest.approx(
        [0, 0, 1.8, 0.2, 0]
    )
    assert shared_out(np.array([[2.1]]), np.array([2.0]), half) == pytest.approx([0, 0, 2, 0, 0])
    assert shared_out(np.array([[4.0]]), np.array([1.0]), free) == pytest.approx([0, 0, 0, 0, 1])
    assert shared_out(np.array([[3.0]]), np.array([1.0]), half).sum() == 1
    assert around(np.array([2.1]), half) == [(1.0, 2.0)]
    assert around(np.array([0.0]), free) == [(0.0, 1.0)]


def test_what_stands_among_closed_cells_goes_to_the_nearest_open_one() -> None:
    """Not to the first, and none of it is lost."""
    free = np.array([True, False, False, True, True])
    heat = shared_out(np.array([[2.0], [1.2]]), np.array([3.0, 1.0]), free)

    assert heat.tolist() == [1.0, 0.0, 0.0, 3.0, 0.0]


def test_a_plane_without_a_grid_is_refused(plane) -> None:
    """Nothing says what is between its places."""
    _, seen = plane(1)
    with pytest.raises(ValueError, match="not those of 8 rows and 8 columns"):
        frank_wolfe.estimate(replace(seen, places=seen.places[::-1] ** 2 @ [[1, 1], [0, 1]]))


def test_the_gap_is_true_however_early_it_stops(line, monkeypatch) -> None:
    """With no atom the objective is that of no heat; the lasso says how far that is off."""
    _, seen = line(1)
    wide = replace(seen, upper=100.0)
    made, price = small(seen), seen.sigma * np.linalg.norm(seen.operator, axis=0).max()
    best = quadratic.fit(made.operator, made.readings, wide.upper, price).objective
    monkeypatch.setattr(frank_wolfe, "_CALLED", 1e9)
    found = frank_wolfe.estimate(seen)

    assert not found.heat.any()
    assert made.readings @ made.readings / 2 - best <= found.gap * (1 + 1e-9)


def test_silence_needs_no_atoms(line) -> None:
    """And no iteration."""
    _, seen = line(1)
    silent = replace(seen, readings=np.zeros(len(seen.readings)))

    assert frank_wolfe.estimate(silent).status.startswith("no estimate")
    assert least_squares.estimate_by_bregman(silent).status.startswith("no estimate")

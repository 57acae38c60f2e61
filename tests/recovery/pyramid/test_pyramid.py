"""From a query to a map by levels of squares: plan, estimators, centres, refusals."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from edge.core.entropy import Tape
from edge.core.records import Grid, Reading, Release
from edge.mechanisms import pyramid as edge
from edge.mechanisms import pyramid_sum as summed
from recovery import pyramid, pyramid_sum
from recovery.maps.heatmap import Heatmap, Unresolved
from recovery.pyramid import Query
from recovery.pyramid.dense import blur_map, find_nearest_mass
from recovery.pyramid.query import estimator_of, levels_of

# From a query to a map: what is planned from public numbers, and what is drawn or refused.

SQUARE = Grid((256, 256), 0)


def played(query: Query, cells: list[tuple[int, int]], tape: bytes = b"pyramid") -> Release:
    """Return the Release of devices in these cells."""
    round = pyramid.plan(query, ())
    payloads = [edge.report(round, Reading(i, cell), None) for i, cell in enumerate(cells)]
    released: Release = edge.release(round, payloads, Tape(tape))
    return released


def crowd(shape: tuple[int, int], users: int, seed: int = 1) -> list[tuple[int, int]]:
    """Return the cells of two crowds of people."""
    world = np.random.default_rng(seed)
    middle = np.where(world.random(users)[:, None] < 0.7, (0.3, 0.4), (0.8, 0.7))
    at = np.clip(world.normal(middle, 0.03), 0, 0.999) * shape
    return [(int(x), int(y)) for x, y in at]


@pytest.mark.parametrize("name", ["sparse", "dense", "tree", "auto"])
@pytest.mark.parametrize("shape", [(64, 64), (40, 30), (1, 9), (1, 1)])
def test_a_map_adds_to_one_and_lies_on_the_grid(name: Any, shape: tuple[int, int]) -> None:
    """Every grid has a map: padded, a line, one cell."""
    query = Query(Grid(shape, 0), (2, 1), 1, 150, name)

    found = pyramid.recover(query, [played(query, crowd(shape, 150))])

    assert isinstance(found, Heatmap)
    assert found.mass.shape == shape[::-1]
    assert found.mass.sum() == pytest.approx(1)
    assert found.guarantee.epsilon == (2, 1)
    assert ("padded" in found.why) == (shape not in ((64, 64), (1, 1)))
    assert ("usually nearest" in found.why) == (name == "auto")


def test_the_plan_of_the_paper_is_the_papers() -> None:
    """w = 20 starts at level 2, and each level has 2**(-1/2) of the epsilon of the one before."""
    query = Query(SQUARE, (1, 1), estimator="sparse")
    round = pyramid.plan(query, ())
    shares = [Fraction(*one) for one in edge.epsilons(round)]

    assert round is not None
    assert levels_of(query) == (20, 2, 7)
    assert sum(shares) == 1
    assert float(shares[0]) == pytest.approx((1 - 0.5**0.5) / (1 - 0.5**3.5), rel=1e-4)
    assert pyramid.plan(query, [played(query, [(0, 0)])]) is None


@pytest.mark.parametrize(
    ("epsilon", "users", "name", "levels"),
    [
        ((1, 1), 200, "tree", (256, 2, 3)),
        ((2, 1), 200, "tree", (256, 2, 3)),
        ((5, 1), 200, "tree", (1024, 3, 3)),
        ((1, 1), 3000, "tree", (64, 3, 5)),
        ((1, 1), 100_000, "dense", (4096, 6, 1)),
        ((1, 1000), 200, "tree", (1, 0, 1)),
    ],
)
def test_the_choice_is_by_public_numbers(
    epsilon: tuple[int, int], users: int, name: str, levels: tuple[int, int, int]
) -> None:
    """Levels that were chosen by the reports would tell of them, beyond epsilon."""
    query = Query(SQUARE, epsilon, users=users)

    assert estimator_of(query) == name
    assert levels_of(query) == levels


@pytest.mark.parametrize("users", [3000, 4000, 7000])
def test_a_sum_is_drawn_by_what_it_was_measured_for(users: int) -> None:
    """Half of epsilon chooses the levels, and once all of it chose an estimator for others."""
    query = pyramid_sum.Query(Grid((16, 16), 0), (2, 1), users=users)
    round = pyramid_sum.plan(query, ())
    released = Release(round, [1] * summed.count_sums(round), users)
    found = pyramid_sum.recover(query, [released])

    assert isinstance(found, Heatmap)
    assert found.estimator == ("dense" if users > 6000 else "tree")


def test_nobody_is_no_map() -> None:
    """How many devices answered is public, so that none is told from an even crowd."""
    query = Query(Grid((8, 8), 0), (1, 1), 5)

    found = pyramid.recover(query, [played(query, [])])

    assert isinstance(found, Unresolved)
    assert "no device answered" in found.why


def test_a_release_of_another_query_is_refused() -> None:
    """Other levels are other squares."""
    query = Query(Grid((8, 8), 0), (1, 1), 1, 5, "sparse")
    release = played(query, [(1, 1)])

    with pytest.raises(ValueError, match="another plan"):
        pyramid.recover(replace(query, epsilon=(2, 1)), [release])
    with pytest.raises(ValueError, match="2 releases came"):
        pyramid.recover(query, [release, release])
    twice = replace(query, epsilon=(2, 1), readings=2)
    with pytest.raises(ValueError, match="two releases are of one round"):
        pyramid.recover(twice, [release._replace(round=pyramid.plan(twice, ()))] * 2)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="dense takes all squares of one level"):
        pyramid.fit_parts("dense", release)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": (1, 10**7)},
        {"epsilon": (65, 1)},
        {"epsilon": 0.5},
        {"grid": Grid((0, 4), 0)},
        {"grid": Grid((5000, 4), 0)},
        {"grid": Grid((4.0, 4), 0)},
        {"users": 0},
        {"units": 0},
        {"places": True},
        {"kept": 0},
        {"estimator": "best"},
    ],
)
def test_a_query_without_a_meaning_is_refused(wrong: dict[str, Any]) -> None:
    """One line that says what to correct, before any device is asked."""
    with pytest.raises(ValueError, match=r"but (must|needs)"):
        replace(Query(Grid((8, 8), 0), (1, 1)), **wrong)


# The nearest mass in earth mover's distance, and the heatmap that a map becomes.


def test_a_debt_is_paid_by_the_nearest_mass() -> None:
    """Moving a part by one square costs less than the two that leaving it unexplained does."""
    found = find_nearest_mass(np.array([[9.0, 0.0, 0.0, -2.0, 5.0]]), 0.2)

    np.testing.assert_allclose(found, [[9, 0, 0, 0, 3]], atol=1e-9)


def test_a_heatmap_is_the_sum_of_its_definition() -> None:
    """The normaliser belongs to the cell that mass comes from; filters of images differ."""
    mass = np.zeros((5, 7))
    mass[0, 0], mass[3, 4] = 2.0, 1.0
    y, x = np.mgrid[:5, :7]
    expected = np.zeros((5, 7))
    for row, column in ((0, 0), (3, 4)):
        bump = np.exp(-((y - row) ** 2 + (x - column) ** 2) / (2 * 1.3**2))
        expected += mass[row, column] * bump / bump.sum()

    np.testing.assert_allclose(blur_map(mass, 1.3), expected, rtol=1e-12)
    for mode in ("reflect", "constant", "nearest", "mirror", "wrap"):
        assert np.abs(gaussian_filter(mass, 1.3, mode=mode) - expected).max() > 0.01

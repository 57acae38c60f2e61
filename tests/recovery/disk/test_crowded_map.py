"""Crowded cells: that they are found, that their evidence is an integral, their doubt honest."""

import math

import numpy as np
import pytest
import scipy.integrate

from edge.records import Grid
from recovery.disk import Query, plan
from recovery.disk.channel import Channel, channel_of
from recovery.disk.crowded_map import Search, crowded
from recovery.disk.em import even, log_likelihood


def disk(shape: tuple[int, int], radius: int = 2, epsilon: int = 2) -> Channel:
    planned = plan(Query(Grid(shape, 1000), (epsilon, 1), radius=radius), [])
    assert planned is not None
    return channel_of(planned)


def answered(channel: Channel, mass: np.ndarray, reports: int, seed: int) -> np.ndarray:
    law = channel.forward(mass)
    drawn = np.random.default_rng(seed).multinomial(reports, (law / law.sum()).ravel())
    return np.asarray(drawn.reshape(law.shape), dtype=np.float64)


def crowd(channel: Channel, cells: dict[int, float]) -> np.ndarray:
    """So much in some cells, and the rest even."""
    mass = (1 - sum(cells.values())) * even(channel)
    for cell, share in cells.items():
        mass.flat[cell] += share
    return mass


@pytest.mark.parametrize(
    "cells", [{}, {33: 1.0}, {33: 0.5, 60: 0.5}, {5: 0.3, 6: 0.2, 40: 0.1}, {0: 0.4, 79: 0.1}]
)
def test_it_finds_who_stands_where(cells: dict[int, float]) -> None:
    """Next to each other, in corners, all of the people or some; and nobody where none crowd."""
    channel = disk((10, 8), epsilon=3)
    found = crowded(channel, answered(channel, crowd(channel, cells), 500_000, 1), even(channel))

    assert set(found.cells) == set(cells)
    assert found.mass == pytest.approx(crowd(channel, cells), abs=0.01)


def test_the_evidence_of_one_cell_is_its_integral() -> None:
    """Over its weight, by quadrature; a cell of N costs ln N, and that there is one ln 4."""
    channel = disk((5, 4), 1)
    counts = answered(channel, crowd(channel, {7: 0.4}), 3_000, 2)
    found = crowded(channel, counts, even(channel))
    unit = crowd(channel, {7: 1.0})
    laws = channel.forward(even(channel)), channel.forward(unit)

    def worth(share: float) -> float:
        return log_likelihood(counts, (1 - share) * laws[0] + share * laws[1])

    top = worth(found.weights[1])
    whole, _ = scipy.integrate.quad(lambda share: math.exp(worth(share) - top), 0, 1, points=[0.4])
    assert found.cells == (7,)
    assert found.evidence == pytest.approx(top + math.log(whole / 20 / 4), abs=0.05)


def test_an_even_map_has_the_evidence_of_its_likelihood() -> None:
    """Nothing is free in it: that there is no crowded cell costs a coin's throw."""
    channel = disk((6, 5))
    counts = answered(channel, even(channel), 10_000, 3)
    found = crowded(channel, counts, even(channel))

    assert found.cells == ()
    worth = log_likelihood(counts, channel.forward(even(channel)))
    assert found.evidence == pytest.approx(worth - math.log(2))
    assert found.variances == pytest.approx(0.0)


def test_where_a_cell_is_and_how_full_is_as_sure_as_it_says() -> None:
    """Over sixty runs; and with a thousandth of the users it may be elsewhere, too."""
    channel, truth = disk((7, 6)), crowd(disk((7, 6)), {24: 0.5})
    scores = []
    for seed in range(60):
        found = crowded(channel, answered(channel, truth, 3_000, seed), even(channel))
        sd = math.sqrt(found.variances.flat[24])
        scores.append((found.mass.flat[24] - truth.flat[24]) / sd)
    few = crowded(channel, answered(channel, truth, 200, 1), even(channel))

    assert 0.7 < np.sqrt(np.square(scores).mean()) < 1.3
    assert np.sqrt(np.square(np.multiply(scores, 3)).mean()) > 1.5  # a third as wide
    assert few.places.shape == (len(few.cells), 42)
    assert few.places.sum(axis=1) == pytest.approx(1)
    assert few.places.max() < 0.95


def test_what_cannot_win_is_not_searched_to_the_end() -> None:
    """A hill has no crowded cells, and each that is tried costs as much as the last."""
    channel = disk((12, 12), 2, 4)
    y, x = np.indices((12, 12)) - 5.5
    hill = np.exp(-(x**2 + y**2) / 18)
    counts = answered(channel, hill / hill.sum(), 300_000, 4)
    all_of_them = crowded(channel, counts, even(channel))
    found = crowded(channel, counts, even(channel), hoped=all_of_them.evidence + 1e5)

    assert len(found.cells) < len(all_of_them.cells)
    assert found.evidence < all_of_them.evidence


@pytest.mark.parametrize("radius", [0, 1, 4])
@pytest.mark.parametrize("cell", [0, 27, 79])
def test_where_else_a_cell_may_be_is_weighed_by_all_answers(cell: int, radius: int) -> None:
    """Though only what either place reaches is looked at: against whole laws, cell by cell."""
    channel = disk((10, 8), radius)
    counts = answered(channel, crowd(channel, {cell: 0.4, 33: 0.2}), 900, 5)
    search, weights = Search(channel, counts, even(channel)), np.array([0.5, 0.3, 0.2])
    law = channel.forward(crowd(channel, {cell: 0.3, 33: 0.2}))
    found = search._elsewhere(search._over([cell, 33], weights), cell, 0.3, 3)

    assert {near for _, near in found} >= {cell}
    assert len(found) == (16 if cell in (0, 79) else 36)
    for gained, near in found:
        moved = channel.forward(crowd(channel, {near: 0.3}) + crowd(channel, {33: 0.2}))
        moved -= channel.forward(even(channel))
        wanted = log_likelihood(counts, np.maximum(moved, 0)) - log_likelihood(counts, law)
        assert gained == pytest.approx(wanted, abs=1e-6)

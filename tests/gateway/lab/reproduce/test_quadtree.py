"""The studies of sums over squares: what they measure is what a device's own code gives."""

import numpy as np
import pytest

from edge.core.entropy import Tape
from edge.core.records import Grid
from gateway.lab.reproduce.figures import Order, maker
from gateway.lab.reproduce.quadtree_rules import PLACES, ROUGH, Visitors
from recovery.quadtree import Query, plan


def _order(runs: int = 1) -> Order:
    return Order(runs=runs, seed=1, scale=0.02)


def test_people_at_several_places_bring_what_their_devices_would() -> None:
    """All marks of a person add up to the scale; at epsilon 64 the sum is the weighted map."""
    people = Visitors(_order(), 0)
    query = Query(
        Grid((ROUGH, ROUGH), 0),
        (64, 1),
        "zero-out",
        people.users,
        kind="systematic",
        scale=1000,
        places=PLACES,
        prior=tuple((6, x, y) for x in range(ROUGH) for y in range(ROUGH)),
        rounds=1,
    )
    made = plan(query, [])
    assert made is not None
    found = np.array(people.release(made, 32, Tape(b"many")).values)
    few = np.array(people.release(made, 8, Tape(b"few")).values)

    assert found.sum() == pytest.approx(1000 * people.users, rel=0.05)
    assert np.abs(found - 1000 * people.users * _in_order(people.truth)).max() < 300
    assert few.min() >= -128
    assert few.max() < 128


def _in_order(mass: np.ndarray) -> np.ndarray:
    """Return the shares of cells in the order of squares, along the Z curve."""
    places = np.arange(ROUGH)
    bits = sum(((places >> bit & 1) << 2 * bit) for bit in range(6))
    order = np.argsort((bits[None, :] | bits[:, None] << 1).ravel())
    found: np.ndarray = mass.ravel()[order]
    return found


@pytest.mark.parametrize(
    "name",
    ["quadtree-4", "quadtree-5", pytest.param("quadtree-table2", marks=pytest.mark.long)],
)
def test_each_figure_has_a_finding_and_numbers(name: str) -> None:
    """Of two runs of a small crowd; a figure without any is no figure."""
    figure = maker(name)(_order(), lambda stage: None)

    assert figure.found
    assert figure.panels or figure.tables
    for panel in figure.panels:
        for line in panel.lines.values():
            assert all(np.isfinite(one.mean) for one in line)

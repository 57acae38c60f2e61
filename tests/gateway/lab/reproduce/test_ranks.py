"""The studies of sorted places: what they measure is what the paper defines."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from edge.core.entropy import Tape
from edge.core.noise import dlaplace
from edge.core.records import Grid
from gateway.lab.reproduce.figures import Task
from gateway.lab.reproduce.quadtree import PLACES, ROUGH, Visitors
from gateway.lab.reproduce.ranks import (
    differences,
    error_of,
    generalise,
    sorted_maps,
    sorted_release,
    values_of,
)
from recovery.peers.grids import Crowd
from recovery.peers.hierarchies import wavelet
from recovery.quadtree import Query, plan


def test_groups_of_even_places_cost_k_over_four_n() -> None:
    """Section 5.3, and with nearly no noise nothing else is left of the error."""
    places = np.arange(1000) / 999
    grouped = generalise(places, 50)
    found = sorted_release(places, Fraction(16), 50, b"a")

    assert np.abs(grouped - places).mean() == pytest.approx(50 / 4000, rel=0.01)
    assert error_of(places, found) == pytest.approx(50 / 4000, rel=0.1)


@pytest.mark.parametrize("sensitivity", [0.1, 0.3])
def test_a_median_moves_by_its_local_sensitivity(sensitivity: float) -> None:
    """129 values whose middle one, with one value replaced, moves by as much as was asked."""
    values = np.sort(values_of(sensitivity, np.random.default_rng(3)))

    assert len(values) == 129
    assert max(values[65] - values[64], values[64] - values[63]) == pytest.approx(
        sensitivity, abs=0.005
    )


def test_all_maps_of_a_plane_are_of_one_crowd() -> None:
    """Each of total one, and nearer to it than a map of nothing; the hybrid is the nearest."""
    points = np.clip(np.random.default_rng(4).normal(0.4, 0.1, (4000, 2)), 0, 0.999)
    truth = np.histogram2d(points[:, 1], points[:, 0], 16, [[0, 1]] * 2)[0] / 4000
    off = {name: differences(truth, mass)[0] for name, mass in sorted_maps(points, 16).items()}

    assert max(off.values()) < differences(truth, np.full((16, 16), 1 / 256))[0]
    assert min(off, key=off.__getitem__) == "sorted, then counted"


def test_a_wavelet_of_a_known_total_keeps_it() -> None:
    """Large ranges are sums without bias then; what is clipped has one."""
    counts = np.zeros((1, 64), dtype=np.int64)
    counts[0, 5] = 300
    found = wavelet(
        Crowd(counts, 300), Fraction(1), partial(dlaplace, rng=Tape(b"w")), 2, total=True
    )

    assert found.sum() == pytest.approx(1)
    assert found.min() < 0


# The studies of sums over squares: what they measure is what a device's own code gives.


def test_people_at_several_places_bring_what_their_devices_would() -> None:
    """All marks of a person add up to the scale; at epsilon 64 the sum is the weighted map."""
    people = Visitors(Task("quadtree-table2", (), 0, 1), 40)
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

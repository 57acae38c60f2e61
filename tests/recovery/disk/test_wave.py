"""The wave: its promise by enumeration, its shape, and maps that are nearer with it."""

import math
from fractions import Fraction

import numpy as np
import pytest

from edge.records import Grid
from physics.crowds.disk import count_many
from recovery.disk import Query, promise
from recovery.disk.channel import channel_of
from recovery.disk.em import em, gain_of
from recovery.disk.footprint import HOLLOW
from recovery.disk.query import chosen
from recovery.disk.round import disk_round, domain_of, total_of, weights_of


def wave(epsilon: tuple[int, int], shape: tuple[int, int], radius: float | None = None) -> Query:
    return Query(Grid(shape, 0), epsilon, scheme="wave", radius=radius)


def worst_ratio(query: Query) -> Fraction:
    """Return the greatest ratio of two cells' chances of one answer, in whole numbers."""
    made = disk_round(query, 1, promise(query))
    weights, domain, far = weights_of(made), domain_of(made), made.params[1]
    tall, wide = weights.shape
    tables = []
    for y in range(query.grid.shape[1]):
        for x in range(query.grid.shape[0]):
            table = np.where(domain, far, 0)
            here = table[y : y + tall, x : x + wide]
            here[weights != 0] = weights[weights != 0]
            assert int(table.sum()) == total_of(made)
            tables.append(table[domain])
    found = np.array(tables)
    return Fraction(int((found.max(axis=0)).max()), int(found.min()))


@pytest.mark.parametrize("radius", [None, 0, 0.5, 1, 2, 3, 5])
@pytest.mark.parametrize("epsilon", [(1, 10), (7, 5), (7, 2), (8, 1)])
def test_no_answer_is_more_than_e_to_the_epsilon_likelier(
    radius: float | None, epsilon: tuple[int, int]
) -> None:
    """The promise, over every cell and answer; and that the budget is really used."""
    worst = worst_ratio(wave(epsilon, (5, 4), radius))

    bound = math.exp(epsilon[0] / epsilon[1])
    assert 0.999999 * bound < worst <= bound * (1 - 1e-15)


@pytest.mark.parametrize("reach", range(7))
def test_the_footprint_is_the_same_in_all_eight_directions(reach: int) -> None:
    """And its domain has no hole: the far cell in its middle is answered, too."""
    made = disk_round(wave((7, 2), (9, 9), reach), 1, promise(wave((7, 2), (9, 9), reach)))
    weights = weights_of(made)
    far, near = made.params[1:3]

    assert weights.shape == (2 * reach + 1, 2 * reach + 1)
    assert np.array_equal(weights, weights.T)
    assert np.array_equal(weights, weights[::-1])
    assert set(np.unique(weights)) <= {0, far, near}
    assert (weights[reach, reach] == far) == (1 <= reach <= HOLLOW)
    assert int((weights == near).sum()) == {0: 1, 1: 8, 2: 20}.get(reach, (2 * reach + 1) ** 2)


def test_half_a_reach_is_a_cross() -> None:
    """Between the true cell alone and the ring of eight: five cells of the same weight."""
    made = disk_round(wave((5, 1), (9, 9), 0.5), 1, promise(wave((5, 1), (9, 9), 0.5)))
    near = made.params[2]

    assert (weights_of(made) / near).tolist() == [[0, 1, 0], [1, 1, 1], [0, 1, 0]]
    assert chosen(5.0, (10, 10)) == ("wave", 0.5)


def heap_wrong(scheme: str, world: np.random.Generator) -> np.ndarray:
    """Return how far maps of a heap are from it in cumulated shares, (runs,)."""
    y, x = np.indices((8, 8))
    truth = np.exp(-((x - 2.5) ** 2 + (y - 3.5) ** 2) / 4) + 0.01
    people = np.round(20_000 * truth / truth.sum()).astype(int)
    query = Query(Grid((8, 8), 0), (7, 5), scheme=scheme)  # type: ignore[arg-type]
    made = disk_round(query, 1, promise(query))
    channel, off = channel_of(made), []
    for _ in range(12):
        found = em(channel, count_many(made, people, world), gain=gain_of(1.4)).mass
        gone = (found - people / people.sum()).cumsum(axis=0).cumsum(axis=1)
        off.append(float(np.abs(gone).sum()))
    return np.array(off)


@pytest.mark.long
def test_the_wave_is_nearer_than_the_printed_disk() -> None:
    """From one fixed world; the control, the disk against itself, must not come out so."""
    world = np.random.default_rng(8)
    disk, again, wave = (heap_wrong(scheme, world) for scheme in ("dam", "dam", "wave"))

    def apart(one: np.ndarray, other: np.ndarray) -> float:
        spread = math.sqrt((one.var(ddof=1) + other.var(ddof=1)) / len(one))
        return float((one.mean() - other.mean()) / spread)

    assert apart(disk, wave) > 2.5
    assert abs(apart(disk, again)) < 1.5

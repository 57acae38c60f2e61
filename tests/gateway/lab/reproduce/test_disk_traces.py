"""Walks, and the ways to tell of them: their laws, what each may not tell, its limits."""

import math

import numpy as np
import pytest

from edge.core.records import Grid
from gateway.lab.reproduce import disk
from gateway.lab.reproduce import disk_traces as traces
from gateway.lab.reproduce.disk_traces import LONGEST, Walks, walk
from gateway.lab.reproduce.people import count
from physics.points import cells_of, normal
from recovery.distance import wasserstein2


def world(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def walks() -> Walks:
    """Return walks over a hill that is not in the middle."""
    return walk(0.6 * normal(40_000, world()), world(2), walks=400, side=60, longest=40)


def test_a_walk_goes_to_neighbours_and_takes_points_that_are_there(walks: Walks) -> None:
    """Every point is one of the people's, and no step is wider than a cell of the walk."""
    points = 0.6 * normal(40_000, world())
    known = {tuple(point) for point in points.tolist()}
    cells = cells_of(walks.places, Grid((60, 60), 0))
    y, x = np.divmod(cells, 60)
    first = np.zeros(len(cells), bool)
    first[walks.starts] = True

    assert all(tuple(place) in known for place in walks.places[:500].tolist())
    assert np.abs(np.diff(x))[~first[1:]].max() == 1
    assert np.abs(np.diff(y))[~first[1:]].max() == 1
    assert walks.lengths.min() >= 2
    assert walks.lengths.max() <= 40
    assert walks.lengths.sum() == len(walks.places)


def test_a_walk_goes_where_the_points_are() -> None:
    """From the middle of three cells in a row, nine in ten go to the fuller end."""
    left, middle, right = [0.1, 0.5], [0.5, 0.5], [0.9, 0.5]
    points = np.array([left] * 9 + [middle] + [right])
    made = walk(points, world(), walks=3_000, side=3, longest=2)
    starts, ends = made.places[0::2, 0], made.places[1::2, 0]
    share = (ends[starts == 0.5] == 0.1).mean()

    assert share == pytest.approx(0.9, abs=0.03)
    assert (ends[starts == 0.1] == 0.5).all()


def far(truth: np.ndarray, found: np.ndarray) -> float:
    return len(truth) * wasserstein2(truth, found, normalise=True)


@pytest.mark.parametrize("way", [traces.estimate_ldptrace, traces.estimate_pivottrace])
def test_a_boundless_epsilon_gives_the_map_of_points(walks: Walks, way: object) -> None:
    """With nothing hidden the two programs must find where people are, the right way round."""
    truth = count(walks.places, 5)
    told = way(walks, 5, 20_000.0, world())  # type: ignore[operator]
    nothing = far(truth, np.ones((5, 5)))

    assert told.sum() == pytest.approx(1)
    assert far(truth, told) < 0.4 * nothing
    assert far(truth, told.T[::-1]) > 1.5 * far(truth, told)


def test_pivots_tell_nothing_at_no_epsilon() -> None:
    """Its map of nobody must not depend on where people are."""
    here = Walks(np.full((4000, 2), 0.05), np.full(1000, 4))
    there = Walks(np.full((4000, 2), 0.95), np.full(1000, 4))
    maps = [traces.guess(one, 5, world(3)) for one in (here, there)]

    assert maps[0] == pytest.approx(maps[1], abs=0.02)
    assert maps[0][2, 2] > 2 * maps[0][0, 0]  # the middle of two even draws


def test_a_told_direction_is_as_private_as_it_says() -> None:
    """The true sector is e^epsilon times as likely as any other one."""
    told = traces._turn(np.full(200_000, 2), np.full(200_000, 1.0), world())
    share = np.bincount(told, minlength=6) / 200_000

    assert share[2] / share[[0, 1, 3, 4, 5]].mean() == pytest.approx(math.e, rel=0.03)


def test_a_blurred_place_is_as_private_as_it_says() -> None:
    """Two corners have one sum of weights, so the odds are half of epsilon there, as computed."""
    laws = [
        np.bincount(
            traces._blur(np.full(300_000, at), np.full(300_000, 3.0), None, 3, world(at)),
            minlength=9,
        )
        / 300_000
        for at in (0, 8)
    ]
    most = np.abs(np.log(laws[0] / laws[1])).max()

    assert most == pytest.approx(1.5, abs=0.03)


def test_lengths_and_steps_of_ldptrace_are_unbiased() -> None:
    """What is heard is the truth on the mean: unary encoding, turned back."""
    truth = np.array([700, 200, 100, 0])
    heard = np.mean([traces._heard(truth, 1.0, world(seed)) for seed in range(400)], axis=0)

    assert heard == pytest.approx(truth, abs=12)
    assert traces._heard(np.zeros(3, int), 1.0, world()).tolist() == [0, 0, 0]


def test_one_point_a_trajectory_is_one_report_each(
    walks: Walks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The unit of privacy is what is counted here: reports, and the epsilon of each."""
    seen = []

    def noted(name: str, people: np.ndarray, setting: object, chance: object) -> np.ndarray:
        seen.append((int(people.sum()), setting.epsilon))  # type: ignore[attr-defined]
        return people / people.sum()

    monkeypatch.setattr(disk, "recover", noted)
    disk.one_point(walks, 5, (3, 2), world())
    disk.share_epsilon(walks, 5, (3, 2), world())
    disk.each_point(walks, 5, (3, 2), world())

    assert seen == [
        (400, (3, 2)),
        (len(walks.places), (3, 2 * LONGEST)),
        (len(walks.places), (3, 2)),
    ]

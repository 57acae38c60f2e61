"""Crowds: many users at once answer a disk Round as that many devices would."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from edge.core.entropy import Tape
from edge.core.records import Grid, Guarantee, Reading, Round
from edge.mechanisms import disk
from physics.crowds.disk import count_many, footprint, report_many

PROMISE = Guarantee(None, None, None, "", "", "", ())
# (reach, far, near, num, den, octant): a disk of reach 2 with border cells, far nearly nothing,
# so that every number a device can draw is tried; e^1 > 5/2 in all of them.
SMALL = (2, 8, 20, 1, 1, 2, 1, 13, 0, 2, 17, 9)
PLAIN = (1, 3, 8, 1, 1, 2, 0)
LINE = (2, 8, 20, 1, 1, 2, 1, 13)
HOLLOW = (1, 3, 8, 1, 1, 0, 2, 3, 8, 1, 0)  # whose own cell weighs as little as far ones
ALONE = (0, 2, 5, 1, 1, 1, 0)


def a_round(columns: int, rows: int, params: tuple[int, ...]) -> Round:
    return Round(1, "disk", Grid((columns, rows), 0), params, PROMISE)


class Scripted:
    """An rng that says what it is told to."""

    def __init__(self) -> None:
        self.says = self.asked = 0

    def below(self, n: int) -> int:
        self.asked = n
        return self.says


def law_of_the_device(round: Round, x: int, y: int) -> Counter[int]:
    """Return how many of all draws give each answer, by trying every one."""
    rng, answers = Scripted(), Counter[int]()
    while True:
        answers[disk.report(round, Reading(0, (x, y)), rng)[1]] += 1
        rng.says += 1
        if rng.says == rng.asked:
            return answers


def law_of(round: Round, x: int, y: int) -> Counter[int]:
    """Return the same from the footprint's arrays."""
    law = footprint(round)
    weights = law.far * law.domain.astype(np.int64)
    spot = weights[y : y + len(law.weights), x : x + law.weights.shape[1]]
    np.copyto(spot, law.weights, where=law.weights > 0)
    flat = weights.ravel()
    return Counter({int(place): int(flat[place]) for place in np.flatnonzero(flat)})


@pytest.mark.parametrize(
    ("columns", "rows", "params"),
    [
        (4, 3, SMALL),
        (1, 6, LINE),
        (6, 1, LINE),
        (3, 3, PLAIN),
        (4, 3, HOLLOW),
        (2, 5, ALONE),
        (1, 1, ALONE),
    ],
)
def test_the_arrays_are_the_law_of_the_device(
    columns: int, rows: int, params: tuple[int, ...]
) -> None:
    """Every number that a device may draw is tried: the crowd's weights are the device's."""
    round = a_round(columns, rows, params)

    for y in range(rows):
        for x in range(columns):
            assert law_of(round, x, y) == law_of_the_device(round, x, y)


def likely(answers: np.ndarray, law: Counter[int]) -> float:
    """Return how likely answers are as far from the law as these; 0 where it forbids one."""
    places = sorted(law)
    seen = np.array([np.count_nonzero(answers == place) for place in places])
    if seen.sum() < len(answers):
        return 0.0
    weights = np.array([law[place] for place in places], float)
    return float(chisquare(seen, weights / weights.sum() * len(answers)).pvalue)


@pytest.mark.parametrize("cell", [0, 6, 11])
def test_a_crowd_answers_by_the_law(cell: int) -> None:
    """A user in the corner and one in the middle, and a crowd that stands one cell off fails."""
    round = a_round(4, 3, SMALL)
    law = law_of_the_device(round, cell % 4, cell // 4)
    world = np.random.default_rng(3)

    answers = report_many(round, np.full(200_000, cell), world)
    beside = report_many(round, np.full(200_000, (cell + 1) % 12), world)

    assert likely(answers, law) > 1e-3
    assert likely(beside, law) < 1e-9


def test_a_crowd_answers_as_its_devices_do() -> None:
    """A thousand tapes of one device against the crowd, by a two-sample chi-square."""
    round = a_round(4, 3, SMALL)
    table, tape = disk.Table(round), Tape(b"crowd")
    one = [disk.report(round, Reading(0, (1, 1)), tape, table)[1] for _ in range(20_000)]
    many = report_many(round, np.full(200_000, 5), np.random.default_rng(4))

    some = np.bincount(one, minlength=footprint(round).domain.size)
    more = np.bincount(many, minlength=len(some))
    both = some + more > 0
    pooled = (some + more)[both] / (some.sum() + more.sum())
    apart = sum(
        float(np.sum((seen[both] - seen.sum() * pooled) ** 2 / (seen.sum() * pooled)))
        for seen in (some, more)
    )

    # The mean of the statistic is its degrees of freedom, its variance twice that.
    freedom = int(both.sum()) - 1
    assert abs(apart - freedom) < 4 * (2 * freedom) ** 0.5


@pytest.mark.parametrize("users", [40, 40_000])
def test_counts_are_those_of_reports(users: int) -> None:
    """Drawn as binomials or one by one: the mean and spread of every place are the law's."""
    round = a_round(4, 3, SMALL)
    histogram = np.random.default_rng(5).multinomial(users, np.full(12, 1 / 12)).reshape(3, 4)
    law = footprint(round)
    chance = np.zeros((12, law.domain.size))
    for cell in range(12):
        for place, weight in law_of(round, cell % 4, cell // 4).items():
            chance[cell, place] = weight / law.total
    mean = histogram.ravel() @ chance
    spread = histogram.ravel() @ (chance * (1 - chance))
    world = np.random.default_rng(6)

    drawn = np.array([count_many(round, histogram, world).ravel() for _ in range(400)])

    some = mean > 0
    assert (drawn.sum(axis=1) == users).all()
    assert (drawn[:, ~some] == 0).all()
    assert np.abs((drawn.mean(axis=0) - mean)[some] / np.sqrt(spread[some] / 400)).max() < 4.5
    # Binomials of one place add up to less spread than Poisson counts would have.
    assert np.abs(drawn.var(axis=0)[some] / spread[some] - 1).max() < 0.35
    assert drawn.var(axis=0)[some].sum() / spread[some].sum() == pytest.approx(1, abs=0.05)

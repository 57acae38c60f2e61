"""Crowds: many users at once answer a disk Round as that many devices would."""

import math
from collections import Counter
from itertools import combinations, product
from math import exp
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from edge.core.entropy import Tape
from edge.core.records import Grid, Guarantee, Reading, Round
from edge.mechanisms import disk
from edge.mechanisms import pyramid as edge
from physics.crowds import shuffle
from physics.crowds.disk import count_many, make_footprint, report_many
from physics.crowds.peers import count_oue, find_other_bit_chance, report_sem_geo_i
from physics.crowds.pyramid import release_points
from recovery.peers.frequency_oracles import oue_chances
from recovery.peers.local_privacy import distances
from recovery.peers.sem_geo_i import anchors
from recovery.pyramid import Query, plan

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
    law = make_footprint(round)
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


@pytest.mark.parametrize("users", [40, 40_000])
def test_counts_are_those_of_reports(users: int) -> None:
    """Drawn as binomials or one by one: the mean and spread of every place are the law's."""
    round = a_round(4, 3, SMALL)
    histogram = np.random.default_rng(5).multinomial(users, np.full(12, 1 / 12)).reshape(3, 4)
    law = make_footprint(round)
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


# Many users at once give the Release that their reports do; and the shuffle protocol.


@pytest.mark.parametrize("name", ["sparse", "dense", "tree"])
@pytest.mark.parametrize("shape", [(32, 32), (13, 20)])
def test_a_crowd_gives_the_release_of_its_reports(name: Any, shape: tuple[int, int]) -> None:
    """From one stream the numbers are equal, so that their law is, too."""
    round = plan(Query(Grid(shape, 0), (1, 1), 1, 300, name), ())
    cells = np.random.default_rng(6).integers(0, shape[0] * shape[1], 300)
    payloads = [
        edge.report(round, Reading(i, (int(cell) % shape[0], int(cell) // shape[0])), None)
        for i, cell in enumerate(cells)
    ]

    assert release_points(round, cells, Tape(b"crowd")) == edge.release(
        round, payloads, Tape(b"crowd")
    )


USERS = 20
ROUND: Round = plan(  # type: ignore[assignment]
    Query(Grid((2, 2), 0), (2, 1), 1, USERS, "sparse", kept=4, units=8, places=2), ()
)._replace(params=(8, 2, 4, 0, 2, 1, 3, 2))


def test_shares_tell_nothing_alone_and_all_together() -> None:
    """Every proper part of a sum's shares is uniform; the last is no sum without its noise."""
    mod = shuffle.choose_modulus(ROUND, USERS)
    payload = edge.report(ROUND, Reading(0, (0, 0)), None)
    sent = shuffle.make_messages(ROUND, payload, USERS, 4, mod, Tape(b"split"))

    assert len(sent) == 4 * 5
    assert all(0 <= share < mod for _, share in sent)
    last = [share for at, share in sent if at == 0][3]
    assert last not in (8, 0)


@pytest.mark.parametrize(
    ("scale", "megabytes", "mended"),
    [
        (16, 6.2, 9.9),
        (64, 6.7, 11.0),
        (256, 7.1, 11.6),  # as PRIVACY has it
        (1024, 8.0, 12.8),
        (4096, 8.5, 13.5),
    ],
)
def test_communication_is_what_the_papers_formula_gives(
    scale: int, megabytes: float, mended: float
) -> None:
    """Fifty users, epsilon 5, delta 1e-5, squares of 320 x 240; the paper says about 10 MB."""
    squares = 4 * 320 * 240 // 3

    printed = shuffle.compute_cost(5, squares, 50, 1e-5, 50 * scale, printed=True)
    round = plan(Query(Grid((320, 240), 0), (5, 1), 1, 50, "sparse", units=scale), ())
    assert round is not None
    own = len(shuffle.list_coordinates(round))
    corrected = shuffle.compute_cost(5, own, 50, 1e-5, shuffle.choose_modulus(round, 50))

    assert printed.total_bytes / 1e6 == pytest.approx(megabytes, abs=0.05)
    assert corrected.total_bytes / 1e6 == pytest.approx(mended, abs=0.05)


def test_too_few_users_are_not_mixed() -> None:
    """Among a handful a shuffler hides nobody."""
    with pytest.raises(ValueError, match="19 at the least"):
        shuffle.count_shares(2, 5, 18, 1e-5, 1 << 30)


# Crowds under optimised unary encoding.


def test_the_worst_ratio_is_epsilon() -> None:
    """Over all 16 strings of four bits and both cells: e^epsilon exactly, and reached."""
    epsilon, stays, errs = 1.4, 0.5, find_other_bit_chance(1.4)

    def chance(bits: tuple[int, ...], own: int) -> float:
        return math.prod(
            (stays if bit else 1 - stays) if cell == own else (errs if bit else 1 - errs)
            for cell, bit in enumerate(bits)
        )

    strings = list(product((0, 1), repeat=4))
    worst = max(chance(bits, 0) / chance(bits, 1) for bits in strings)

    assert sum(chance(bits, 0) for bits in strings) == pytest.approx(1)
    assert math.log(worst) == pytest.approx(epsilon)
    assert oue_chances(epsilon) == pytest.approx((stays, errs))


def test_counts_have_the_law_of_summed_bits() -> None:
    """Mean and spread of every cell over many crowds, against the binomials' own."""
    histogram = np.array([[500, 0], [0, 1500]])
    world = np.random.default_rng(2)
    cells = np.repeat(np.arange(4), histogram.ravel())

    def bits() -> np.ndarray:
        risen_by_chance = world.random((2000, 4)) < find_other_bit_chance(2.0)
        risen_by_chance[np.arange(2000), cells] = world.random(2000) < 0.5
        return risen_by_chance

    summed = np.array([bits().sum(axis=0) for _ in range(600)])
    counted = np.array([count_oue(histogram, 2.0, world).ravel() for _ in range(600)])

    q = find_other_bit_chance(2.0)
    users = histogram.ravel()
    mean = users / 2 + (2000 - users) * q
    spread = users / 4 + (2000 - users) * q * (1 - q)
    for drawn in (summed, counted):
        assert np.abs(drawn.mean(axis=0) - mean).max() < 4.5 * math.sqrt(spread.max() / 600)
        assert np.abs(drawn.var(axis=0) / spread - 1).max() < 0.25


# Crowds under the subset exponential mechanism: drawn by an anchor, held against every set.


def law(cell: int, size: int, exponent: float) -> dict[tuple[int, ...], float]:
    """Return the chance of every set as it is defined: the sum over its cells, normalised."""
    away = distances(3, 2)[cell]
    weights = {
        chosen: sum(exp(-exponent * away[x]) for x in chosen)
        for chosen in combinations(range(6), size)
    }
    total = sum(weights.values())
    return {chosen: weight / total for chosen, weight in weights.items()}


def likely_bits(answers: np.ndarray, expected: dict[tuple[int, ...], float]) -> float:
    sets, times = np.unique(answers, axis=0, return_counts=True)
    seen = dict(zip(map(tuple, sets.tolist()), times.tolist(), strict=True))
    assert seen.keys() <= expected.keys()
    observed = [seen.get(chosen, 0) for chosen in expected]
    wanted = [chance * len(answers) for chance in expected.values()]
    return float(chisquare(observed, wanted).pvalue)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6])
@pytest.mark.parametrize("cell", [0, 4])
def test_an_anchor_gives_the_law_of_all_sets(cell: int, size: int) -> None:
    """The shortcut that makes large sets possible must be the mechanism, not one like it."""
    world = np.random.default_rng(1)
    table = anchors(distances(3, 2), 0.9)

    answers = report_sem_geo_i(table, np.full(100_000, cell), size, world)
    milder = report_sem_geo_i(anchors(distances(3, 2), 0.8), np.full(100_000, cell), size, world)

    assert (np.diff(answers, axis=1) > 0).all()
    if size < 6:  # all sets of six are one
        assert likely_bits(answers, law(cell, size, 0.9)) > 1e-3
        assert likely_bits(milder, law(cell, size, 0.9)) < 1e-3 or size == 5

"""How sure a map is: held against how far maps really fall from the truth."""

import itertools
import math

import numpy as np
import pytest

from edge.core.records import Grid
from physics.crowds.disk import count_many
from recovery.disk import Query, plan
from recovery.disk.average_map import misfit
from recovery.disk.channel import Channel, channel_of
from recovery.disk.em import OPTIMAL, Fit, em_fast, gain_of
from recovery.disk.estimators import ESTIMATORS, cell_sd, estimate


def disk(shape: tuple[int, int], radius: int = 2) -> Channel:
    planned = plan(Query(Grid(shape, 1000), (2, 1), radius=radius), [])
    assert planned is not None
    return channel_of(planned)


TRUTH = np.outer([1.0, 3.0, 6.0, 3.0, 2.0], [1.0, 2.0, 5.0, 4.0, 2.0, 1.0]) / 225
CHANNEL = disk((6, 5))
REPORTS = 20_000


def answers(runs: int) -> np.ndarray:
    """(runs, outer rows, outer columns)."""
    law = CHANNEL.forward(TRUTH)
    drawn = np.random.default_rng(8).multinomial(REPORTS, (law / law.sum()).ravel(), size=runs)
    return np.asarray(drawn.reshape(runs, *law.shape))


@pytest.mark.long
def test_the_printed_method_falls_as_far_as_it_says() -> None:
    """Against two hundred runs with the real truth, which the bootstrap never sees."""
    gain = gain_of(2)
    fits = [em_fast(CHANNEL, counts, gain=gain).mass for counts in answers(200)]
    really = np.sqrt(np.square(np.array(fits) - TRUTH).mean(axis=0))
    said = np.array([cell_sd(CHANNEL, fit, REPORTS) for fit in fits[:5]]).mean(axis=0)

    assert np.sqrt(np.square(said / really).mean()) == pytest.approx(1, abs=0.2)
    assert np.median(abs(np.log(said / really))) < 0.25
    # Four times the users know twice as much: were the number of reports forgotten, it would show.
    assert cell_sd(CHANNEL, fits[0], 4 * REPORTS).sum() < 0.7 * said.sum()


def test_it_is_the_same_every_time_and_of_the_estimator_asked_for() -> None:
    """The same answers give the same map and the same doubt, to the last bit."""
    once, twice = (cell_sd(CHANNEL, TRUTH, 500) for _ in range(2))
    ems = cell_sd(CHANNEL, TRUTH, 500, lambda ch, counts: estimate("ems", ch, counts, 2.0))

    assert (once == twice).all()
    assert not np.allclose(once, ems)


@pytest.mark.long
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("shape", [(6, 5), (9, 1), (1, 4), (1, 1)])
def test_every_estimator_draws_a_map_of_every_shape(name: str, shape: tuple[int, int]) -> None:
    """By its name, of a slope that any of them must find."""
    channel = disk(shape, 1)
    slope = 1.0 + np.add.outer(np.arange(channel.rows), 2 * np.arange(channel.columns))
    slope /= slope.sum()
    found = estimate(name, channel, np.round(1e5 * channel.forward(slope)), 2.0)

    assert found.mass.shape == slope.shape
    assert found.mass.sum() == pytest.approx(1)
    assert found.status == "optimal"
    assert abs(found.mass - slope).sum() / 2 < (0.3 if name == "ems" else 0.06)


def test_no_other_name_and_no_other_epsilon() -> None:
    """A name that is mistyped must not become the default."""
    for name, epsilon in (("EM", 1.0), ("em", 0.0), ("em", float("nan")), ("auto", float("inf"))):
        with pytest.raises(ValueError, match="must be"):
            estimate(name, CHANNEL, np.zeros(CHANNEL.support.shape), epsilon)


@pytest.mark.long
@pytest.mark.parametrize(("cells", "drawn"), [(20, "crowded"), (90, "no few crowded cells")])
def test_where_no_smooth_map_fits_the_answers_are_believed(cells: int, drawn: str) -> None:
    """Crowded cells lie between the places of a lattice: a few are found, for many there is EM."""
    planned = plan(Query(Grid((32, 32), 0), (5, 1), scheme="wave", radius=4), [])
    assert planned is not None
    channel, world = channel_of(planned), np.random.default_rng(9)
    people = np.zeros((32, 32), dtype=np.int64)
    people.flat[world.choice(people.size, cells, replace=False)] = 1_000_000 // cells
    counts, truth = count_many(planned, people, world), people / people.sum()
    off = {
        name: np.abs(estimate(name, channel, counts, 5.0).mass - truth).sum() / 2
        for name in ("auto", "em")
    }

    assert drawn in estimate("auto", channel, counts, 5.0).why
    assert off["auto"] < off["em"] / 5 if cells == 20 else off["auto"] == off["em"]
    assert abs(misfit(channel, counts, truth)) < 4
    assert misfit(channel, 0 * counts, truth) == 0


# Deviations by repetition, of estimators whose deviations are known by hand.


def test_an_estimator_that_never_looks_is_off_by_its_bias() -> None:
    """It draws the same map of whatever is answered: what does not spread is wrong too."""
    channel = disk((6, 5), 2)
    truth = np.outer([1.0, 3.0, 6.0, 3.0, 2.0], [1.0, 2.0, 5.0, 4.0, 2.0, 1.0]) / 225
    even = np.full((5, 6), 1 / 30)
    said = cell_sd(channel, truth, 1_000, lambda ch, counts: Fit(even, 0.0, 1, OPTIMAL))

    assert said == pytest.approx(abs(even - truth))


def test_an_estimator_that_counts_spreads_as_counts_do() -> None:
    """Shares of answers at their own place: Poisson's deviations, sqrt(n g) / n, of 400 runs."""
    channel, reports = disk((6, 5), 1), 3_000
    truth = np.full((5, 6), 1 / 30)
    law = channel.forward(truth)[1:-1, 1:-1]

    def counting(channel: Channel, counts: np.ndarray) -> Fit:
        return Fit(truth + counts[1:-1, 1:-1] / reports - law, 0.0, 1, OPTIMAL)

    said = cell_sd(channel, truth, reports, counting, repetitions=400)
    assert said / np.sqrt(law / reports) == pytest.approx(1, abs=0.15)


# How badly a map fits: the chi-square of every outcome that there may be, by its chance.


def line(cells: int, epsilon: tuple[int, int]) -> Channel:
    """As many answers as cells."""
    planned = plan(Query(Grid((cells, 1), 0), epsilon, scheme="krr"), [])
    assert planned is not None
    return channel_of(planned)


@pytest.mark.parametrize("reports", [1, 2, 5])
@pytest.mark.parametrize("cells", [2, 4])
def test_its_mean_is_nought_and_its_variance_one(cells: int, reports: int) -> None:
    """However few the answers are: enumerated, with the multinomial's chances."""
    channel = line(cells, (2, 1))
    mass = np.arange(1.0, cells + 1)[None, :] ** 2
    mass /= mass.sum()
    law = channel.forward(mass).ravel()
    first = second = whole = 0.0
    for found in itertools.product(range(reports + 1), repeat=cells):
        if sum(found) != reports:
            continue
        ways = math.factorial(reports) / math.prod(math.factorial(one) for one in found)
        chance = ways * float(np.prod(law ** np.array(found)))
        off = misfit(channel, np.array(found, dtype=float)[None, :], mass)
        first, second, whole = first + chance * off, second + chance * off**2, whole + chance

    assert whole == pytest.approx(1)
    assert first == pytest.approx(0, abs=1e-9)
    assert second == pytest.approx(1)

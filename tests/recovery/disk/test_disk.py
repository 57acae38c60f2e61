"""Places, analyst half: what is promised, and a map of what was answered."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from edge.core.entropy import Tape
from edge.core.records import Grid, Reading, Release, Round
from edge.mechanisms.disk import release, report
from physics.crowds.disk import count_many
from recovery.disk import Query, plan, recover
from recovery.disk.channel import channel_of
from recovery.disk.profile import Profile
from recovery.maps.guarantee import describe_guarantee
from recovery.maps.heatmap import Heatmap, Unresolved

GRID = Grid((5, 4), 500)


def first(query: Query) -> Round:
    made = plan(query, ())
    assert made is not None
    return made


def answered(query: Query, cells: list[tuple[int, int]], seed: bytes = b"tape") -> list[Release]:
    """Return the releases of devices in these cells, as often as the query asks."""
    rng, releases = Tape(seed), []
    while made := plan(query, releases):
        payloads = [report(made, Reading(sensor, cell), rng) for sensor, cell in enumerate(cells)]
        releases.append(release(made, payloads, rng))
    return releases


def expected(query: Query, mass: np.ndarray, reports: int) -> Release:
    """Return the release that so many reports have on average, in whole numbers."""
    made = first(query)
    law = channel_of(made).forward(mass)
    counts = [round(float(chance) * reports) for chance in law.ravel()]
    return Release(made, counts, sum(counts))


def test_the_promise_is_in_whole_numbers_and_says_what_is_not_protected() -> None:
    """Epsilon for all reports, rho for each: epsilon squared over two."""
    promise = first(Query(GRID, (3, 1), readings=2)).guarantee

    assert (promise.epsilon, promise.delta) == ((3, 1), None)
    assert Fraction(*promise.rho) == Fraction(3, 2) ** 2 / 2
    assert "any two cells" in promise.neighbours
    assert promise.trust.startswith("local")
    assert "2 reports of one device" in promise.unit
    for open_to_all in ("answers, when", "who it is", "how many", "further reports", "for days"):
        assert open_to_all in promise.unprotected
    assert any("20.1" in line for line in describe_guarantee(promise))  # exp(3)


@pytest.mark.parametrize("scheme", ["dam", "dam-ns", "area", "huem", "krr"])
def test_a_map_finds_where_most_are(scheme: Any) -> None:
    """Two crowds in a hall, from what thousands answer on average."""
    query = Query(GRID, (7, 2), scheme=scheme, radius=None if scheme == "krr" else 1)
    mass = np.zeros((4, 5))
    mass[0, 0], mass[3, 4] = 0.7, 0.3
    found = recover(query, [expected(query, mass, 100_000)])

    assert isinstance(found, Heatmap)
    assert np.abs(found.mass - mass).sum() < 0.25
    assert found.total == pytest.approx(100_000, abs=60)
    assert found.sd.shape == mass.shape
    assert found.guarantee == first(query).guarantee


def test_what_a_map_claims_costs_nobody_anything() -> None:
    """Every estimator has the same Round, whole number by whole number, and the same promise."""
    rounds = {first(Query(GRID, (3, 1), estimator=name)) for name in ("auto", "em", "ems")}
    (made,) = rounds
    releases = answered(Query(GRID, (3, 1)), [(1, 2)] * 300)
    for name in ("auto", "em", "ems"):
        found = recover(Query(GRID, (3, 1), estimator=name), releases)

        assert isinstance(found, Heatmap)
        assert found.blocks is not None
        assert found.guarantee == made.guarantee
    sure = recover(Query(GRID, (3, 1), level=0.99), releases)
    assert isinstance(sure, Heatmap)
    assert sure.blocks.level == 0.99


def test_answers_that_no_map_gives_are_said_to_be_none() -> None:
    """Every other place twice as often: forged, or drawn with other weights."""
    query = Query(Grid((9, 8), 500), (1, 1))
    honest = expected(query, np.full((8, 9), 1 / 72), 100_000)
    values = [count * (1 + at % 2) for at, count in enumerate(honest.values)]
    found = recover(query, [Release(honest.round, values, sum(values))])

    assert isinstance(found, Heatmap)
    assert (found.blocks, found.sd) == (None, None)
    assert found.contradicted
    assert "forged" in found.verdict.sentence


@pytest.mark.parametrize(("wide", "named"), [(1e9, 0), (30, 8)])
def test_what_is_said_of_the_place_that_is_named_is_so(wide: float, named: int) -> None:
    """Of a heap, told of the densest block that may be named; of an even crowd of none. An
    interval of the fullest cell by itself misses the share for which it was picked."""
    query = Query(Grid((12, 12), 0), (5, 1), estimator="em")
    made, channel = first(query), channel_of(first(query))
    law = np.exp(-np.square(np.indices((12, 12)) - 5.5).sum(axis=0) / wide).ravel()
    held, alone = list[bool](), list[bool]()
    for seed in range(8):
        world = np.random.default_rng(seed)
        people = world.multinomial(20_000, law / law.sum()).reshape(12, 12)
        counts = count_many(made, people, world)
        found = recover(query, [Release(made, counts.ravel().tolist(), 20_000)])
        assert isinstance(found, Heatmap)
        assert found.blocks is not None
        blocks, dense = found.blocks, found.mass.argmax()
        for at in blocks.claims[:1]:
            top, left, high, across = blocks.boxes[at]
            share = people[top : top + high, left : left + across].sum() / 20_000
            held.append(bool(blocks.low[at] <= share <= blocks.high[at]))
        profile = Profile(channel, counts.astype(float), found.mass)
        low, most = profile.interval(np.arange(144) == dense)
        alone.append(bool(low <= people.ravel()[dense] / 20_000 <= most))

    assert held == [True] * named
    assert sum(alone) < 6


def test_nobody_answering_is_no_map() -> None:
    """An even map would look like a measurement."""
    query = Query(GRID, (1, 1))
    found = recover(query, answered(query, []))

    assert isinstance(found, Unresolved)
    assert "no device answered" in found.why
    assert found.guarantee == first(query).guarantee


def test_a_map_of_other_weights_is_refused() -> None:
    """The same reports under a larger epsilon would be a sharper map, and a wrong one."""
    asked, other = Query(GRID, (1, 1), radius=1), Query(GRID, (6, 1), radius=1)

    with pytest.raises(ValueError, match="another plan"):
        recover(asked, answered(other, [(1, 1)] * 10))


BENT: dict[str, Callable[[Release], list[Release]]] = {
    "none": lambda one: [],
    "twice": lambda one: [one, one],
    "too many": lambda one: [changed(one, number=n) for n in (1, 2, 3)],
    "other weights": lambda one: [
        changed(
            one, params=(*one.round.params[:2], one.round.params[2] + 1, *one.round.params[3:])
        )
    ],
    "other grid": lambda one: [changed(one, grid=Grid((4, 5), 500))],
    "other mechanism": lambda one: [changed(one, mechanism="thermal")],
    "other promise": lambda one: [
        changed(one, guarantee=one.round.guarantee._replace(epsilon=(1, 9)))
    ],
    "cut short": lambda one: [one._replace(values=one.values[:-1])],
    "miscounted": lambda one: [one._replace(reports=one.reports + 1)],
    "a float": lambda one: [one._replace(values=[float(value) for value in one.values])],
    "negative": lambda one: [one._replace(values=[-1, 1, *one.values[2:]])],
    "none at all": lambda one: [one._replace(values=[None, *one.values[1:]])],
}


def changed(one: Release, **parts: Any) -> Release:
    return one._replace(round=one.round._replace(**parts))


@pytest.mark.parametrize("which", BENT)
def test_releases_that_do_not_belong_to_the_query_are_refused(which: str) -> None:
    """A map drawn with another channel is wrong, and looks like any other."""
    query = Query(GRID, (6, 1), readings=2)
    one = answered(query, [(1, 1)] * 10)[0]

    with pytest.raises(ValueError, match="release"):
        recover(query, BENT[which](one))

"""What the certificate of a map is good for: which heats, which rooms, which estimators."""

from dataclasses import replace

import numpy as np
import pytest

from edge.core.records import Grid
from physics.kernel import forward
from recovery.estimators.record import Seen
from recovery.thermal import certified
from recovery.thermal.query import Query

LINE = Query(Grid((40, 1), 0), (25,), 0.05, (1, 1), sources_max=3, intensity_max=2.0)
PLACES = (np.arange(40) + 0.5) / 40
OPERATOR = forward(PLACES, (np.arange(25) + 0.5) / 25, 0.05)


def seen(heat: np.ndarray, world: np.random.Generator, free: np.ndarray | None = None) -> Seen:
    """Return what is seen of the heat along a line, at much noise."""
    readings = OPERATOR @ heat + 0.3 * world.normal(size=25)
    return Seen(
        OPERATOR, readings, 0.3, PLACES[:, None], (1, 40), upper=LINE.intensity_max, open=free
    )


def held(powers: tuple[float, ...], runs: int, noise: float = 1.0) -> float:
    """Return how often the band holds sources of these powers, the noise stated too small."""
    world, times = np.random.default_rng(5), 0
    for _ in range(runs):
        heat = np.zeros(40)
        heat[world.choice(40, len(powers), replace=False)] = powers
        given = seen(heat, world)
        band, _ = certified(LINE, replace(given, sigma=given.sigma / noise))
        if band is not None:
            share = heat.cumsum() / heat.sum()
            times += bool((band.low <= share + 1e-9).all() and (share <= band.high + 1e-9).all())
    return times / runs


@pytest.mark.long
@pytest.mark.parametrize("powers", [(0.6,), (2.0, 2.0, 2.0), (0.6, 2.0)])
def test_it_holds_whatever_number_and_powers_the_query_allows(powers: tuple[float, ...]) -> None:
    """At both ends of the range of totals and between: nine in ten at least."""
    assert held(powers, 60) >= 0.9


def test_it_does_not_hold_where_the_noise_is_stated_too_small() -> None:
    """The control: what is checked above can be false."""
    assert held((2.0, 2.0, 2.0), 30, noise=5.0) < 0.8


def test_no_heat_is_thought_of_in_furniture() -> None:
    """Over closed cells no share rises, and what is left is known better."""
    free = np.ones(40, dtype=bool)
    free[10:30] = False
    heat = np.zeros(40)
    heat[5] = 2.0
    given = seen(heat, np.random.default_rng(1), free)
    (band, _), (wider, _) = certified(LINE, given), certified(LINE, replace(given, open=None))

    assert band is not None
    assert wider is not None
    assert np.ptp(band.low[9:30]) == np.ptp(band.high[9:30]) == 0
    assert (band.high - band.low).sum() < 0.9 * (wider.high - wider.low).sum()


def test_rooms_of_which_nothing_is_proved_have_no_band() -> None:
    """Planes, long lines, a deviation that is too small, readings that nothing explains."""
    given = seen(np.eye(40)[3], np.random.default_rng(2))
    long = replace(given, shape=(1, 1001), operator=np.ones((25, 1001)))

    assert certified(LINE, given)[0] is not None
    assert certified(LINE, replace(given, shape=(8, 5)))[0] is None
    assert certified(LINE, long) == (None, None)
    assert certified(replace(LINE, estimator="l1-printed"), given) == (None, None)
    assert certified(LINE, replace(given, readings=given.readings - 50))[0] is None


def levels(powers: tuple[float, ...], query: Query = LINE, runs: int = 40) -> list[str]:
    """Return the verdicts on sources of these powers, in a line and as if it were a plane."""
    world, found = np.random.default_rng(7), []
    for run in range(runs):
        heat = np.zeros(40)
        heat[world.choice(40, len(powers), replace=False)] = powers
        given = replace(seen(heat, world), shape=(8, 5) if run % 2 else (1, 40))
        verdict = certified(query, given)[1]
        assert verdict is not None
        assert bool(verdict.why) != verdict.fits
        found.append(verdict.level)
    return found


@pytest.mark.long
@pytest.mark.parametrize("powers", [(), (0.2,), (0.6,), (2.0, 2.0, 2.0)])
def test_what_the_query_allows_is_not_called_a_contradiction(powers: tuple[float, ...]) -> None:
    """In at most one of a hundred readings, by proof; an empty room is no contradiction."""
    assert set(levels(powers)) == {"fits"}


def test_what_it_does_not_allow_is_called_one() -> None:
    """More sources than it says; and nobody, where it knows of two."""
    assert set(levels((2.0,) * 7)) == {"assumptions"}
    assert set(levels((), replace(LINE, sources=2, intensity_min=2.0))) == {"assumptions"}

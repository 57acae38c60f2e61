"""Known rooms come back from made-up recordings, and rooms that are otherwise do not."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from physics.recorded.experiments import Experiment, stepped
from physics.recorded.fitting import Fitted, fit, warming_of
from physics.recorded.warming import Warming

SIZE_M = np.array([4.7, 3.4, 2.9])
PLACES_M = np.array([[2.3, 1.7, 2.85], [4.3, 0.8, 0.9], [2.4, 3.4, 2.2], [0.4, 0.1, 1.2]])
TRUTH = Warming(2.2, 12.0, 1 / 350, 1 / 3000, 0.008, (2.0, 1.2, 1.2))


def recorded(count: int, world: np.random.Generator, error: float = 1.0) -> list[Experiment]:
    """Return made-up experiments: the truth, a slow error of the room and one of each node."""
    experiments = []
    for number in range(count):
        power_w = np.zeros(180)
        phases = np.sort(world.integers(20, 150, 4))
        for first, last in itertools.pairwise(phases):
            power_w[first:last] = world.choice([28.0, 31.5, 56.0, 63.0])
        blank = Experiment(
            f"e{number}",
            f"day {number // 4}",
            SIZE_M,
            PLACES_M,
            np.zeros((4, 180)) + 21.0,
            power_w,
            number % 3 == 0,
        )
        told_c = np.full((4, 180), 21.0)
        told_c[:, blank.entered :] += warming_of(TRUTH, blank)
        if error:
            slow = world.normal(0, 0.004 * error, 180).cumsum()
            slow -= slow[blank.entered]
            own = world.normal(0, 0.01 * error, (4, 180))
            told_c = np.round(told_c + slow + own, 2)
        told_c[world.random((4, 180)) < 0.02] = np.nan
        told_c[:, blank.entered - 1] = 21.0
        experiments.append(replace(blank, temp_c=told_c))
    return experiments


@pytest.fixture(scope="module")
def fitted() -> Fitted:
    return fit(recorded(30, np.random.default_rng(30)))


@pytest.mark.long
def test_known_figures_come_back_within_their_intervals(fitted: Fitted) -> None:
    truth = {
        "capacity_factor": TRUTH.capacity_factor,
        "store_factor": TRUTH.store_factor,
        "exchange_per_s": TRUTH.exchange_per_s,
        "mixing_m2_per_s": TRUTH.mixing_m2_per_s,
        "place_x_m": TRUTH.place_m[0],
        "place_y_m": TRUTH.place_m[1],
    }
    for name, figure in truth.items():
        low, high = fitted.intervals[name]
        assert low < figure < high, name


@pytest.mark.long
def test_a_wrong_capacity_is_rejected(fitted: Fitted) -> None:
    """Intervals wide enough for anything would pass the test above."""
    low, high = fitted.intervals["capacity_factor"]
    assert TRUTH.capacity_factor / 2 < low
    assert high < TRUTH.capacity_factor * 2


def test_a_trend_goes_on_and_dies_away(fitted: Fitted) -> None:
    """A room that warms by itself before anybody comes: half an hour of it remains at most."""
    (one,) = recorded(1, np.random.default_rng(36), error=0.0)
    slope = 1e-4
    steps_s = (np.arange(one.temp_c.shape[1]) - one.entered) * 20.0
    rising = replace(one, temp_c=np.where(steps_s < 0, 21.0 + slope * steps_s, one.temp_c))
    room = replace(TRUTH, trend=1.0)

    assert rising.trends_k_per_s == pytest.approx([slope] * 4)
    more = warming_of(room, rising) - warming_of(room, replace(one, temp_c=one.temp_c * 0 + 21))
    assert more[:, 0] == pytest.approx(slope * 10, rel=0.01)
    assert (more < slope * 1800).all()
    assert (np.diff(more) > 0).all()


def test_bad_questions_are_refused() -> None:
    experiments = recorded(2, np.random.default_rng(34))
    with pytest.raises(ValueError, match="no experiments"):
        fit([])
    with pytest.raises(ValueError, match="e0 and e1 differ"):
        fit([experiments[0], replace(experiments[1], size_m=SIZE_M + 1)])
    with pytest.raises(ValueError, match="nobody in it"):
        replace(experiments[0], power_w=np.zeros(180))
    with pytest.raises(ValueError, match="without readings before"):
        replace(experiments[0], power_w=np.ones(180))


def test_readings_become_means_over_steps_and_warming_counts_from_the_last_minute() -> None:
    """An empty room that warms by a millikelvin a second: that minute's middle, not all before."""
    at_s = np.repeat(np.arange(0.0, 610.0, 10.0), 2)
    node = np.tile([0, 1], 61)
    order = np.random.default_rng(1).permutation(122)  # in whatever order they came
    readings = tuple(part[order] for part in (at_s, node, 20 + at_s / 1000))
    state = np.where(at_s >= 400, 28.0, 0.0)[order], np.zeros(122)
    one = stepped("one", "d", (SIZE_M, PLACES_M[:2]), readings, state)  # type: ignore[arg-type]

    assert one.entered == 20
    assert one.power_w[20:] == pytest.approx(28.0)
    assert one.baseline_c == pytest.approx([20 + (340 + 390) / 2000] * 2)
    assert one.trends_k_per_s == pytest.approx([1e-3] * 2)
    assert not one.door_open

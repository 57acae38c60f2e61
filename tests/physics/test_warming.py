"""The box of modes against the kernels, against an integrator, and at its two ends."""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from physics.air import AIR_J_PER_M3K
from physics.kernel import forward
from physics.recorded.experiments import Experiment, average_steps, read_room_climate
from physics.recorded.fitting import (
    Fitted,
    alternate_days,
    compare_with_peer,
    fit_room,
    measure_forecast_errors,
    simulate_warmth,
)
from physics.recorded.warming import PERSON_SD_M, Warming, step_response

SIZE_M = np.array([4.7, 3.4, 2.9])
PLACES_M = np.array([[4.0, 0.8, 0.9], [2.3, 1.7, 2.88], [2.4, 1.2, 1.2]])
ROOM = Warming(2.0, 20.0, 1 / 500, 1e-3, 0.02, (2.0, 1.0, 1.2))


@pytest.mark.long
@pytest.mark.parametrize("at_s", [60.0, 1500.0])
def test_an_endless_store_is_a_loss_from_the_kernels(at_s: float) -> None:
    """The kernels of a closed box, times exp(-exchange t), added up over time by quadrature."""
    room = replace(ROOM, store_factor=1e12)
    nodes, weights = np.polynomial.legendre.leggauss(300)
    root = (nodes + 1) / 2
    total = np.zeros(len(PLACES_M))
    for ago_s, weight in zip(root**2 * at_s, root * at_s * weights, strict=True):
        spread_m2 = room.mixing_m2_per_s * ago_s + PERSON_SD_M**2 / 2
        kernel = np.exp(-room.exchange_per_s * ago_s)
        for axis in range(3):
            here = [room.place_m[axis]]
            kernel = (
                kernel
                * forward(here, PLACES_M[:, axis], spread_m2, "insulated", SIZE_M[axis])[:, 0]
            )
        total += weight * kernel
    total /= room.capacity_factor * AIR_J_PER_M3K

    found = step_response(room, SIZE_M, PLACES_M, np.array([at_s]))[:, 0]

    assert found == pytest.approx(total, rel=2e-3)


@pytest.mark.parametrize("door_open", [False, True])
def test_the_even_part_obeys_its_two_equations(door_open: bool) -> None:
    """Mixed at once there is nothing but air and store: two equations, integrated."""
    at_s = np.array([100.0, 1000.0, 9000.0])
    leak = ROOM.open_loss_per_s if door_open else 0.0
    back = ROOM.exchange_per_s * ROOM.capacity_factor / ROOM.store_factor
    bare = AIR_J_PER_M3K * np.prod(SIZE_M)

    def rates(_: float, kelvin: np.ndarray) -> list[float]:
        passed = kelvin[0] - kelvin[1]
        heating = 1 / (ROOM.capacity_factor * bare)
        return [heating - ROOM.exchange_per_s * passed - leak * kelvin[0], back * passed]

    told = solve_ivp(rates, (0, 9000), [0, 0], t_eval=at_s, rtol=1e-10, atol=1e-14).y[0]

    mixed = replace(ROOM, mixing_m2_per_s=1e6)
    assert step_response(mixed, SIZE_M, PLACES_M[:1], at_s, door_open)[0] == pytest.approx(
        told, rel=1e-6
    )


# Three real offices: days that the fit has not seen, beside guesses without physics.

Rooms = dict[str, tuple[Fitted, list[Experiment]]]


@pytest.fixture(scope="module")
def rooms(data: Path) -> Rooms:
    """Return each office as fitted to every other day, and the days that were held out."""
    found = {}
    for room, experiments in read_room_climate(data / "thermal").items():
        first, second = alternate_days(experiments)
        assert not {one.day for one in first} & {one.day for one in second}
        found[room] = (fit_room(first), second)
    return found


@pytest.mark.long
def test_the_forecast_beats_the_last_value_and_the_slope(rooms: Rooms) -> None:
    errors = {room: measure_forecast_errors(*pair) for room, pair in rooms.items()}
    days = [room + one.day for room, (_, held) in rooms.items() for one in held]
    joined = {name: np.concatenate([row[name] for row in errors.values()]) for name in errors["A"]}

    for peer, most in (("last", 0.70), ("slope", 0.55)):
        for groups in (None, days):
            assert compare_with_peer(joined, peer, groups).high < most
    for room in ("A", "B"):
        assert compare_with_peer(errors[room], "last").high < 0.9
    assert compare_with_peer(errors["C"], "last").ratio < 0.8  # its interval ends at 1.00


@pytest.mark.long
def test_rooms_store_what_real_rooms_store(rooms: Rooms) -> None:
    """Air and what follows it at once: twice or thrice the bare air, surely more than once."""
    for fitted, _ in rooms.values():
        low, high = fitted.intervals["capacity_factor"]
        assert 1 < low < high < 5
        low, high = fitted.intervals["mixing_m2_per_s"]
        assert 0.001 < low < high < 0.2  # of still air it is 0.00002


# Known rooms come back from made-up recordings, and rooms that are otherwise do not.

FITTED_PLACES_M = np.array([[2.3, 1.7, 2.85], [4.3, 0.8, 0.9], [2.4, 3.4, 2.2], [0.4, 0.1, 1.2]])
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
            FITTED_PLACES_M,
            np.zeros((4, 180)) + 21.0,
            power_w,
            number % 3 == 0,
        )
        told_c = np.full((4, 180), 21.0)
        told_c[:, blank.entered :] += simulate_warmth(TRUTH, blank)
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
    return fit_room(recorded(30, np.random.default_rng(30)))


@pytest.mark.long
def test_known_figures_come_back_within_their_intervals(fitted: Fitted) -> None:
    """And these are not wide enough for anything: half or twice the capacity is rejected."""
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
    low, high = fitted.intervals["capacity_factor"]
    assert TRUTH.capacity_factor / 2 < low < high < TRUTH.capacity_factor * 2


def test_a_trend_goes_on_and_dies_away(fitted: Fitted) -> None:
    """A room that warms by itself before anybody comes: half an hour of it remains at most."""
    (one,) = recorded(1, np.random.default_rng(36), error=0.0)
    slope = 1e-4
    steps_s = (np.arange(one.temp_c.shape[1]) - one.entered) * 20.0
    rising = replace(one, temp_c=np.where(steps_s < 0, 21.0 + slope * steps_s, one.temp_c))
    room = replace(TRUTH, trend=1.0)

    assert rising.trends_k_per_s == pytest.approx([slope] * 4)
    more = simulate_warmth(room, rising) - simulate_warmth(
        room, replace(one, temp_c=one.temp_c * 0 + 21)
    )
    assert more[:, 0] == pytest.approx(slope * 10, rel=0.01)
    assert (more < slope * 1800).all()
    assert (np.diff(more) > 0).all()


def test_readings_become_means_over_steps_and_warming_counts_from_the_last_minute() -> None:
    """An empty room that warms by a millikelvin a second: that minute's middle, not all before."""
    at_s = np.repeat(np.arange(0.0, 610.0, 10.0), 2)
    node = np.tile([0, 1], 61)
    order = np.random.default_rng(1).permutation(122)  # in whatever order they came
    readings = tuple(part[order] for part in (at_s, node, 20 + at_s / 1000))
    state = np.where(at_s >= 400, 28.0, 0.0)[order], np.zeros(122)
    one = average_steps("one", "d", (SIZE_M, FITTED_PLACES_M[:2]), readings, state)  # type: ignore[arg-type]

    assert one.entered == 20
    assert one.power_w[20:] == pytest.approx(28.0)
    assert one.baseline_c == pytest.approx([20 + (340 + 390) / 2000] * 2)
    assert one.trends_k_per_s == pytest.approx([1e-3] * 2)
    assert not one.door_open

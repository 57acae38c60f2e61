"""Sources that walk, against sums of many short stays and against closed forms."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import k0e

from physics.kernels.continuous import forward_continuous
from physics.kernels.moving import Path, _stops, forward_moving
from physics.kernels.robin import forward_between
from physics.places import Floats

AT = np.array([0.0, 10.0, 25.0, 25.0, 40.0])
PLACES = np.array([[0.5, 0.5], [5.5, 0.5], [5.5, 3.5], [1.0, 3.0], [3.0, 2.0]])
RATES = np.array([1.0, 1.0, 0.5, 0.8, 0.0])
SENSORS = np.array([[1.0, 1.0], [5.0, 0.6], [2.5, 2.2], [5.5, 3.0], [0.2, 3.8]])
LENGTH = (6.0, 4.0)


def summed(read_s: float, walls, sd: float, loss: float, stays: int) -> Floats:
    """Add up that many short stays on each leg, each at its own middle."""
    total = np.zeros(len(SENSORS))
    for leg in (0, 1, 3):
        start, end = AT[leg], min(AT[leg + 1], read_s)
        for stay in range(stays if end > start else 0):
            at = start + (stay + 0.5) * (end - start) / stays
            share = (at - AT[leg]) / (AT[leg + 1] - AT[leg])
            place = (1 - share) * PLACES[leg] + share * PLACES[leg + 1]
            rate = (1 - share) * RATES[leg] + share * RATES[leg + 1]
            spread = 0.02 * (read_s - at) + sd**2 / 2
            felt = forward_between(place[None], SENSORS, spread, walls, LENGTH)[:, 0]
            total += felt * rate * math.exp(-loss * (read_s - at)) * (end - start) / stays
    return total


@pytest.mark.parametrize(
    ("walls", "read_s", "sd", "loss"),
    [
        ("none", 33.0, 0.0, 0.0),
        ("insulated", 33.0, 0.3, 3e-3),
        ("cold", 60.0, 0.0, 3e-3),
        ([[0.0, 0.4], [np.inf, 1.0]], 18.0, 0.3, 0.0),
    ],
)
def test_a_walk_is_many_short_stays(walls, read_s: float, sd: float, loss: float) -> None:
    """Their error falls with the square of a stay, so from two sums the limit is known."""
    path = Path(AT, PLACES, RATES)
    felt = forward_moving(
        path, SENSORS, read_s, 0.02, walls, LENGTH, source_sd_m=sd, loss_per_s=loss
    )
    coarse, fine = (summed(read_s, walls, sd, loss, stays) for stays in (150, 300))
    limit = fine + (fine - coarse) / 3

    assert felt.error_k < 1e-8 * felt.warmth_k.max()
    assert felt.warmth_k == pytest.approx(limit, rel=2e-6, abs=2e-8 * limit.max())
    # The control: the same walk the other way round.
    back = Path(AT, PLACES[::-1].copy(), RATES)
    other = forward_moving(back, SENSORS, read_s, 0.02, walls, LENGTH, source_sd_m=sd)

    assert other.warmth_k != pytest.approx(limit, rel=0.1)


def test_one_that_stands_still_is_a_continuous_source() -> None:
    """While it is on and after it has gone; with a rest in its path it makes no difference."""
    stay = Path(np.array([0.0, 4.0, 9.0]), np.full((3, 2), 0.3), np.full(3, 2.0))
    sensors = np.array([[0.3, 0.4], [0.9, 0.1]])
    for read_s, off in ((9.0, 0.0), (15.0, 6.0)):
        expected = forward_continuous(
            [[0.3, 0.3]], sensors, 0.01, 9.0, "insulated", off_s=off, loss_per_s=0.05
        )

        assert forward_moving(
            stay, sensors, read_s, 0.01, "insulated", loss_per_s=0.05
        ).warmth_k == pytest.approx(2 * expected[:, 0], rel=1e-8)
    early = forward_moving(stay, sensors, -1.0, 0.01)

    assert (early.warmth_k == 0).all()


def test_a_fast_walker_is_not_overlooked_by_a_sensor_it_has_passed() -> None:
    """For a path without end the plume is known: K0(v r / 2 a) exp(-v x / 2 a) / 2 pi a."""
    speed, diffusivity, long_s = 1.3, 0.05, 4000.0
    path = Path(
        np.array([-long_s, 0.0]), np.array([[-speed * long_s, 0.0], [0.0, 0.0]]), np.ones(2)
    )
    sensors = np.array([[-20.0, 0.0], [-1.0, 0.2], [0.05, 0.0], [-3.0, -1.0]])
    ways = speed * np.hypot(*sensors.T) / (2 * diffusivity)
    expected = k0e(ways) * np.exp(-ways - speed * sensors[:, 0] / (2 * diffusivity))
    felt = forward_moving(path, sensors, 0.0, diffusivity)

    assert felt.warmth_k == pytest.approx(expected / (2 * math.pi * diffusivity), rel=1e-8)


@pytest.mark.long
def test_a_narrow_passing_long_ago_is_not_overlooked() -> None:
    """A kilometre's walk, and one sensor that it passed within a fifth of a second."""
    speed, read_s, sensor = 1.3, 770.0, np.array([607.7, 0.02])
    path = Path(np.array([0.0, read_s]), np.array([[0.0, 0.0], [speed * read_s, 0.0]]), np.ones(2))

    def passing(at: float) -> float:
        place = np.array([[speed * at, 0.0]])
        return float(forward_between(place, sensor[None], 1e-4 * (read_s - at) + 5e-3)[0, 0])

    middle = sensor[0] / speed
    expected, _ = quad(passing, middle - 4, middle + 4, points=[middle], epsrel=1e-11)
    felt = forward_moving(path, sensor[None], read_s, 1e-4, source_sd_m=0.1)

    assert felt.warmth_k[0] == pytest.approx(expected, rel=1e-9)


def test_the_room_holds_what_the_walker_gave_it() -> None:
    """Insulated walls keep all of it, wherever it was given; ventilation leaves its share."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    places = (nodes + 1) / 2 * 3.0
    path = Path(np.array([0.0, 6.0, 8.0]), np.array([0.2, 2.9, 1.0]), np.array([1.0, 1.0, 3.0]))
    for loss in (0.0, 0.3):
        felt = forward_moving(
            path, places, 8.0, 0.05, "insulated", 3.0, source_sd_m=0.2, loss_per_s=loss
        )
        # Six seconds at one, then two from one to three, by parts.
        given = 6.0 + 4.0
        if loss:
            two, eight = math.exp(-2 * loss), math.exp(-8 * loss)
            given = (two - eight) / loss + (3 - two) / loss - (1 - two) / loss**2

        assert float(weights @ felt.warmth_k) * 1.5 == pytest.approx(given, rel=1e-7)


def test_a_point_that_stands_on_a_sensor_is_refused_and_a_person_is_not() -> None:
    """Its warmth there has no bound; nor is there any outside the room."""
    path = Path(np.array([0.0, 1.0]), np.array([[0.1, 0.5], [0.9, 0.5]]), np.ones(2))
    sensors = [[0.9, 0.5]]

    with pytest.raises(ValueError, match="infinitely warm. Give the source its size"):
        forward_moving(path, sensors, 1.0, 0.01)
    assert forward_moving(path, sensors, 1.0, 0.01, source_sd_m=0.1).warmth_k[0] > 1
    assert forward_moving(path, sensors, 1.1, 0.01).warmth_k[0] > 1
    # Where it would be now, had it walked on, it never was.
    walked = Path(np.array([0.0, 1.0]), np.array([[0.0, 0.5], [1.0, 0.5]]), np.ones(2))
    assert forward_moving(walked, [[1.5, 0.5]], 1.5, 0.1).warmth_k[0] > 0.1
    with pytest.raises(ValueError, match="must be between the walls"):
        forward_moving(path, [[0.1, 0.1]], 1.0, 0.01, "cold", 0.7)
    with pytest.raises(ValueError, match="within is 0 but must be between 0 and 1"):
        forward_moving(path, sensors, 2.0, 0.01, within=0.0)
    for read_s in (math.nan, math.inf):
        with pytest.raises(ValueError, match="Give the instant of the readings"):
            forward_moving(path, sensors, read_s, 0.01)


def test_between_two_stops_a_source_walks_a_few_widths_of_its_heat() -> None:
    """Further, and a sensor that it passed could stand unseen between the nodes."""
    for speed, diffusivity, sd in ((1.3, 1e-4, 0.1), (1.0, 0.01, 0.0), (0.01, 0.1, 0.0)):
        ages = np.square(_stops(2.0, 500.0, speed, diffusivity, sd))
        widths = np.maximum(np.sqrt(sd**2 + 2 * diffusivity * ages[:-1]), diffusivity / speed)

        assert ages[[0, -1]] == pytest.approx([2.0, 500.0])
        assert (speed * np.diff(ages) <= 4 * widths * (1 + 1e-9)).all()


# Paths that somebody can walk, and such as nobody can.


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (([0.0], [[0.1, 0.1]], [1.0]), "1 instants, 1 places and 1 rates but needs two"),
        (([0.0, 1.0], [[0.1, 0.1]], [1.0, 1.0]), "2 instants, 1 places"),
        (([1.0, 0.0], [[0.1, 0.1]] * 2, [1.0, 1.0]), "an instant before the one above"),
        (([0.0, 1.0], [[0.1, math.nan]] * 2, [1.0, 1.0]), "not finite"),
    ],
)
def test_paths_that_nobody_walks_are_refused(path, said: str) -> None:
    """Heat has an age, so a path has an order."""
    with pytest.raises(ValueError, match=said):
        Path(*(np.array(part) for part in path))

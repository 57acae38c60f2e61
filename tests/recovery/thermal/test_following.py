"""What a level that follows costs: the noise of three ways, side by side."""

import math
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from edge.core.records import Grid
from recovery import thermal
from recovery.thermal import Query, calibrate_query
from recovery.thermal.curve import compute_curve
from recovery.thermal.guarantee import make_guarantee
from recovery.thermal.noise import bound_drift, bound_square_with_levels, make_follower
from recovery.thermal.query import count_protected_cells

ROOM = Query(
    Grid((40, 1), 100),
    (12,),
    0.05,
    (1, 1),
    walls="insulated",
    step=Fraction(1, 128),
    readings=6,
    protect_distance_m=0.3,
)


def following(slew: Fraction, query: Query = ROOM) -> Query:
    return replace(query, background="following", slew=slew)


def test_a_constant_and_what_comes_after_the_veil_cost_nothing() -> None:
    """Bit for bit the noise of before: neither is made of readings that the noise must hide."""
    gateway = replace(ROOM, background="gateway", background_k=3.0, empty_readings=2)

    assert calibrate_query(gateway) == calibrate_query(ROOM)
    one, other = thermal.plan(gateway, ()), thermal.plan(ROOM, ())
    assert one.guarantee == other.guarantee
    assert one.params[2:4] != other.params[2:4]  # but the clamp holds what the room may do
    assert 3.0 <= (one.params[3] - other.params[3]) * 2.0 ** -one.params[1] <= 3.01


@pytest.mark.parametrize("estimate", ["exact", "stated"])
def test_the_noise_is_wider_the_faster_a_level_follows(estimate: str) -> None:
    """From nothing, for less than half a grain, to 1 + sqrt(sensors) times and never more."""
    room = ROOM if estimate == "exact" else replace(ROOM, sigma=(1, 2))
    recorded = calibrate_query(room)
    made = [calibrate_query(following(Fraction(1, 10**n), room)) for n in (9, 3, 2, 1, 0)]
    widths = [one.sigma if estimate == "exact" else one.epsilon for one in made]

    assert 0 <= made[0].sensitivity_squared - recorded.sensitivity_squared <= 2
    assert sorted(widths) == widths
    assert widths[2] > 1.1 * (recorded.sigma if estimate == "exact" else recorded.epsilon)
    assert made[-1].exponent < recorded.exponent or estimate == "stated"  # and coarser grains
    norm = made[-1].sensitivity_squared ** 0.5 * 2.0 ** -made[-1].exponent
    alone = recorded.sensitivity_squared**0.5 * 2.0**-recorded.exponent
    # The grain is coarser there, and a coarser grain rounds a little more.
    assert 1 + 12**0.5 - 0.5 <= norm / alone <= (1 + 12**0.5) * 1.15


def test_the_bound_holds_for_sensors_that_feel_a_move_differently() -> None:
    """By Cauchy and Schwarz; and with one sensor, or all alike, it is no more than that."""
    world = np.random.default_rng(4)
    for _ in range(300):
        apart = world.integers(0, 30, world.integers(1, 9))
        square, way = int((apart**2).sum()), Fraction(int(world.integers(0, 60)), 4)
        each = bound_drift(int(apart.max()), way)
        bound = bound_square_with_levels(square, len(apart), way)

        assert ((apart + each) ** 2).sum() <= bound
    assert bound_square_with_levels(9 * 25, 9, Fraction(2)) == 9 * (5 + 4) ** 2


def test_what_is_told_of_distances_counts_the_level_too() -> None:
    """At the protected distance that is what was promised, and a chance of the same noise."""
    query = following(Fraction(1, 100))
    made = calibrate_query(query)
    (row,) = compute_curve(query, [count_protected_cells(query)])
    apart = math.sqrt(made.sensitivity_squared * query.readings / made.variance)

    assert 0.9 < row.epsilon <= 1
    assert row.right == pytest.approx(NormalDist().cdf(apart / 2), rel=1e-3)


@pytest.mark.parametrize("way", [Fraction(n, 25) for n in (1, 6, 12, 13, 16, 32, 44, 63, 160)])
def test_a_finer_grain_shows_no_more_than_a_device_prices(way: Fraction) -> None:
    """A forged Round may ask in finer grains, and the device knows the planned square alone."""
    for apart, sensors in ((1, 1), (7, 6), (60, 3)):
        priced = bound_square_with_levels(sensors * apart**2, sensors, way)
        fine = [
            sensors * (apart * 2**k + bound_drift(apart * 2**k, way * 2**k)) ** 2 for k in range(9)
        ]

        assert max(square / 4**k for k, square in enumerate(fine)) <= priced
        # No more than what it tends to, or what it is in one of them, but for whole numbers.
        c = min(2 * way + 1, math.isqrt(sensors * apart**2))
        assert priced <= sensors * (apart + c) ** 2 + 2


def test_levels_part_by_what_rounding_shows_of_them() -> None:
    """As a device rounds, a half up, wherever two levels may be."""
    for eighths in range(40):
        levels = [Fraction(n, 16) for n in range(-2 * eighths, 2 * eighths + 1)]
        shown = [math.floor(level + Fraction(1, 2)) for level in levels]

        assert bound_drift(100, Fraction(eighths, 8)) == max(shown) - min(shown)


@pytest.mark.parametrize("readings", [2, 3, 6])
def test_the_noise_is_for_what_the_query_s_own_devices_send(readings: int) -> None:
    """One sensor, for which nothing is rounded up: led apart for a whole window, then swapped."""
    one = replace(ROOM, sensors=(1,), readings=readings, sigma=(1, 1))
    alone = calibrate_query(one)
    query = following(Fraction(3) / 2**alone.exponent, one)  # three grains an answer
    made, apart = calibrate_query(query), math.isqrt(alone.sensitivity_squared)
    here, there, half = make_follower(query), make_follower(query), apart // 2
    for _ in range(readings - 1):
        here.subtract((apart - half,), made.exponent)
        there.subtract((-half,), made.exponent)
        here.follow()
        there.follow()
    sent = there.subtract((apart - half,), made.exponent), here.subtract((-half,), made.exponent)

    assert made.exponent == alone.exponent
    assert made.sensitivity_squared == (sent[0][0] - sent[1][0]) ** 2
    assert sent[0][0] - sent[1][0] == apart + 6 * (readings - 1)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"background": "median"}, "one of recorded, following, gateway"),
        ({"background": "following"}, "slew is None"),
        ({"background": "following", "slew": 0.1}, "positive Fraction"),
        ({"slew": Fraction(1, 10)}, "left out else"),
        ({"background": "gateway", "background_k": 1.0}, "empty_readings is 0"),
        (
            {"background": "gateway", "background_k": 1.0, "empty_readings": 6},
            "to below readings, 6",
        ),
        ({"background": "gateway", "empty_readings": 2}, "background_k is 0"),
        ({"empty_readings": 2}, "and 0 else"),
    ],
)
def test_what_does_not_go_together_is_refused(fields: dict[str, object], words: str) -> None:
    """A level that nobody planned for would be taken for somebody, or the other way round."""
    with pytest.raises(ValueError, match=f"{words}.*own warmth would be taken"):
        replace(ROOM, **fields)  # type: ignore[arg-type]


def test_the_promise_says_what_follows() -> None:
    """Two promises that differ must read differently."""
    units = {
        make_guarantee(query, calibrate_query(query)).unit
        for query in (ROOM, following(Fraction(1, 1000)), following(Fraction(1, 500)))
    }

    assert len(units) == 3
    assert any("follows them by at most 1/500 K an answer" in unit for unit in units)

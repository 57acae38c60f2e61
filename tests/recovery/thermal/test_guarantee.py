"""What tables take of delta is paid, or not asked; and plans for exact noise stay as they were."""

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import pytest

from edge.core.records import Grid, Round
from edge.core.table import BITS, NARROW, SLACK, WIDEST, Sampler
from recovery.noise.calibrate import DISCRETE
from recovery.noise.gaussian import gaussian_delta, zcdp_epsilon
from recovery.noise.tables import bound_sampler_distance
from recovery.thermal import Query, calibrate_query, guarantee, plan
from recovery.thermal.curve import bound_presence_epsilon, compute_curve
from recovery.thermal.guarantee import compute_true_promise, find_exact_delta, find_price_delta
from recovery.thermal.search import make_corridor_response
from tests.recovery.thermal.test_noise import asking

PLANE = Query(Grid((8, 8), 500), (8, 8), 0.3, (1, 1), sampler="table")
LINE = Query(Grid((80, 1), 250), (50,), 0.5, (8, 1), readings=24, sampler="table")
QUERIES = [PLANE, LINE, replace(PLANE, epsilon=(1, 100)), replace(PLANE, keyholder=True)]


def planned(query: Query) -> Round:
    made = plan(query, ())
    assert made is not None
    return made


@pytest.mark.parametrize("through_walls", [True, False])
def test_a_promise_on_foot_says_that_the_room_is_not_hidden(through_walls: bool) -> None:
    """Who is beyond a wall is told from who is before it, unless walls are passed in counting."""
    made = planned(
        asking(replace(make_corridor_response(), through_walls=through_walls))
    ).guarantee

    assert ("in which of the rooms" in made.unprotected) is not through_walls
    assert ("never through a wall" in made.neighbours) is not through_walls


@pytest.mark.parametrize("epsilon", [(1, 2), (3, 1)])
def test_the_delta_that_is_told_is_that_at_the_epsilon_that_was_asked(
    epsilon: tuple[int, int],
) -> None:
    """What was promised is given, and hardly less; at another epsilon it would be far from it."""
    query = Query(Grid((20, 1), 500), (10,), 0.1, epsilon)
    delta = float(Fraction(*query.delta))

    assert 0.9 * delta < compute_true_promise(query, calibrate_query(query))[1] <= delta


@pytest.mark.parametrize("query", QUERIES)
def test_delta_pays_for_exact_noise_and_for_all_that_devices_may_draw(query: Query) -> None:
    """By the inequality in 40 digits: delta of the variance sent, and what its tables are off.

    Sixteen keys for each sensor, and 2**20 answers for each key, eight times each where the power
    is cut, whatever the readings planned.
    """
    mpmath.mp.dps = 40
    made, asked = calibrate_query(query), planned(query)
    epsilon, samples = mpmath.mpf(query.epsilon[0]) / query.epsilon[1], 16 * 8 * 2**20
    off = Fraction(*SLACK) * samples * math.prod(query.sensors)
    tables = (1 + mpmath.exp(epsilon)) * off.numerator / off.denominator
    apart = math.sqrt(made.sensitivity_squared * query.readings / made.variance) * DISCRETE
    exact = gaussian_delta(float(epsilon), 1 / apart)

    assert asked.guarantee.delta == query.delta
    assert exact + tables < mpmath.mpf(1) / 100000
    if query.readings == 1:
        assert exact + tables > mpmath.mpf(989) / 10**8  # and no more is set aside than is said


@pytest.mark.parametrize(
    "variance", [1, 80, NARROW + 1, 73204, 73205, 12345678, WIDEST - 1, WIDEST]
)
def test_the_proven_bound_is_within_what_is_paid_for(
    variance: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every change of shape, and at the widest; and tables that are not so good are noticed."""
    assert bound_sampler_distance(Sampler(variance, 1, BITS)) <= Fraction(*SLACK)
    check = guarantee.check_variance.__wrapped__
    check(variance)
    monkeypatch.setattr(guarantee, "BITS", 56)
    with pytest.raises(ValueError, match="would not hold"):
        check(variance)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon": (13, 1)}, "is set aside for them"),
        ({"epsilon": (2**62, 1)}, "is set aside for them"),
        ({"delta": (1, 10**12)}, "is set aside for them"),
        ({"readings": 2**20 + 1}, "no more than 1048576 with noise from tables"),
        ({"sigma": (1, 2)}, "sampler is 'table'"),
        ({"calibration": "paper"}, "sampler is 'table'"),
        ({"sampler": "fast"}, "sampler is 'fast'"),
    ],
)
def test_what_delta_does_not_pay_for_is_refused(changes: dict[str, object], words: str) -> None:
    """With the way out in the sentence."""
    with pytest.raises(ValueError, match=words):
        planned(replace(PLANE, **changes))


def test_where_a_promise_for_a_longer_way_ends_infinity_is_told() -> None:
    """As far as delta pays it is told as for exact noise, and never less."""
    exact = replace(LINE, sampler="exact")
    rows = list(zip(compute_curve(LINE), compute_curve(exact), strict=True))

    ends = [math.isinf(mine.epsilon) for mine, _ in rows]
    assert ends == sorted(ends)
    assert {True, False} == set(ends)
    for mine, theirs in rows:
        assert mine.epsilon >= theirs.epsilon * 0.9999
        assert mine.right == pytest.approx(theirs.right, abs=1e-3)
    assert math.isinf(bound_presence_epsilon(LINE))
    assert 50 < bound_presence_epsilon(exact) < math.inf


def test_prices_add_up_at_the_delta_that_is_left() -> None:
    """The whole budget of a window is worth the epsilon that was promised, at that delta."""
    asked, made = planned(LINE), calibrate_query(LINE)
    total = LINE.readings * Fraction(*made.rho)

    assert Fraction(*find_exact_delta(LINE)) == Fraction(99, 100) / 100000
    assert find_price_delta(asked) == pytest.approx(0.99e-5, rel=1e-12)
    assert zcdp_epsilon(total, find_price_delta(asked)) <= 8
    assert find_price_delta(planned(replace(LINE, sampler="exact"))) == 1e-5
    other = asked._replace(mechanism="other")
    assert find_price_delta(other) == 1e-5

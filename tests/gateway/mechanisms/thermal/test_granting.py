"""Limits at enrolment: just what was promised, no more answers, no less noise."""

import dataclasses
import math
import re
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from edge.core import wire
from edge.core.budget import NANO, Budget, price
from edge.core.node import Node
from edge.core.records import Grid
from edge.core.tightening import explain_loosening
from edge.host import post, rootkeys
from edge.host.enrol import Ram, provision
from edge.mechanisms import thermal, thermal_half
from gateway.devices.enrol import capped
from gateway.faults import OperatorFault
from gateway.mechanisms.summary import describe_warmest_places, find_warmest_places, format_place
from gateway.mechanisms.thermal import granting
from gateway.mechanisms.thermal.granting import convert_budget_to_epsilon, make_first_limits
from gateway.mechanisms.thermal.words import compute_guess_curve, describe_promise
from recovery.noise.gaussian import zcdp_epsilon
from recovery.thermal import Query, plan
from recovery.thermal.curve import compute_curve

ROOT, SITE_KEY = bytes(32), bytes(range(32))
QUERY = Query(
    grid=Grid((80, 1), 250),
    sensors=(10,),
    spread_m2=4.0,
    epsilon=(2, 1),
    delta=(1, 100_000),
    protect_distance_m=0.5,
    walls="insulated",
    step=Fraction(1, 128),
    readings=5,
)


def test_a_device_answers_as_often_as_was_promised_and_never_again() -> None:
    """The planned rounds, numbered as a gateway does, through a real device."""
    limits, slots = make_first_limits(QUERY, 0.0), Ram()
    who = rootkeys.identity("lab", "n", ROOT, SITE_KEY, 3)
    provision(slots, who.state_key, rootkeys.first_chain(ROOT), limits)
    budget = Budget(slots, who.state_key)
    budget.boot()
    device, topic = Node(who, budget, (1, 128)), wire.round_topic("lab", "thermal")
    answered = []
    for number in range(1, 9):
        asked = post.pack_round(plan(QUERY, [])._replace(number=number), SITE_KEY, topic)
        answered.append(device.answer(asked, lambda params: (5,)) is not None)

    assert answered == [True] * 5 + [False] * 3
    assert budget.left == 0


@pytest.mark.parametrize("readings", [1, 2, 4])
def test_fewer_readings_are_answered_at_the_epsilon_that_is_named(readings: int) -> None:
    """Half of the readings with all of epsilon is less noise; a hundredth more is, too."""
    held = {"node-0": make_first_limits(QUERY, 0.0)}
    fewer = dataclasses.replace(QUERY, readings=readings)
    with pytest.raises(OperatorFault, match="Ask for epsilon") as refused:
        granting.check_rounds_answered(fewer, held)
    named = int(re.search(r'epsilon = "(\d+)/100" at most', str(refused.value))[1])
    asked, more = (dataclasses.replace(fewer, epsilon=(named + one, 100)) for one in (0, 1))
    granting.check_rounds_answered(asked, held)
    tighter = make_first_limits(asked, 0.0)._replace(version=2)

    assert explain_loosening(held["node-0"], tighter) == ""
    with pytest.raises(OperatorFault):
        granting.check_rounds_answered(more, held)


@pytest.mark.parametrize("readings", [1, 2, 24, 1000])
@pytest.mark.parametrize("epsilon", [(8, 1), (1, 1), (1, 10), (1, 100)])
def test_what_a_whole_budget_can_buy_is_within_the_promise(
    readings: int, epsilon: tuple[int, int]
) -> None:
    """Prices are rounded up to nano-rho, and the sum of them must still be what was promised."""
    query = dataclasses.replace(QUERY, readings=readings, epsilon=epsilon)
    limits = make_first_limits(query, 3600.0)

    promised, rho = epsilon[0] / epsilon[1], Fraction(limits.budget, NANO)
    exact = Fraction(limits.square, 2 * limits.variance) * readings
    assert convert_budget_to_epsilon(limits.budget, QUERY.delta) <= promised
    assert readings == 1 or zcdp_epsilon(rho, 1e-5) <= promised  # the looser currency too
    assert exact <= rho < exact + Fraction(readings, NANO)


def test_one_nano_rho_more_than_the_promise_is_not_granted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The negative control: whatever planned the noise, a budget is held against the promise."""
    query = dataclasses.replace(QUERY, readings=1, epsilon=(1, 10))
    made = granting.calibrate_query(query)
    less = dataclasses.replace(made, variance=made.variance * 9999 // 10000)
    monkeypatch.setattr(granting, "calibrate_query", lambda query: less)
    with pytest.raises(OperatorFault, match=r"epsilon 0\.10000\d+, but 0\.1 is promised"):
        make_first_limits(query, 0.0)


def test_the_planned_noise_is_the_least_and_its_price_the_round_s_own() -> None:
    """A limit above the plan would refuse it, one below would let a forged Round lower it."""
    limits, planned = make_first_limits(QUERY, 3600.0), plan(QUERY, [])
    params = thermal.Params(*planned.params)
    cost = price(limits, params.exponent, params.variance)

    assert (limits.exponent, limits.variance) == (params.exponent, params.variance)
    assert cost == math.ceil(NANO * Fraction(*planned.guarantee.rho))


@pytest.mark.parametrize(
    ("every_s", "pace_ms"), [(0.0, 0), (0.1, 50), (3600.0, 1_800_000), (1e12, (1 << 32) - 1)]
)
def test_the_pace_leaves_room_for_messages_that_are_late_by_turns(
    every_s: float, pace_ms: int
) -> None:
    """Half of the time between rounds: a gateway that keeps its cadence is never refused."""
    assert make_first_limits(QUERY, every_s).pace_ms == pace_ms


def test_a_promise_finer_than_a_budget_can_count_is_refused() -> None:
    """A thousand readings that cost less than a nano-rho each cannot be told apart from none."""
    query = dataclasses.replace(QUERY, epsilon=(1, 1000), readings=1000)
    with pytest.raises(OperatorFault, match="for fewer readings"):
        make_first_limits(query, 0.0)


def test_arrays_that_were_enrolled_for_exact_noise_are_told_of() -> None:
    """They would refuse rounds that are paid; thermometers draw exactly whatever is asked."""
    tables = dataclasses.replace(QUERY, sampler="table")
    exact, right = make_first_limits(QUERY, 0.0), make_first_limits(tables, 0.0)

    with pytest.raises(OperatorFault, match="wall, which has 16 readings, was enrolled for exact"):
        granting.check_tables_allowed(tables, {"wall": 16}, {"wall": exact})
    granting.check_tables_allowed(tables, {"wall": 16, "door": 7}, {"wall": right, "door": exact})
    granting.check_tables_allowed(QUERY, {"wall": 16}, {"wall": exact})
    tighter = right._replace(version=2, exponent=right.exponent + 1, variance=4 * right.variance)
    granting.check_tables_allowed(tables, {"wall": 16}, {"wall": tighter})


@pytest.mark.parametrize(
    "change",
    [
        {"intensity_max": 1.5},
        {"protect_distance_m": 0.75},
        {"background": "following", "slew": Fraction(1, 20)},
    ],
)
def test_devices_that_were_enrolled_for_less_are_told_of(change: dict[str, object]) -> None:
    """They would answer, for the noise is wider, and count too little against their budgets."""
    held = {"node-0": make_first_limits(QUERY, 0.0)}
    more = dataclasses.replace(QUERY, **change)  # type: ignore[arg-type]

    with pytest.raises(OperatorFault, match="node-0 would count .* enrol again"):
        granting.check_rounds_answered(more, held)
    granting.check_rounds_answered(QUERY, held)
    with pytest.raises(OperatorFault, match="HEATVEIL_ variables .* enrol again in a new folder"):
        granting.check_rounds_answered(QUERY, {"node-0": make_first_limits(more, 0.0)})
    granting.check_rounds_answered(QUERY, {})


LESS: list[dict[str, Any]] = [{"spread_m2": 8.0}, {"intensity_max": 0.5}]


def round_cost(query: Query) -> int:
    """Return the nano-rho that a Round of this query states."""
    return math.ceil(NANO * Fraction(*plan(query, []).guarantee.rho))


def test_rounds_that_devices_would_refuse_are_not_begun() -> None:
    """Each would be paid for and answered by nobody: just those that the device objects to."""
    who, kinds = rootkeys.identity("lab", "n", ROOT, SITE_KEY, 3), product((1, 2, 20), (1, 5, 6))
    queries, said = [replace(QUERY, epsilon=(e, 1), readings=r) for e, r in kinds], set()
    # A person changes readings by less there: so wide is the noise that the price is what is less.
    queries += [replace(QUERY, epsilon=(1, 1), **less) for less in LESS]
    for given, asked in product(queries, repeat=2):
        limits = make_first_limits(given, 0.0)
        why = thermal_half.objection(plan(asked, []), who, limits, 0)
        more = price(limits, *plan(asked, []).params[1:5:3]) < round_cost(asked)
        with pytest.raises(OperatorFault, match="^n w") if why or more else nullcontext():
            granting.check_rounds_answered(asked, {"n": limits})
        said.add(why[:20])

    assert said == {
        "",
        "it asks for less noi",
        "its grains of 2**-12",
        "its promise states l",
    }


def test_rounds_that_devices_would_refuse_for_their_pace_are_not_begun() -> None:
    """Each would be paid for and answered by nobody; to the millisecond, and slower is fine."""
    held = {"node-0": make_first_limits(QUERY, 20.0)}

    for every_s in (10.0, 20.0, 3600.0):
        capped.check_pace(every_s, held)
    with pytest.raises(OperatorFault, match="no sooner than 10 s .* Set every_s to 20, or"):
        capped.check_pace(9.99, held)
    capped.check_pace(0.0, {})


# The promise in words: the numbers in it are exact, and nobody is told too much.

LINE = Query(Grid((100, 1), 0), (50,), 0.05, (1, 1))
ROOM = Query(Grid((80, 1), 250), (50,), 4.0, (8, 1), protect_distance_m=0.5, walls="insulated")


def _said(query: Query) -> str:
    return " ".join(describe_promise(query, plan(query, []).guarantee))


def test_the_chance_is_that_of_the_best_test() -> None:
    """At (1, 1e-5) the noise is 3.7306 sensitivities wide, so the best test wins Phi(1/7.4612).

    It is rounded up.
    """
    chance = float(ndtr(1 / (2 * 3.7306)))
    told, exact = compute_guess_curve(LINE, plan(LINE, []).guarantee), compute_curve(LINE)

    assert f"away {math.ceil(1000 * chance) / 10}% of the time" in _said(LINE)
    assert told[0] == pytest.approx((0.01, chance), abs=1e-4)
    assert all(0 <= said - row.right < 2e-6 for (_, said), row in zip(told, exact, strict=True))


@pytest.mark.parametrize("smaller", [{"epsilon": (4, 1)}, {"epsilon": (53, 10), "readings": 12}])
def test_a_round_keeps_its_own_chance_when_less_is_asked_later(smaller: dict[str, Any]) -> None:
    """Its noise is what it was: a better promise than it had would be a false one."""
    asked = replace(ROOM, readings=24)
    guarantee, now = plan(asked, []).guarantee, replace(asked, **smaller)

    assert describe_promise(now, guarantee) == describe_promise(asked, guarantee)
    assert compute_guess_curve(now, guarantee) == compute_guess_curve(asked, guarantee)
    assert _said(now) != _said(asked)


def test_of_another_room_no_chance_is_said_but_what_epsilon_allows() -> None:
    """Which noise that one had, this query does not tell."""
    guarantee = plan(ROOM, []).guarantee
    wider = replace(ROOM, protect_distance_m=1.0)
    said = describe_promise(wider, guarantee)

    assert "of the time" not in " ".join(said)
    assert said[1].startswith("Whatever one looks for in what is published is at most 2.99e+03 ")
    assert compute_guess_curve(wider, guarantee) == []


def test_distances_have_the_unit_of_the_room() -> None:
    """Half a metre was asked for, and four times as far is told with it."""
    near, far = re.findall(r"from one ([\d.]+ m) away", _said(ROOM))

    assert (near, far) == ("0.5 m", "2 m")


@pytest.mark.parametrize("epsilon", [(1, 10), (1, 1), (8, 1), (50, 1)])
def test_more_epsilon_is_never_told_as_more_hidden(epsilon: tuple[int, int]) -> None:
    """The words must rank promises as the mathematics does, and never say certainty."""
    words = _said(replace(LINE, epsilon=epsilon))
    shares = [float(share) for share in re.findall(r"([\d.]+)% of the time", words)]

    assert 50 <= shares[0] <= shares[1] <= 99.9
    assert f"epsilon {'1/10' if epsilon[1] == 10 else epsilon[0]}, delta 1/100000." in words


GRID = Grid((80, 1), 250)


def _heat(*given: float) -> np.ndarray:
    """Return a line with these shares: cell, share, cell, share."""
    mass = np.zeros((1, 80))
    mass[0, np.array(given[::2], int)] = given[1::2]
    return mass


def test_neighbouring_cells_are_one_place() -> None:
    """A person whose warmth fell into two cells is not two people."""
    (place,) = find_warmest_places(_heat(8, 0.5, 9, 0.5), GRID)

    assert place.at == pytest.approx([2.25])
    assert place.share == pytest.approx(1)


# Of a square nobody knows where in it the people are: two peaks of it would be made up.
FLAT = np.full((16, 16), 0.1 / 192)
FLAT[8:, :8] = 0.5 / 64
FLAT[8, 9] += 0.4  # near the square, and takes nothing of it
ONE = np.zeros((2, 4))
ONE[1, 0] = 1


@pytest.mark.parametrize(
    ("mass", "grid", "middles", "said"),
    [
        (_heat(8, 0.3, 60, 0.7), GRID, False, "70% near 15.13 m, 30% near 2.13 m"),
        (_heat(8, 0.98, 60, 0.02), GRID, False, "98% near 2.13 m"),  # a solver leaves dust
        (np.full((1, 1000), 1e-3), Grid((1000, 1), 0), False, "spread out"),
        (ONE, Grid((4, 2), 1000), False, "100% near 0.50 / 1.50 m"),  # x across, y down
        (np.ones((1, 1)), Grid((1, 1), 0), True, "100% near 0.50"),
        (ONE, Grid((4, 2), 0), True, "100% near 0.13 / 0.75"),
        (ONE, Grid((4, 2), 0), False, "100% near 0.25 / 1.00"),  # a point, as the paper's are
        (
            FLAT,
            Grid((16, 16), 1000),
            False,
            "50% evenly in 0.00 to 8.00 / 8.00 to 16.00 m, 40% near 9.50 / 8.50 m",
        ),
    ],
)
def test_places_are_said_with_the_greatest_share_first(
    mass: np.ndarray, grid: Grid, middles: bool, said: str
) -> None:
    """Whoever reads only the first has read the most."""
    assert describe_warmest_places(mass, grid, middles=middles) == said


def test_a_hair_does_not_change_how_a_place_is_written() -> None:
    """The truth in the middle of a cell and a map's place there are one number on the screen."""
    places = (0.125 - 1e-9, 0.125, 0.125 + 1e-9, 19.875 - 1e-9, 19.875)
    said = [format_place(np.array([place]), GRID) for place in places]

    assert said == ["0.13 m"] * 3 + ["19.88 m"] * 2

"""Limits at enrolment: just what was promised, no more answers, no less noise."""

import dataclasses
import math
from fractions import Fraction

import pytest

from edge.core import wire
from edge.core.budget import Budget
from edge.core.limits import NANO, price
from edge.core.node import Node
from edge.core.records import Grid
from edge.core.slots import Ram
from edge.host import post, rootkeys
from edge.host.enrol import provision
from edge.mechanisms import thermal
from gateway.devices.enrol import capped
from gateway.faults import OperatorFault
from gateway.mechanisms.thermal import granting
from gateway.mechanisms.thermal.granting import convert_budget, grant
from recovery.noise.gaussian import zcdp_epsilon
from recovery.thermal import Query, plan

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
    limits, slots = grant(QUERY, 0.0), Ram()
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


@pytest.mark.parametrize("readings", [1, 2, 24, 1000])
@pytest.mark.parametrize("epsilon", [(8, 1), (1, 1), (1, 10), (1, 100)])
def test_what_a_whole_budget_can_buy_is_within_the_promise(
    readings: int, epsilon: tuple[int, int]
) -> None:
    """Prices are rounded up to nano-rho, and the sum of them must still be what was promised."""
    query = dataclasses.replace(QUERY, readings=readings, epsilon=epsilon)
    limits = grant(query, 3600.0)

    promised, rho = epsilon[0] / epsilon[1], Fraction(limits.budget, NANO)
    exact = Fraction(limits.square, 2 * limits.variance) * readings
    assert convert_budget(limits.budget, QUERY.delta) <= promised
    assert readings == 1 or zcdp_epsilon(rho, 1e-5) <= promised  # the looser currency too
    assert exact <= rho < exact + Fraction(readings, NANO)


def test_one_nano_rho_more_than_the_promise_is_not_granted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The negative control: whatever planned the noise, a budget is held against the promise."""
    query = dataclasses.replace(QUERY, readings=1, epsilon=(1, 10))
    made = granting.calibration(query)
    less = dataclasses.replace(made, variance=made.variance * 9999 // 10000)
    monkeypatch.setattr(granting, "calibration", lambda query: less)
    with pytest.raises(OperatorFault, match=r"epsilon 0\.10000\d+, but 0\.1 is promised"):
        grant(query, 0.0)


def test_the_planned_noise_is_the_least_and_its_price_the_round_s_own() -> None:
    """A limit above the plan would refuse it, one below would let a forged Round lower it."""
    limits, planned = grant(QUERY, 3600.0), plan(QUERY, [])
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
    assert grant(QUERY, every_s).pace_ms == pace_ms


def test_a_promise_finer_than_a_budget_can_count_is_refused() -> None:
    """A thousand readings that cost less than a nano-rho each cannot be told apart from none."""
    query = dataclasses.replace(QUERY, epsilon=(1, 1000), readings=1000)
    with pytest.raises(OperatorFault, match="for fewer readings"):
        grant(query, 0.0)


def test_arrays_that_were_enrolled_for_exact_noise_are_told_of() -> None:
    """They would refuse rounds that are paid; thermometers draw exactly whatever is asked."""
    tables = dataclasses.replace(QUERY, sampler="table")
    exact, right = grant(QUERY, 0.0), grant(tables, 0.0)

    with pytest.raises(OperatorFault, match="wall, which has 16 readings, was enrolled for exact"):
        granting.check_tables(tables, {"wall": 16}, {"wall": exact})
    granting.check_tables(tables, {"wall": 16, "door": 7}, {"wall": right, "door": exact})
    granting.check_tables(QUERY, {"wall": 16}, {"wall": exact})
    tighter = right._replace(version=2, exponent=right.exponent + 1, variance=4 * right.variance)
    granting.check_tables(tables, {"wall": 16}, {"wall": tighter})


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
    held = {"node-0": grant(QUERY, 0.0)}
    more = dataclasses.replace(QUERY, **change)  # type: ignore[arg-type]

    with pytest.raises(OperatorFault, match="node-0 would count .* enrol again"):
        granting.check_held(more, held)
    granting.check_held(QUERY, held)
    granting.check_held(QUERY, {"node-0": grant(more, 0.0)})
    granting.check_held(QUERY, {})


def test_rounds_that_devices_would_refuse_for_their_pace_are_not_begun() -> None:
    """Each would be paid for and answered by nobody; to the millisecond, and slower is fine."""
    held = {"node-0": grant(QUERY, 20.0)}

    for every_s in (10.0, 20.0, 3600.0):
        capped.check_pace(every_s, held)
    with pytest.raises(OperatorFault, match="no sooner than 10 s .* Set every_s to 20, or"):
        capped.check_pace(9.99, held)
    capped.check_pace(0.0, {})

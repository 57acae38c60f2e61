"""The audit's own arithmetic, against closed forms and dp_accounting; each slip is seen.

That both paths of the accountant agree is the audit's own claim; `tests/recovery/noise` holds the
accountant itself against dp_accounting.
"""

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from edge.core.records import Guarantee, Release
from edge.mechanisms import thermal
from gateway.audit.arithmetic import accountant, noise, quanta
from gateway.audit.arithmetic.exact import (
    ONE,
    Bounds,
    Walk,
    bound_decay,
    bound_ratio,
    divide_bounds,
    enumerate_program,
    multiply_bounds,
    to_float,
)
from gateway.audit.claim import Effort
from gateway.mechanisms import find_mechanism
from physics.air import AIR_J_PER_M3K
from physics.instruments import presets
from physics.rooms.records import Air, Clock, Room, Side, Thermometers, Wall
from recovery.thermal import cases


def failed(claims: Any) -> list[str]:
    return [claim.sentence for claim in claims if not claim.holds]


@pytest.mark.parametrize("off", [1 - 1e-8, 1 + 1e-5])
@pytest.mark.parametrize("name", ["gaussian_sigma", "gaussian_epsilon", "zcdp_epsilon"])
def test_a_number_off_by_little_is_rejected(name: str, off: float) -> None:
    """A hundred-millionth too little is no promise, a hundred-thousandth too much is waste."""
    right = getattr(accountant, name)
    other = {
        "gaussian_sigma": lambda e, d: 1 / accountant.decimal_mu(e, d),
        "gaussian_epsilon": lambda s, d: accountant.decimal_epsilon(1 / Decimal(s), d),
        "zcdp_epsilon": accountant.decimal_zcdp_epsilon,
    }[name]
    pairs = [(right(1.0, 1e-5), Decimal(other(1.0, 1e-5)), "")]
    spoilt = [(ours * off, truth, where) for ours, truth, where in pairs]

    assert failed(accountant.claim_accountant("number", pairs)) == []
    assert failed(accountant.claim_accountant("number", spoilt))


def test_an_allowance_may_be_below_the_truth_alone() -> None:
    """rho is what may be spent, so there the safe side is the other one."""
    truth = Decimal(1)

    assert failed(accountant.claim_accountant("rho", [(1 - 1e-9, truth, "")], lower=True)) == []
    assert failed(accountant.claim_accountant("rho", [(1 + 1e-9, truth, "")], lower=True))


@pytest.mark.parametrize("times", [1, 24])
def test_a_variance_is_weighed_to_the_last_grain(times: int) -> None:
    """Rounded down it is rejected, however little that is; and so is one in a hundred more."""
    promise = Guarantee((1, 1), (1, 100000), None, "", "", "", "")
    square = Fraction(50_000)
    factor = 1.001 / float(accountant.decimal_mu(1, "0.00001"))
    if times > 1:
        factor = (times / (2 * float(accountant.decimal_zcdp_rho(1, "0.00001")))) ** 0.5
    asked = factor**2 * float(square)
    up = Fraction(int(asked) + 1)

    assert failed(accountant.claim_variance("room", promise, square, up, times)) == []
    assert failed(accountant.claim_variance("room", promise, square, up - 1, times))
    assert failed(accountant.claim_variance("room", promise, square, up * 101 / 100, times))
    assert failed(accountant.claim_variance("room", promise, square, up, times + 1))


# The derivation of its own that the audit holds a room's bound against.

CALM = ((0.0, 20.0),)
HEIGHT_M, PER_H, STEP_S, HOURS = 2.5, 3.0, 60.0, 4.0


def room(*walls: Wall, side_u: float = 0.0, kind: str = "perfect") -> Room:
    """Return a room of 2 m by 1 m whose air is stirred so well that it is one temperature."""
    return Room(
        name="stirred",
        size_m=(2.0, 1.0),
        height_m=HEIGHT_M,
        cell_mm=200,
        air=Air(50.0, PER_H, 1.0, 20.0, CALM),
        day=Clock(0.0, HOURS, STEP_S),
        sides={name: Side(side_u, CALM) for name in ("north", "south", "west", "east")},
        walls=walls,
        doors=(),
        furniture=(),
        thermometers=(Thermometers(kind, ((0.3, 0.4), (1.7, 0.4))),),
    )


def path(at: tuple[float, float], steps: int) -> np.ndarray:
    return np.tile(at, (steps, 1))


@pytest.mark.parametrize("minutes", [5, 20, 240])
def test_stirred_air_warms_by_an_exponential(minutes: int) -> None:
    """P / L (1 - exp(-L t / C)), with L of fresh air and of the four sides."""
    lost = AIR_J_PER_M3K * PER_H / 3600 * 2 * HEIGHT_M + 1.5 * 6 * HEIGHT_M
    held = AIR_J_PER_M3K * 2 * HEIGHT_M
    seconds = 60.0 * minutes
    shown = quanta.trace_warmth(room(side_u=1.5), [path((0.5, 0.5), minutes)], seconds)

    assert shown == pytest.approx((1 - math.exp(-lost * seconds / held)) / lost, rel=4e-3)


def test_a_wall_passes_what_its_resistances_in_a_row_let_through() -> None:
    """Two rooms of .925 m and a wall of 130 mm, drawn as 150: two equations, once steady."""
    wall = Wall((1.0, 0.0), (1.0, 1.0), 130.0, "insulation")
    fresh = AIR_J_PER_M3K * PER_H / 3600 * 0.925 * HEIGHT_M
    through = HEIGHT_M / (0.13 + 0.130 / 0.04 + 0.13)
    steady = np.linalg.solve([[fresh + through, -through], [-through, fresh + through]], [1, 0])
    slow = replace(room(wall), day=Clock(0.0, 24.0, 600.0))
    shown = quanta.trace_warmth(slow, [path((0.5, 0.5), 144)], 86400.0)

    assert shown[0] == pytest.approx(steady, rel=2e-3)


def test_nothing_crosses_a_wall_by_a_body() -> None:
    """A body beside it gives all of its watt to its own side."""
    solid = quanta._find_solid_quanta(room(Wall((1.0, 0.0), (1.0, 1.0), 100.0, "brick")), ())
    given = quanta._spread_body_heat(solid, np.array([0.93, 0.5]))

    assert given.sum() == pytest.approx(1.0)
    assert not given[:, 38:].any()
    assert given[:, :38].max() == given[19:21, 36:38].max()


def test_a_thermometer_lags_behind_the_air() -> None:
    """As a first order lag behind an exponential does."""
    lost = AIR_J_PER_M3K * PER_H / 3600 * 2 * HEIGHT_M
    warms_s, lag_s, after_s = 3600 / PER_H, presets.find_preset("ds18b20").lag_s, 600.0
    shown = quanta.trace_warmth(room(kind="ds18b20"), [path((0.5, 0.5), 10)], after_s)[0, 0]
    air = warms_s * math.exp(-after_s / warms_s) - lag_s * math.exp(-after_s / lag_s)

    assert lag_s > 10
    assert shown == pytest.approx((1 - air / (warms_s - lag_s)) / lost, rel=4e-3)


# What the noise gives away, held against dp_accounting, which shares no line with us.

INTERVAL = 1e-5


def theirs(shift: int, variance: float, times: int = 1) -> pld.PrivacyLossDistribution:
    made = pld.from_discrete_gaussian_mechanism(
        math.sqrt(variance), sensitivity=shift, value_discretization_interval=INTERVAL
    )
    return made.self_compose(times) if times > 1 else made


def along_one(shift: int, variance: float) -> noise.Losses:
    """Return the exact losses of one sensor whose reading moves by so many grains."""
    values, probabilities = noise.discrete_gaussian(variance)
    losses = shift * (2.0 * values + shift) / (2 * variance)
    return noise.Losses(losses, probabilities)


@pytest.mark.parametrize(("shift", "variance"), [(1, 2.5), (3, 90.0), (27, 100.0**2)])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.5])
def test_one_sensor_gives_away_what_others_reckon(
    shift: int, variance: float, epsilon: float
) -> None:
    """Theirs is rounded to the safe side by their grid, ours is the sum itself."""
    ours = noise.compute_delta(epsilon, along_one(shift, variance))
    bound = theirs(shift, variance).get_delta_for_epsilon(epsilon)

    assert ours <= bound + 2 * noise.FLOATS
    assert ours == pytest.approx(bound, rel=1e-3, abs=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("readings", [1, 3])
def test_several_sensors_give_away_what_others_reckon(readings: int) -> None:
    """Losses add up over sensors and readings; ours may be too large by the blur, never less."""
    shifts, variance, delta = (19, -19, 7, 0, 3), 80.0**2, 1e-5
    other = theirs(19, variance, 2 * readings)
    for shift in (7, 3):
        other = other.compose(theirs(shift, variance, readings))
    bound = other.get_epsilon_for_delta(delta)
    ours = noise.find_least_epsilon(delta, noise.combine_losses(shifts, variance, readings))

    assert ours == pytest.approx(bound, abs=noise.BLUR + 10 * INTERVAL)
    fine = noise.find_least_epsilon(
        delta, noise.combine_losses(shifts, variance, readings, blur=2e-5)
    )
    assert fine - 2e-5 <= bound
    assert fine <= ours


@pytest.mark.parametrize("slip", [-1, 1])
def test_a_device_that_reckons_wrongly_is_found(
    monkeypatch: pytest.MonkeyPatch, slip: int
) -> None:
    """A nano-rho less at each of a billion answers is one rho."""
    price = accountant.price
    assert accountant.claim_device_price(Effort()).holds
    monkeypatch.setattr(accountant, "price", lambda *given: price(*given) + slip)

    assert not accountant.claim_device_price(Effort()).holds


def test_a_sum_of_discrete_gaussians_is_their_convolution() -> None:
    """Two at a time, the straightforward way."""
    values, two = noise.discrete_gaussian(4.0, 2)
    _, one = noise.discrete_gaussian(4.0)
    straight = np.convolve(one, one)
    middle = len(straight) // 2

    assert two.sum() == pytest.approx(1)
    assert two == pytest.approx(straight[middle + values[0] : middle + values[-1] + 1], abs=1e-14)


def of_few_sensors() -> Any:
    """Return the subject of the thermal mechanism with its smallest room alone."""
    few = "few sensors, key holder"
    subject: Any = SimpleNamespace(**vars(cases))
    subject.list_queries = lambda: [(few, dict(cases.list_queries())[few])]
    return subject


def test_a_release_that_averages_or_draws_is_rejected() -> None:
    """Folding is no place for noise: who folds could leave it out."""

    def louder(round: Any, payloads: Any, rng: Any) -> Release:
        right = thermal.release(round, payloads, rng)
        return right._replace(values=[v and v + 1 + rng.below(3) for v in right.values])

    def silent(round: Any, payloads: Any, rng: Any) -> Release:
        rng.below(2)
        return thermal.release(round, payloads, rng)

    for release in (louder, silent):
        planted = replace(find_mechanism("thermal"), subject=of_few_sensors(), release=release)
        assert any("a release is" in one for one in failed(noise.claims(planted, Effort())))


@pytest.mark.long
def test_a_map_that_is_more_than_its_releases_is_rejected() -> None:
    """A touched release and a lost promise: what is published says more or less."""
    recover = find_mechanism("thermal").recover

    def touches(query: Any, releases: Any) -> Any:
        releases[0].values[0] = None
        return recover(query, releases)

    def forgets(query: Any, releases: Any) -> Any:
        found = recover(query, releases)
        return replace(found, guarantee=found.guarantee._replace(unit="for ever"))

    for wrong, words in ((touches, "as they were"), (forgets, "promise")):
        planted = replace(find_mechanism("thermal"), subject=of_few_sensors(), recover=wrong)
        assert any(words in one for one in failed(noise.after_claims(planted, Effort())))


def test_pure_noise_is_added_up_in_fractions() -> None:
    """Discrete Laplace of scale 10: ten grains are epsilon 1, and eleven are more."""
    promised = SimpleNamespace(epsilon=(1, 1), delta=None)
    for shifts, holds in (((4, -6), True), ((4, -7), False)):
        (claim,) = noise.claim_laplace("room", shifts, (10, 1), 1, promised)
        assert claim.holds == holds
    (twice,) = noise.claim_laplace("room", (4, -6), (10, 1), 2, promised)
    assert not twice.holds


# Exact enumeration follows a sampler to every outcome, without drawing a single random number.


def test_probabilities_are_bounded_from_both_sides() -> None:
    """The proof rests on these bounds; a library of floats is the outside witness."""
    for num, den in [(0, 1), (1, 3), (3, 2), (41, 1), (1, 10**9), (700, 1)]:
        low, high = bound_decay(num, den)

        assert low <= high <= low + 2**40
        assert to_float(low) == pytest.approx(math.exp(-num / den), rel=1e-15, abs=1e-76)
    third = bound_ratio(1, 3)
    assert third.low < Fraction(ONE, 3) < third.high
    assert (
        multiply_bounds(third, third).high >= Fraction(ONE, 9) >= multiply_bounds(third, third).low
    )
    assert divide_bounds(Bounds(ONE, ONE), Bounds(2 * ONE, 2 * ONE)) == Bounds(ONE // 2, ONE // 2)


def test_a_walk_finds_every_outcome_with_its_probability() -> None:
    """Two dice: 36 leaves, a seven for six of them, and nothing left over but roundings."""
    found = enumerate_program(lambda walk: walk.below(6) + walk.below(6) + 2)

    assert found.runs == 36
    assert found.leftover < 2**10
    assert to_float(found.law[7]) == pytest.approx(1 / 6)
    assert to_float(found.law[2]) == pytest.approx(1 / 36)


def test_what_is_not_followed_is_accounted() -> None:
    """A loop without an end has no last leaf; its mass is leftover and not lost."""

    def program(walk: Walk) -> int:
        count = 0
        while walk.below(2):
            count += 1
        return count

    found = enumerate_program(program, floor_bits=10)

    assert to_float(found.leftover) == 2**-9
    assert sum(found.law.values()) + found.leftover == ONE


def test_a_program_that_does_not_end_is_an_error() -> None:
    """The audit must not hang where a mutant does."""

    def program(walk: Walk) -> int:
        while True:
            walk.below(1)

    with pytest.raises(RuntimeError, match="had not ended"):
        enumerate_program(program)

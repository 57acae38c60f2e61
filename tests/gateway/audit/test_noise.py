"""What is added is fresh noise of the law that is stated, and a map after it adds nothing.

The faults are planted as verbs of the mechanism; each is one that a test of the variance alone,
or of one sensor alone, would let pass.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from edge.core.noise import dgauss
from edge.core.records import Release
from edge.mechanisms import thermal
from gateway.audit.arithmetic import noise
from gateway.audit.claim import Claim, Effort
from gateway.mechanisms import Mechanism, find
from recovery.maps.heatmap import Heatmap
from recovery.thermal import cases

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
    ours = noise.delta_at(epsilon, along_one(shift, variance))
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
    ours = noise.least_epsilon(delta, noise.combine_losses(shifts, variance, readings))

    assert ours == pytest.approx(bound, abs=noise.BLUR + 10 * INTERVAL)
    fine = noise.least_epsilon(delta, noise.combine_losses(shifts, variance, readings, blur=2e-5))
    assert fine - 2e-5 <= bound
    assert fine <= ours


def test_a_sum_of_discrete_gaussians_is_their_convolution() -> None:
    """Two at a time, the straightforward way."""
    values, two = noise.discrete_gaussian(4.0, 2)
    _, one = noise.discrete_gaussian(4.0)
    straight = np.convolve(one, one)
    middle = len(straight) // 2

    assert two.sum() == pytest.approx(1)
    assert two == pytest.approx(straight[middle + values[0] : middle + values[-1] + 1], abs=1e-14)


def test_a_grid_that_would_blur_the_bound_is_refused() -> None:
    """Better no number than one that proves nothing."""
    with pytest.raises(ValueError, match="Take a smaller room"):
        noise.combine_losses([1000], 1.0)


ROOMS = dict(cases.rooms())
FEW, HALL = "few sensors, key holder", "hall with warm sources, three readings"


def planted(room: str = FEW, **verbs: Any) -> Mechanism:
    subject: Any = SimpleNamespace(**vars(cases))
    subject.rooms = lambda: [(room, ROOMS[room])]
    return replace(find("thermal"), subject=subject, **verbs)


def failed(layer: Any, mechanism: Mechanism) -> list[str]:
    claims: list[Claim] = list(layer(mechanism, Effort()))
    return [claim.sentence for claim in claims if not claim.holds]


def drawn(change: Callable[[list[int], int, Any], list[int]]) -> Any:
    """Return a report whose noise is changed."""

    def report(round: Any, reading: Any, rng: Any) -> list[int]:
        variance = round.params[4]
        right = [dgauss(variance, 1, rng) for _ in reading.values]
        return thermal.veil(round, reading, change(right, variance, rng))

    return report


FAULTS: dict[str, Any] = {
    "none on the last sensor": lambda z, s, rng: [*z[:-1], 0],
    "one for all": lambda z, s, rng: z[:1] * len(z),
    "half normal": lambda z, s, rng: [abs(x) for x in z],
    "ten per cent narrower": lambda z, s, rng: [x * 9 // 10 for x in z],
    "sigma for sigma squared": lambda z, s, rng: [dgauss(int(s**0.5), 1, rng) for _ in z],
    "drawn twice and thrown away": lambda z, s, rng: [dgauss(s, 1, rng) for _ in z],
    "kept for the next": lambda z, s, rng: (rng.below(2), z)[1],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_noise_that_is_not_as_stated_is_rejected(fault: str) -> None:
    """Without a statistic: the same tape must give the same payload."""
    found = failed(noise.claims, planted(report=drawn(FAULTS[fault])))

    assert any("a report is what the device holds" in sentence for sentence in found)


@pytest.mark.parametrize("part", [0.81, 0.98])
def test_a_round_with_too_little_noise_gives_too_much_away(part: float) -> None:
    """Sigma ten per cent off, and one per cent off: exact probabilities see both."""

    def plan(query: Any, releases: Any) -> Any:
        round = find("thermal").plan(query, releases)
        params = list(round.params)
        params[4] = int(params[4] * part)
        return round._replace(params=tuple(params))

    found = failed(noise.claims, planted(plan=plan))

    assert any("give away no more than epsilon" in sentence for sentence in found)
    assert any("nor is delta missed" in sentence for sentence in found)


def test_a_release_that_averages_or_draws_is_rejected() -> None:
    """Folding is no place for noise: who folds could leave it out."""

    def louder(round: Any, payloads: Any, rng: Any) -> Release:
        right = thermal.release(round, payloads, rng)
        return right._replace(values=[v and v + 1 + rng.below(3) for v in right.values])

    def silent(round: Any, payloads: Any, rng: Any) -> Release:
        rng.below(2)
        return thermal.release(round, payloads, rng)

    for release in (louder, silent):
        assert any("a release is" in one for one in failed(noise.claims, planted(release=release)))


def test_pure_noise_is_added_up_in_fractions() -> None:
    """Discrete Laplace of scale 10: ten grains are epsilon 1, and eleven are more."""
    promised = SimpleNamespace(epsilon=(1, 1), delta=None)
    for shifts, holds in (((4, -6), True), ((4, -7), False)):
        (claim,) = noise.laplace("room", shifts, (10, 1), 1, promised)
        assert claim.holds == holds
    (twice,) = noise.laplace("room", (4, -6), (10, 1), 2, promised)
    assert not twice.holds


@pytest.mark.long
def test_a_map_that_is_more_than_its_releases_is_rejected() -> None:
    """Jitter, a touched release and a lost promise: what is published says more or less."""
    recover = find("thermal").recover
    calls: list[int] = []

    def jitters(query: Any, releases: Any) -> Any:
        calls.append(1)
        found = recover(query, releases)
        word = "status" if isinstance(found, Heatmap) else "why"
        return replace(found, **{word: f"{len(calls)}"})

    def touches(query: Any, releases: Any) -> Any:
        releases[0].values[0] = None
        return recover(query, releases)

    def forgets(query: Any, releases: Any) -> Any:
        found: Heatmap = recover(query, releases)
        return replace(found, guarantee=found.guarantee._replace(unit="for ever"))

    for wrong, words in ((jitters, "same map"), (touches, "as they were"), (forgets, "promise")):
        found = failed(noise.after_claims, planted(recover=wrong))
        assert any(words in sentence for sentence in found)


@pytest.mark.parametrize(
    "change",
    [
        lambda round: round._replace(params=(*round.params[:4], 0.5, *round.params[5:])),
        lambda round: round._replace(guarantee=round.guarantee._replace(epsilon=(1.0, 2))),
        lambda round: round._replace(guarantee=round.guarantee._replace(rho=0.5)),
        lambda round: round._replace(guarantee=round.guarantee._replace(epsilon=None, rho=None)),
    ],
)
def test_a_round_that_states_floats_or_nothing_is_rejected(change: Any) -> None:
    """What is stored, signed and sent must be the same number on every device."""

    def plan(query: Any, releases: Any) -> Any:
        return change(find("thermal").plan(query, releases))

    assert failed(noise.promise_claims, planted(plan=plan))

"""What is added is fresh noise of the law that is stated, and a map after it adds nothing.

The faults are planted as verbs of the mechanism; each is one that a test of the variance alone,
or of one sensor alone, would let pass.
"""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from edge import thermal
from edge.noise import dgauss
from edge.records import Release
from gateway.audit import after, noise, promise
from gateway.audit.claim import Claim, Effort
from gateway.mechanisms import Mechanism, named
from recovery import thermal_audit
from recovery.heatmap import Heatmap

ROOMS = dict(thermal_audit.rooms())
FEW, HALL = "few sensors, key holder", "hall with warm sources, three readings"


def planted(room: str = FEW, **verbs: Any) -> Mechanism:
    subject: Any = SimpleNamespace(**vars(thermal_audit))
    subject.rooms = lambda: [(room, ROOMS[room])]
    return named("thermal")._replace(subject=subject, **verbs)


def failed(layer: Any, mechanism: Mechanism) -> list[str]:
    claims: list[Claim] = list(layer.claims(mechanism, Effort()))
    return [claim.sentence for claim in claims if not claim.holds]


@pytest.mark.long
@pytest.mark.parametrize("room", [FEW, HALL])
@pytest.mark.parametrize("layer", [noise, after, promise])
def test_the_mechanism_is_right(layer: Any, room: str) -> None:
    """The control of all that follows."""
    assert failed(layer, planted(room)) == []


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
    found = failed(noise, planted(report=drawn(FAULTS[fault])))

    assert any("a report is what the device holds" in sentence for sentence in found)


def unclamped(round: Any, reading: Any, rng: Any) -> list[int]:
    noise = [dgauss(round.params[4], 1, rng) for _ in reading.values]
    return [reading.sensor] + [x + z for x, z in zip(reading.values, noise, strict=True)]


def test_a_reading_that_is_not_clamped_is_rejected() -> None:
    """A promise that leans on the clamp, or a frame that must hold the number, would break."""
    assert failed(noise, planted(report=unclamped))


@pytest.mark.parametrize("part", [0.81, 0.98])
def test_a_round_with_too_little_noise_gives_too_much_away(part: float) -> None:
    """Sigma ten per cent off, and one per cent off: exact probabilities see both."""

    def plan(query: Any, releases: Any) -> Any:
        round = named("thermal").plan(query, releases)
        params = list(round.params)
        params[4] = int(params[4] * part)
        return round._replace(params=tuple(params))

    found = failed(noise, planted(plan=plan))

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
        assert any("a release is" in one for one in failed(noise, planted(release=release)))


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
    recover = named("thermal").recover
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
        assert any(words in sentence for sentence in failed(after, planted(recover=wrong)))


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
        return change(named("thermal").plan(query, releases))

    assert failed(promise, planted(plan=plan))

"""Layer: two rooms that the promise keeps apart no better than it says, from plan to release.

The whole way is walked: the mechanism plans a Round, real devices with budgets answer it in
signed frames, the gateway's half of the keys opens them and the mechanism releases what it folds.

It sees whatever makes devices say more than is promised, in calibration, keys, noise, wire or
release. What it cannot see: faults that show after a very long time only or with chances below
one in thousands, and frames that come at a telling moment.

A sealed device mixes the system's own entropy in, so measured numbers differ from run to run.

Source: Nasr and others 2023, "Tight Auditing of Differentially Private Machine Learning".
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import beta, binom, chi2

from ..bench import (
    Device,
    Scenes,
    Seen,
    list_scenes,
    make_far_scenes,
    make_single_scenes,
    sample_releases,
)
from ..claim import Claim, Effort, claim_at_most, claim_fact, is_refused

# What samples prove about noise: bounds that hold but for a stated chance.
#
# Two scenes whose readings are mu standard deviations apart can be told apart with hit rates that
# Gaussian noise fixes: Phi(mu / 2) on both sides at the middle cut. The hit rates that are counted
# bound the true ones (Clopper and Pearson 1934, exact for every count), and so bound mu from both
# sides, whatever the noise is: what lets more hits through is not the noise that was promised.
#
# No sample chooses the cut or the direction that it is judged by: those are learnt on others.
#
# Source: Nasr and others 2023, "Tight Auditing of Differentially Private Machine Learning",
# Section 4, for mu from hit rates; Bichsel and others 2021 for splitting the samples.

Floats = NDArray[np.float64]

_FEW = 20  # expected counts below this are pooled, where chi-square is not yet its limit
_RIDGE = 1e-9  # of the mean variance: a sensor without noise must not stop the solver


class Between(NamedTuple):
    """A number that was estimated, and what it lies between but for the chance asked for."""

    low: float
    found: float
    high: float


def bound_hit_rate(hits: int, tries: int, alpha: float) -> Between:
    """Return the bounds of a hit rate; each side fails with chance alpha at most."""
    low = float(beta.ppf(alpha, hits, tries - hits + 1)) if hits else 0.0
    high = float(beta.isf(alpha, hits + 1, tries - hits)) if hits < tries else 1.0
    return Between(low, hits / tries, high)


def estimate_separation(below: Floats, above: Floats, cut: float, alpha: float) -> Between:
    """Return how many sigmas of Gaussian noise two samples of scores are apart.

    Args:
        below, above: scores of the two scenes; the second is to lie above the cut.
        cut: fixed without looking at these scores.
        alpha: the chance that the true number lies beyond either bound, for each bound.
    """
    hits = bound_hit_rate(int((above > cut).sum()), len(above), alpha / 2)
    rests = bound_hit_rate(int((below <= cut).sum()), len(below), alpha / 2)
    return Between(*(float(ndtri(hits[i]) + ndtri(rests[i])) for i in range(3)))


def bound_variance(noise: Floats, alpha: float) -> Between:
    """Return the variance of Gaussian noise around nought; each bound fails with chance alpha.

    Source: the sum of n squares over the variance has the chi-square law of n freedoms, for the
    discrete Gaussian of a hundred grains and more to better than one in a million.
    """
    total, count = float(np.square(noise).sum()), noise.size
    low, high = (total / float(quantile(alpha, count)) for quantile in (chi2.isf, chi2.ppf))
    return Between(low, total / count, high)


def correlate_noise(one: Floats, other: Floats, alpha: float) -> Between:
    """Return the correlation of two samples of noise around nought, of sigma 1.

    Without correlation it is found beyond 0 with chance alpha at most, both sides together: for
    independent x and y, E exp(s x y) = (1 - s**2)**(-1/2), at most exp(s**2 / (2 - 2 s)), so that
    the mean of n products passes t with chance exp(-n t**2 / (2 + 2 t)) at most.

    Source: Boucheron, Lugosi and Massart 2013, Section 2.4, for sub-gamma variables.
    """
    count = one.size
    found = float((one * other).sum()) / count
    log = -np.log(alpha / 2)
    slack = float((log + np.sqrt(log * log + 2 * log * count)) / count)
    return Between(found - slack, found, found + slack)


def learn_direction(below: Floats, above: Floats) -> tuple[Floats, float]:
    """Return the direction, and the cut, that tell two samples (tries, sensors) apart best.

    Source: Fisher 1936, the linear discriminant.
    """
    centred = np.concatenate([below - below.mean(axis=0), above - above.mean(axis=0)])
    spread = centred.T @ centred / len(centred)
    spread += np.eye(len(spread)) * (_RIDGE * float(np.trace(spread)) / len(spread) + 1e-300)
    direction = np.linalg.solve(spread, above.mean(axis=0) - below.mean(axis=0))
    middle = (above.mean(axis=0) + below.mean(axis=0)) / 2
    return direction, float(direction @ middle)


def compute_p_value(noise: Floats, sigma: float, cells: int) -> tuple[float, int]:
    """Return the p-value of noise under the discrete Gaussian, and how many cells were counted.

    Pearson's chi-square over cells of about equal chance, and of less towards the tails. For sigma
    of a hundred and more the chance of a whole number is that of the unit interval around it to
    one part in 10**5 of it.
    """
    tails = np.array([_FEW + 5, 4 * _FEW, 16 * _FEW]) / noise.size  # a capped tail gives away much
    tails = tails[tails <= 1 / cells - _FEW / noise.size]
    ladder = np.concatenate([np.arange(1, cells) / cells, tails, 1 - tails])
    edges = np.unique(np.floor(ndtri(np.sort(ladder)) * sigma)) + 0.5
    chances = np.diff(ndtr(np.concatenate([[-np.inf], edges / sigma, [np.inf]])))
    seen = np.bincount(np.searchsorted(edges, noise.ravel()), minlength=len(chances))
    expected = chances * noise.size
    if expected.min() < _FEW:
        raise ValueError(
            f"{noise.size} draws in {len(chances)} cells leave {expected.min():.1f} in one, but "
            f"{_FEW} are needed, or the law of the test is not known. Draw more"
        )
    statistic = float((np.square(seen - expected) / expected).sum())
    return float(chi2.sf(statistic, len(chances) - 1)), len(chances)


CELLS = 40  # of the goodness of fit, fewer where there are few draws
_LEAST = 1e-9  # of the promised variance: noise that is not there has no ratio


def noise_claims(name: str, noise: Floats, sigma: float, alpha: float) -> Iterator[Claim]:
    """Yield what is to be said of noise.

    The audit knows the readings, so it sees the noise itself, and far smaller faults than anybody
    outside could. Each claim is about noise that was promised to be independent discrete Gaussians
    of one sigma, and fails by bad luck with chance alpha at most.

    Args:
        name: of the room, for the sentences.
        noise: (boots, tries, sensors), in grains, an even number of boots.
        sigma: what was promised, in grains.
    """
    unit = noise / sigma
    flat = unit.reshape(-1, unit.shape[2])
    yield from _claim_noise_size(name, flat, alpha)
    yield _claim_noise_law(name, flat, alpha, sigma)
    yield _claim_tails(name, flat, alpha)
    pairs = [(i, j) for i in range(flat.shape[1]) for j in range(i)]
    if pairs:
        each = alpha / len(pairs)
        found = [
            (correlate_noise(flat[:, i], flat[:, j], each), f"most between {j} and {i}")
            for i, j in pairs
        ]
        yield _claim_none(f"{name}: no two sensors share noise", found, flat.size, alpha)
    pairs_of_rounds = flat[: len(flat) // 2 * 2]
    lagged = correlate_noise(pairs_of_rounds[0::2], pairs_of_rounds[1::2], alpha)
    sentence = f"{name}: no round's noise is that of the one before"
    yield _claim_none(sentence, [(lagged, "")], flat.size, alpha)
    again = correlate_noise(unit[0::2], unit[1::2], alpha)
    sentence = f"{name}: no boot's noise is that of the one before"
    yield _claim_none(sentence, [(again, "")], flat.size, alpha)


def _claim_noise_size(name: str, unit: Floats, alpha: float) -> Iterator[Claim]:
    whole = bound_variance(unit, alpha)
    yield _claim_variance(
        f"{name}: the noise is no smaller than promised", whole, unit.size, alpha
    )
    yield claim_at_most(
        f"{name}: the noise is no larger than promised, so that nothing is wasted",
        1.0,
        whole.found,
        bound=whole.low,
        unit="variance found / promised",
        samples=unit.size,
        alpha=alpha,
    )
    each = [bound_variance(column, alpha / unit.shape[1]) for column in unit.T]
    least = int(np.argmin([sensor.found for sensor in each]))
    sentence = f"{name}: every sensor has noise of its own"
    yield _claim_variance(sentence, each[least], unit.size, alpha, f"least on sensor {least}")
    # What all sensors share adds up here, where single pairs of them hide it.
    sums = bound_variance(unit.sum(axis=1) / np.sqrt(unit.shape[1]), alpha / 2)
    yield claim_at_most(
        f"{name}: the sum over all sensors is as noisy as promised, neither less nor more",
        1.0,
        max(sums.found, 1 / max(sums.found, _LEAST)),
        bound=max(sums.low, 1 / max(sums.high, _LEAST)),
        unit="variance found / promised, or the inverse",
        samples=len(unit),
        alpha=alpha,
    )


def _claim_variance(
    sentence: str, found: Between, samples: int, alpha: float, detail: str = ""
) -> Claim:
    """Return the claim that a variance, promised to be 1, is not less."""
    return claim_at_most(
        sentence,
        1.0,
        1 / max(found.found, _LEAST),
        bound=1 / max(found.high, _LEAST),
        unit="variance promised / found",
        samples=samples,
        alpha=alpha,
        detail=detail,
    )


def _claim_noise_law(name: str, unit: Floats, alpha: float, sigma: float) -> Claim:
    chance, cells = compute_p_value(unit * sigma, sigma, min(CELLS, max(unit.size // 50, 4)))
    sentence = f"{name}: the noise has the law of the discrete Gaussian"
    return _claim_p_value(sentence, chance, unit.size, alpha, f"chi-square over {cells} cells")


def _claim_p_value(sentence: str, chance: float, samples: int, alpha: float, detail: str) -> Claim:
    """Return the claim that what was seen has no less than the chance alpha."""
    return Claim(
        sentence,
        claimed=-math.log10(alpha),
        measured=-math.log10(min(max(chance, 1e-300), 1.0)),
        fits=chance >= alpha,
        unit="-log10 p",
        samples=samples,
        alpha=alpha,
        detail=detail,
    )


def _claim_tails(name: str, unit: Floats, alpha: float) -> Claim:
    """Return the claim on how often noise is large: a tail that is cut off hides nothing there.

    Each count beyond a bound is binomial. The last bound is one that some thirty should pass.
    """
    far = float(-ndtri(15 / unit.size))
    bounds = [far * part / 4 for part in (2, 3, 4)]
    chances = []
    for bound in bounds:
        tail, seen = 2 * float(ndtr(-bound)), int((np.abs(unit) > bound).sum())
        rare = min(binom.cdf(seen, unit.size, tail), binom.sf(seen - 1, unit.size, tail))
        chances.append(2 * len(bounds) * float(rare))
    sentence = f"{name}: noise is large as often as promised"
    where = f"up to {far:.2f} standard deviations"
    return _claim_p_value(sentence, min(chances), unit.size, alpha, where)


def _claim_none(
    sentence: str, found: list[tuple[Between, str]], samples: int, alpha: float
) -> Claim:
    """Return the claim that correlations, none promised, are none as far as can be told."""
    worst, where = max(found, key=lambda pair: abs(pair[0].found))
    return claim_at_most(
        sentence,
        0.0,
        abs(worst.found),
        bound=max(worst.low, -worst.high, 0.0),
        unit="correlation",
        samples=samples,
        alpha=alpha,
        detail=where,
    )


SINGLE = 20_000  # single readings a side: what catches a sigma 10 % off
FEWEST = 20  # sensors of the fleet whose devices are held against each other


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what two scenes of every room give away, and what the noise in them is."""
    rooms = list_scenes(mechanism)
    for room in rooms:
        yield _claim_price(room)
    tries = effort.pick(SINGLE, 20 * SINGLE)
    yield from judge_single_sensors(
        max(rooms, key=lambda room: len(room.below)), mechanism, effort, tries
    )
    fleets = [room for room in rooms if len(room.below) >= FEWEST]
    for fleet in sorted(fleets, key=lambda room: len(room.below))[:1]:
        yield from judge_separate_devices(fleet, mechanism, effort, effort.pick(120, 2000))
    for room in rooms:
        yield from tell_apart(room, mechanism, effort, effort.pick(1200, 20_000))


def _make_device(room: Scenes, effort: Effort, sensors: int, first: int = 0) -> Device:
    root = effort.root("root", room.name, sensors, first)
    return Device(room.round, root, name=f"bench-{first}", sensors=sensors, first=first)


def _claim_price(room: Scenes) -> Claim:
    """Return the exact claim on the two neighbours: rho as Theorem 14 of CKS20 counts it."""
    square = int(np.square(room.above - room.below).sum())
    return claim_at_most(
        f"{room.name}: two neighbours cost no more than the round promises",
        room.mu**2 / 2,
        square / (2 * room.round.params[4]),
        unit="rho",
        samples=1,
    )


def tell_apart(room: Scenes, mechanism: Any, effort: Effort, tries: int) -> Iterator[Claim]:
    """Yield what tells the two scenes of a room apart, and what the noise in them is."""
    device = _make_device(room, effort, sensors=len(room.below))
    seen = sample_releases(room, make_far_scenes(room), [device], mechanism.release, effort, tries)
    yield from _claim_between(room, seen, effort.alpha)
    yield from noise_claims(room.name, seen.noise, room.sigma, effort.alpha)
    yield _claim_same_bytes(room, device)
    yield _claim_once(room, device, mechanism.release, effort)


def _claim_between(room: Scenes, seen: Seen, alpha: float) -> Iterator[Claim]:
    """Yield how far apart along the direction known, and along one learnt."""
    cut = float(seen.apart @ seen.middle)
    found = estimate_separation(seen.below @ seen.apart, seen.above @ seen.apart, cut, alpha)
    yield _claim_separation(f"{room.name}: who knows both scenes tells them", seen, found, alpha)
    third = len(seen.below) // 3
    direction, cut = learn_direction(seen.below[:third], seen.above[:third])
    found = estimate_separation(
        seen.below[third:] @ direction, seen.above[third:] @ direction, cut, alpha
    )
    yield _claim_separation(
        f"{room.name}: who learns from examples tells them", seen, found, alpha
    )


def _claim_separation(words: str, seen: Seen, found: Between, alpha: float) -> Claim:
    return claim_at_most(
        f"{words} no further apart than promised",
        seen.mu,
        found.found,
        bound=found.low,
        unit="sigmas",
        samples=len(seen.below),
        alpha=alpha,
    )


def judge_single_sensors(
    room: Scenes, mechanism: Any, effort: Effort, samples: int
) -> Iterator[Claim]:
    """Yield what so many single readings a side tell, all of a room's sensors counted as one."""
    device = _make_device(room, effort, sensors=len(room.below))
    tries = 2 * (samples // len(room.below) // 2 + 1)
    seen = sample_releases(
        room, make_single_scenes(room), [device], mechanism.release, effort, tries
    )
    yield from noise_claims("of single sensors", seen.noise, room.sigma, effort.alpha)
    below, above = seen.below - seen.middle, seen.above - seen.middle
    found = estimate_separation(below.ravel(), above.ravel(), 0.0, effort.alpha)
    single = seen._replace(below=below.reshape(-1, 1))
    yield _claim_separation(
        "of a single sensor, two readings are told", single, found, effort.alpha
    )
    yield claim_at_most(
        "of a single sensor, two readings are told as far apart as promised: no noise is wasted",
        1.0,
        seen.mu / max(found.found, _LEAST),
        bound=seen.mu / max(found.high, _LEAST),
        unit="sigmas promised / found",
        samples=below.size,
        alpha=effort.alpha,
    )


def _claim_same_bytes(room: Scenes, device: Device) -> Claim:
    """Return the claim that the same Round gets the same bytes, whatever is there to see."""
    seen = (room.below, room.above) * 4
    first = [device.ask(10**6, scene.tolist()) for scene in seen]
    sentence = f"{room.name}: a Round asked again gets the same bytes, and no fresh noise"
    return claim_fact(sentence, first[0] is not None and len(set(first)) == 1, samples=len(first))


def _claim_once(room: Scenes, device: Device, release: Any, effort: Effort) -> Claim:
    """Return the claim that a second answer for one sensor is not folded in: it could average."""
    number = 2 * 10**6
    payload = device.open_frame(device.ask(number, room.below.tolist())).payload
    asked, twice = room.round._replace(number=number), [payload, [payload[0], payload[1] + 1]]
    left_out = is_refused(lambda: release(asked, twice, effort.tape()))
    return claim_fact(
        f"{room.name}: a release takes one answer for each sensor", left_out, samples=2
    )


def judge_separate_devices(
    room: Scenes, mechanism: Any, effort: Effort, tries: int
) -> Iterator[Claim]:
    """Yield what is shared by devices of one sensor each, which must be nothing."""
    devices = [_make_device(room, effort, 1, first) for first in range(len(room.below))]
    seen = sample_releases(room, make_far_scenes(room), devices, mechanism.release, effort, tries)
    name = f"{room.name}, {len(devices)} devices"
    yield from noise_claims(name, seen.noise, room.sigma, effort.alpha)

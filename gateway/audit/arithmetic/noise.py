"""Layer: what is added to what a device holds, and what that gives away, without chance.

First, `report` must be the reading and fresh draws of the named sampler at the named width, one
for each number, whatever the reading: the same tape must give the same payload, to the last bit.
Then epsilon follows from the sampler's own probabilities and the neighbours found hardest to
hide. It sees noise of another law or width, left out, shared, or put on in another place than
is said. It cannot see a sampler that has not its law; `exact` and `device` look there.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from fractions import Fraction
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len

from edge.core import noise
from edge.core.records import Release

from .. import claim
from ..claim import Claim, Effort, claim_at_most, claim_fact, claim_none, grade_failure

# The privacy that whole-number noise really gives, from its own probabilities.
#
# Neighbours differ by whole numbers d_j on sensor j. What an answer gives away is its loss, the
# logarithm of how much likelier the one made it than the other, and
#
#     delta = sum over losses l > epsilon of P(l) (1 - exp(epsilon - l))
#
# is exact. Along one sensor the sum is taken as it stands. Over several, and over many readings,
# losses add up, so their laws are convolved on a fine grid, each loss rounded up: then delta can
# come out too large by what the grid is wide, and never too small.
#
# Source: Canonne, Kamath and Steinke 2020, Theorem 7; Koskela and others 2020 for the grid.

Floats = NDArray[np.float64]

FAR = 13.0  # sigmas that are summed; beyond, with 1e-37, all is taken to be given away
BLUR = 4e-4  # what the rounding of all losses of a reading may add to epsilon
MOST = 1 << 22  # points of the grid
FLOATS = 1e-11  # what the transform may lose of a probability


class Losses(NamedTuple):
    """The law of what is given away: losses, growing, with their probabilities."""

    losses: Floats
    probabilities: Floats


def discrete_gaussian(variance: float, times: int = 1) -> tuple[NDArray[np.int64], Floats]:
    """Return the values and probabilities of a sum of so many discrete Gaussians."""
    reach = math.ceil(FAR * math.sqrt(variance)) + 1
    one = np.exp(-np.square(np.arange(-reach, reach + 1.0)) / (2 * variance))
    one /= one.sum()
    if times == 1:
        return np.arange(-reach, reach + 1), one
    reach_all = math.ceil(FAR * math.sqrt(variance * times)) + 1
    values = np.arange(-reach_all, reach_all + 1)
    size = next_fast_len(2 * times * reach + 1, real=True)
    total = np.fft.irfft(np.fft.rfft(one, size) ** times, size)
    middle = times * reach
    return values, np.maximum(total[middle - reach_all : middle + reach_all + 1], 0)


def combine_losses(
    shifts: Sequence[int], variance: float, readings: int = 1, blur: float = BLUR
) -> Losses:
    """Return the losses of sensors that move by so many grains each, rounded up to a grid.

    Raises:
        ValueError: the grid would be too large to be fine enough.
    """
    groups = Counter(abs(shift) for shift in shifts if shift)
    square = sum(count * shift * shift for shift, count in groups.items()) * readings
    apart = math.sqrt(square / variance)
    width = blur / max(1, len(groups))
    reach = math.ceil((FAR * apart + apart * apart / 2) / width) + len(groups) + 1
    size = 1 << (2 * reach).bit_length()
    if size > MOST:
        raise ValueError(
            f"{len(groups)} shifts {apart:.3g} sigmas apart need {size} points of a grid but "
            f"{MOST} are the most: fewer would blur the bound. Take a smaller room."
        )
    total = np.ones(size // 2 + 1, dtype=np.complex128)
    for shift, count in groups.items():
        times = count * readings
        values, probabilities = discrete_gaussian(variance, times)
        losses = shift * (2.0 * values + times * shift) / (2 * variance)
        places = np.ceil(losses / width - 1e-9).astype(np.int64)
        one = np.bincount(places % size, weights=probabilities, minlength=size)
        total *= np.fft.rfft(one)
    law = np.maximum(np.roll(np.fft.irfft(total, size), size // 2), 0)
    grid = np.arange(-(size // 2), size // 2) * width
    return Losses(np.asarray(grid, dtype=np.float64), law)


def compute_delta(epsilon: float, found: Losses) -> float:
    """Return the delta at this epsilon; what was cut off is taken to be given away."""
    over = found.losses > epsilon
    given = found.probabilities[over] * -np.expm1(epsilon - found.losses[over])
    return float(given.sum()) + FLOATS


def find_least_epsilon(at_delta: float, found: Losses) -> float:
    """Return the least epsilon whose delta is at most this one; infinity where there is none."""
    if compute_delta(float(found.losses[-1]), found) > at_delta:
        return math.inf
    return bisect(lambda e: compute_delta(e, found) - at_delta, 0.0, float(found.losses[-1]))


def bisect(falling: Callable[[float], float], low: float, high: float) -> float:
    """Return where a falling function comes below nought, rounded up; `low` if it is already."""
    if falling(low) <= 0:
        return low
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return high


WASTE = 1.01  # of one reading; several are counted in zCDP, which costs a little


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield, for each room, what is added and what is given away."""
    for name, query in mechanism.subject.list_queries():
        round = mechanism.plan(query, ())
        yield claim_report_noise(name, mechanism, round, effort)
        yield claim_release_adds_none(name, mechanism, round, effort)
        tape = effort.tape("sensitivity", name)
        found = mechanism.subject.search_neighbours(query, round, tape, effort.pick(24, 400))
        shifts = [b - a for a, b in zip(found.before, found.after, strict=True)]
        family, args = mechanism.subject.find_noise(round)
        times = query.readings
        given = GIVEN[family](name, shifts, args, times, round.guarantee)
        yield from (one for one in given if found.tight or grade_failure(one) != claim.WASTE)


def claim_report_noise(name: str, mechanism: Any, round: Any, effort: Effort) -> Claim:
    """Return the claim that `report` adds independent draws of the law stated, and no more."""
    family, args = mechanism.subject.find_noise(round)
    sampler = getattr(noise, family)
    wrong, inputs = [], mechanism.subject.list_readings(round)
    for number, reading in enumerate(inputs):
        tape, again = (effort.tape("added", name, number) for _ in range(2))
        sent = mechanism.report(round, reading, tape)
        first, rest = mechanism.subject.split_payload(round, reading)
        meant = first + [value + sampler(*args, again) for value in rest]
        if list(sent) != meant or tape.bits(64) != again.bits(64):
            wrong.append(number)
    return claim_fact(
        f"{name}: a report is what the device holds plus fresh noise of the law that is planned "
        "on each number, and draws nothing else",
        not wrong,
        samples=len(inputs),
        detail=f"{family}{args}" + (f", not so for inputs {wrong[:5]}" if wrong else ""),
    )


def claim_release_adds_none(name: str, mechanism: Any, round: Any, effort: Effort) -> Claim:
    """Return the claim that `release` adds and takes nothing where devices have blurred."""
    payloads = [
        mechanism.report(round, reading, effort.tape("folded", name))
        for reading in mechanism.subject.list_readings(round)[-1:]
    ]
    tape, untouched = effort.tape("release"), effort.tape("release")
    values = mechanism.release(round, payloads, tape).values
    sent = sorted(value for payload in payloads for value in payload[1:])
    kept = sorted(value for value in values if value is not None)
    return claim_fact(
        f"{name}: a release is what devices sent, with nothing drawn and nothing taken off",
        sent == kept and tape.bits(64) == untouched.bits(64),
        samples=len(sent),
    )


def claim_gaussian(
    name: str, shifts: Sequence[int], args: tuple[int, ...], times: int, promise: Any
) -> Iterator[Claim]:
    """Yield what discrete Gaussians of this variance give away of these neighbours."""
    promised, delta = (Fraction(*ratio) for ratio in (promise.epsilon, promise.delta))
    variance = args[0] / args[1]
    found = combine_losses(shifts, variance, times, blur=BLUR * float(promised))
    epsilon = find_least_epsilon(float(delta), found)
    yield claim_at_most(
        f"{name}: neighbours give away no more than epsilon, by the exact probabilities of the "
        "noise, all readings of one promise together",
        promised,
        epsilon,
        unit="epsilon",
        samples=len(found.losses),
        detail=f"at delta {delta}, {times} reading{'s' * (times > 1)}",
    )
    yield claim_at_most(
        f"{name}: nor is delta missed at the epsilon promised",
        delta,
        compute_delta(float(promised), found),
        unit="delta",
        samples=len(found.losses),
    )
    if times == 1:
        yield claim_at_most(
            f"{name}: nor is there noise for nothing",
            WASTE,
            float(promised) / epsilon if epsilon else math.inf,
            unit="claimed / found",
            samples=len(found.losses),
        )


def claim_laplace(
    name: str, shifts: Sequence[int], args: tuple[int, ...], times: int, promise: Any
) -> Iterator[Claim]:
    """Yield what discrete Laplace noise of scale num/den gives away: a fraction, exactly."""
    given = times * sum(map(abs, shifts)) * Fraction(args[1], args[0])
    promised = Fraction(*promise.epsilon)
    sentence = f"{name}: neighbours give away no more than epsilon, exactly"
    yield claim_at_most(sentence, promised, given, unit="epsilon", samples=len(shifts))


GIVEN: dict[str, Callable[..., Iterator[Claim]]] = {
    "dgauss": claim_gaussian,
    "dlaplace": claim_laplace,
}


# Layers `promise` and `after`: what a round states, and what a map keeps of it.

ROOMS = 2  # a map takes its time; these are enough to see what depends on nothing but code


def after_claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield that a map is a function of its releases, under their promise.

    After the veil, nothing is drawn and no promise is lost. What is published must follow from the
    releases alone, and carry the promise that it was made under. It sees a map that differs from
    one drawing to the next, one that changes its releases, and one that states another promise. It
    cannot see whether the map is any good.
    """
    rooms = list(mechanism.subject.list_queries())
    for name, query in rooms if effort.full else rooms[:ROOMS]:
        round = mechanism.plan(query, ())
        tape = effort.tape("after", name)
        reading = mechanism.subject.list_readings(round)[-1]
        drawn = mechanism.release(round, [mechanism.report(round, reading, tape)], tape)
        yield from _follow(name, mechanism, query, drawn)
        if mechanism.subject.KIND == "noise":
            yield from _follow(
                f"{name}, warm", mechanism, query, _make_warm_release(mechanism, query, round)
            )


def _follow(name: str, mechanism: Any, query: Any, release: Any) -> Iterator[Claim]:
    before = deepcopy(release)
    first, second = (mechanism.recover(query, [release]) for _ in range(2))
    yield claim_fact(
        f"{name}: a map leaves its releases as they were", release == before, samples=1
    )
    sentence = f"{name}: the same releases give the same map, to the last bit"
    yield claim_fact(sentence, _list_field_bits(first) == _list_field_bits(second), samples=2)
    sentence = f"{name}: a map carries the promise that its round was made under"
    yield claim_fact(sentence, first.guarantee == release.round.guarantee, samples=1)


def _make_warm_release(mechanism: Any, query: Any, round: Any) -> Any:
    """Return a release of one source so warm that noise does not hide it: a map is drawn of it."""
    seen, _ = mechanism.subject.find_neighbours(query, round)
    times = 1 + 3 * isqrt(round.params[4] * len(seen)) // max(1, isqrt(int(np.square(seen).sum())))
    return Release(round, [times * int(value) for value in seen], 1)


def _list_field_bits(result: Any) -> list[tuple[str, object]]:
    """Return every field of a result, floats to their last bit."""
    names = getattr(result, "__dataclass_fields__", None) or result._fields
    values = ((name, getattr(result, name)) for name in names)
    return [(name, v.tobytes() if isinstance(v, np.ndarray) else repr(v)) for name, v in values]


def promise_claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield one claim for each of the mechanism's rooms.

    What a round states is made of whole numbers, and is there to be held to. It sees a float, a
    truth value or a missing promise in what is stored, signed and sent. It cannot see whether the
    promise is true: that is what the other layers are for.
    """
    for name, query in mechanism.subject.list_queries():
        round = mechanism.plan(query, ())
        sentence = "the round states its parameters in whole numbers, and its promise in ratios"
        yield claim_none(f"{name}: {sentence}", list(_find_non_integers(round)), samples=1)


def _find_non_integers(round: Any) -> Iterable[str]:
    promise = round.guarantee
    if promise.epsilon is None and promise.rho is None:
        yield "neither epsilon nor rho is promised"
    for place, value in enumerate(round.params):
        if type(value) is not int:
            yield f"parameter {place} is a {type(value).__name__}"
    for name in ("epsilon", "delta", "rho"):
        ratio: Any = getattr(promise, name)
        if ratio is not None and not (
            isinstance(ratio, tuple)
            and len(ratio) == 2
            and all(type(part) is int and part > 0 for part in ratio)
        ):
            yield f"{name} is {ratio!r}, no ratio of positive whole numbers"

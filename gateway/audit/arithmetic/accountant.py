"""Layers `accountant` and `price`: privacy and noise, reckoned by another path."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from edge.core.budget import NANO, Limits, price
from recovery.noise.calibrate import calibrate
from recovery.noise.gaussian import (
    gaussian_delta,
    gaussian_epsilon,
    gaussian_sigma,
    paper_sigma,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_rho,
)

from ...service.ledger import Charge, Ledger
from ..claim import Claim, Effort, claim_at_most, claim_fact, claim_none

# The accountant's numbers by another path: eighty digits, series and bisection, no libraries.
#
# With so many digits nothing cancels and nothing needs care, so the formulas stand here as they
# are printed.
#
# Source: Balle and Wang 2018, Theorem 8, for one Gaussian; Canonne, Kamath and Steinke 2020,
# Corollary 13, for zCDP.

DIGITS = 80
SURE = 40  # standard deviations, beyond which eighty digits are all nought or all nine
ROOT = Decimal("1e-20")  # relative width at which a root is found
PI = Decimal(
    "3.1415926535897932384626433832795028841971693993751058209749445923078164062862089986280348253"
    "42117068"
)

Number = Decimal | int | str | float


def decimal_delta(epsilon: Number, mu: Number) -> Decimal:
    """Return Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu)."""
    with localcontext(Context(prec=DIGITS)):
        e, m = Decimal(epsilon), Decimal(mu)
        return _phi(m / 2 - e / m) - e.exp() * _phi(-m / 2 - e / m)


def decimal_mu(epsilon: Number, at_delta: Number) -> Decimal:
    """Return how many sigmas apart neighbours may be; rounded down."""
    aim = Decimal(at_delta)
    return _find_crossing(lambda m: decimal_delta(epsilon, m) > aim)[0]


def decimal_epsilon(at_mu: Number, at_delta: Number) -> Decimal:
    """Return the epsilon of neighbours so many sigmas apart; rounded down, and 0 at best."""
    aim = Decimal(at_delta)
    if decimal_delta(0, at_mu) <= aim:
        return Decimal(0)
    return _find_crossing(lambda e: decimal_delta(e, at_mu) <= aim)[0]


def decimal_zcdp_epsilon(rho: Number, at_delta: Number) -> Decimal:
    """Return min over alpha of alpha rho + ln(1/(alpha delta)) / (alpha - 1) + ln(1 - 1/alpha)."""
    price = Decimal(rho)
    return max(
        Decimal(0), _minimise_over_alpha(lambda alpha: alpha * price + _exchange(alpha, at_delta))
    )


def decimal_zcdp_rho(at_epsilon: Number, at_delta: Number) -> Decimal:
    """Return the largest rho whose epsilon is at most this: each alpha allows so much."""
    return -_minimise_over_alpha(
        lambda alpha: (_exchange(alpha, at_delta) - Decimal(at_epsilon)) / alpha
    )


def decimal_zcdp_delta(rho: Number, at_epsilon: Number) -> Decimal:
    """Return min over alpha of exp((alpha - 1)(alpha rho - epsilon)) (1 - 1/alpha)**alpha / less.

    less is alpha - 1; the least is taken of the logarithm.
    """
    price, e = Decimal(rho), Decimal(at_epsilon)

    def log_delta(alpha: Decimal) -> Decimal:
        less = alpha - 1
        return less * (alpha * price - e) + alpha * (1 - 1 / alpha).ln() - less.ln()

    return min(Decimal(1), _minimise_over_alpha(log_delta).exp())


def _exchange(alpha: Decimal, at_delta: Number) -> Decimal:
    return -(alpha * Decimal(at_delta)).ln() / (alpha - 1) + (1 - 1 / alpha).ln()


def _phi(x: Decimal) -> Decimal:
    """Return the normal distribution function, by a series whose terms are of one sign."""
    if abs(x) > SURE:
        return Decimal(int(x > 0))
    term = total = x
    n = 1
    while abs(term) > abs(total) * Decimal(10) ** -DIGITS:
        n += 2
        term = term * x * x / n
        total += term
    return Decimal("0.5") + total * (-x * x / 2).exp() / (2 * PI).sqrt()


def _find_crossing(beyond: Callable[[Decimal], bool]) -> tuple[Decimal, Decimal]:
    """Return where something begins to hold, between two numbers that are near each other."""
    with localcontext(Context(prec=DIGITS)):
        low, high = Decimal("1e-9"), Decimal(1)
        while not beyond(high):
            low, high = high, 2 * high
        while high - low > high * ROOT:
            middle = (low + high) / 2
            low, high = (low, middle) if beyond(middle) else (middle, high)
        return low, high


def _minimise_over_alpha(cost: Callable[[Decimal], Decimal]) -> Decimal:
    """Return the least cost over alpha > 1, which has one valley, by thirds."""
    with localcontext(Context(prec=40)):
        low, high = Decimal(-20), Decimal(60)

        def at(t: Decimal) -> Decimal:
            return cost(1 + t.exp())

        for _ in range(90):
            third = (high - low) / 3
            if at(low + third) < at(high - third):
                high -= third
            else:
                low += third
        return at((low + high) / 2)


NEAR = 1 + 1e-6  # how far above the truth the accountant may be
TRUSTED = Decimal("1e-40")  # less than this the other path's digits do not tell either
EPSILONS = ("0.1", "1", "8")
DELTAS = ("0.01", "0.00001", "0.000000001")
MORE_EPSILONS = ("0.01", "0.5", "2", "4", "20", "50")
MORE_DELTAS = ("0.1", "0.001", "0.000001", "0.000000000001")

Pair = tuple[float, Decimal, str]  # ours, the other path's, where


def accountant_claims(mechanism: None, effort: Effort) -> Iterator[Claim]:
    """Yield that no answer is on the wrong side of the truth, nor far from it; then the sums.

    The accountant, held against the same formulas by another path, and its sums. It sees a number
    below the truth, one needlessly far above it, a sum that loses a fraction, and a formula that
    is accepted where it is not private. It cannot see whether what is counted is what is sent; the
    other layers look at that.
    """
    epsilons = EPSILONS + MORE_EPSILONS if effort.full else EPSILONS
    deltas = DELTAS + MORE_DELTAS if effort.full else DELTAS
    grid = [(e, d) for e in epsilons for d in deltas]
    wide = [2.0 ** (k / 2) for k in range(-4, 14, 1 if effort.full else 4)]
    widths = [(sigma, d) for sigma in wide for d in deltas]
    curved = [(e, s) for e in epsilons for s in wide[1:]]
    prices = [(1 / (2 * sigma * sigma), d) for sigma, d in widths]
    paid = [(rho, e) for rho, _ in prices[:: len(deltas)] for e in epsilons]
    answers: tuple[tuple[str, Callable[..., Any], Callable[..., Decimal], list[Any]], ...] = (
        ("sigma of one release", gaussian_sigma, _compute_sigma, grid),
        ("epsilon of one release", gaussian_epsilon, _compute_epsilon, widths),
        ("delta of one release", gaussian_delta, _compute_delta, curved),
        ("epsilon of many releases", zcdp_epsilon, decimal_zcdp_epsilon, prices),
        ("delta of many releases", zcdp_delta, decimal_zcdp_delta, paid),
        ("rho of many releases", zcdp_rho, decimal_zcdp_rho, grid),
    )
    for name, ours, other, cases in answers:
        yield from claim_accountant(
            name, _compare_on_cases(ours, other, cases), lower=ours is zcdp_rho
        )
    yield claim_formula_refused([(float(e), float(d)) for e, d in grid])
    yield claim_ledger_sum(effort)
    yield claim_device_price(effort)


def claim_accountant(name: str, pairs: list[Pair], lower: bool = False) -> Iterator[Claim]:
    """Yield that one number of the accountant is never on the wrong side, nor far on the right.

    Args:
        lower: it is an allowance, so the right side is below the truth.
    """
    ratios = []
    for ours, other, where in pairs:
        if other > TRUSTED:
            ratio = Decimal(ours) / other
            if lower:
                ratio = 1 / ratio if ratio else Decimal("inf")
            ratios.append((float(ratio), where))
    least, most = min(ratios), max(ratios)
    yield claim_at_most(
        f"the {name}: it never errs on the side of less privacy",
        1.0,
        1 / least[0] if least[0] else float("inf"),
        unit="truth / ours",
        samples=len(ratios),
        detail=least[1],
    )
    yield claim_at_most(
        f"the {name}: it is within a millionth of the truth",
        NEAR,
        most[0],
        unit="ours / truth",
        samples=len(ratios),
        detail=most[1],
    )


def claim_formula_refused(grid: list[tuple[float, float]]) -> Claim:
    """Return the claim that the printed formula is refused wherever it is not private."""
    wrong, looked = [], 0
    operator = np.array([[1.0, 0.0]])
    more = [(45.0, 0.1), (8.0, 0.5), (50.0, 0.1), (3.0, 0.97), (1.0, 0.2)]
    for epsilon, delta in [*grid, *more]:
        looked += 1
        ratios = (Fraction(str(value)).as_integer_ratio() for value in (epsilon, delta))
        try:
            made = calibrate(operator, (2, 1), 1, *ratios, method="paper")
        except ValueError:
            continue
        if delta > 0.1:
            wrong.append(f"delta {delta:g} is accepted")
        printed = 2 * math.log(1.25 / delta) / epsilon
        if paper_sigma(epsilon, delta) < printed * (1 - 1e-12):
            wrong.append(f"sigma at epsilon {epsilon:g} is not as printed")
        sigma = min(paper_sigma(epsilon, delta), (made.variance / made.sensitivity_squared) ** 0.5)
        given = decimal_epsilon(1 / Decimal(sigma), delta)
        if given > Decimal(epsilon) or Decimal(made.epsilon) < given:
            wrong.append(f"epsilon {epsilon:g}, delta {delta:g} gives {float(given):.3g}")
    return claim_none(
        "the paper's printed formula is refused where it is not private, and says what it gives",
        wrong,
        samples=looked,
    )


def claim_ledger_sum(effort: Effort) -> Claim:
    """Return the claim that the gateway's ledger adds prices up without loss."""
    tape = effort.tape("ledger")
    prices = [Fraction(1 + tape.below(10**6), 1 + tape.below(10**9)) for _ in range(400)]
    total = sum(prices, Fraction(0))
    ledger = Ledger(total).add_charges(Charge(rho) for rho in prices)
    sums = ledger.spent == total and ledger.left == 0
    full = bool(ledger.explain_refusal(1, Fraction(1, 10**18))) and not Ledger(
        total
    ).explain_refusal(1, total)
    twice = ledger.add_charges([Charge(prices[0], "a"), Charge(prices[1], "b")])
    most = twice.spent == total + max(prices[:2])
    sentence = "the ledger adds prices up without loss, and refuses the least above its budget"
    return claim_fact(sentence, sums and full and most, samples=len(prices))


def claim_device_price(effort: Effort) -> Claim:
    """Return the claim that a device never reckons an answer cheaper than it is."""
    tape, wrong, tries = effort.tape("price"), [], effort.pick(300, 5000)
    for _ in range(tries):
        exponent, square = tape.below(40) - 8, 1 + tape.below(10**6)
        variance = 1 + tape.below(10**9)
        finer = exponent + tape.below(12)
        limits = Limits(1, exponent, square, 1, 1, 0)
        grains = Fraction(square) * Fraction(4) ** (finer - exponent)
        exact = NANO * grains / (2 * variance)
        if not exact <= price(limits, finer, variance) < exact + 1:
            wrong.append(f"square {square} at 2**-{exponent}, variance {variance} at 2**-{finer}")
    sentence = "a device reckons the price of an answer exactly, rounded up to a nano-rho"
    return claim_none(sentence, wrong, samples=tries)


def _compare_on_cases(
    ours: Callable[..., Any], other: Callable[..., Decimal], cases: list[tuple[Any, Any]]
) -> list[Pair]:
    return [
        (float(ours(float(a), float(b))), other(a, b), f"worst at {float(a):g}, {float(b):g}")
        for a, b in cases
    ]


def _compute_sigma(epsilon: str, delta: str) -> Decimal:
    return 1 / decimal_mu(epsilon, delta)


def _compute_epsilon(sigma: float, delta: str) -> Decimal:
    return decimal_epsilon(1 / Decimal(sigma), delta)


def _compute_delta(epsilon: str, sigma: float) -> Decimal:
    return decimal_delta(epsilon, 1 / Decimal(sigma))


# One in a thousand of sigma makes up for whole numbers, see `recovery.noise.calibrate`.
DISCRETE = Decimal("1.001")
# The accountant is held to a millionth; here an epsilon may have been rounded up to a ratio.
ROUNDED_UP = Decimal("1.005")
TIMES = (*range(1, 65), 96, 100, 365, 1000, 1440)  # readings that one promise is shared by


def price_claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield, for each room, that there is noise enough, and not more.

    The noise of a round is what its promise asks for, to the last grain squared. The least
    variance is found by another path, in eighty digits, from the sensitivity that the round states
    a price for. It sees a variance that is rounded down, a factor of the wrong formula or of a
    wrong number of readings, and noise for nothing. It cannot see whether the sensitivity is
    right; `sensitivity` looks at that.
    """
    for name, query in mechanism.subject.list_queries():
        round = mechanism.plan(query, ())
        family, (num, den) = mechanism.subject.find_noise(round)
        if family == "dgauss":
            square = mechanism.subject.find_sensitivity(round)
            times = query.readings
            yield from claim_variance(name, round.guarantee, square, Fraction(num, den), times)
            yield claim_total(name, mechanism, query, times, effort)
    yield from claim_small_room(mechanism)


def claim_small_room(mechanism: Any) -> Iterator[Claim]:
    """Yield the same of every number of readings, and of several promises, in one small room."""
    rooms = [query for _, query in mechanism.subject.list_queries() if query.response is None]
    if not rooms:
        return
    room = min(rooms, key=lambda query: query.grid.shape[0] * query.grid.shape[1])
    least, most, looked, where = Decimal(0), Decimal(0), 0, ""
    for epsilon, delta in (((1, 4), (1, 1000)), ((1, 1), (1, 100000)), ((8, 1), (1, 10**9))):
        for times in TIMES:
            query = replace(room, epsilon=epsilon, delta=delta, readings=times, keyholder=False)
            asked = mechanism.plan(query, ())
            given = Fraction(mechanism.subject.find_noise(asked)[1][0])
            square = mechanism.subject.find_sensitivity(asked)
            needed = _compute_least_variance(asked.guarantee, square, times)
            ratio, slack = needed / _make_decimal(given), (_make_decimal(given) - 1) / needed
            most, looked = max(most, slack), looked + 1
            if ratio > least:
                least, where = ratio, f"{times} readings at epsilon {epsilon[0]}/{epsilon[1]}"
    yield claim_at_most(
        "whatever number of readings shares a promise, their noise is no less than it asks for",
        1.0,
        float(least),
        unit="variance asked / given",
        samples=looked,
        detail=where,
    )
    yield claim_at_most(
        "and no more than that, but for numbers rounded up",
        float(ROUNDED_UP),
        float(most),
        unit="variance given / asked",
        samples=looked,
    )


@lru_cache(maxsize=64)
def _compute_unit_variance(epsilon: Fraction, delta: Fraction, many: bool) -> Decimal:
    """Return the variance for a sensitivity of one: of one reading, or of each of many."""
    with localcontext(Context(prec=50)):
        asked = _make_decimal(epsilon), _make_decimal(delta)
        if not many:
            return (DISCRETE / decimal_mu(*asked)) ** 2
        return 1 / (2 * decimal_zcdp_rho(*asked))  # many are counted in zCDP, where they add up


def _compute_least_variance(promise: Any, square: Fraction, times: int) -> Decimal:
    """Return the least variance, in grains squared, that keeps a promise for so many readings."""
    with localcontext(Context(prec=50)):
        of_one = _compute_unit_variance(
            Fraction(*promise.epsilon), Fraction(*promise.delta), times > 1
        )
        return of_one * times * _make_decimal(square)


def claim_variance(
    name: str, promise: Any, square: Fraction, variance: Fraction, times: int
) -> Iterator[Claim]:
    """Yield that a variance is the least that keeps a promise for so many readings."""
    with localcontext(Context(prec=50)):
        least = _compute_least_variance(promise, square, times)
        most = least * ROUNDED_UP + 1
        given = _make_decimal(variance)
    readings = f"{times} reading{'s' * (times > 1)}"
    yield Claim(
        f"{name}: the noise planned is no less than epsilon and delta ask for, by eighty digits",
        1.0,
        float(least / given),
        least <= given,
        unit="variance asked / given",
        samples=1,
        detail=f"asked {least:.9g}, given {given:.9g} grains squared, {readings}",
    )
    yield claim_at_most(
        f"{name}: the noise planned is no more than that, but for numbers rounded up",
        float(most / least),
        float(given / least),
        unit="variance given / asked",
        samples=1,
    )


def claim_total(name: str, mechanism: Any, query: Any, times: int, effort: Effort) -> Claim:
    """Return the claim that no more is asked than the promise holds for, at one price."""
    releases: list[Any] = []
    prices, tape = set(), effort.tape("ends", name)
    while len(releases) <= times and (round := mechanism.plan(query, releases)):
        prices.add((round.params, round.guarantee))
        reading = mechanism.subject.list_readings(round)[-1]
        releases.append(mechanism.release(round, [mechanism.report(round, reading, tape)], tape))
    return claim_fact(
        f"{name}: no more readings can be asked than the promise is made for",
        len(releases) == times and len(prices) == 1,
        samples=len(releases),
        detail=f"{times} promised, {len(releases)} asked at {len(prices)} prices",
    )


def _make_decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)

"""Layer: the accountant, held against the same formulas by another path, and its sums.

It sees a number below the truth, one needlessly far above it, a sum that loses a fraction, and
a formula that is accepted where it is not private. It cannot see whether what is counted is
what is sent; the other layers look at that.
"""

import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from edge.limits import NANO, Limits, price
from recovery.calibrate import calibrate
from recovery.gaussian import gaussian_delta, gaussian_epsilon, gaussian_sigma
from recovery.paper import paper_sigma
from recovery.zcdp import zcdp_delta, zcdp_epsilon, zcdp_rho

from ..ledger import Charge, Ledger
from . import curve
from .claim import Claim, Effort, at_most, true

NEAR = 1 + 1e-6  # how far above the truth the accountant may be
TRUSTED = Decimal("1e-40")  # less than this the other path's digits do not tell either
EPSILONS = ("0.1", "1", "8")
DELTAS = ("0.01", "0.00001", "0.000000001")
MORE_EPSILONS = ("0.01", "0.5", "2", "4", "20", "50")
MORE_DELTAS = ("0.1", "0.001", "0.000001", "0.000000000001")

Pair = tuple[float, Decimal, str]  # ours, the other path's, where


def claims(mechanism: None, effort: Effort) -> Iterator[Claim]:
    """Yield that no answer is on the wrong side of the truth, nor far from it; then the sums."""
    epsilons = EPSILONS + MORE_EPSILONS if effort.full else EPSILONS
    deltas = DELTAS + MORE_DELTAS if effort.full else DELTAS
    grid = [(e, d) for e in epsilons for d in deltas]
    wide = [2.0 ** (k / 2) for k in range(-4, 14, 1 if effort.full else 4)]
    widths = [(sigma, d) for sigma in wide for d in deltas]
    yield from agrees("sigma of one release", _each(gaussian_sigma, _sigma, grid))
    yield from agrees("epsilon of one release", _each(gaussian_epsilon, _epsilon, widths))
    curved = [(e, s) for e in epsilons for s in wide[1:]]
    yield from agrees("delta of one release", _each(gaussian_delta, _delta, curved))
    prices = [(1 / (2 * sigma * sigma), d) for sigma, d in widths]
    yield from agrees("epsilon of many releases", _each(zcdp_epsilon, curve.zcdp_epsilon, prices))
    paid = [(rho, e) for rho, _ in prices[:: len(deltas)] for e in epsilons]
    yield from agrees("delta of many releases", _each(zcdp_delta, curve.zcdp_delta, paid))
    yield from agrees("rho of many releases", _each(zcdp_rho, curve.zcdp_rho, grid), lower=True)
    yield refused([(float(e), float(d)) for e, d in grid])
    yield added(effort)
    yield charged(effort)


def agrees(name: str, pairs: list[Pair], lower: bool = False) -> Iterator[Claim]:
    """Yield that one number of the accountant is never on the wrong side, nor far on the right.

    Args:
        lower: it is an allowance, so the right side is below the truth.
    """
    ratios = []
    for ours, other, where in pairs:
        if other > TRUSTED:
            ratio = Decimal(ours) / other
            ratios.append(
                (float((1 / ratio if ratio else Decimal("inf")) if lower else ratio), where)
            )
    least, most = min(ratios), max(ratios)
    yield at_most(
        f"the {name}: it never errs on the side of less privacy",
        1.0,
        1 / least[0] if least[0] else float("inf"),
        unit="truth / ours",
        samples=len(ratios),
        detail=least[1],
    )
    yield at_most(
        f"the {name}: it is within a millionth of the truth",
        NEAR,
        most[0],
        unit="ours / truth",
        samples=len(ratios),
        detail=most[1],
    )


def refused(grid: list[tuple[float, float]]) -> Claim:
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
        given = curve.epsilon(1 / Decimal(sigma), delta)
        if given > Decimal(epsilon) or Decimal(made.epsilon) < given:
            wrong.append(f"epsilon {epsilon:g}, delta {delta:g} gives {float(given):.3g}")
    return true(
        "the paper's printed formula is refused where it is not private, and says what it gives",
        not wrong,
        samples=looked,
        detail="; ".join(wrong),
    )


def added(effort: Effort) -> Claim:
    """Return the claim that the gateway's ledger adds prices up without loss."""
    tape = effort.tape("ledger")
    prices = [Fraction(1 + tape.below(10**6), 1 + tape.below(10**9)) for _ in range(400)]
    total = sum(prices, Fraction(0))
    ledger = Ledger(total).charged(Charge(rho) for rho in prices)
    sums = ledger.spent == total and ledger.left == 0
    full = bool(ledger.refusal(1, Fraction(1, 10**18))) and not Ledger(total).refusal(1, total)
    twice = ledger.charged([Charge(prices[0], "a"), Charge(prices[1], "b")])
    most = twice.spent == total + max(prices[:2])
    return true(
        "the ledger adds prices up without loss, and refuses the least above its budget",
        sums and full and most,
        samples=len(prices),
    )


def charged(effort: Effort) -> Claim:
    """Return the claim that a device never reckons an answer cheaper than it is."""
    tape, wrong, tries = effort.tape("price"), [], effort.pick(300, 5000)
    for _ in range(tries):
        exponent, square, variance = (
            tape.below(40) - 8,
            1 + tape.below(10**6),
            1 + tape.below(10**9),
        )
        finer = exponent + tape.below(12)
        limits = Limits(1, exponent, square, 1, 1, 0)
        grains = Fraction(square) * Fraction(4) ** (finer - exponent)
        exact = NANO * grains / (2 * variance)
        if not exact <= price(limits, finer, variance) < exact + 1:
            wrong.append(f"square {square} at 2**-{exponent}, variance {variance} at 2**-{finer}")
    return true(
        "a device reckons the price of an answer exactly, rounded up to a nano-rho",
        not wrong,
        samples=tries,
        detail="; ".join(wrong[:3]),
    )


def _each(
    ours: Callable[..., Any], other: Callable[..., Decimal], cases: list[tuple[Any, Any]]
) -> list[Pair]:
    return [
        (float(ours(float(a), float(b))), other(a, b), f"worst at {float(a):g}, {float(b):g}")
        for a, b in cases
    ]


def _sigma(epsilon: str, delta: str) -> Decimal:
    return 1 / curve.mu(epsilon, delta)


def _epsilon(sigma: float, delta: str) -> Decimal:
    return curve.epsilon(1 / Decimal(sigma), delta)


def _delta(epsilon: str, sigma: float) -> Decimal:
    return curve.delta(epsilon, 1 / Decimal(sigma))

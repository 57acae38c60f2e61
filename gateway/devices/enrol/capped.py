"""What devices of a pure promise are enrolled with: how much one answer tells, and all together.

An answer of epsilon e costs a device e times its cap, halved, in nano-rho: linear in e, so that
however many answers somebody asks for and however little each tells, the epsilons add up to the
promised sum at most. The cap is the largest epsilon that it answers at all, and stands in its
limits as a ratio of squares, where a device of another kind has its sensitivity and its noise.

Source: Dwork and Roth 2014, Theorem 3.16 (epsilons of answers add up).
"""

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, isqrt, sqrt
from typing import Any

from edge.core import tightening
from edge.core.budget import MOST, NANO, Limits, objection
from edge.mechanisms import disk_limits

from ...faults import VARIABLES, OperatorFault

# Messages are late by turns, so a device that held answers this far apart and no less would
# refuse a round now and then.
PACE = 0.5  # of the time from one round to the next
COARSE = 10**8  # divides what a nano-rho is of, and its square can be stored


def make_capped_limits(epsilon: Fraction, readings: int, every_s: float) -> Any:
    """Return the first `Limits` of devices that answer so often with this epsilon each time.

    Args:
        epsilon: of one answer.
        every_s: seconds from the opening of one round to that of the next.

    Raises:
        OperatorFault: a device cannot reckon with such a number.
    """
    cap = _cap(epsilon)
    pace_ms = min(round(1000 * PACE * every_s), MOST[5])
    first = Limits(1, 0, cap.numerator**2, cap.denominator**2, 0, pace_ms)
    if not objection(first):
        first = first._replace(budget=readings * ceil(NANO * epsilon * cap / 2))
    if why := objection(first):
        raise OperatorFault(
            f"the devices cannot be given their limits for {readings} answers of epsilon "
            f"{epsilon} each: {why}. Ask for an epsilon of fewer digits"
        )
    return first


def make_remaining_limits(whole: Any, epsilon: Fraction, readings: int, before: int) -> Any:
    """Return the limits of a device that comes later: the answers that are left of the budget.

    The ledger counts epsilon squared over two for an answer, the device as much as its cap makes
    of it, which may be more: so answers are told off, and not nano-rho.

    Args:
        whole: the limits of the fleet, as `make_capped_limits` made them of epsilon and readings.
        before: nano-rho that the ledger has for earlier answers, each rounded up.

    Raises:
        OperatorFault: not one answer is left.
    """
    answered = ceil(Fraction(before, ceil(NANO * epsilon**2 / 2)))
    if answered >= readings:
        raise OperatorFault(
            f"{answered} of the {readings} answers that each device may give are already used; "
            "a new device gets only what is left, which is less than one answer. To go on, make "
            "a new promise: enrol again, in a new folder"
        )
    return whole._replace(budget=whole.budget // readings * (readings - answered))


def _cap(epsilon: Fraction) -> Fraction:
    """Return a cap, not below epsilon, at which an answer costs whole nano-rho.

    A price is rounded up. Where that is by something, all readings together would pay for a
    little more than was promised if they were asked for in smaller parts: so the cap is higher, by
    as little as makes the price whole and can be stored.
    """
    num, den = epsilon.numerator, epsilon.denominator
    nearest = Fraction(2 * ceil(NANO * epsilon**2 / 2)) / (NANO * epsilon)
    coarse = Fraction(den * ceil(Fraction(COARSE * num, den * den)), COARSE)
    for cap in (nearest, coarse):
        if max(cap.numerator, cap.denominator) <= isqrt(MOST[2]) and cap <= 1.01 * epsilon:
            return cap
    raise OperatorFault(
        f"an answer would cost epsilon {epsilon}, and a device counts in whole billionths: "
        "rounded up, all answers together would cost more than was promised. Ask for an epsilon "
        "of fewer digits"
    )


def tighten_limits(last: Any, wished: Any) -> tuple[Any, str]:
    """Return wished `Limits` as a device that holds the last takes them, and why it would not.

    A device takes no smaller square and no smaller variance, whatever they mean: so a cap of 1/2
    after one of 3/4 is written with the squares of 3 and of 6. A smaller cap makes each answer
    cheaper, and the budget must have fallen with it: see `disk_limits.explain_loosening`.
    """
    top, bottom = isqrt(wished.square), isqrt(wished.variance)
    times = max(-(-isqrt(last.square) // top), -(-isqrt(last.variance) // bottom), 1)
    wider = wished._replace(square=(times * top) ** 2, variance=(times * bottom) ** 2)
    if objection(wider) and not objection(wished):
        return wider, (
            f"an epsilon of at most {top / bottom:.4g} an answer cannot be written in numbers "
            "that a device takes after those it holds, and it counts in nothing else; ask for an "
            "epsilon of fewer digits, or enrol it again"
        )
    return wider, tightening.explain_loosening(last, wider) or disk_limits.explain_loosening(
        last, wider
    )


def check_limits_match(wished: Any, held: Mapping[str, Any]) -> None:
    """Check that enrolled devices answer just what a deployment asks, and count as much for it.

    Args:
        wished: the limits that the deployment's devices would be enrolled with.
        held: the `Limits` of each device, by name.

    Raises:
        OperatorFault: some do not.
    """
    asked = Fraction(wished.square, wished.variance), wished.exponent
    for name, own in held.items():
        if (Fraction(own.square, own.variance), own.exponent) != asked:
            since = "last tightened to" if own.version > 1 else "enrolled with"
            raise OperatorFault(
                f"{name} was enrolled for another price of an answer than the deployment now has: "
                "it would refuse each round, which is charged all the same, or count too little "
                f"for it. Go back to the mechanism, epsilon and readings that it was {since}"
                f"{VARIABLES}, or enrol again in a new folder"
            )


def check_pace(every_s: float, held: Mapping[str, Any]) -> None:
    """Check that no device would find the rounds too fast, and refuse each, paid as it is.

    Args:
        every_s: seconds from the opening of one round to that of the next.
        held: the `Limits` of each device, by name.

    Raises:
        OperatorFault: some would.
    """
    for name, own in held.items():
        if 1000 * every_s < own.pace_ms:
            raise OperatorFault(
                f"[rounds] every_s is {every_s:g} but {name} answers no sooner than "
                f"{own.pace_ms / 1000:g} s after its last answer, as it was enrolled or "
                "tightened: it would refuse rounds, which are charged all the same. Set every_s "
                f"to {own.pace_ms / 1000 / PACE:g}, or enrol again in a new folder"
            )


# Of a query whose devices have one place each, as a record's `Serving` wants them.


def make_first_limits(query: Any, every_s: float) -> Any:
    """Return the first `Limits` of every device that will answer this query.

    Raises:
        OperatorFault: its promise is too fine for a budget.
    """
    return make_capped_limits(_compute_answer_epsilon(query), query.readings, every_s)


def reduce_limits(query: Any, limits: Any, before: int) -> Any:
    """Return what is left of limits when the ledger has some nano-rho.

    Raises:
        OperatorFault: not one answer is.
    """
    return make_remaining_limits(limits, _compute_answer_epsilon(query), query.readings, before)


def check_enrolled(query: Any, sensors: Mapping[str, int], held: Mapping[str, Any]) -> None:
    """Check that enrolled devices fit the query: one place each, and within their limits.

    Raises:
        OperatorFault: one does not.
    """
    for name, count in sensors.items():
        if count != 1:
            raise OperatorFault(
                f"{name} is enrolled for {count} sensors, but a device that reports a place has "
                "exactly one, and this one would not start. Enrol one device for each"
            )
    check_limits_match(make_first_limits(query, 1.0), held)


def describe_least_noise(limits: Any) -> str:
    """Return in words how much an answer may tell at the most."""
    return f"an epsilon of at most {sqrt(limits.square / limits.variance):.4g} an answer"


def describe_whole_budget(limits: Any) -> str:
    """Return in words what these limits pay for in all."""
    num, den = disk_limits.total_epsilon(limits)
    return f"epsilon {num / den:.6g}"


def _compute_answer_epsilon(query: Any) -> Fraction:
    return Fraction(*query.epsilon) / query.readings

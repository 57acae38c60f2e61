"""What the limits of a disk device mean: the largest epsilon it answers, and what an answer costs.

The same Limits as of any device, without grains: exponent is 0, and

    cap = root of square / variance       the largest epsilon of one report: give squares
    price = 10**9 * epsilon * cap / 2     nano-rho of an answer, rounded up

An answer of epsilon is epsilon**2 / 2 in rho, which is at most what is charged, as epsilon is at
most cap. It is charged in proportion, and not by the square, so that many answers of a small
epsilon never add up to more epsilon than a few large ones: what was promised is a sum of epsilons.
Source: Bun and Steinke 2016, Proposition 1.4, for the rho of a pure epsilon.
"""

from ..core.budget import NANO, Limits
from ..core.noise import isqrt


def make_limits(num, den, answers, pace_ms=0):
    """Return the first Limits of a device that may give so many answers of epsilon num/den.

    A price is whole nano-rho. Where it had to be rounded up, cheaper answers may add up to a
    little more than answers * num / den: to `total_epsilon`, which is what to tell people.
    """
    if num < 1 or den < 1 or answers < 1:
        raise ValueError(
            "%d answers of epsilon %d/%d are no limits; needed: at least one answer, of an "
            "epsilon above 0. State what one report may tell at the most" % (answers, num, den)
        )
    cost = price(Limits(1, 0, num * num, den * den, 0, 0), num, den)
    return Limits(1, 0, num * num, den * den, answers * cost, pace_ms)


def price(limits, num, den):
    """Return the nano-rho of one answer of epsilon num/den, rounded up."""
    top, bottom = _cap(limits)
    return -(-NANO * num * top // (2 * den * bottom))


def exceeds(limits, num, den):
    """Say whether epsilon num/den is more than a device of these limits answers; exact."""
    return num * num * limits.variance > limits.square * den * den


def objection(limits, guarantee, num, den):
    """Return why a device of these limits must not give an answer of epsilon num/den, or ""."""
    if num < 1 or den < 1:
        return "its epsilon of %d/%d is none" % (num, den)
    if exceeds(limits, num, den):
        return (
            "it asks for less noise than this device's limit: epsilon %d/%d, and its square "
            "is %d/%d at the most" % (num, den, limits.square, limits.variance)
        )
    stated = guarantee.epsilon or (0, 1)
    if stated[1] < 1 or stated[0] * den < num * stated[1]:
        return "its promise states less than the epsilon %d/%d of an answer" % (num, den)
    rho = guarantee.rho or (num * num, 2 * den * den)
    if rho[1] < 1 or 2 * rho[0] * den * den < num * num * rho[1]:
        return "its promise states less than the price of epsilon %d/%d" % (num, den)
    return ""


def total_epsilon(limits):
    """Return the ratio (num, den) that the epsilons of all answers add up to at the most."""
    top, bottom = _cap(limits)
    return 2 * limits.budget * bottom, NANO * top


def explain_loosening(old, new):
    """Return why new limits protect a disk device less than the old, or "" where they do not.

    To be asked beside `tightening.explain_loosening`, which knows of no epsilon. A smaller cap
    makes each answer cheaper, so the budget must fall with it.
    """
    (top, bottom), (new_top, new_bottom) = _cap(old), _cap(new)
    wider = new.square * old.variance > old.square * new.variance
    if wider or new_top * bottom > top * new_bottom:
        return "the new limits allow a larger epsilon in one report; raise the variance with it"
    if new.budget * new_bottom * top > old.budget * bottom * new_top:
        return (
            "the new limits allow epsilons that add up to more, for each answer is cheaper now; "
            "lower the budget as much as the epsilon of one report"
        )
    return ""


def _cap(limits):
    """Return the cap as a ratio of whole numbers, rounded up where these are no squares."""
    top = isqrt(limits.square)
    return top + (top * top < limits.square), isqrt(limits.variance)

"""The accountant's numbers by another path: eighty digits, series and bisection, no libraries.

With so many digits nothing cancels and nothing needs care, so the formulas stand here as they
are printed.

Source: Balle and Wang 2018, Theorem 8, for one Gaussian; Canonne, Kamath and Steinke 2020,
Corollary 13, for zCDP.
"""

from collections.abc import Callable
from decimal import Context, Decimal, localcontext

DIGITS = 80
SURE = 40  # standard deviations, beyond which eighty digits are all nought or all nine
ROOT = Decimal("1e-20")  # relative width at which a root is found
PI = Decimal(
    "3.1415926535897932384626433832795028841971693993751058209749445923078164062862089986280348253"
    "42117068"
)

Number = Decimal | int | str | float


def delta(epsilon: Number, mu: Number) -> Decimal:
    """Return Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu)."""
    with localcontext(Context(prec=DIGITS)):
        e, m = Decimal(epsilon), Decimal(mu)
        return _phi(m / 2 - e / m) - e.exp() * _phi(-m / 2 - e / m)


def mu(epsilon: Number, at_delta: Number) -> Decimal:
    """Return how many sigmas apart neighbours may be; rounded down."""
    aim = Decimal(at_delta)
    return _crossing(lambda m: delta(epsilon, m) > aim)[0]


def epsilon(at_mu: Number, at_delta: Number) -> Decimal:
    """Return the epsilon of neighbours so many sigmas apart; rounded down, and 0 at best."""
    aim = Decimal(at_delta)
    if delta(0, at_mu) <= aim:
        return Decimal(0)
    return _crossing(lambda e: delta(e, at_mu) <= aim)[0]


def zcdp_epsilon(rho: Number, at_delta: Number) -> Decimal:
    """Return min over alpha of alpha rho + ln(1/(alpha delta)) / (alpha - 1) + ln(1 - 1/alpha)."""
    price = Decimal(rho)
    return max(Decimal(0), _least(lambda alpha: alpha * price + _exchange(alpha, at_delta)))


def zcdp_rho(at_epsilon: Number, at_delta: Number) -> Decimal:
    """Return the largest rho whose epsilon is at most this: each alpha allows so much."""
    return -_least(lambda alpha: (_exchange(alpha, at_delta) - Decimal(at_epsilon)) / alpha)


def zcdp_delta(rho: Number, at_epsilon: Number) -> Decimal:
    """Return min over alpha of exp((alpha - 1)(alpha rho - epsilon)) (1 - 1/alpha)**alpha / less.

    less is alpha - 1; the least is taken of the logarithm.
    """
    price, e = Decimal(rho), Decimal(at_epsilon)

    def log_delta(alpha: Decimal) -> Decimal:
        less = alpha - 1
        return less * (alpha * price - e) + alpha * (1 - 1 / alpha).ln() - less.ln()

    return min(Decimal(1), _least(log_delta).exp())


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


def _crossing(beyond: Callable[[Decimal], bool]) -> tuple[Decimal, Decimal]:
    """Return where something begins to hold, between two numbers that are near each other."""
    with localcontext(Context(prec=DIGITS)):
        low, high = Decimal("1e-9"), Decimal(1)
        while not beyond(high):
            low, high = high, 2 * high
        while high - low > high * ROOT:
            middle = (low + high) / 2
            low, high = (low, middle) if beyond(middle) else (middle, high)
        return low, high


def _least(cost: Callable[[Decimal], Decimal]) -> Decimal:
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

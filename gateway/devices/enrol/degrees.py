"""How many neighbours a device of a secure sum needs, and how many shares open a secret.

Of n devices C collude, and D may vanish at any stage; who colludes and says nothing is one of D.
hyp(N, K, k) is how many are marked among k drawn from N with K marked. Tails of it are exact; the
bound on connection is a float in logarithms, where a sixth digit decides nothing.

    c      least with (n - C) P[hyp(n - 1, C, k) > c] <= 2**-40: colluders beside an honest device
    d      least with n P[hyp(n - 1, D, k) > d] <= 2**-30: neighbours that vanish
    curious  c < t <= k - d
    lying    k + c < 2 t and t <= k - d, and each sum covers F >= 0.4 n honest devices

`curious`: the gateway follows the protocol, and pools what it sees with C devices that do more.
`lying`: gateway and broker do anything. It is experimental: nobody but us has read the argument.

Source: after Bell, Bonawitz and others 2020, with bounds of our own: Tanner 1984 for how far few
devices reach, the expander mixing lemma for F.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import comb, floor, inf, lgamma, log, sqrt

from recovery.noise import shard_limits

FULL = 64  # devices of which each is beside each
GAP = 2.2  # the second eigenvalue is at most so many times that of a random graph
PROMISES = ("curious", "lying")


@dataclass(frozen=True)
class Degree:
    """k neighbours, t shares that open, and among how many noise may be divided at the most."""

    k: int
    t: int
    divisor: int
    threshold: int


def degree_of(n: int, colluding: Fraction, missing: Fraction, promise: str = "curious") -> Degree:
    """Return the least even degree that keeps the promise, with its greatest t.

    Raises:
        ValueError: no degree does, or there is no such promise.
    """
    threshold, colluders = shard_limits(n, colluding, missing)
    gone = n - threshold
    if promise in PROMISES and colluders + gone < n - 1:
        if n <= FULL:
            found = _degree(n, colluders, gone, n - 1, promise)
            return found or _refuse(n, colluders, gone, promise)
        for k in range(2, n, 2):
            if found := _degree(n, colluders, gone, k, promise):
                return found
    return _refuse(n, colluders, gone, promise)


def gap(n: int, k: int) -> float:
    """Return the most that the second eigenvalue of a graph may be."""
    return GAP * sqrt((k - 1) * (1 - k / n))


def _refuse(n: int, colluders: int, gone: int, promise: str) -> Degree:
    raise ValueError(
        f"among {n} devices, {colluders} that collude and {gone} that may vanish, no secure sum "
        f"keeps the promise {promise!r} (of {', '.join(PROMISES)}): its secrets would be known to "
        "too many, or could not be opened. Ask more devices, or allow for fewer of both."
    )


def _degree(n: int, colluders: int, gone: int, k: int, promise: str) -> Degree | None:
    corrupt = _least(n - 1, colluders, k, Fraction(1, (n - colluders) << 40))
    t = k - _least(n - 1, gone, k, Fraction(1, n << 30))
    threshold = n - gone
    if t < 2 or t <= corrupt or (promise == "lying" and 2 * t <= k + corrupt):
        return None
    if n <= FULL:
        return Degree(k, t, threshold - colluders, threshold)
    if not _connected(n, colluders + gone, k):
        return None
    if promise == "curious":
        return Degree(k, t, threshold - colluders, threshold)
    covered = _covered(n, corrupt, t, k, colluders)
    return Degree(k, t, covered, threshold) if 5 * covered >= 2 * n else None


def _least(total: int, marked: int, drawn: int, bound: Fraction) -> int:
    """Return the least c with P[hyp > c] <= bound."""
    every, above, c = comb(total, drawn), 0, min(marked, drawn)
    while c >= 0:
        above += comb(marked, c) * comb(total - marked, drawn - c)
        if above * bound.denominator > bound.numerator * every:
            return c
        c -= 1
    return 0


def _connected(n: int, lost: int, k: int) -> bool:
    """Say whether honest devices that stay are one piece, but for 2**-40."""
    part = min(gap(n, k) / k, 1.0) ** 2
    total = 0.0
    for s in range(1, (n - lost) // 2 + 1):
        around = max(k - s + 1, -int(-(s / (part + (1 - part) * s / n)) // 1) - s)
        if around <= lost:
            chance = (
                _log_comb(n, s) + _log_comb(n - s - around, lost - around) - _log_comb(n, lost)
            )
            total += 2.0 ** min(chance, 0)
            if total > 2.0**-40:
                return False
    return True


def _log_comb(n: int, k: int) -> float:
    if not 0 <= k <= n:
        return -inf
    return (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / log(2)


def _covered(n: int, corrupt: int, t: int, k: int, colluders: int) -> int:
    """Return how many honest devices each sum covers that anybody learns."""
    part, bad = gap(n, k) / k, colluders / n
    x = ((t - corrupt) / k - part) / (1 - part)
    if not 0 < x < 1:
        return 0
    while x < 1 and x + part * (1 - x) + bad + part * sqrt(bad * (1 - bad) * (1 - x) / x) < t / k:
        x += 1 / (16 * n)
    return floor(x * n)

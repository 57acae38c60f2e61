"""Which of the claims that fail is the gravest, and what it comes to in words.

What gives people away comes first: noise that is too small or used twice. Then come messages
believed that must not be, then plain facts, and noise for nothing last.
"""

import math
from collections.abc import Iterable

from .claim import Claim
from .units import OTHER, UNITS, Unit

ORDER = list(UNITS)


def unit(claim: Claim) -> Unit:
    """Return how to read a claim's numbers."""
    return UNITS.get(claim.unit, OTHER)


def times(claim: Claim) -> float:
    """Return what is proven as a multiple of what was promised."""
    if claim.claimed > 0 and not math.isnan(claim.proven):
        return claim.proven / claim.claimed
    return math.inf if claim.proven else 0.0


def gravest(claims: Iterable[Claim]) -> list[Claim]:
    """Return the claims that fail, the gravest first."""

    def rank(claim: Claim) -> tuple[int, int, float]:
        place = ORDER.index(claim.unit) if claim.unit in UNITS else len(ORDER)
        return unit(claim).gravity, place, -times(claim)

    return sorted((claim for claim in claims if not claim.fits), key=rank)


def failure(claim: Claim) -> str:
    """Return in words what a claim that fails comes to."""
    over = times(claim)
    part = 1 / over if over else math.inf
    numbers = {
        "proven": claim.proven,
        "claimed": claim.claimed,
        "times": over,
        "part": part,
        "noise": math.sqrt(part),
        "more": math.sqrt(max(over, 0.0)),
    }
    words = {name: _short(value) for name, value in numbers.items()}
    return " ".join(unit(claim).fails.format(unit=claim.unit, **words).split())


def _short(value: float) -> str:
    if not math.isfinite(value):
        return "infinity" if value > 0 else str(value)
    if abs(value) >= 1000:
        return f"{value:,.0f}" if abs(value) < 1e9 else f"{value:.3g}"
    return f"{value:.2f}" if 0.1 <= value < 10 and value != int(value) else f"{value:.3g}"

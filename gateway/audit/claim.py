"""What the audit says of one promise, and how hard it looks.

A claim holds or fails, and what nobody looked at fails.

False alarms: every claim that rests on chance may fail by bad luck with probability at most
`ALPHA`, and says so in `alpha`; exact claims say 0. By the union bound the whole suite then
raises a false alarm with at most the sum, which the runner holds against `FALSE_ALARM`.
"""

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from edge.core.entropy import Tape

FALSE_ALARM = 1e-6  # of the whole suite
WHOLE = "the audit itself"  # stands for a layer in claims of the runner's own
ALPHA = 2e-9  # of one claim, so five hundred of them fit


@dataclass(frozen=True, slots=True)
class Claim:
    """One promise, the number it states, and the number that was found.

    Unless the detail says otherwise `claimed` is a limit from above: the claim fits as long
    as `bound`, which is what the measurement proves, does not pass it.
    """

    sentence: str  # the promise in words
    claimed: float  # what was promised
    measured: float  # what was found
    fits: bool  # nothing was found that speaks against it
    bound: float = math.nan  # proven by the measurement; NaN takes `measured`, which is exact
    unit: str = ""  # of the three numbers: epsilon, delta, sigma, grains squared ...
    samples: int = 0  # draws or cases looked at; with none it fails
    alpha: float = 0.0  # chance that a good mechanism fails this claim; 0 where it is exact
    detail: str = ""  # where the worst was found, or what broke
    mechanism: str = ""  # the runner fills in these four; no mechanism where it is of the house
    layer: str = ""
    seed: int = 0
    seconds: float = 0.0

    def to_row(self) -> dict[str, Any]:
        """Return the claim for JSON, where a number that is not finite is written out."""
        row = asdict(self)
        del row["fits"]
        row |= {"bound": self.proven, "holds": self.holds}
        for name in ("claimed", "measured", "bound"):
            value = float(row[name])
            row[name] = value if math.isfinite(value) else str(value)
        return row

    @property
    def holds(self) -> bool:
        """Whether something was looked at, and nothing speaks against it."""
        return self.fits and self.samples > 0

    @property
    def proven(self) -> float:
        """The bound that the measurement proves."""
        return self.measured if math.isnan(self.bound) else self.bound


def claim_at_most(
    sentence: str,
    claimed: float | Fraction,
    measured: float | Fraction,
    *,
    samples: int,
    bound: float = math.nan,
    **more: Any,
) -> Claim:
    """Return a claim that what was found, or is proven by it, does not pass what was promised.

    It is exact, also between fractions, but where a `bound` rests on chance: give its `alpha` too.
    """
    fits = bool((measured if math.isnan(bound) else bound) <= claimed)
    return Claim(sentence, float(claimed), float(measured), fits, bound, samples=samples, **more)


def claim_fact(sentence: str, fits: bool, *, samples: int, **more: Any) -> Claim:
    """Return a claim that is a plain fact: 0 exceptions promised, and none or some found."""
    found = float(not fits)
    return Claim(sentence, 0.0, found, fits, unit="exceptions", samples=samples, **more)


def claim_none(
    sentence: str, found: int | Collection[str], unit: str = "exceptions", *, samples: int
) -> Claim:
    """Return an exact claim that there is nothing of a kind.

    Args:
        found: how many there are, or each of them in words, which the detail then quotes.
        unit: what they are, in the plural.
    """
    if isinstance(found, int):
        return claim_at_most(sentence, 0, found, samples=samples, unit=unit)
    detail = "; ".join(sorted(set(found)))[:300]
    return claim_at_most(sentence, 0, len(found), samples=samples, unit=unit, detail=detail)


def is_refused(attempt: Callable[[], object], fault: type[Exception] = ValueError) -> bool:
    """Return whether an attempt ends in a fault of this kind, and not in a result."""
    try:
        attempt()
    except fault:
        return True
    return False


@dataclass(frozen=True, slots=True)
class Effort:
    """How hard to look: quick enough for every change, or in full; and from which seed."""

    full: bool = False
    seed: int = 1
    alpha: float = ALPHA  # for each claim that rests on chance
    first: bool = False  # end each layer at the first of its claims that fails
    own: Any = None  # an operator's `own.Own`, to be looked at in place of the audit's rooms

    def pick(self, quick: int, full: int) -> int:
        """Return the number that suits."""
        return full if self.full else quick

    def tape(self, *labels: object) -> Any:
        """Return the stream of random bits of one claim, its own by the labels."""
        return Tape("audit {} {}".format(self.seed, " ".join(map(str, labels))).encode())

    def root(self, *labels: object) -> bytes:
        """Return the root key of one claim's device, its own by the labels."""
        root: bytes = self.tape(*labels).bits(256).to_bytes(32, "big")
        return root


# How grave a failure is, by the unit of a claim's numbers. What gives people away comes first:
# noise that is too small or used twice. Then come messages believed that must not be, then plain
# facts, and noise for nothing last.

LEAK, COUNT, FACT, WASTE = range(4)  # from the gravest
GRAVITY = {
    **dict.fromkeys(("epsilon", "delta", "variance asked / given", "sigmas", "rho"), LEAK),
    **dict.fromkeys(("variance promised / found", "grains", "truth / ours", "chance"), LEAK),
    **dict.fromkeys(("blocks", "streams shared", "correlation", "total variation"), LEAK),
    **dict.fromkeys(("variance found / promised, or the inverse", "-log10 p"), LEAK),
    **dict.fromkeys(("exceptions", "writes", "probability"), FACT),
    **dict.fromkeys(("claimed / found", "variance given / asked", "ours / truth"), WASTE),
    **dict.fromkeys(("variance found / promised", "sigmas promised / found"), WASTE),
}  # and COUNT for what is not in the table


def grade_failure(claim: Claim) -> int:
    """Return how grave it is when a claim fails: LEAK, COUNT, FACT or WASTE."""
    return GRAVITY.get(claim.unit, COUNT)


def compute_excess(claim: Claim) -> float:
    """Return what is proven as a multiple of what was promised."""
    if claim.claimed > 0 and not math.isnan(claim.proven):
        return claim.proven / claim.claimed
    return math.inf if claim.proven else 0.0


def sort_failures(claims: Iterable[Claim]) -> list[Claim]:
    """Return the claims that fail, the gravest first, and of these the furthest off."""
    failed = (claim for claim in claims if not claim.holds)
    return sorted(failed, key=lambda claim: (grade_failure(claim), -compute_excess(claim)))


def describe_failure(claim: Claim) -> str:
    """Return in words what a claim that fails comes to."""
    if claim.fits:
        return "nothing was looked at"
    if claim.unit == "exceptions":
        return "it is not so"
    return f"{claim.unit or 'it'} is {claim.proven:.4g} where {claim.claimed:.4g} may be"

"""What the audit says of one promise, and how hard it looks.

A claim holds, fails, or was not measured: what nobody looked at is never said to hold.

False alarms: every claim that rests on chance may fail by bad luck with probability at most
`ALPHA`, and says so in `alpha`; exact claims say 0. By the union bound the whole suite then
raises a false alarm with at most the sum, which the runner holds against `FALSE_ALARM`.
"""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from edge.core.entropy import Tape

FALSE_ALARM = 1e-6  # of the whole suite
WHOLE = "the audit itself"  # stands for a layer in claims of the runner's own
ALPHA = 2e-9  # of one claim, so five hundred of them fit


Outcome = Literal["holds", "fails", "not measured"]


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
    samples: int = 0  # draws or cases looked at; with none it is not measured
    alpha: float = 0.0  # chance that a good mechanism fails this claim; 0 where it is exact
    detail: str = ""  # where the worst was found, or what broke
    mechanism: str = ""  # the runner fills in these four; no mechanism where it is of the house
    layer: str = ""
    seed: int = 0
    seconds: float = 0.0

    def row(self) -> dict[str, Any]:
        """Return the claim for JSON, where a number that is not finite is written out."""
        row = asdict(self)
        del row["fits"]
        row |= {"bound": self.proven, "holds": self.holds, "outcome": self.outcome}
        for name in ("claimed", "measured", "bound"):
            value = float(row[name])
            row[name] = value if math.isfinite(value) else str(value)
        return row

    @property
    def outcome(self) -> Outcome:
        """Whether it holds, fails, or was not measured."""
        if not self.fits:
            return "fails"
        return "holds" if self.samples > 0 else "not measured"

    @property
    def holds(self) -> bool:
        """Whether something was looked at, and nothing speaks against it."""
        return self.outcome == "holds"

    @property
    def proven(self) -> float:
        """The bound that the measurement proves."""
        return self.measured if math.isnan(self.bound) else self.bound


def at_most(sentence: str, claimed: float, measured: float, *, samples: int, **more: Any) -> Claim:
    """Return an exact claim that what was found does not pass what was promised."""
    fits = bool(measured <= claimed)
    return Claim(sentence, float(claimed), float(measured), fits, samples=samples, **more)


def true(sentence: str, fits: bool, *, samples: int, **more: Any) -> Claim:
    """Return a claim that is a plain fact: 0 exceptions promised, and none or some found."""
    found = float(not fits)
    return Claim(sentence, 0.0, found, fits, unit="exceptions", samples=samples, **more)


def list_unmeasured(claims: Iterable[Claim]) -> list[Claim]:
    """Return the claims of which nothing is known."""
    return [claim for claim in claims if claim.outcome == "not measured"]


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


# How grave a failure is, and in what words it is told, by the unit of a claim's numbers.

LEAK, COUNT, FACT, WASTE = range(4)  # from the gravest


class Unit(NamedTuple):
    """How the numbers of one unit are to be read.

    The words of a failure may name {proven} and {claimed}, {times} the one over the other,
    {part} its inverse, and {noise} and {more}, the roots of those two, for sigmas of variances.
    """

    gravity: int
    fails: str = "{proven} {unit} found where {claimed} may be"


OTHER = Unit(COUNT)  # for what is not in the table
TOO_LITTLE = "the noise is {noise} of what is promised"
# The gravest first.
UNITS: dict[str, Unit] = {
    "epsilon": Unit(
        LEAK, "epsilon is {proven} where {claimed} is promised, {times} times as much"
    ),
    "delta": Unit(LEAK, "delta is {proven} where {claimed} is promised, {times} times as much"),
    "variance asked / given": Unit(LEAK, TOO_LITTLE),
    "variance promised / found": Unit(LEAK, f"{TOO_LITTLE} at most"),
    "variance found / promised, or the inverse": Unit(
        LEAK, "the noise of all sensors together is {more} times too small or too large at least"
    ),
    "sigmas": Unit(
        LEAK,
        "two rooms are told {proven} standard deviations apart, {times} times what is promised",
    ),
    "rho": Unit(
        LEAK, "an answer costs {proven} rho where {claimed} is promised, {times} times as much"
    ),
    "grains": Unit(
        LEAK,
        "one neighbour changes what is sent {times} times as much as the noise is made for",
    ),
    "truth / ours": Unit(LEAK, "what is reckoned is {part} of the truth"),
    "chance": Unit(LEAK, "it happened with a chance of {proven} where {claimed} is promised"),
    "blocks": Unit(LEAK, "{proven} blocks of noise are used twice"),
    "streams shared": Unit(LEAK, "{proven} streams are shared"),
    "correlation": Unit(
        LEAK,
        "noises that must be independent go together, by a correlation of {proven} at least",
    ),
    "total variation": Unit(
        LEAK, "values come more or less often than the formula says ({proven} of all draws)"
    ),
    "-log10 p": Unit(LEAK, "draws so far off the formula come by chance once in 10^{proven}"),
    "exceptions": Unit(FACT, "it is not so"),
    "writes": Unit(FACT),
    "probability": Unit(FACT),
    "claimed / found": Unit(
        WASTE, "the noise is made for {proven} times what is there, for nothing"
    ),
    "variance given / asked": Unit(WASTE, "the noise is {more} times what is needed"),
    "variance found / promised": Unit(
        WASTE, "the noise is {more} times what is promised at least"
    ),
    "sigmas promised / found": Unit(
        WASTE, "readings are {times} times harder to tell apart than is promised"
    ),
    "ours / truth": Unit(WASTE, "what is reckoned is {proven} times the truth"),
}


# Which of the claims that fail is the gravest, and what it comes to in words.
#
# What gives people away comes first: noise that is too small or used twice. Then come messages
# believed that must not be, then plain facts, and noise for nothing last.

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

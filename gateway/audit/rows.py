"""The tables of the report: one row for each promise, the worst of all rooms that it was tried in.

A claim's sentence may begin with a case and a colon. Claims alike but for their cases share a
row, which shows the worst of them: one that fails, else one that was not measured, else the one
nearest to its limit.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from .claim import Claim
from .gravity import times

RANKS = ("holds", "not measured", "fails")  # the worst last
VERDICTS = {"holds": "holds", "not measured": "*not measured*", "fails": "**FAILS**"}
NUMBERS = ("promised", "measured", "proven", "unit")  # left out where all are plain facts


class Row(NamedTuple):
    """Claims of one promise."""

    promise: str
    cases: tuple[str, ...]  # none where there is but one claim
    claims: tuple[Claim, ...]

    @property
    def worst(self) -> int:
        """The place of the claim to show."""
        ranks = [(RANKS.index(claim.outcome), times(claim)) for claim in self.claims]
        return ranks.index(max(ranks))

    @property
    def where(self) -> str:
        """In which room or other case the worst was found, of how many."""
        if not self.cases:
            return self.claims[0].mechanism
        if not any(claim.proven for claim in self.claims):
            return f"all {len(self.cases)}"
        return f"{self.cases[self.worst]} (worst of {len(self.cases)})"


def rows(claims: Iterable[Claim]) -> Iterator[Row]:
    """Yield the promises in their order, each with all its claims."""
    alike: dict[tuple[str, ...], list[tuple[str, Claim]]] = {}
    for claim in claims:
        case, colon, promise = claim.sentence.partition(": ")
        if not colon:
            case, promise = "", claim.sentence
        key = (claim.layer, claim.mechanism, promise, claim.unit)
        alike.setdefault(key, []).append((case, claim))
    for (_, _, promise, _), found in alike.items():
        cases, ours = zip(*found, strict=True)
        if len(found) > 1:
            yield Row(promise, cases, ours)
        else:
            yield Row(ours[0].sentence, (), ours)


def table(claims: Sequence[Claim]) -> list[str]:
    """Return the lines of a table."""
    facts = all(claim.unit == "exceptions" for claim in claims)
    names = ["", "promise", "where", *(() if facts else NUMBERS), "looked at", "chance", "s"]
    return [
        f"| {' | '.join(names)} |",
        f"|{' --- |' * len(names)}",
        *(_line(row, facts) for row in rows(claims)),
    ]


def cell(words: str) -> str:
    """Return words that cannot break a table or a line."""
    return " ".join(words.replace("|", "\\|").split())


def _line(row: Row, facts: bool) -> str:
    claim = row.claims[row.worst]
    alike = sum(one.outcome == claim.outcome for one in row.claims)
    words = f"{row.promise} ({claim.detail.strip('; ')})" if claim.detail else row.promise
    samples = sum(one.samples for one in row.claims)
    verdict = VERDICTS[claim.outcome]
    cells = [
        f"{verdict} ({alike} of {len(row.claims)})"
        if verdict != "holds" and row.cases
        else verdict,
        cell(words),
        cell(row.where),
        *(() if facts else (*map(number, _numbers(claim)), claim.unit)),
        f"{samples:,}" if samples else "",
        f"{claim.alpha:.1g}" if claim.alpha else "exact",
        f"{math.fsum(one.seconds for one in row.claims):.2f}",
    ]
    return f"| {' | '.join(cells)} |"


def _numbers(claim: Claim) -> tuple[float, float, float]:
    return claim.claimed, claim.measured, claim.proven


def number(value: float) -> str:
    """Return a number as it is to be read."""
    if not math.isfinite(value) or (abs(value) < 1e15 and value == int(value)):
        return f"{value:.0f}"
    short = f"{value:.6g}"
    return short if float(short) != round(value) else f"{value:.12g}"  # 1 is not just below 1

"""The audit's report: a page to read and an object to compute with.

The object holds every claim. The page begins with the verdict, what was audited and what does
not hold, the gravest first; then it goes through the layers, one row for each promise.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

from .claim import (
    FALSE_ALARM,
    WHOLE,
    Claim,
    Effort,
    compute_excess,
    describe_failure,
    sort_failures,
)
from .layers import LAYERS

# The tables of the report: one row for each promise, the worst of all rooms that it was tried in.
#
# A claim's sentence may begin with a case and a colon. Claims alike but for their cases share a
# row, which shows the worst of them: one that fails, else the one nearest to its limit.

NUMBERS = ("promised", "measured", "proven", "unit")  # left out where all are plain facts


class Row(NamedTuple):
    """Claims of one promise."""

    promise: str
    cases: tuple[str, ...]  # none where there is but one claim
    claims: tuple[Claim, ...]

    @property
    def worst(self) -> int:
        """The place of the claim to show."""
        ranks = [(not claim.holds, compute_excess(claim)) for claim in self.claims]
        return ranks.index(max(ranks))

    @property
    def where(self) -> str:
        """In which room or other case the worst was found, of how many."""
        if not self.cases:
            return self.claims[0].mechanism
        if not any(claim.proven for claim in self.claims):
            return f"all {len(self.cases)}"
        return f"{self.cases[self.worst]} (worst of {len(self.cases)})"


def group_by_promise(claims: Iterable[Claim]) -> Iterator[Row]:
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


def format_table(claims: Sequence[Claim]) -> list[str]:
    """Return the lines of a table."""
    facts = all(claim.unit == "exceptions" for claim in claims)
    names = ["", "promise", "where", *(() if facts else NUMBERS), "looked at", "chance", "s"]
    return [
        f"| {' | '.join(names)} |",
        f"|{' --- |' * len(names)}",
        *(_format_row(row, facts) for row in group_by_promise(claims)),
    ]


def escape_cell(words: str) -> str:
    """Return words that cannot break a table or a line."""
    return " ".join(words.replace("|", "\\|").split())


def _format_row(row: Row, facts: bool) -> str:
    claim = row.claims[row.worst]
    alike = sum(one.holds == claim.holds for one in row.claims)
    words = f"{row.promise} ({claim.detail.strip('; ')})" if claim.detail else row.promise
    samples = sum(one.samples for one in row.claims)
    verdict = "holds" if claim.holds else "**FAILS**"
    cells = [
        verdict if claim.holds or not row.cases else f"{verdict} ({alike} of {len(row.claims)})",
        escape_cell(words),
        escape_cell(row.where),
        *(
            ()
            if facts
            else (*map(format_number, (claim.claimed, claim.measured, claim.proven)), claim.unit)
        ),
        f"{samples:,}" if samples else "",
        f"{claim.alpha:.1g}" if claim.alpha else "exact",
        f"{math.fsum(one.seconds for one in row.claims):.2f}",
    ]
    return f"| {' | '.join(cells)} |"


def format_number(value: float) -> str:
    """Return a number as it is to be read."""
    if not math.isfinite(value) or (abs(value) < 1e15 and value == int(value)):
        return f"{value:.0f}"
    short = f"{value:.6g}"
    return short if float(short) != round(value) else f"{value:.12g}"  # 1 is not just below 1


TITLE = "# Audit of heatveil"


def to_object(
    claims: Sequence[Claim], effort: Effort, seconds: float, rooms: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the whole audit for JSON."""
    return {
        "audit": "heatveil",
        "version": _find_version(),
        "holds": all(claim.holds for claim in claims),
        "effort": "full" if effort.full else "quick",
        "seed": effort.seed,
        "seconds": round(seconds, 2),
        "rooms": list(rooms),
        "false_alarm": math.fsum(claim.alpha for claim in claims),
        "false_alarm_allowed": FALSE_ALARM,
        "claims": [claim.to_row() for claim in claims],
    }


def format_page(
    claims: Sequence[Claim], effort: Effort, seconds: float, rooms: Sequence[str] = ()
) -> str:
    """Return the whole audit as Markdown."""
    layers = [name for name in dict.fromkeys(claim.layer for claim in claims) if name != WHOLE]
    lines = [
        TITLE,
        "",
        f"**{describe_verdict(claims)}**",
        "",
        *_format_subject(claims, effort, seconds, rooms),
        *_list_failed(claims),
        *_format_contents(claims, layers),
        "",
        *_explain_tables(claims),
    ]
    for layer in [*layers, WHOLE]:
        ours = [claim for claim in claims if claim.layer == layer]
        if ours:
            lines += ["", f"## {layer}", "", *format_table(ours)]
    return "\n".join([*lines, ""])


def describe_outcome(claims: Sequence[Claim]) -> str:
    """Return the outcome in one sentence."""
    if failed := len(sort_failures(claims)):
        return f"{failed} of {len(claims)} claims fail."
    return f"All {len(claims)} claims hold."


def describe_verdict(claims: Sequence[Claim]) -> str:
    """Return the outcome in one sentence, with the gravest of what fails."""
    for worst in sort_failures(claims):
        return escape_cell(
            f"{describe_outcome(claims)[:-1]}; the gravest: {describe_failure(worst)}."
        )
    return describe_outcome(claims)


def _find_version() -> str:
    try:
        return version("heatveil")
    except PackageNotFoundError:
        return "that is not installed"


def _format_subject(
    claims: Sequence[Claim], effort: Effort, seconds: float, rooms: Sequence[str]
) -> Iterator[str]:
    mechanisms = ", ".join(dict.fromkeys(claim.mechanism for claim in claims if claim.mechanism))
    yield f"- Audited: heatveil {_find_version()}, mechanism {mechanisms or 'none'}"
    if rooms:
        yield f"- Rooms: {'; '.join(rooms)}"
    how = "full" if effort.full else "quick (`--full` looks longer)"
    yield f"- How: {how}, seed {effort.seed}, {seconds:.1f} s"
    yield "- Every single claim, each room by itself: `audit.json`"
    yield ""


def _list_failed(claims: Sequence[Claim]) -> Iterator[str]:
    failed = sort_failures(claims)
    if not failed:
        return
    yield from ("## What fails", "")
    yield (
        "The gravest first: what gives people away, then what is not as it should be. Each is "
        "told by the worst of the rooms or cases in which it fails."
    )
    yield ""
    found = sorted(group_by_promise(failed), key=lambda row: failed.index(row.claims[row.worst]))
    for place, row in enumerate(found, 1):
        claim = row.claims[row.worst]
        detail = f" ({claim.detail})" if claim.detail else ""
        where = f"{claim.layer}, {row.where}" if row.where else claim.layer
        yield escape_cell(
            f"{place}. **{describe_failure(claim)}**: {row.promise}{detail}; {where}"
        )
    yield ""


def _format_contents(claims: Sequence[Claim], layers: Sequence[str]) -> Iterator[str]:
    about = {layer.name: layer.about for layer in LAYERS}
    yield from ("| layer | the danger | claims that hold | s |", "| --- | --- | --- | --- |")
    for layer in layers:
        ours = [claim for claim in claims if claim.layer == layer]
        held = sum(claim.holds for claim in ours)
        count = f"{held} of {len(ours)}" if held == len(ours) else f"**{held} of {len(ours)}**"
        took = math.fsum(claim.seconds for claim in ours)
        yield f"| [{layer}](#{layer}) | {about.get(layer, '')} | {count} | {took:.1f} |"


def _explain_tables(claims: Sequence[Claim]) -> Iterator[str]:
    chance = [claim for claim in claims if claim.alpha]
    yield (
        "How to read the tables: *promised* is the limit, *measured* what was found, and *proven* "
        "what that shows beyond doubt. Where chance plays a part, *measured* may lie on either "
        "side of the limit; a claim fails when *proven* passes it. A row shows the worst of all "
        "rooms or cases that it was tried in. *Looked at* counts draws or cases."
    )
    yield ""
    yield (
        f"{len(chance)} of the claims rest on chance. Code without a fault fails one of them "
        f"with probability {math.fsum(claim.alpha for claim in chance):.2g} at most; "
        f"{FALSE_ALARM:g} is allowed. The others are exact."
    )

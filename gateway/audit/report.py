"""The audit's report: a page to read and an object to compute with.

Both hold every claim in the words of the promise, with what was promised, what was found and
what that proves, the draws looked at, the seed and the time.
"""

import math
from collections.abc import Sequence
from typing import Any

from .claim import FALSE_ALARM, Claim, Effort
from .layers import LAYERS

TITLE = "# Audit of heatveil"


def as_object(claims: Sequence[Claim], effort: Effort, seconds: float) -> dict[str, Any]:
    """Return the whole audit for JSON."""
    return {
        "audit": "heatveil",
        "holds": all(claim.holds for claim in claims),
        "effort": "full" if effort.full else "quick",
        "seed": effort.seed,
        "seconds": round(seconds, 2),
        "false_alarm": math.fsum(claim.alpha for claim in claims),
        "false_alarm_allowed": FALSE_ALARM,
        "claims": [claim.row() for claim in claims],
    }


def as_page(claims: Sequence[Claim], effort: Effort, seconds: float) -> str:
    """Return the whole audit as Markdown."""
    about = {layer.name: layer.about for layer in LAYERS}
    failed = [claim for claim in claims if not claim.holds]
    chance = [claim for claim in claims if claim.alpha]
    lines = [
        TITLE,
        "",
        f"**{head(claims)}** A {'full' if effort.full else 'quick'} audit from seed "
        f"{effort.seed}, {seconds:.1f} s of it.",
        "",
        f"{len(chance)} of the claims rest on chance. Code without a fault fails one of them "
        f"with probability {math.fsum(claim.alpha for claim in chance):.2g} at most, by the "
        f"union bound; {FALSE_ALARM:g} is allowed. The others are exact.",
        "",
        "*Claimed* is the number promised, *measured* what was found, *proven* the bound that "
        "the measurement establishes, chance taken into account. A plain fact counts its "
        "exceptions: 0 are promised.",
        "",
    ]
    if failed:
        lines += ["## What does not hold", "", *_table(failed), ""]
    for layer in dict.fromkeys(claim.layer for claim in claims):
        sees = [f"It sees {about[layer]}.", ""] if layer in about else []
        lines += [f"## {layer}", "", *sees, *_table([c for c in claims if c.layer == layer]), ""]
    return "\n".join(lines)


def head(claims: Sequence[Claim]) -> str:
    """Return the outcome in one sentence."""
    failed = sum(not claim.holds for claim in claims)
    if failed:
        return f"{failed} of {len(claims)} claims do not hold."
    return f"All {len(claims)} claims hold."


def _table(claims: Sequence[Claim]) -> list[str]:
    return [
        "| | claim | claimed | measured | proven | unit | looked at | alpha | seed | s |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        *map(_line, claims),
    ]


def _line(claim: Claim) -> str:
    words = f"{claim.mechanism}: {claim.sentence}" if claim.mechanism else claim.sentence
    if claim.detail:
        words += f" ({claim.detail})"
    cells = [
        "holds" if claim.holds else "**FAILS**",
        " ".join(words.replace("|", "\\|").split()),
        *(_number(value) for value in (claim.claimed, claim.measured, claim.proven)),
        claim.unit,
        f"{claim.samples:,}" if claim.samples else "",
        f"{claim.alpha:.1g}" if claim.alpha else "exact",
        str(claim.seed),
        f"{claim.seconds:.2f}",
    ]
    return f"| {' | '.join(cells)} |"


def _number(value: float) -> str:
    whole = abs(value) < 1e15 and value == int(value) if math.isfinite(value) else False
    return f"{int(value)}" if whole else f"{value:.8g}"

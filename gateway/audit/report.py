"""The audit's report: a page to read and an object to compute with.

The object holds every claim. The page begins with the verdict, what was audited and what does
not hold, the gravest first; then it goes through the layers, one row for each promise.
"""

import math
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .claim import FALSE_ALARM, WHOLE, Claim, Effort, unmeasured
from .gravity import failure, gravest, unit
from .guide import GUIDE
from .layers import LAYERS
from .rows import cell, rows, table

TITLE = "# Audit of heatveil"


def as_object(
    claims: Sequence[Claim], effort: Effort, seconds: float, rooms: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the whole audit for JSON."""
    return {
        "audit": "heatveil",
        "version": _version(),
        "holds": all(claim.holds for claim in claims),
        "not_measured": len(unmeasured(claims)),
        "effort": "full" if effort.full else "quick",
        "seed": effort.seed,
        "seconds": round(seconds, 2),
        "rooms": list(rooms),
        "false_alarm": math.fsum(claim.alpha for claim in claims),
        "false_alarm_allowed": FALSE_ALARM,
        "claims": [claim.row() for claim in claims],
    }


def as_page(
    claims: Sequence[Claim], effort: Effort, seconds: float, rooms: Sequence[str] = ()
) -> str:
    """Return the whole audit as Markdown."""
    layers = [name for name in dict.fromkeys(claim.layer for claim in claims) if name != WHOLE]
    lines = [
        TITLE,
        "",
        f"**{verdict(claims)}**",
        "",
        *_subject(claims, effort, seconds, rooms),
        *_failed(claims),
        *_unmeasured(claims),
        *_contents(claims, layers),
        "",
        *_reading(claims),
    ]
    for layer in [*layers, WHOLE]:
        ours = [claim for claim in claims if claim.layer == layer]
        if ours:
            lines += ["", f"## {layer}", "", *_layer_words(layer, ours), "", *table(ours)]
    return "\n".join([*lines, ""])


def head(claims: Sequence[Claim]) -> str:
    """Return the outcome in one sentence."""
    failed, unseen = len(gravest(claims)), len(unmeasured(claims))
    left = f"; {unseen} {'was' if unseen == 1 else 'were'} not measured" if unseen else ""
    if failed:
        return f"{failed} of {len(claims)} claims fail{left}."
    if unseen:
        return f"{len(claims) - unseen} of {len(claims)} claims hold{left}."
    return f"All {len(claims)} claims hold."


def verdict(claims: Sequence[Claim]) -> str:
    """Return the outcome in one sentence, with the gravest of what fails."""
    for worst in gravest(claims):
        return cell(f"{head(claims)[:-1]}; the gravest: {failure(worst)}.")
    return head(claims)


def blind(claims: Sequence[Claim]) -> str:
    """Return what was not measured, and why, in one sentence each; "" if all was."""
    return " ".join(
        f"{claim.layer}: {claim.sentence} ({claim.detail or 'there was nothing to look at'})."
        for claim in unmeasured(claims)
    )


def _version() -> str:
    try:
        return version("heatveil")
    except PackageNotFoundError:
        return "that is not installed"


def _subject(
    claims: Sequence[Claim], effort: Effort, seconds: float, rooms: Sequence[str]
) -> Iterator[str]:
    mechanisms = ", ".join(dict.fromkeys(claim.mechanism for claim in claims if claim.mechanism))
    yield f"- Audited: heatveil {_version()}, mechanism {mechanisms or 'none'}"
    if rooms:
        yield f"- Rooms: {'; '.join(rooms)}"
    how = "full" if effort.full else "quick (`--full` looks longer)"
    yield f"- How: {how}, seed {effort.seed}, {seconds:.1f} s"
    yield "- Every single claim, each room by itself: `audit.json`; drawn: `audit.png`"
    yield ""


def _failed(claims: Sequence[Claim]) -> Iterator[str]:
    failed = gravest(claims)
    if not failed:
        return
    yield from ("## What fails", "")
    yield (
        "The gravest first: what gives people away, then what is not as it should be. Each is "
        "told by the worst of the rooms or cases in which it fails."
    )
    yield ""
    found = sorted(rows(failed), key=lambda row: failed.index(row.claims[row.worst]))
    for place, row in enumerate(found, 1):
        claim = row.claims[row.worst]
        detail = f" ({claim.detail})" if claim.detail else ""
        where = f"{claim.layer}, {row.where}" if row.where else claim.layer
        yield cell(f"{place}. **{failure(claim)}**: {row.promise}{detail}; {where}")
    yield ""


def _unmeasured(claims: Sequence[Claim]) -> Iterator[str]:
    if unseen := unmeasured(claims):
        yield from ("## What was not measured", "")
        yield "Nothing is known of these, and none of them counts as held."
        yield ""
        for claim in unseen:
            yield cell(f"- {blind([claim])}")
        yield ""


def _contents(claims: Sequence[Claim], layers: Sequence[str]) -> Iterator[str]:
    about = {layer.name: layer.about for layer in LAYERS}
    yield from ("| layer | the danger | claims that hold | s |", "| --- | --- | --- | --- |")
    for layer in layers:
        ours = [claim for claim in claims if claim.layer == layer]
        held = sum(claim.holds for claim in ours)
        count = f"{held} of {len(ours)}" if held == len(ours) else f"**{held} of {len(ours)}**"
        took = math.fsum(claim.seconds for claim in ours)
        yield f"| [{layer}](#{layer}) | {about.get(layer, '')} | {count} | {took:.1f} |"


def _reading(claims: Sequence[Claim]) -> Iterator[str]:
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


def _layer_words(layer: str, claims: Sequence[Claim]) -> Iterator[str]:
    own = "The audit could have passed something over, or raise false alarms; it looks at itself."
    words = own if layer == WHOLE else GUIDE.get(layer, "")
    means = {claim.unit or "no unit": unit(claim).means for claim in claims}
    if list(means) == ["exceptions"]:
        yield f"{words} These are facts, which are so or not; *looked at* counts cases."
        return
    yield f"{words} The numbers, by their unit:"
    yield ""
    for name, mean in means.items():
        yield f"- *{name}*: {mean}"

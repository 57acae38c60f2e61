"""The audit's picture: what is proven against what was promised.

One lane for each layer and kind of number; each claim is a bold dot, the number that is proven
as a part of the number promised, so that all share one line at 1 and none may pass it. A small
pale dot is what was measured, which chance may put on either side. Lanes in which all lies at
the line, for the noise is as large as it must be and no larger, are thin. Plain facts, which
promise no exception, have nothing to measure and are told in the title.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from .claim import Claim, times, unit
from .report import head

HOLDS, FAILS, FAINT = "#3b3355", "#c2410c", "#b9b3c6"
MOST = 1.5  # times the promise; what is beyond is drawn at the edge
ROWS = 7  # on which the dots of a lane are spread, so that they can be told apart
NEAR, THIN = 0.03, 0.5  # a lane whose dots are all so near to 1 has so much of the height
BOLD, PALE = 3.6, 2.0  # sizes of what is proven and what was measured
TICKS = ("0", "¼", "½", "¾", "1: the limit promised")
INCHES = 0.34  # of a lane


def draw(claims: Sequence[Claim], path: Path, title: str) -> None:
    """Write the picture as PNG, with this title in the file itself."""
    plain = [claim for claim in claims if claim.claimed <= 0]
    seen = [claim for claim in claims if claim.outcome != "not measured"]
    lanes: dict[str, list[Claim]] = {}
    for claim in seen:
        if claim.claimed > 0:
            name = f"{claim.layer}: {unit(claim).drawn or claim.unit}"
            lanes.setdefault(name, []).append(claim)
    heights = [_height(ours) for ours in lanes.values()]
    ends = list(accumulate(heights, initial=0.0))
    middles = [(above + below) / 2 for above, below in pairwise(ends)]
    figure = Figure(figsize=(10, 1.9 + INCHES * max(1.0, ends[-1])), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    panel = figure.subplots()
    panel.axvline(1, color=FAILS, linewidth=1.2, zorder=0)
    panel.axvspan(1, MOST + 0.05, color=FAILS, alpha=0.06, linewidth=0)
    for ours, end, middle, height in zip(lanes.values(), ends[1:], middles, heights, strict=True):
        panel.axhline(end, color=FAINT, linewidth=0.4, alpha=0.6)
        _dots(panel, ours, middle, height)
    panel.set_xlim(-0.02, MOST + 0.05)
    panel.set_ylim(max(1.0, ends[-1]), 0)
    panel.set_yticks(middles, [f"{k}  ({len(v)})" for k, v in lanes.items()], fontsize=8)
    panel.tick_params(axis="y", length=0)
    panel.spines[["top", "right", "left"]].set_visible(False)
    panel.set_xticks([0, 0.25, 0.5, 0.75, 1], TICKS, fontsize=8.5)
    panel.set_xlabel("as a part of what was promised", fontsize=8.5)
    facts = sum(claim.holds for claim in plain)
    panel.set_title(
        f"{head(claims)} What is proved (bold) must lie left of the line, or on it.\n"
        f"{facts} of {len(plain)} plain facts hold; {sum(map(len, lanes.values()))} claims are "
        "drawn.",
        loc="left",
        fontsize=10,
    )
    figure.legend(handles=list(_legend()), loc="outside lower center", ncols=3, fontsize=8)
    figure.savefig(path, format="png", metadata={"Title": title})


def _height(claims: Sequence[Claim]) -> float:
    return THIN if all(c.holds and abs(times(c) - 1) < NEAR for c in claims) else 1.0


def _legend() -> Iterator[Line2D]:
    for label, colour, size in (
        ("proved: must not pass the line", HOLDS, BOLD),
        ("measured: chance may put it on either side", FAINT, PALE),
        ("fails", FAILS, BOLD * 1.5),
    ):
        yield Line2D([], [], color=colour, marker="o", markersize=size, linestyle="", label=label)


def _dots(panel: Axes, claims: Sequence[Claim], middle: float, height: float) -> None:
    rows = min(ROWS, len(claims))
    for place, claim in enumerate(claims):
        y = middle + 0.7 * height * ((place % rows + 0.5) / rows - 0.5)
        found, proven = _part(claim.measured / claim.claimed), _part(times(claim))
        colour, size = (HOLDS, BOLD) if claim.holds else (FAILS, BOLD * 1.5)
        panel.plot((found, proven), (y, y), color=FAINT, linewidth=0.6, alpha=0.7, zorder=1)
        panel.plot(found, y, "o", color=FAINT, markersize=PALE, markeredgewidth=0, zorder=2)
        panel.plot(proven, y, "o", color=colour, markersize=size, markeredgewidth=0, zorder=3)


def _part(part: float) -> float:
    return MOST if math.isnan(part) else min(max(part, 0.0), MOST)

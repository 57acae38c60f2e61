"""The audit's picture: what was found against what was promised.

One lane for each layer and kind of number; each claim is a dot, the number found as a part of
the number promised, so that all share one line at 1. A bar leads from what was measured to what
that proves, chance taken into account, and it is the bar's end that must not pass the line.
Plain facts, which promise no exception, have nothing to measure and are told in the title.
"""

import math
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from .claim import Claim
from .report import head

HOLDS, FAILS, FAINT = "#3b3355", "#c2410c", "#b9b3c6"
MOST = 1.5  # times the promise; what is beyond is drawn at the edge
ROWS = 7  # on which the dots of a lane are spread, so that they can be told apart


def draw(claims: Sequence[Claim], path: Path, title: str) -> None:
    """Write the picture as PNG, with this title in the file itself."""
    plain = [claim for claim in claims if claim.claimed <= 0]
    lanes: dict[str, list[Claim]] = {}
    for claim in claims:
        if claim.claimed > 0:
            lanes.setdefault(f"{claim.layer}: {claim.unit}", []).append(claim)
    figure = Figure(figsize=(9.5, 1.3 + 0.36 * max(1, len(lanes))), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    panel = figure.subplots()
    panel.axvline(1, color=FAILS, linewidth=1, zorder=0)
    panel.axvspan(1, MOST + 0.05, color=FAILS, alpha=0.06, linewidth=0)
    for lane, ours in enumerate(lanes.values()):
        panel.axhline(lane + 0.5, color=FAINT, linewidth=0.4, alpha=0.6)
        _dots(panel, ours, lane)
    panel.set_xlim(-0.02, MOST + 0.05)
    panel.set_ylim(len(lanes) - 0.5, -0.5)
    panel.set_yticks(range(len(lanes)), [f"{k}  ({len(v)})" for k, v in lanes.items()], fontsize=8)
    panel.tick_params(axis="y", length=0)
    panel.spines[["top", "right", "left"]].set_visible(False)
    panel.set_xlabel(
        "found, as a part of what was promised: dot measured, bar to what that proves; "
        "no bar may end beyond 1",
        fontsize=8.5,
    )
    facts = sum(claim.holds for claim in plain)
    panel.set_title(
        f"{head(claims)} {facts} of {len(plain)} plain facts hold; the other claims are drawn:",
        loc="left",
        fontsize=10.5,
    )
    figure.savefig(path, format="png", metadata={"Title": title})


def _dots(panel: Axes, claims: Sequence[Claim], lane: int) -> None:
    rows = min(ROWS, len(claims))
    for place, claim in enumerate(claims):
        height = lane + 0.7 * ((place % rows + 0.5) / rows - 0.5)
        found, proven = _part(claim.measured / claim.claimed), _part(claim.proven / claim.claimed)
        colour, size = (HOLDS, 2.6) if claim.holds else (FAILS, 5.5)
        panel.plot((found, proven), (height, height), color=colour, linewidth=1, alpha=0.45)
        panel.plot(found, height, "o", color=colour, markersize=size, markeredgewidth=0)


def _part(part: float) -> float:
    return MOST if math.isnan(part) else min(max(part, 0.0), MOST)

"""Figure 9 of paper 003: the distance of all mechanisms by cells and by epsilon, 20 panels."""

from .contenders import AUTO, DAM_AUTO
from .curves import Curve, drawn, ratio, slow, sources, winners
from .people import file_notes
from .record import UNIFORM, Figure, Order, Panel, Stage
from .trials import Source

TITLE = "W2 of all mechanisms by d and by epsilon"
PAPER = (
    "W2 grows with d, but for MDSW on SZipf, and falls with epsilon; DAM is always better than "
    "MDSW and HUEM; SEM-Geo-I is near, slightly better at small epsilon, worse at large d and "
    "large epsilon; k-RR and OUE are not shown"
)
# Name, mechanisms, sides and epsilons of a panel.
Kind = tuple[str, tuple[str, ...], tuple[int, ...], tuple[str, ...]]
# Table IV and Section VII-C: who is in each of the four kinds of panel.
SMALL = ("DAM", "DAM-NS", "HUEM", "MDSW", "SEM-Geo-I", "k-RR", "OUE")
LARGE = ("DAM", "DAM-NS", "SEM-Geo-I", "MDSW", "k-RR", "OUE")
KINDS: tuple[Kind, ...] = (
    ("small d, epsilon 3.5", SMALL, (1, 2, 3, 4, 5), ("3.5",)),
    ("large d, epsilon 5", LARGE, (1, 5, 10, 15, 20), ("5",)),
    ("small epsilon, d 5", SMALL, (5,), ("0.7", "1.4", "2.1", "2.8", "3.5")),
    ("large epsilon, d 15", LARGE, (15,), ("5", "6", "7", "8", "9")),
)


def make(order: Order, stage: Stage) -> Figure:
    """Return the figure: four kinds of panel for each set of points."""
    curves = [panel_of(source, kind) for kind in KINDS for source in sources(order)]
    panels = drawn(curves, order, stage, "disk-9")
    return Figure(
        "disk-9", TITLE, PAPER, tuple(best(panels)), panels, notes=notes(order, len(panels))
    )


def panel_of(source: Source, kind: Kind) -> Curve:
    """Return what one panel compares: the paper's mechanisms, and ours, on a set of points."""
    name, who, sides, epsilons = kind
    title = f"{source.name}, {name}"
    return Curve(title, source, (*who, DAM_AUTO, AUTO), sides, tuple(map(ratio, epsilons)))


def best(panels: tuple[Panel, ...]) -> list[str]:
    """Return, for each panel, who is best where."""
    said = []
    for panel in panels:
        names = [name for name in panel.lines if name != UNIFORM]
        places = [
            f"{one.at:g} " + " ~ ".join(winners(panel, one.at, names))
            for one in panel.lines["DAM"]
            if one.mean > 0  # one cell is told without an error by everybody
        ]
        said.append(f"{panel.title}, best at {'; '.join(places)}")
    return said


def notes(order: Order, panels: int) -> tuple[str, ...]:
    """Return where the figure is not the paper's."""
    left = any(slow("SEM-Geo-I", ratio(one), 5, order.runs) for one in KINDS[2][3])
    said = [
        "~ joins those that the intervals of their means do not tell apart",
        "W2 is exact in every panel; the paper takes Sinkhorn's for large d, whose blur adds",
        "SEM-Geo-I stands at DAM's local privacy, an average; its worst log-ratio, beside it, is "
        "what local differential privacy would promise of it",
        f"{DAM_AUTO} is the paper's answers with our estimator; {AUTO} has our footprint, too",
    ]
    if not order.points:
        said.append(f"{panels} of the paper's 20 panels; with --points, those of real data")
    if left:
        said.append(
            "SEM-Geo-I below epsilon 1 has sets of a dozen cells, half a minute a run: left out "
            "below --runs 10"
        )
    return (*said, *file_notes(order.points))

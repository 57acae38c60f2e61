"""Figures 8, 9 and 13 of paper 003: distances by radius, by cells and by epsilon."""

from recovery.disk.footprint import radius_cells

from .disk_contenders import AUTO, DAM_AUTO
from .figures import FIGURES, UNIFORM, Figure, Order, Panel, Stage
from .people import file_notes
from .trials import Curve, Source, draw, ratio, slow, sources, whole, winners

# Table IV; the paper rounds, for 0.33 of 3 cells is not none.
FACTORS = (0.33, 0.67, 1.0, 1.33, 1.67)
SIDE, EPSILON = 15, "3.5"
MECHANISMS = ("DAM", "DAM-NS", "HUEM", "area")


def make_disk_8(order: Order, stage: Stage) -> Figure:
    """Return the figure: 15 x 15 cells, epsilon 3.5, five radii."""
    epsilon = ratio(EPSILON)
    most = radius_cells(epsilon[0] / epsilon[1], (SIDE, SIDE))
    radii = tuple((factor, float(round(factor * most))) for factor in FACTORS)
    curves = [
        Curve(source.name, source, MECHANISMS, (SIDE,), (epsilon,), radii)
        for source in sources(order)
    ]
    panels = draw(curves, order, stage, "disk-8")
    return Figure(
        "disk-8",
        FIGURES["disk-8"],
        "W2 first falls and then rises; it is least at about the best radius, 3 cells, and not "
        "always exactly there",
        tuple(map(_least, panels)),
        panels,
        notes=(*_notes(most), *file_notes(order.points)),
    )


def _least(panel: Panel) -> str:
    marks = panel.lines["DAM"]
    least = min(marks, key=lambda one: one.mean)
    at_best = next(one for one in marks if one.at == 1.0)
    return (
        f"{panel.title}: DAM is least at {least.at:g} of the best radius, {least.mean:.3f} cells "
        f"against {at_best.mean:.3f} at the best one and {panel.lines[UNIFORM][0].mean:.3f} of a "
        "map that says nothing"
    )


def _notes(most: int) -> tuple[str, ...]:
    return (
        f"{SIDE} x {SIDE} cells, epsilon {EPSILON}, best radius {most} cells; rounded radii: "
        + ", ".join(f"{factor:g} is {round(factor * most)}" for factor in FACTORS),
    )


# Figure 9 of paper 003: the distance of all mechanisms by cells and by epsilon, 20 panels.

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


def make_disk_9(order: Order, stage: Stage) -> Figure:
    """Return the figure: four kinds of panel for each set of points."""
    curves = [panel_of(source, kind) for kind in KINDS for source in sources(order)]
    panels = draw(curves, order, stage, "disk-9")
    return Figure(
        "disk-9",
        FIGURES["disk-9"],
        "W2 grows with d, but for MDSW on SZipf, and falls with epsilon; DAM is always better "
        "than MDSW and HUEM; SEM-Geo-I is near, slightly better at small epsilon, worse at large "
        "d and large epsilon; k-RR and OUE are not shown",
        tuple(best(panels)),
        panels,
        notes=notes(order, len(panels)),
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


# Figure 13 of paper 003: Figure 9's comparison on the whole domain of a real set.


def make_disk_13(order: Order, stage: Stage) -> Figure:
    """Return the figure: the four kinds of panel on each file, or on the synthetic city."""
    curves = [panel_of(source, kind) for source in whole(order) for kind in KINDS]
    panels = draw(curves, order, stage, "disk-13")
    said = [one for one in notes(order, 20) if "panels" not in one]
    if not order.points:
        said.insert(
            0,
            "the people are of a SYNTHETIC city, streets and squares that there are not; give "
            "--points a file of user,x,y for real ones",
        )
    return Figure(
        "disk-13",
        FIGURES["disk-13"],
        "much as on its parts: DAM is best at large d; as epsilon grows SEM-Geo-I is slightly "
        "better",
        tuple(best(panels)),
        panels,
        notes=tuple(said),
    )

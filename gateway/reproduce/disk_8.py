"""Figure 8 of paper 003: the distance by the disk's radius, around the one that tells most."""

from recovery.disk.footprint import radius_cells

from .curves import Curve, drawn, ratio, sources
from .people import file_notes
from .record import UNIFORM, Figure, Order, Panel, Stage

TITLE = "W2 by the radius of the disk, in parts of the best one"
PAPER = (
    "W2 first falls and then rises; it is least at about the best radius, 3 cells, and not always "
    "exactly there"
)
# Table IV; the paper rounds, for 0.33 of 3 cells is not none.
FACTORS = (0.33, 0.67, 1.0, 1.33, 1.67)
SIDE, EPSILON = 15, "3.5"
MECHANISMS = ("DAM", "DAM-NS", "HUEM", "area")


def make(order: Order, stage: Stage) -> Figure:
    """Return the figure: 15 x 15 cells, epsilon 3.5, five radii."""
    epsilon = ratio(EPSILON)
    most = radius_cells(epsilon[0] / epsilon[1], (SIDE, SIDE))
    radii = tuple((factor, float(round(factor * most))) for factor in FACTORS)
    curves = [
        Curve(source.name, source, MECHANISMS, (SIDE,), (epsilon,), radii)
        for source in sources(order)
    ]
    panels = drawn(curves, order, stage, "disk-8")
    return Figure(
        "disk-8",
        TITLE,
        PAPER,
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

"""Figure 13 of paper 003: Figure 9's comparison on the whole domain of a real set."""

from .curves import drawn, whole
from .disk_9 import KINDS, best, notes, panel_of
from .record import Figure, Order, Stage

TITLE = "W2 on the whole domain of one real set"
PAPER = (
    "much as on its parts: DAM is best at large d; as epsilon grows SEM-Geo-I is slightly better"
)


def make(order: Order, stage: Stage) -> Figure:
    """Return the figure: the four kinds of panel on each file, or on the synthetic city."""
    curves = [panel_of(source, kind) for source in whole(order) for kind in KINDS]
    panels = drawn(curves, order, stage, "disk-13")
    said = [one for one in notes(order, 20) if "panels" not in one]
    if not order.points:
        said.insert(
            0,
            "the people are of a SYNTHETIC city, streets and squares that there are not; give "
            "--points a file of user,x,y for real ones",
        )
    return Figure("disk-13", TITLE, PAPER, tuple(best(panels)), panels, notes=tuple(said))

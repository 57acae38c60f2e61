"""The papers' figures that can be made again: what they are made of, by name, and in words."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ...faults import OperatorFault, suggestion

Stage: TypeAlias = Callable[[str], None]

# What a figure calls a map that says nothing; its score is the least a mechanism must beat.
UNIFORM = "uniform map"
# Scores of which one is the best there is; all others are distances.
SHARES = ("similarity", "Pearson")


@dataclass(frozen=True, slots=True)
class Order:
    """How a figure is to be made.

    Args:
        runs: how often each mechanism runs at each setting; each time the same people answer
            anew.
        seed: of the people and of what they answer; equal orders have equal figures.
        points: files of one's own, a panel each where the paper has real data.
        jobs: processes at work at once.
        cluster: the address of a scheduler of dask.distributed, instead of processes.
        scale: the part of the paper's people that is drawn.
    """

    runs: int = 3
    seed: int = 1
    points: tuple[Path, ...] = ()
    jobs: int = 1
    cluster: str | None = None
    scale: float = 1.0


class Mark(NamedTuple):
    """One place of a line: a mean over runs, and how sure it is."""

    at: float
    mean: float
    half_width: float  # of the 95 % interval of the mean, by the normal law; NaN for one run
    runs: int
    local_privacy_cells: float = float("nan")  # an average over cells and answers
    worst_log_ratio: float = float("nan")  # the promise


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines over one axis, by name."""

    title: str
    across: str
    up: str
    lines: dict[str, tuple[Mark, ...]]
    notions: dict[str, str] = field(default_factory=dict)  # of privacy, by line


@dataclass(frozen=True, slots=True)
class Table:
    """Rows that are no curves."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class Grid2:
    """A map for a picture: numbers in cells, and marks on some of them."""

    title: str
    values: list[list[float]]  # rows, NaN where there is no cell
    marked: tuple[tuple[int, int, str], ...] = ()  # column, row, what is written there


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a paper made again: what is drawn, what is printed, and what is to be seen."""

    name: str
    title: str
    paper: str  # the paper's trend, in words
    found: tuple[str, ...]  # ours, each in a sentence
    panels: tuple[Panel, ...] = ()
    tables: tuple[Table, ...] = ()
    maps: tuple[Grid2, ...] = ()
    notes: tuple[str, ...] = ()  # where it is not the paper's setting


Maker: TypeAlias = Callable[[Order, Stage], Figure]


FIGURES = {
    "disk-8": "W2 by the radius of the disk, in parts of the best one",
    "disk-9": "W2 of all mechanisms by d and by epsilon",
    "disk-10": "The division of the footprint into weights: ours, and as printed",
    "disk-11": "The outer domain and its cells, as the grid grows",
    "disk-12": "Circle crossings: Theorems VI.3 and VI.4 against counting",
    "disk-13": "W2 on the whole domain of one real set",
    "disk-14": "Trajectories: W2 of the map of all their points",
    "quadtree-table1": "MSE and numbers that a device sends, beside every peer",
    "quadtree-table2": "People at several places: MSE by parts of a person and bits of a sum",
    "quadtree-1": "One crowd, with noise of each device's own and with noise that they share",
    "quadtree-2": "Noise in parts, one from each device",
    "quadtree-3": "The tree as it grows",
    "quadtree-4": "How deep squares are divided, and what the threshold changes",
    "quadtree-5": "What each round spends of epsilon, and what must be left for another",
    "quadtree-6": "Maps of a city from few and from many people",
    "quadtree-7": "MSE by how many are asked, and by how wide noise is aimed at",
    "quadtree-8": "MSE by the size of a secure sum, and by how many drop out",
    "quadtree-9": "Who says yes: the share in each square",
    "pyramid-1": "Heatmaps of 200 people by epsilon, four distances",
    "pyramid-2": "EMD of heatmaps by people and by cells, epsilon 10",
    "pyramid-3": "Heatmaps at epsilon 1 and 5",
    "pyramid-4": "Heatmaps by people, the other distances, epsilon 10",
    "pyramid-5": "Heatmaps by cells, the other distances, epsilon 10",
    "pyramid-6": "Heatmaps by people, epsilon 1",
    "pyramid-7": "Heatmaps by cells, epsilon 1",
    "pyramid-8": "Heatmaps of what 50 people look at, by epsilon",
    "pyramid-9": "Heatmaps of what people look at, epsilon 10",
    "pyramid-10": "Heatmaps by how many cells are full, 20 clusters",
    "pyramid-11": "Heatmaps by how many cells are full, 5 to 80 clusters",
    "pyramid-12": "What one person sends through a shuffler",
    "pyramid-13": "Heatmaps by the scale that parts are rounded to",
    "ranks-3": "Error of sorted places by how many there are and by epsilon",
    "ranks-4": "Error of sorted places in four data sets, and of groups alone",
    "ranks-5": "Error by the size of groups, and the sum that the paper takes for it",
    "ranks-6": "Densities of squares and of sorted places",
    "ranks-7": "The same near where most people are",
    "ranks-8": "Distance of densities by the width of bins",
    "ranks-9": "Range queries on a line and in a plane",
    "ranks-10": "The median, beside noise by smooth sensitivity",
    "ranks-table1": "Group sizes by n and epsilon: printed, anew, and the rule's",
    "ranks-table2": "Distance of densities: squares and sorted places",
}
# Their modules are loaded when they are made: scipy and the solvers take a second.
_MODULES = {
    **dict.fromkeys(("disk-8", "disk-9", "disk-13"), "disk_distances"),
    **dict.fromkeys(("disk-10", "disk-11", "disk-12"), "disk_geometry"),
    "disk-14": "trajectories",
    **{f"quadtree-{number}": "quadtree_rules" for number in ("table2", 4, 5)},
    **{f"quadtree-{number}": "quadtree_runs" for number in ("table1", 1, 2, 3, 6, 7, 8, 9)},
    **{f"pyramid-{number}": "pyramid_heatmaps" for number in range(1, 14)},
    **dict.fromkeys(("ranks-3", "ranks-4", "ranks-5", "ranks-10", "ranks-table1"), "ranks_line"),
    **dict.fromkeys(("ranks-6", "ranks-7", "ranks-8", "ranks-9", "ranks-table2"), "ranks_plane"),
}


def maker(name: str) -> Maker:
    """Return what makes a figure.

    Raises:
        OperatorFault: there is no such figure.
    """
    if name not in FIGURES:
        raise OperatorFault(
            f"{name} is not a figure that can be made again; one that is must be named, or "
            f"nothing is computed; {suggestion(name, FIGURES)}"
        )
    module = import_module(f".{_MODULES[name]}", __package__)
    made: Maker = getattr(module, f"make_{name.replace('-', '_')}")
    return made


# A figure in words: the lines that are printed, and the object that goes into a file.


def lines(figure: Figure) -> Iterator[str]:
    """Yield what is printed: each panel as a table, the paper's trend, and ours beside it."""
    yield f"{figure.name}: {figure.title}"
    for panel in figure.panels:
        yield ""
        yield from _panel(panel)
    for table in figure.tables:
        yield ""
        yield table.title
        yield from rows(table.columns, table.rows)
    yield ""
    yield f"the paper: {figure.paper}"
    for sentence in figure.found:
        yield f"here: {sentence}"
    for sentence in figure.notes:
        yield f"note: {sentence}"


def as_object(figure: Figure, order: Order) -> dict[str, Any]:
    """Return the figure as what JSON can hold: numbers that are none become null."""
    found = asdict(figure)
    found["panels"] = [
        {**given, "lines": {name: [one._asdict() for one in line] for name, line in kept.items()}}
        for given, kept in ((asdict(panel), panel.lines) for panel in figure.panels)
    ]
    how = {"runs": order.runs, "seed": order.seed, "scale": order.scale}
    plain: dict[str, Any] = _plain({"figure": figure.name, **how, **found})
    return plain


def rows(columns: Sequence[str], body: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield lines of a table whose columns are aligned, the first to the left."""
    table = [list(columns), *([_cell(one) for one in row] for row in body)]
    widths = [max(len(row[at]) for row in table) for at in range(len(columns))]
    for row in table:
        first, *rest = zip(row, widths, strict=True)
        yield "  " + first[0].ljust(first[1]) + "".join(f"  {c:>{w}}" for c, w in rest)


def _panel(panel: Panel) -> Iterator[str]:
    sure = any(not math.isnan(one.half_width) for line in panel.lines.values() for one in line)
    half = " +- half of the 95 % interval" * sure
    yield f"{panel.title}: {panel.up}{half}, by {panel.across}"
    places = sorted({one.at for line in panel.lines.values() for one in line})
    means = [abs(one.mean) for line in panel.lines.values() for one in line]
    decimals = 5 if max(means) < 0.05 else 0 if min(means) >= 10 else 3
    body = []
    for name, line in panel.lines.items():
        at = {one.at: one for one in line}
        body.append([name, *(_score(at.get(place), decimals) for place in places)])
    yield from rows(["", *(f"{place:g}" for place in places)], body)
    private = [[name, *_private(line, places)] for name, line in panel.lines.items()]
    shown = [row for row in private if any(row[1:])]
    if shown:
        yield "  local privacy in cells / worst log-ratio:"
        yield from rows(["", *(f"{place:g}" for place in places)], shown)


def _score(one: Mark | None, decimals: int) -> str:
    if one is None:
        return "-"
    half = "" if math.isnan(one.half_width) else f" +-{one.half_width:.{decimals}f}"
    return f"{one.mean:.{decimals}f}{half}"


def _private(line: Sequence[Mark], places: Sequence[float]) -> Iterator[str]:
    at = {one.at: one for one in line}
    for place in places:
        one = at.get(place)
        if one is None or math.isnan(one.worst_log_ratio):
            yield ""
        elif math.isnan(one.local_privacy_cells):
            yield f"- / {one.worst_log_ratio:.2f}"
        else:
            yield f"{one.local_privacy_cells:.2f} / {one.worst_log_ratio:.2f}"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:.3f}"
    return str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value

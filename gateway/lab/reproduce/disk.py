"""Figures 8 to 14 of paper 003: distances of maps of people, and its theorems held to counting.

Distances are W2 in cells, exact everywhere; the paper takes Sinkhorn's for large grids, whose
blur adds to them. SEM-Geo-I stands at the disk's local privacy, an average; what one answer of it
gives away at worst is a panel of its own.
"""

import math
import zlib
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from edge.core.records import Grid
from recovery.disk import promise
from recovery.disk.footprint import choose_radius, compute_shares, has_centre_inside, touches_disk
from recovery.disk.query import Query
from recovery.disk.round import domain_of, make_round, weights_of
from recovery.distance import wasserstein2
from recovery.noise import Ratio

from . import disk_traces as traces
from .disk_peers import AUTO, DAM_AUTO, Setting, find_privacy, recover_map
from .disk_traces import LONGEST, TRAJECTORIES, Walks, draw_walks
from .figures import (
    Figure,
    Finding,
    Floats,
    Place,
    Results,
    Task,
    Value,
    check_falling,
    check_lowest,
    combine_findings,
    judge_claim,
)
from .people import CITY, STAND_IN, SYNTHETIC, count_in_cells, draw_data_set
from .picture import UNIFORM

SETS = (*SYNTHETIC, CITY)
EPSILON = "3.5"
SMALL = ("DAM", "DAM-NS", "HUEM", "MDSW", "SEM-Geo-I", "k-RR", "OUE", DAM_AUTO, AUTO)
LARGE = tuple(name for name in SMALL if name != "HUEM")
WORST = "worst log-ratio of one answer, MNormal"


def parse_ratio(text: str) -> Ratio:
    """Return a decimal as a ratio.

    >>> parse_ratio("3.5")
    (7, 2)
    """
    return Fraction(text).as_integer_ratio()


def _seed_generator(task: Task, *words: object) -> np.random.Generator:
    return task.make_generator(1, zlib.crc32(repr(words).encode()))


def measure_w2_cells(truth: Any, found: Any) -> float:
    """Return W2 between two maps, in cells."""
    return wasserstein2(truth, found, normalise=True) * len(truth)


# Figure 8: the distance by the radius of the disk.

FACTORS = (0.33, 0.67, 1.0, 1.33, 1.67)


def measure_by_radius(task: Task) -> Iterator[Value]:
    """Yield the error at one radius, in parts of the best; the paper rounds it to whole cells."""
    name, factor = str(task.place[0]), float(task.place[1])
    people = count_in_cells(draw_data_set(name, task.seed, task.scale, task.points), 15)
    best = choose_radius(float(EPSILON), (15, 15))
    setting = Setting((15, 15), parse_ratio(EPSILON), float(round(factor * best)))
    for line in ("DAM", "DAM-NS", "HUEM", "area"):
        found = recover_map(line, people, setting, _seed_generator(task, line, factor))
        yield Value(f"W2 in cells, {name}", line, factor, measure_w2_cells(people, found))
    even = measure_w2_cells(people, np.ones(people.shape))
    yield Value(f"W2 in cells, {name}", UNIFORM, factor, even)


def check_best_radius(results: Results) -> Finding:
    """Return whether the ends are worse than the best radius."""
    asked = {
        f"{panel} {end:g}": results.compare_lines(panel, ("DAM", 1.0), ("DAM", end))
        for panel in results.list_panels()
        for end in (FACTORS[0], FACTORS[-1])
    }
    return judge_claim(asked, "DAM at the best radius below DAM at both ends: ")


# Figures 9 and 13: the distance of all mechanisms by d and by epsilon.


def compare_mechanisms(task: Task) -> Iterator[Value]:
    """Yield the error of every mechanism of one set of people at one d and epsilon."""
    name, side, text = str(task.place[0]), int(task.place[1]), str(task.place[2])
    epsilon = parse_ratio(text)
    people = count_in_cells(draw_data_set(name, task.seed, task.scale, task.points), side)
    at = float(side) if _is_by_side(task.figure) else float(text)
    for line in SMALL if side <= 5 else LARGE:
        if line == "SEM-Geo-I" and task.scale < 1 and side > 1 and float(text) < 2:
            continue  # sets of a dozen cells, half a minute a run
        found = recover_map(
            line, people, Setting((side, side), epsilon), _seed_generator(task, line)
        )
        yield Value(f"W2 in cells, {name}", line, at, measure_w2_cells(people, found))
        if task.run == 0 and name == "MNormal":
            worst = find_privacy(line, (side, side), epsilon).worst_log_ratio
            if math.isfinite(worst):
                yield Value(WORST, line, at, worst)
    even = measure_w2_cells(people, np.ones(people.shape))
    yield Value(f"W2 in cells, {name}", UNIFORM, at, even)


def _is_by_side(figure: str) -> bool:
    return figure in ("disk-9a", "disk-9f", "disk-13a")


def _judge_dam_nearest(results: Results, line: str) -> Finding:
    return check_lowest(results, "DAM", (line,), "W2")


def _judge_dam_rising(results: Results) -> Finding:
    return check_falling(results, "DAM", "W2", rises=True)


# Figures 10 to 12: Theorems VI.1 to VI.4 word for word, beside what counting cells one by one
# gives. None of this is used by the mechanism (`recovery.disk.footprint` enumerates and clamps),
# so nothing in it is corrected.

Cell = tuple[int, int]


class InnerCells(NamedTuple):
    """Cells strictly between the axis and the diagonal of one eighth."""

    mixed: int  # crossed by the circle, centre outside
    high: int  # centre inside


def list_crossed_cells(radius: int) -> list[Cell]:
    """Return the cells that Theorem VI.3 lists as crossed with their centre outside."""
    width = math.ceil(radius / math.sqrt(2) - 0.5)
    corner = math.floor(radius / math.sqrt(2) - 0.5) * math.sqrt(2) + 1 / math.sqrt(2)
    border = math.sqrt(corner**2 + 1 + math.sqrt(2) * corner)
    number = width - math.floor(border / radius)
    return [
        (math.ceil(math.sqrt(radius**2 - (row - 0.5) ** 2) - 0.5), row)
        for row in range(1, number + 1)
    ]


def compute_shrunken_area(cell: Cell, radius: int) -> float:
    """Return Theorem VI.1's area of a crossed cell's shrunken rectangle, of any sign and size."""
    x, y = cell
    nearer = radius / math.hypot(x, y) - 1
    return 4 * (nearer * x + 0.5) * (nearer * y + 0.5)


def count_inside(radius: int) -> float:
    """Return Theorem VI.4's number of cells with their centre inside."""
    width, listed = math.ceil(radius / math.sqrt(2) - 0.5), list_crossed_cells(radius)
    return width * (width - 2 * len(listed) - 1) / 2 + sum(x for x, _ in listed)


def count_untouched(side: int, radius: int) -> int:
    """Return Theorem VI.2's number of cells that no circle around one cell touches."""
    return side**2 + 4 * radius * side - 4 * radius - 1


def count_inner_cells(radius: int) -> InnerCells:
    """Return what Theorems VI.3 and VI.4 say, by looking at every cell."""
    eighth = [(x, y) for x in range(1, radius + 2) for y in range(1, x)]
    return InnerCells(
        mixed=sum(
            not has_centre_inside(x, y, radius) and touches_disk(x, y, radius) for x, y in eighth
        ),
        high=sum(has_centre_inside(x, y, radius) for x, y in eighth),
    )


def compute_printed_weights(radius: int, epsilon: float) -> dict[Cell, float]:
    """Return the printed mechanism's weights in the eighth, where far cells weigh 1.

    Cells that the list holds weigh by their area, also where their centre is inside. The crossed
    cell of the diagonal has formula (14), which alone is capped.
    """
    more = math.expm1(epsilon)
    found = {
        (x, y): 1.0 + more
        for x in range(radius + 1)
        for y in range(x + 1)
        if has_centre_inside(x, y, radius)
    }
    for cell in list_crossed_cells(radius):
        found[cell] = 1.0 + compute_shrunken_area(cell, radius) * more
    step = radius / math.sqrt(2) - 0.5
    corner = math.floor(step) + 1
    if not has_centre_inside(corner, corner, radius):
        part = step - math.floor(step)
        found[corner, corner] = 1.0 + (4 * part**2 if part < 0.5 else 1.0) * more
    return found


def compute_true_epsilon(radius: int, epsilon: float) -> float:
    """Return the epsilon that the printed weights really give; NaN where one is not positive."""
    found = [*compute_printed_weights(radius, epsilon).values(), 1.0]
    return math.log(max(found) / min(found)) if min(found) > 0 else math.nan


def measure_cell_shares(task: Task) -> Iterator[Value]:
    """Yield the least and the greatest share of a crossed cell, printed and enumerated."""
    radius = int(task.place[0])
    printed = [compute_shrunken_area(cell, radius) for cell in list_crossed_cells(radius)]
    eighth = compute_shares("dam", radius, float(EPSILON), (99, 99))
    ours = [share for row in eighth for share in row]
    for panel, of in (("least share of a cell", min), ("greatest share of a cell", max)):
        yield Value(panel, "Theorem VI.1 as printed", radius, of(printed, default=1.0))
        yield Value(panel, "enumerated", radius, of(ours))
    panel, given = "epsilon that is given where 1 is promised", compute_true_epsilon(radius, 1.0)
    if math.isfinite(given):
        yield Value(panel, "printed", radius, given)
    yield Value(panel, "enumerated", radius, 1.0)


def check_shares(results: Results) -> Finding:
    """Return whether each printed share is between nought and one."""
    least, greatest = results.list_panels()[:2]
    line, asked = "Theorem VI.1 as printed", {}
    for at in results.list_places(least, line):
        within = (
            results.compute_mean(least, line, at) >= 0
            and results.compute_mean(greatest, line, at) <= 1
        )
        asked[f"radius {at:g}"] = 1 if within else -1
    return judge_claim(asked, "within 0 and 1; ")


def compare_outer_counts(task: Task) -> Iterator[Value]:
    """Yield how many cells the outer domain has outside the footprint, by both counts."""
    side, radius = int(task.place[0]), int(task.place[1])
    query = Query(Grid((side, side), 0), (7, 2), scheme="dam", radius=radius)
    made = make_round(query, 1, promise(query))
    outside = int(domain_of(made).sum()) - int((weights_of(made) != 0).sum())
    panel = f"cells outside the footprint, d = {side}"
    yield Value(panel, "counted", radius, outside)
    yield Value(panel, "theorem", radius, count_untouched(side, radius))


def compare_crossed_counts(task: Task) -> Iterator[Value]:
    """Yield what Theorems VI.3 and VI.4 say of one radius, beside counting."""
    radius = int(task.place[0])
    listed, true = list_crossed_cells(radius), count_inner_cells(radius)
    within = sum(has_centre_inside(x, y, radius) for x, y in listed)
    crossed, held = "crossed, centre outside (VI.3)", "centre inside (VI.4)"
    outside = "listed by VI.3 though the centre is inside"
    yield Value(crossed, "counted", radius, true.mixed)
    yield Value(crossed, "theorem", radius, len(listed))
    yield Value(held, "counted", radius, true.high)
    yield Value(held, "theorem", radius, count_inside(radius))
    yield Value(outside, "theorem", radius, within)
    yield Value(outside, "counted", radius, 0)


def check_counts(results: Results) -> Finding:
    """Return whether the theorem's numbers are those that are counted."""
    asked = {}
    for panel in results.list_panels():
        for at in results.list_places(panel, "counted"):
            apart = results.compute_mean(panel, "theorem", at) - results.compute_mean(
                panel, "counted", at
            )
            asked[f"{panel} at {at:g}"] = -1 if abs(apart) > 0.5 else 1
    return judge_claim(asked, "as counted: ")


# Figure 14: maps of all points of trajectories. Its DAM protects ONE POINT, so a trajectory of
# two hundred points is promised two hundred epsilon, which is nothing; beside it stand a DAM that
# answers for one point of each trajectory, and one that shares epsilon between all its points.

ONE, SHARED = "DAM, one point a trajectory", f"DAM, epsilon/{LONGEST} a point"
EACH, OURS = "DAM as printed, a POINT is protected", f"{AUTO}, one point a trajectory"
LDPTRACE, PIVOTTRACE, NOBODY = "LDPTrace", "PivotTrace", "PivotTrace of nobody"


@lru_cache(maxsize=2)
def _draw_city_walks(seed: int, scale: float, points: str) -> Walks:
    number = max(2, round(scale * TRAJECTORIES))
    return draw_walks(
        draw_data_set(CITY, seed, 1.0, points), np.random.default_rng([seed, 2]), number
    )


def map_one_point(
    walks: Walks, side: int, epsilon: Ratio, world: np.random.Generator, name: str = "DAM"
) -> Floats:
    """Return the map from one random point of each trajectory."""
    drawn = (world.random(len(walks.lengths)) * walks.lengths).astype(np.int64)
    return _map(walks.places[walks.starts + drawn], side, epsilon, world, name)


def _map(
    places: Floats, side: int, epsilon: Ratio, world: np.random.Generator, name: str = "DAM"
) -> Floats:
    return recover_map(name, count_in_cells(places, side), Setting((side, side), epsilon), world)


def measure_trajectory_maps(task: Task) -> Iterator[Value]:
    """Yield the error of every way to map the points of trajectories, at one d and epsilon."""
    side, text = int(task.place[0]), str(task.place[1])
    walks, epsilon = _draw_city_walks(task.seed, task.scale, task.points), parse_ratio(text)
    truth, number = count_in_cells(walks.places, side), float(text)
    shared = (Fraction(*epsilon) / LONGEST).as_integer_ratio()
    at = float(side) if task.figure == "disk-14a" else number
    ways: dict[str, Callable[[np.random.Generator], Any]] = {
        LDPTRACE: lambda world: traces.estimate_ldptrace(walks, side, number, world),
        PIVOTTRACE: lambda world: traces.estimate_pivottrace(walks, side, number, world),
        NOBODY: lambda world: traces.map_without_data(walks, side, world),
        ONE: lambda world: map_one_point(walks, side, epsilon, world),
        OURS: lambda world: map_one_point(walks, side, epsilon, world, AUTO),
        SHARED: lambda world: _map(walks.places, side, shared, world),
        # No promise for a trajectory
        EACH: lambda world: _map(walks.places, side, epsilon, world),
        UNIFORM: lambda _: np.ones(truth.shape),
    }
    for line, way in ways.items():
        off = measure_w2_cells(truth, way(_seed_generator(task, line)))
        yield Value("W2 in cells, all points", line, at, off)


def _make_places(
    sets: tuple[str, ...], sides: tuple[int, ...], epsilons: tuple[str, ...]
) -> tuple[Place, ...]:
    return tuple((name, d, e) for name in sets for d in sides for e in epsilons)


_NOT = f"the two real sets are left out: {STAND_IN}"
_HALF = ("Normal", "SZipf", CITY)
_BOTH = ("MDSW", "HUEM")

FIGURES = (
    Figure(
        "disk-8", "W2 first falls, then rises with the radius; it is least at about the best one",
        f"15 x 15 cells, epsilon 3.5, best radius 3 cells; {_NOT}", "radius, in parts of the best",
        tuple((name, factor) for name in SETS for factor in FACTORS), measure_by_radius,
        check_best_radius, 20, (12, 0.3, ()),
    ),
    Figure(
        "disk-9a", "W2 grows with d, and DAM is always better than MDSW and HUEM",
        f"9(a) to 9(e): epsilon 3.5; {_NOT}", "cells along a side, d",
        _make_places(SETS, (1, 2, 3, 4, 5), ("3.5",)), compare_mechanisms,
        lambda found: combine_findings(
            _judge_dam_rising(found), *(_judge_dam_nearest(found, name) for name in _BOTH)
        ),
        20, (10, 0.3, _make_places(SETS, (1, 3, 5), ("3.5",))),
    ),
    Figure(
        "disk-9f", "W2 grows with d, and DAM is better than SEM-Geo-I for large d",
        f"9(f) to 9(j): epsilon 5; {_NOT}", "cells along a side, d",
        _make_places(SETS, (1, 5, 10, 15, 20), ("5",)), compare_mechanisms,
        lambda found: combine_findings(
            _judge_dam_rising(found), _judge_dam_nearest(found, "SEM-Geo-I")
        ),
        20, (8, 0.3, _make_places(_HALF, (5, 15), ("5",))),
    ),
    Figure(
        "disk-9k", "W2 falls with epsilon, and DAM is always better than MDSW",
        f"9(k) to 9(o): d = 5; {_NOT}", "epsilon",
        _make_places(SETS, (5,), ("0.7", "1.4", "2.1", "2.8", "3.5")), compare_mechanisms,
        lambda found: _judge_dam_nearest(found, "MDSW"),
        20, (10, 0.3, _make_places(SETS, (5,), ("0.7", "2.1", "3.5"))),
    ),
    Figure(
        "disk-9p", "DAM is better than SEM-Geo-I for large d and large epsilon",
        f"9(p) to 9(t): d = 15; {_NOT}", "epsilon",
        _make_places(SETS, (15,), ("5", "6", "7", "8", "9")), compare_mechanisms,
        lambda found: _judge_dam_nearest(found, "SEM-Geo-I"),
        20, (8, 0.3, _make_places(_HALF, (15,), ("5", "9"))),
    ),
    Figure(
        "disk-10", "each crossed cell has a shrunken area between 0 and 1 (Theorem VI.1)",
        "radii 1 to 15, no chance", "radius, cells",
        tuple((radius,) for radius in range(1, 16)), measure_cell_shares, check_shares, 1,
    ),
    Figure(
        "disk-11", "the outer domain has d2 + 4 b d - 4 b - 1 cells more (Theorem VI.2)",
        "no chance", "radius, cells",
        tuple((d, b) for d in (2, 3, 5, 8, 15) for b in (1, 2, 3, 5, 7)), compare_outer_counts,
        check_counts, 1,
    ),
    Figure(
        "disk-12", "Theorems VI.3 and VI.4 count the cells that the circle crosses and holds",
        "radii 1 to 40, one eighth, no chance", "radius, cells",
        tuple((radius,) for radius in range(1, 41)), compare_crossed_counts, check_counts, 1,
    ),
    Figure(
        "disk-13a", "on a whole domain DAM is better than MDSW at every d",
        f"epsilon 5; {STAND_IN}", "cells along a side, d",
        _make_places((CITY,), (1, 5, 10, 15, 20), ("5",)), compare_mechanisms,
        lambda found: _judge_dam_nearest(found, "MDSW"),
        20, (8, 0.3, _make_places((CITY,), (5, 10, 15), ("5",))),
    ),
    Figure(
        "disk-13b", "on a whole domain DAM is better than MDSW at every epsilon",
        f"d = 5; {STAND_IN}", "epsilon",
        _make_places((CITY,), (5,), ("0.7", "1.4", "2.1", "2.8", "3.5")), compare_mechanisms,
        lambda found: _judge_dam_nearest(found, "MDSW"), 20, (10, 0.3, ()),
    ),
    Figure(
        "disk-14a", "DAM is better than LDPTrace and PivotTrace at every d",
        f"{TRAJECTORIES} walks of 2 to 200 points, epsilon 1.5; judged by the DAM that protects a "
        f"trajectory, as they do; {STAND_IN}", "cells along a side, d",
        tuple((d, "1.5") for d in (1, 5, 10, 15, 20)), measure_trajectory_maps,
        lambda found: check_lowest(found, ONE, (LDPTRACE, PIVOTTRACE)),
        20, (8, 0.3, ((5, "1.5"), (10, "1.5"))),
    ),
    Figure(
        "disk-14b", "DAM is better than LDPTrace and PivotTrace at every epsilon",
        f"{TRAJECTORIES} walks of 2 to 200 points, d = 15; judged by the DAM that protects a "
        f"trajectory, as they do; {STAND_IN}", "epsilon",
        tuple((15, e) for e in ("0.5", "1", "1.5", "2", "2.5")), measure_trajectory_maps,
        lambda found: check_lowest(found, ONE, (LDPTRACE, PIVOTTRACE)),
        20, (8, 0.3, ((15, "0.5"), (15, "2.5"))),
    ),
)  # fmt: skip

"""Figures 3, 4, 5 and 10 and Table 1 of paper 004: how far sorted places are off on a line.

The error is the paper's: the k-th smallest place that is recovered, less the k-th smallest true
one, as a mean over all k and in parts of the line. Groups are recovered as printed, each place as
its group's average ("steps"), unless a line says otherwise. The paper's two data sets cannot be
kept here: a made city and three hills, each along the Hilbert curve, stand for them; --points
takes a file in the place of the city. Noise is the mechanism's own, from a tape.
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from edge.core.entropy import Tape
from edge.core.records import Grid
from physics.crowds.ranks import release_many
from physics.points import mnormal
from recovery.peers import smooth_median
from recovery.ranks import Query, plan
from recovery.ranks.groups import (
    PRINTED,
    TABLE,
    TABLE_EPSILONS,
    TABLE_POINTS,
    expected_error,
    rule_group,
)
from recovery.ranks.order import Order as Sorted
from recovery.ranks.order import cells_of, order_behind, places_of
from recovery.ranks.query import ORDERS

from .figures import FIGURES, Figure, Mark, Order, Panel, Stage, Table
from .people import places_of_order
from .trials import mark

Floats = NDArray[np.float64]
Places = Callable[[int, np.random.Generator], Floats]  # so many places of [0, 1], sorted

SIZES = (100, 300, 1_000, 3_000, 10_000)
EPSILONS = ("1/2", "1", "2", "3")
GROUPS = (10, 20, 40, 80, 160, 320, 640)
COUNT = 10_000  # of Figures 4b and 5
CELLS = 1 << ORDERS[1]
EVENLY = "evenly"
STAND_INS = (
    "a made city and three hills along the curve stand for the paper's Twitter and Kaluza data"
)


def along_curve(points: Floats) -> Floats:
    """Return the places of points of a square on the Hilbert curve, sorted."""
    order = ORDERS[2]
    return np.sort((places_of(cells_of(points, order), order) + 0.5) / 4**order)


def data_sets(order: Order) -> dict[str, Places]:
    """Return the four data sets of Figure 4."""
    town = places_of_order(order)
    return {
        "one place": lambda count, world: np.full(count, 0.5),
        EVENLY: lambda count, world: np.arange(count) / max(1, count - 1),
        "city": lambda count, world: along_curve(town(count, world)),
        "three hills": lambda count, world: along_curve(mnormal(count, world)),
    }


def sorted_release(
    places: Floats, epsilon: Fraction, group: int | None, tape: str, lines: bool = False
) -> Sorted:
    """Return what is recovered of one release of these places."""
    ratio = epsilon.as_integer_ratio()
    query = Query(Grid((64, 1), 0), ratio, users=len(places), group=group)
    whole = np.minimum((places * CELLS).astype(np.int64), CELLS - 1)
    round = plan(query, ())
    return order_behind(release_many(round, whole, Tape(tape.encode())), lines)  # type: ignore[arg-type]


def error_of(places: Floats, found: Sorted) -> float:
    """Return by how much recovered places are off, in the mean."""
    ranks = (np.arange(len(places)) + 0.5) / len(places)
    return float(np.abs(found.quantile(ranks) - places).mean())


def errors(
    places: Places, count: int, epsilon: Fraction, group: int | None, runs: int, order: Order
) -> list[float]:
    """Return the error of each run; a run draws its own places and its own noise."""
    found = []
    for run in range(runs):
        own = places(count, np.random.default_rng([order.seed, run]))
        tape = f"{count} {epsilon} {group} {run} {order.seed}"
        found.append(error_of(own, sorted_release(own, epsilon, group, tape)))
    return found


def generalise(places: Floats, group: int) -> Floats:
    """Return the places, each replaced by the average of its group."""
    starts = np.arange(0, len(places), group)
    sizes = np.diff([*starts, len(places)])
    return np.repeat(np.add.reduceat(places, starts) / sizes, sizes)


def _scale(count: int, order: Order) -> int:
    return max(20, round(count * order.scale))


def make_ranks_3(order: Order, stage: Stage) -> Figure:
    """Return the error without groups by the number of places, for four epsilons."""
    even, runs = data_sets(order)[EVENLY], 5 * order.runs
    lines: dict[str, tuple[Mark, ...]] = {}
    for epsilon in EPSILONS:
        stage(f"epsilon {epsilon}")
        lines[f"epsilon {epsilon}"] = tuple(
            mark(count, errors(even, count, Fraction(epsilon), 1, runs, order))
            for count in dict.fromkeys(_scale(size, order) for size in SIZES)
        )
    one = lines["epsilon 1"]
    ratios = {
        name: tuple(
            Mark(own.at, own.mean / base.mean, math.nan, own.runs)
            for own, base in zip(line, one, strict=True)
        )
        for name, line in lines.items()
    }
    last = 1 / ratios["epsilon 2"][-1].mean
    panels = (
        Panel("Evenly, groups of one", "places", "mean error", lines),
        Panel("In parts of the error at epsilon 1", "places", "ratio", ratios),
    )
    found = (
        f"at {one[-1].at:g} places twice the epsilon divides the error by {last:.2f}; equation 4 "
        "says 2, and is printed upside down",
    )
    note = f"{runs} runs an entry; the paper has 500"
    paper = "c times the epsilon divides the error by about c (equation 4)"
    return Figure("ranks-3", FIGURES["ranks-3"], paper, found, panels, notes=(note,))


def make_ranks_4(order: Order, stage: Stage) -> Figure:
    """Return the error without groups, and that of groups without noise, of four data sets."""
    sets, runs = data_sets(order), 4 * order.runs
    noisy: dict[str, tuple[Mark, ...]] = {}
    grouped: dict[str, tuple[Mark, ...]] = {}
    count = _scale(COUNT, order)
    sizes = [group for group in (*GROUPS, 1000) if group <= count]
    for name, places in sets.items():
        stage(name)
        noisy[name] = tuple(
            mark(size, errors(places, size, Fraction(1), 1, runs, order))
            for size in dict.fromkeys(_scale(size, order) for size in SIZES)
        )
        own = [places(count, np.random.default_rng([order.seed, run])) for run in range(3)]
        grouped[name] = tuple(
            mark(group, [float(np.abs(generalise(one, group) - one).mean()) for one in own])
            for group in sizes
        )
    grouped["k / 4n"] = tuple(Mark(group, group / (4 * count), math.nan, 1) for group in sizes)
    middle = sizes[len(sizes) // 2]
    at = sizes.index(middle)
    city, even, single = (noisy[name][-1].mean for name in ("city", EVENLY, "one place"))
    found = (
        f"at {noisy[EVENLY][-1].at:g} places the city errs {city:.4f}, even places {even:.4f} and "
        f"one place {single:.4f}",
        f"groups of {middle} without noise: {grouped['city'][at].mean:.5f} in the city, "
        f"{grouped['three hills'][at].mean:.5f} in the hills and "
        f"{grouped['k / 4n'][at].mean:.5f} by k / 4n",
    )
    panels = (
        Panel("Groups of one, epsilon 1", "places", "mean error", noisy),
        Panel(f"Groups without noise, {count} places", "group size k", "mean error", grouped),
    )
    paper = "even places err as real ones do; one place is the least; groups cost k / 4n"
    notes = (STAND_INS, f"{runs} runs an entry; the paper has 500")
    return Figure("ranks-4", FIGURES["ranks-4"], paper, found, panels, notes=notes)


def make_ranks_5(order: Order, stage: Stage) -> Figure:
    """Return the parts of the error by the size of groups, their sum, and the error itself."""
    sets, runs, count = data_sets(order), 10 * order.runs, _scale(COUNT, order)
    panels, found = [], []
    for name in (EVENLY, "city"):
        stage(name)
        lines: dict[str, list[Mark]] = {}
        for group in (one for one in GROUPS if 2 * one <= count):
            parts: dict[str, list[float]] = {}
            for run in range(runs):
                places = sets[name](count, np.random.default_rng([order.seed, run]))
                tape = f"{name} {group} {run} {order.seed}"
                steps = sorted_release(places, Fraction(1), group, tape)
                means = generalise(places, group)
                width = float(np.abs(means - places).mean())
                noise = error_of(means, steps)
                for part, value in (
                    ("groups alone", width),
                    ("noise alone", noise),
                    ("their sum, equation 7", width + noise),
                    ("measured", error_of(places, steps)),
                    (
                        "measured, lines",
                        error_of(places, sorted_release(places, Fraction(1), group, tape, True)),
                    ),
                ):
                    parts.setdefault(part, []).append(value)
            for part, values in parts.items():
                lines.setdefault(part, []).append(mark(group, values))
            model = expected_error(count, 1.0, group)
            lines.setdefault("our model", []).append(Mark(group, model, math.nan, 1))
        shown = {part: tuple(line) for part, line in lines.items()}
        panels.append(Panel(f"{name}, {count} places", "group size k", "mean error", shown))
        least = {
            part: min(shown[part], key=lambda one: one.mean)
            for part in ("their sum, equation 7", "measured")
        }
        above = max(
            100 * (total.mean / true.mean - 1)
            for total, true in zip(shown["their sum, equation 7"], shown["measured"], strict=True)
        )
        total, true = least["their sum, equation 7"], least["measured"]
        found.append(
            f"{name}: the sum is least at k = {total.at:g} ({total.mean:.4f}), the error itself "
            f"at {true.at:g} ({true.mean:.4f}); the sum is up to {above:.0f} % above it"
        )
    notes = (
        "errors of both kinds have either sign, so their sum is a bound and no estimate: the rule "
        f"here takes k = {rule_group(count, 1.0)}, the least of the error itself on even places",
        STAND_INS,
    )
    paper = "the sum of both parts is near the error, and its least gives the size of groups"
    return Figure("ranks-5", FIGURES["ranks-5"], paper, tuple(found), tuple(panels), notes=notes)


# Figure 10: the median of 129 values, against noise by smooth sensitivity.

MEDIANS = (0.1, 0.3)  # local sensitivities
DELTA = 1e-6
VALUES, EXPONENTIAL = 129, 66


def values_of(sensitivity: float, world: np.random.Generator) -> Floats:
    """Return 66 exponential values, scaled to one, and 63 ones, whose median moves by so much."""
    while True:
        drawn = np.sort(world.exponential(size=(1000, EXPONENTIAL)), axis=1)
        drawn /= drawn[:, -1:]
        moves = np.maximum(drawn[:, -1] - drawn[:, -2], drawn[:, -2] - drawn[:, -3])
        fits = np.flatnonzero(np.abs(moves - sensitivity) < 0.005)
        if len(fits):
            return np.concatenate([drawn[fits[0]], np.ones(VALUES - EXPONENTIAL)])


def make_ranks_10(order: Order, stage: Stage) -> Figure:
    """Return the error of the median by epsilon, at two local sensitivities."""
    epsilons = ("1/4", "1/2", "1", "2", "4")
    chances = (np.arange(2000) + 0.5) / 2000
    heavy = smooth_median.heavy(chances)
    laplace = -np.sign(chances - 0.5) * np.log1p(-2 * np.abs(chances - 0.5))
    pure, some = "smooth, pure", f"smooth, delta {DELTA:g}"
    panels, found = [], []
    for sensitivity in MEDIANS:
        stage(f"local sensitivity {sensitivity}")
        lines: dict[str, list[Mark]] = {}
        for text in epsilons:
            epsilon, off = Fraction(text), dict[str, list[float]]()
            for run in range(10 * order.runs):
                world = np.random.default_rng([order.seed, run, int(100 * sensitivity)])
                values = values_of(sensitivity, world)
                median = float(np.median(values))
                for name, delta, noise in ((pure, None, heavy), (some, DELTA, laplace)):
                    scale = smooth_median.scale(values, float(epsilon), delta)
                    told = np.clip(median + scale * noise, 0, 1)
                    off.setdefault(name, []).append(float(np.abs(told - median).mean()))
                for name, group in (("ranks, the rule's k", None), ("ranks, k = 1", 1)):
                    tape = f"{sensitivity} {text} {name} {run} {order.seed}"
                    own = sorted_release(values, epsilon, group, tape, group is None)
                    off.setdefault(name, []).append(abs(float(own.quantile(0.5)) - median))
            for name, found_off in off.items():
                lines.setdefault(name, []).append(mark(float(epsilon), found_off))
        shown = {name: tuple(line) for name, line in lines.items()}
        panels.append(Panel(f"Local sensitivity {sensitivity}", "epsilon", "mean error", shown))
        best = [min(shown, key=lambda name: shown[name][at].mean) for at in range(len(epsilons))]
        said = "; ".join(f"{text} {name}" for text, name in zip(epsilons, best, strict=True))
        found.append(f"local sensitivity {sensitivity}, nearest at epsilon {said}")
    notes = (
        "the paper does not say which noise it takes with smooth sensitivity: both are here; what "
        "falls outside is moved to the nearest end",
        f"{10 * order.runs} data sets an entry; the paper has one for each sensitivity",
    )
    paper = "sorted places are better where the local sensitivity is high, and for small epsilon"
    return Figure("ranks-10", FIGURES["ranks-10"], paper, tuple(found), tuple(panels), notes=notes)


# Table 1: the size of groups by equation 7, worked out anew.

_PARTS = (20, 40, 80, 160, 320, 640, 1280, 2560)  # how many groups an error is measured for


def equation_seven(order: Order, stage: Stage) -> dict[tuple[int, float], int]:
    """Return the size of groups that k / 4n + Err(n / k) / k is least for, by n and epsilon."""
    even, sizes = data_sets(order)[EVENLY], {}
    for epsilon in TABLE_EPSILONS:
        stage(f"epsilon {epsilon:g}")
        found = [
            np.mean(errors(even, parts, Fraction(epsilon), 1, 20 * order.runs, order))
            for parts in _PARTS
        ]
        for count in TABLE_POINTS:
            groups = np.arange(-(-count // _PARTS[-1]), count // _PARTS[0] + 1)
            apart = np.exp(np.interp(np.log(count / groups), np.log(_PARTS), np.log(found)))
            best = groups[np.argmin(groups / (4 * count) + apart / groups)]
            sizes[count, epsilon] = int(best)
    return sizes


def make_ranks_table1(order: Order, stage: Stage) -> Figure:
    """Return the sizes of groups: printed, by the paper's equation, and by the rule."""
    anew, rows, less = equation_seven(order, stage), [], []
    for n, count in enumerate(TABLE_POINTS):
        for e, epsilon in enumerate(TABLE_EPSILONS):
            sizes = (PRINTED[n][e], anew[count, epsilon], TABLE[n][e], rule_group(count, epsilon))
            off = [expected_error(count, epsilon, size) for size in sizes]
            less.append(100 * (1 - off[3] / off[0]))
            rows.append((count, f"{epsilon:g}", *sizes, f"{off[0]:.5f}", f"{off[3]:.5f}"))
    table = Table(
        "group sizes, and the error that the model expects of two of them",
        ("n", "epsilon", "printed", "anew", "kept here", "rule", "printed errs", "rule errs"),
        tuple(rows),
    )
    names = ("printed", "equation 7 anew", "rule")
    panels = tuple(
        Panel(
            f"epsilon {epsilon:g}",
            "places",
            "group size k",
            {
                name: tuple(Mark(row[0], float(row[at]), math.nan, 1) for row in rows[e::4])
                for name, at in zip(names, (2, 3, 5), strict=True)
            },
        )
        for e, epsilon in enumerate(TABLE_EPSILONS)
    )
    worst, kept = min(row[2] / row[3] for row in rows), min(row[2] / row[4] for row in rows)
    found = (
        f"by the model the rule errs {min(less):.0f} to {max(less):.0f} % less than the printed "
        "sizes",
        f"the printed sizes are down to {worst:.2f} of what equation 7 gives anew, and to "
        f"{kept:.2f} of those that are kept here",
    )
    note = (
        f"anew: equation 7 by {20 * order.runs} runs for each number of groups; kept here: by 100 "
        "to 300, as heatveil has them built in for --set groups=paper"
    )
    paper = "groups grow with n and shrink with epsilon, by equation 7"
    return Figure(
        "ranks-table1", FIGURES["ranks-table1"], paper, found, panels, (table,), notes=(note,)
    )

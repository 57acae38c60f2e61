"""Figure 14 of paper 003: maps of all points of trajectories, with each mechanism's promise."""

import zlib
from fractions import Fraction
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recovery.distance import wasserstein2
from recovery.noise import Ratio

from . import traces
from .disk_contenders import AUTO, Setting, recover
from .figures import FIGURES, UNIFORM, Figure, Order, Panel, Stage, Table
from .people import count
from .traces import LONGEST, TRAJECTORIES, Walks, walk
from .trials import Source, mark, play_all, ratio, whole

# Disk on the points of trajectories, in three ways that promise very different things.
#
# One point: each trajectory answers for one of its points, drawn at random, with all of epsilon.
# Every point, shared: each point is answered for with epsilon over the most points a trajectory
# may have, so that all of them together cost epsilon. Every point, each: what paper 003 compares
# with the two trajectory mechanisms. Its unit is one point: a trajectory of two hundred points is
# promised two hundred epsilon, which is nothing.

Floats = NDArray[np.float64]

UNIT_ONE = "a whole trajectory"
UNIT_SHARED = f"a whole trajectory of up to {LONGEST} points; how many it has is seen"
UNIT_EACH = f"ONE POINT: a trajectory has up to {LONGEST} times as much"


def one_point(
    walks: Walks, side: int, epsilon: Ratio, world: np.random.Generator, name: str = "DAM"
) -> Floats:
    """Return the map from one random point of each trajectory, by a name of `CONTENDERS`."""
    drawn = (world.random(len(walks.lengths)) * walks.lengths).astype(np.int64)
    return _map(walks.places[walks.starts + drawn], side, epsilon, world, name)


def share_epsilon(walks: Walks, side: int, epsilon: Ratio, world: np.random.Generator) -> Floats:
    """Return the map from every point, at an even part of epsilon."""
    part = Fraction(*epsilon) / LONGEST
    return _map(walks.places, side, part.as_integer_ratio(), world)


def each_point(walks: Walks, side: int, epsilon: Ratio, world: np.random.Generator) -> Floats:
    """Return the map from every point, at all of epsilon each: no promise for a trajectory."""
    return _map(walks.places, side, epsilon, world)


def _map(
    places: Floats, side: int, epsilon: Ratio, world: np.random.Generator, name: str = "DAM"
) -> Floats:
    return recover(name, count(places, side), Setting((side, side), epsilon), world)


ONE, SHARED, EACH = "DAM, one point", "DAM, epsilon/200 a point", "DAM, epsilon a point"
OURS = f"{AUTO}, one point"
LDPTRACE, PIVOTTRACE = "LDPTrace", "PivotTrace"
UNANSWERED = "PivotTrace of nobody"
UNITS = {
    LDPTRACE: traces.LDPTRACE_UNIT,
    PIVOTTRACE: traces.PIVOTTRACE_UNIT,
    ONE: UNIT_ONE,
    OURS: UNIT_ONE,
    SHARED: UNIT_SHARED,
    EACH: UNIT_EACH,
    UNANSWERED: "everything: no answer is looked at",
}
# Table V.
SIDES, EPSILONS = (1, 5, 10, 15, 20), ("0.5", "1", "1.5", "2", "2.5")
SIDE, EPSILON = 15, "1.5"


class Told(NamedTuple):
    """One run of one mechanism on the walks of some people."""

    source: Source
    mechanism: str
    side: int
    epsilon: Ratio
    run: int
    seed: int
    scale: float


def make_disk_14(order: Order, stage: Stage) -> Figure:
    """Return the figure: both panels for each file, or for the synthetic city."""
    panels = []
    for source in whole(order):
        by_side = [(side, ratio(EPSILON)) for side in SIDES]
        by_epsilon = [(SIDE, ratio(one)) for one in EPSILONS]
        settings = {"d": by_side, "epsilon": by_epsilon}
        tasks = [
            Told(source, name, side, epsilon, run, order.seed, order.scale)
            for places in settings.values()
            for side, epsilon in places
            for name in (*UNITS, UNIFORM)
            for run in range(1 if name == UNIFORM else order.runs)
        ]
        scores = play_all(tasks, score, order, stage, "disk-14")
        for across, places in settings.items():
            at = partial(_at, across)
            lines = {
                name: tuple(
                    mark(at(side, epsilon), _runs(scores, name, side, epsilon))
                    for side, epsilon in places
                )
                for name in (*UNITS, UNIFORM)
            }
            title = f"{source.name}, by {across}"
            panels.append(Panel(title, across, "W2, in cells", lines, dict(UNITS)))
    units = Table("what is promised, at epsilon, for", ("", "unit"), tuple(UNITS.items()))
    found = tuple(_find(panels))
    return Figure(
        "disk-14",
        FIGURES["disk-14"],
        "all three grow with d; DAM is always better than LDPTrace and PivotTrace; with epsilon "
        "DAM falls, PivotTrace falls slightly, LDPTrace wavers",
        found,
        tuple(panels),
        (units,),
        notes=_notes(order),
    )


def score(told: Told) -> float:
    """Return how far the map is from that of all points, W2 in cells."""
    walks = _walks(told.source, told.seed, told.scale)
    truth = count(walks.places, told.side)
    words = repr((told.mechanism, told.side, told.epsilon)).encode()
    world = np.random.default_rng([told.seed, 3, told.run, zlib.crc32(words)])
    epsilon = told.epsilon[0] / told.epsilon[1]
    if told.mechanism == UNIFORM:
        found = np.ones(truth.shape)
    elif told.mechanism == LDPTRACE:
        found = traces.estimate_ldptrace(walks, told.side, epsilon, world)
    elif told.mechanism == PIVOTTRACE:
        found = traces.estimate_pivottrace(walks, told.side, epsilon, world)
    elif told.mechanism == UNANSWERED:
        found = traces.guess(walks, told.side, world)
    elif told.mechanism == OURS:
        found = one_point(walks, told.side, told.epsilon, world, AUTO)
    else:
        ways = {ONE: one_point, SHARED: share_epsilon, EACH: each_point}
        found = ways[told.mechanism](walks, told.side, told.epsilon, world)
    return wasserstein2(truth, found, normalise=True) * told.side


@lru_cache(maxsize=4)
def _walks(source: Source, seed: int, scale: float) -> Walks:
    points = source.crowd(seed, 1.0).parts[0]
    number = max(2, round(scale * TRAJECTORIES))
    return walk(points, np.random.default_rng([seed, 2]), number)


def _at(across: str, side: int, epsilon: Ratio) -> float:
    return side if across == "d" else epsilon[0] / epsilon[1]


def _runs(scores: dict[Told, float], name: str, side: int, epsilon: Ratio) -> list[float]:
    return [
        score
        for told, score in scores.items()
        if (told.mechanism, told.side, told.epsilon) == (name, side, epsilon)
    ]


def _find(panels: list[Panel]) -> list[str]:
    said = []
    for panel in panels:
        fair = [name for name in UNITS if name not in (EACH, UNANSWERED)]
        wins: dict[str, list[str]] = {}
        for place, one in enumerate(panel.lines[ONE]):
            if one.mean > 0:
                winner = min(fair, key=lambda name: panel.lines[name][place].mean)
                wins.setdefault(winner, []).append(f"{one.at:g}")
        told = "; ".join(f"{name} at {', '.join(places)}" for name, places in wins.items())
        said.append(f"{panel.title}: best of those that protect a trajectory is {told}")
    said.append(
        "PivotTrace hardly knows its epsilon: hundreds of draws share it, and the middle of two "
        "even draws lies near the centre; beside it stands what it makes of nobody"
    )
    said.append(
        f"the paper's DAM, {EACH}, is not among them: it protects a point, and is better for that"
    )
    return said


def _notes(order: Order) -> tuple[str, ...]:
    people = max(2, round(order.scale * TRAJECTORIES))
    said = [f"{people} synthetic walks of 2 to 200 points, as in Appendix D"]
    if not order.points:
        said.append(
            "over a SYNTHETIC city, streets and squares that there are not; the paper's are over "
            "New York's taxis: give --points a file of user,x,y"
        )
    return tuple(said)

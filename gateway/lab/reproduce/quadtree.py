"""Figures 1, 2, 4, 5 and 7 to 9 and Tables 1 and 2 of paper 001: maps by secure sums, their cost.

Nobody's raster of a city is at hand, so people are of a made city or three crowds, on 256 x 256
cells; errors are mean squared ones over the cells, in 1e-9, against where all these people are.
Secure sums are simulated: this process sees all cells, and draws the noise of all devices at once.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from edge.core.entropy import Tape
from edge.core.noise import dlaplace
from edge.core.records import Grid, Reading, Release, Round
from edge.core.shares import draw_shares
from edge.mechanisms import quadtree as device
from edge.mechanisms.quadtree import params_of, sensitivity
from physics.crowds.shares import draw_noise_sums
from physics.points import find_cells, histogram, mnormal
from recovery.maps.heatmap import Heatmap
from recovery.peers import grids, hierarchies
from recovery.peers.grids import Crowd, Draw, normalise
from recovery.peers.sketched_trees import map_by_count_min, map_by_privtree
from recovery.quadtree import Query, plan, recover
from recovery.quadtree.estimate import count_squares, estimate_density, estimate_yes_shares
from recovery.quadtree.schedule import epsilon_of

from ...mechanisms.quadtree.crowd import release_crowd
from .figures import (
    Figure,
    Finding,
    Floats,
    Results,
    Task,
    Value,
    check_falling,
    check_lowest,
    combine_findings,
    judge_claim,
    make_places,
)
from .people import STAND_IN, draw_people
from .picture import UNIFORM

Whole = NDArray[np.int64]

SIDE = 256
MSE, LENGTH = "MSE in 1e-9", "numbers that a device sends"
TREE = "quadtree"


def make_query(users: int, side: int = SIDE, **more: Any) -> Query:
    """Return what so many people are asked at epsilon 1, with noise aimed at as the paper does.

    A finer aim than that is nearer on most maps.
    """
    return Query(Grid((side, side), 0), (1, 1), "zero-out", users, **{"aim": 0.1, **more})


def play_query(query: Query, cells: Any, present: int, rng: Any) -> list[Release]:
    """Return the releases of one whole run."""
    releases = list[Release]()
    while round := plan(query, releases):
        releases.append(release_crowd(round, cells, present, rng))
    return releases


def measure_squared_error(mass: Any, truth: Any) -> float:
    """Return the mean squared error, in 1e-9."""
    return 1e9 * float(np.square(mass - truth).mean())


def _count_city_people(task: Task, users: int) -> Whole:
    """Return how many people of the city are in each cell, (rows, columns)."""
    return histogram(draw_people(task.points, users, task.make_generator()), Grid((SIDE, SIDE), 0))


def _count_released_values(releases: list[Release]) -> float:
    return float(sum(len(one.values) for one in releases))


# Table 1: the tree beside every peer.

PEERS = {
    "flat": "flat",
    "hierarchy": "hierarchy, the level chosen by the truth",
    "spatial": "spatial decomposition, 6 levels",
    "sketch": "count-min sketch",
    "grid": "adaptive grid",
    "privtree": "PrivTree, which trusts a gateway",
}
_SENT = ("flat", "hierarchy", "spatial", "sketch")  # of whom it was counted what they send


def _make_noise_draw(shards: int, rng: Any) -> Draw:
    """Return what draws the noise of so many shards, a discrete Laplace each, by the thousand."""
    ready: dict[tuple[int, int], list[int]] = {}

    def draw(num: int, den: int) -> int:
        left = ready.setdefault((num, den), [])
        if not left:
            left.extend(draw_noise_sums(1 << 12, shards, 1, den, num, rng).tolist())
        return left.pop()

    return draw


def _draw_narrower(draw: Draw, times: Fraction, num: int, den: int) -> int:
    return draw(*(Fraction(num, den) / times).as_integer_ratio())


def compare_with_peers(task: Task) -> Iterator[Value]:
    """Yield error and length of the tree and of every peer."""
    users, one = task.scale_users(int(task.place[0])), Fraction(1)
    shards, cells = -(-users // 10_000), _count_city_people(task, users)
    truth, everybody, rng = cells / users, Crowd(cells, users), Tape(task.make_tape())
    off = partial(measure_squared_error, truth=truth)
    draw = _make_noise_draw(shards, rng)
    asked = make_query(users)
    releases = play_query(asked, cells, users, rng)
    for name, query in ((TREE, asked), (f"{TREE}, last round", replace(asked, estimator="last"))):
        mapped = recover(query, releases)
        if isinstance(mapped, Heatmap):
            yield Value(MSE, name, users, off(mapped.mass))
            yield Value(LENGTH, name, users, _count_released_values(releases))
    levels = (
        (
            off(hierarchies.map_by_hierarchy(everybody, one, draw, 2, depth)),
            (4 ** (depth + 1) - 4) // 3,
        )
        for depth in (3, 4, 5, 6)
    )
    # Its rule for how fine a grid is knows epsilon alone, and not of the noise of many shards.
    root = Fraction(math.sqrt(shards)).limit_denominator(1000)
    fine = grids.map_by_adaptive_grid(everybody, one / root, partial(_draw_narrower, draw, root))
    told: dict[str, tuple[float, int]] = {
        "flat": (off(grids.map_by_laplace(everybody, one, draw)), truth.size),
        "hierarchy": min(levels),
        "spatial": (off(hierarchies.map_by_quadtree(everybody, one, draw, 6)), 4**7 // 3),
        "sketch": (off(map_by_count_min(everybody, one, draw)), 40_000),
        "grid": (off(fine), 0),
        "privtree": (off(map_by_privtree(everybody, one, partial(dlaplace, rng=rng))), 0),
    }
    for name, (error, sent) in told.items():
        yield Value(MSE, PEERS[name], users, error)
        if name in _SENT:
            yield Value(LENGTH, PEERS[name], users, float(sent))
    yield Value(MSE, UNIFORM, users, off(1 / truth.size))


def _judge_tree_nearest(results: Results) -> Finding:
    private = tuple(PEERS[name] for name in PEERS if name != "privtree")
    sent = tuple(PEERS[name] for name in _SENT)
    return combine_findings(
        check_lowest(results, TREE, private, MSE), check_lowest(results, TREE, sent, LENGTH)
    )


# Table 2: people who are at several places.

ROUGH, PLACES = 64, 16  # cells along a side of theirs, and the most places of each
KINDS: tuple[Literal["systematic", "stochastic"], ...] = ("systematic", "stochastic")
SCALES, BITS = (1, 10, 100, 1000), (10, 12, 14, 16, 24)


class Visitors:
    """People who were at several places, each as often as a weight says."""

    def __init__(self, task: Task, users: int) -> None:
        """Draw them: most have one place that they like best, some have one place only."""
        world = task.make_generator(2)
        points = draw_people(task.points, users * PLACES, world)
        cells = find_cells(points, Grid((ROUGH, ROUGH), 0)).reshape(users, PLACES)
        weights = world.geometric(0.3, (users, PLACES)) * (
            np.arange(PLACES) < world.integers(1, PLACES + 1, users)[:, None]
        )
        self.users = users
        self.values = [
            tuple(
                number
                for cell, weight in zip(row.tolist(), some.tolist(), strict=True)
                if weight
                for number in (cell % ROUGH, cell // ROUGH, weight)
            )
            for row, some in zip(cells, weights, strict=True)
        ]
        whole = np.bincount(
            cells.ravel(), (weights / weights.sum(axis=1, keepdims=True)).ravel(), ROUGH**2
        )
        self.truth: Floats = (whole / whole.sum()).reshape(ROUGH, ROUGH)
        dear = np.take_along_axis(cells, weights.argmax(axis=1)[:, None], 1).ravel()
        self.dearest = np.bincount(dear, minlength=ROUGH**2).reshape(ROUGH, ROUGH)

    def release(self, round: Round, bits: int, rng: Any) -> Release:
        """Return the sum of all marks and of everybody's noise, modulo 2**bits."""
        p, total = params_of(round), np.zeros(device.count_sums(round), np.int64)
        for sensor, values in enumerate(self.values):
            for place, number in device.make_marks(round, Reading(sensor, values), rng):
                total[place] += number
        divisor = p.threshold - p.colluders
        rate = p.num, p.den * sensitivity(p)
        total += draw_noise_sums(len(total), self.users, divisor, *rate, rng)
        half = 1 << bits - 1
        return Release(round, ((total + half) % (2 * half) - half).tolist(), self.users)


def measure_split_visitors(task: Task) -> Iterator[Value]:
    """Yield the error by how many parts a person is split into, and by the bits of a sum."""
    people = Visitors(task, task.scale_users(2000))
    rng, users = Tape(task.make_tape()), people.users
    asked, off = (
        make_query(users, ROUGH, places=PLACES),
        partial(measure_squared_error, truth=people.truth),
    )
    mass = estimate_density(count_squares(asked, play_query(asked, people.dearest, users, rng)))[0]
    for kind in KINDS:
        for scale in SCALES:
            query = replace(asked, kind=kind, scale=scale)
            for bits in BITS:
                releases = list[Release]()
                while made := plan(query, releases):
                    releases.append(people.release(made, bits, rng))
                found = estimate_density(count_squares(query, releases))[0]
                yield Value(f"{kind}, {MSE}", f"{scale} parts", bits, off(found))
        for bits in BITS:
            yield Value(f"{kind}, {MSE}", "the dearest place alone", bits, off(mass))


def _judge_parts_help(results: Results) -> Finding:
    """Return whether ten parts are nearer than one with bits enough, and wrap around with few."""
    asked = {}
    for panel in results.list_panels():
        asked[f"{panel} enough bits"] = results.compare_lines(
            panel, ("10 parts", 24), ("1 parts", 24)
        )
        asked[f"{panel} too few"] = results.compare_lines(
            panel, ("1000 parts", 24), ("1000 parts", 10)
        )
    return judge_claim(asked, "more parts are nearer, and too few bits spoil them: ")


# Figures 1, 2 and 9.


def compare_shared_noise(task: Task) -> Iterator[Value]:
    """Yield the error of 64 x 64 cells with noise of each device's own, and shared."""
    users = task.scale_users(int(task.place[0]))
    flat = _count_city_people(task, users).reshape(64, SIDE // 64, 64, SIDE // 64).sum(axis=(1, 3))
    panel, off = f"64 x 64 cells, {MSE}", partial(measure_squared_error, truth=flat / users)
    for name, many in (("each device has all of the noise", users), ("all share one noise", 1)):
        noise = draw_noise_sums(flat.size, many, 1, 1, 1, Tape(task.make_tape(name))).reshape(
            flat.shape
        )
        yield Value(panel, name, users, off(normalise(flat + noise)))
    yield Value(panel, UNIFORM, users, off(1 / flat.size))


_LAW = "how often noise has a value"


def count_noise_sums(task: Task) -> Iterator[Value]:
    """Yield how often sums of 20 devices' shares have each value, beside the discrete Laplace."""
    rng, members, count, q = Tape(task.make_tape()), 20, 2000, math.exp(-0.5)
    told = [draw_shares(count, members, 1, 2, rng) for _ in range(members)]
    added = Counter(map(sum, zip(*told, strict=True)))
    one = Counter(draw_shares(count, members, 1, 2, rng))
    for value in range(-8, 9):
        yield Value(_LAW, "sums of 20 shares", value, added[value] / count)
        yield Value(_LAW, "one share", value, one[value] / count)
        yield Value(_LAW, "discrete Laplace", value, (1 - q) / (1 + q) * q ** abs(value))


def _judge_shares_add_up(results: Results) -> Finding:
    asked = {}
    for at in results.list_places(_LAW, "discrete Laplace"):
        known = (
            results.compare_lines(_LAW, ("sums of 20 shares", at), ("discrete Laplace", at)) == 0
        )
        asked[f"{at:g}"] = 1 if known else -1
    # Of 17 intervals at 95 % one misses by chance more often than not.
    missed = [at for at, sure in asked.items() if sure < 0]
    if len(missed) <= 2:
        asked = dict.fromkeys(asked, 1)
    return judge_claim(asked, f"the law is in the interval but at {len(missed)} of 17 values; ")


def measure_yes_shares(task: Task) -> Iterator[Value]:
    """Yield how far shares of those who say yes are off, and how often an interval covers."""
    users, rng, world = (
        task.scale_users(int(task.place[0])),
        Tape(task.make_tape()),
        task.make_generator(9),
    )
    cells = _count_city_people(task, users)
    y, x = np.mgrid[:SIDE, :SIDE] / SIDE
    yes = world.binomial(cells, 0.8 * np.exp(-((x - 0.5) ** 2 + (y - 0.5) ** 2) / (2 * 0.15**2)))
    asked = make_query(users, kind="proportions")
    found = estimate_yes_shares(asked, play_query(asked, np.stack([yes, cells - yes]), users, rng))
    where = ~np.isnan(found.share) & (cells > 0)
    true, weight = yes[where] / cells[where], cells[where]
    for line, share in (
        ("quadtree", found.share[where]),
        ("one share for all", yes.sum() / cells.sum()),
    ):
        off = np.average(abs(share - true), weights=weight)
        yield Value("mean error of the share, over people", line, users, off)


# Figures 4, 5, 7 and 8: what changes the error.


def measure_variants(task: Task) -> Iterator[Value]:
    """Yield error and length of a run in which one thing is another than usual."""
    what, at = str(task.place[0]), float(task.place[1])
    users = task.scale_users(int(at) if what == "users" else 100_000)
    drop = Fraction(at).limit_denominator(100) if what == "drop" else Fraction(0)
    others: dict[str, dict[str, Any]] = {
        "shard": {"shard": max(100, int(at * task.scale))},
        "drop": {"dropout": drop.as_integer_ratio()},
        "users": {},
    }
    world, grid = task.make_generator(), Grid((SIDE, SIDE), 0)
    city = what in ("threshold", "reserve")
    points = draw_people(task.points, users, world) if city else mnormal(users, world)
    flat, present = find_cells(points, grid), int(users * (1 - drop))
    everybody, there = (
        np.bincount(some, minlength=SIDE * SIDE).reshape(SIDE, SIDE)
        for some in (flat, flat[world.permutation(users)[:present]])
    )
    lines: dict[str, dict[str, Any]] = {TREE: {}, "last round alone": {"estimator": "last"}}
    if what == "threshold":
        lines = {TREE: {}, "given up again below k": {"collapse": at}}
    for line, more in lines.items():
        query = make_query(users, **others.get(what, {what: at}), **more)
        releases = play_query(query, there, present, Tape(task.make_tape()))
        mapped = recover(query, releases)
        if isinstance(mapped, Heatmap):
            yield Value(MSE, line, at, measure_squared_error(mapped.mass, everybody / users))
            yield Value(LENGTH, line, at, _count_released_values(releases))


def measure_spending(task: Task) -> Iterator[Value]:
    """Yield what each round spends of epsilon 1."""
    users = task.scale_users(int(task.place[0]))
    query = make_query(users)
    releases = play_query(query, _count_city_people(task, users), users, Tape(task.make_tape()))
    panel, line = "epsilon", f"{task.place[0]:,} people"
    yield Value(panel, line, 1, float(epsilon_of(releases[0].round)))
    yield Value(panel, line, 2, float(epsilon_of(releases[-1].round)))


def _judge_last_has_most(results: Results) -> Finding:
    lines = results.list_lines("epsilon")
    asked = {line: results.compare_lines("epsilon", (line, 1), (line, 2)) for line in lines}
    return judge_claim(asked, "the first round below the last one: ")


def make_inner_least_check(line: str) -> Callable[[Results], Finding]:
    """Return the check that a line is least between its ends, and surely worse at both of them."""

    def check(results: Results) -> Finding:
        first, *inner, last = results.list_places(MSE, line)
        least = min(inner, key=lambda at: results.compute_mean(MSE, line, at))
        said = [f"least between the ends at {least:g}"]
        sure = [results.compare_lines(MSE, (line, least), (line, at)) for at in (first, last)]
        for at, below in zip((first, last), sure, strict=True):
            how = {1: "surely worse", 0: "the same within chance", -1: "surely better"}[below]
            said.append(f"{at:g} is {how}")
        verdict = {1: "confirmed", 0: "not decided", -1: "refuted"}[min(sure)]
        return Finding(verdict, "; ".join(said))

    return check


def _judge_dropout_cost(results: Results) -> Finding:
    """Return whether a fifth that drops out costs about 15 % of error: 5 to 30."""
    costs = results.compute_mean(MSE, TREE, 0.2) / results.compute_mean(MSE, TREE, 0.0) - 1
    more = results.compare_lines(MSE, (TREE, 0.0), (TREE, 0.2))
    said = f"a fifth that drops out changes the error by {100 * costs:+.0f} %"
    if more == 0:
        return Finding("not decided", f"{said}, within chance")
    return Finding("confirmed" if 0.05 <= costs <= 0.3 else "refuted", said)


_SUMS = "epsilon 1, 256 x 256 cells, secure sums of 10,000 simulated"
_CITY = f"{_SUMS}; {STAND_IN}"
_CROWDS = f"{_SUMS}; three crowds in the place of New York"
_FEW: tuple[int, float, tuple[Any, ...]] = (8, 1.0, ())

FIGURES = (
    Figure(
        "quadtree-table1",
        "the tree is nearest, and sends fewer numbers than its private peers",
        _CITY, "people", ((100_000,),), compare_with_peers, _judge_tree_nearest, 20, (5, 1.0, ()),
    ),
    Figure(
        "quadtree-table2", "more parts of a person are better until the sum wraps around",
        f"2,000 people of 1 to {PLACES} places, {ROUGH} x {ROUGH} cells, epsilon 1; devices here "
        f"take as many bits as a sum needs, so nothing wraps but here; {STAND_IN}",
        "bits of a sum", (("visit",),), measure_split_visitors, _judge_parts_help,
        10, (4, 0.3, ()),
    ),
    Figure(
        "quadtree-1", "noise that each device adds for itself leaves nothing of the map",
        f"epsilon 1, one sum over everybody; {STAND_IN}", "people", ((10_000,), (100_000,)),
        compare_shared_noise,
        lambda found: check_lowest(
            found, "all share one noise", ("each device has all of the noise",)
        ),
        20, (5, 1.0, ()),
    ),
    Figure(
        "quadtree-2", "shares of noise, one from each device, add up to one discrete Laplace",
        "epsilon 1/2, 20 devices, 2,000 sums a trial", "noise", (("shares",),), count_noise_sums,
        _judge_shares_add_up, 20, (8, 1.0, ()),
    ),
    Figure(
        "quadtree-4", "dividing where the count stands out of the noise has a best threshold",
        _CITY, "k of equation 6", make_places("threshold", 1, 2, 4, 8, 16, 32), measure_variants,
        make_inner_least_check(TREE),
        20, _FEW,
    ),
    Figure(
        "quadtree-5", "the first round spends little, the last one has all the rest",
        _CITY, "1 is the first round, 2 the last", ((10_000,), (100_000,), (1_000_000,)),
        measure_spending,
        _judge_last_has_most, 10, (5, 1.0, ()),
    ),
    Figure(
        "quadtree-5b", "what must be left for another round has a best value",
        f"{_CITY}; psi is 1 at least", "psi of equation 9",
        make_places("reserve", 1, 1.5, 2, 3, 5),
        measure_variants, make_inner_least_check(TREE), 20, _FEW,
    ),
    Figure(
        "quadtree-7a", "the error falls with every user more",
        _CROWDS, "users", make_places("users", 10_000, 30_000, 100_000, 300_000), measure_variants,
        lambda found: check_falling(found, TREE, MSE), 20, _FEW,
    ),
    Figure(
        "quadtree-7b", "the width that noise is aimed at has a best value",
        _CROWDS, "b of equation 7", make_places("aim", 0.02, 0.05, 0.1, 0.2, 0.5),
        measure_variants,
        make_inner_least_check(TREE), 20, _FEW,
    ),
    Figure(
        "quadtree-8a", "larger secure sums have smaller errors",
        _CROWDS, "devices in one secure sum", make_places("shard", 1000, 3000, 10_000, 30_000),
        measure_variants,
        lambda found: check_falling(found, TREE, MSE), 20, _FEW,
    ),
    Figure(
        "quadtree-8b", "a fifth that drops out costs about 15 % of error",
        f"{_CROWDS}; who drops out brings no noise here, in the paper's code such a one still did",
        "share that is missing", make_places("drop", 0, 0.05, 0.1, 0.2, 0.4), measure_variants,
        _judge_dropout_cost,
        40,
        (20, 1.0, make_places("drop", 0, 0.2)),
    ),
    Figure(
        "quadtree-9", "where the share of those who say yes is high is found, too",
        _CITY, "people", ((300_000,),), measure_yes_shares,
        lambda found: check_lowest(found, "quadtree", ("one share for all",)), 20, _FEW,
    ),
)  # fmt: skip

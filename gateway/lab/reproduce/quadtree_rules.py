"""Figures 4 and 5 and Table 2 of paper 001: which squares are divided, what each round may spend,
and people who are at several places.

People are in a made city and secure sums are simulated, as in `quadtree_runs`; errors are in 1e-9.
"""

import statistics
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from edge.core.entropy import Tape
from edge.core.records import Grid, Reading, Release, Round
from edge.mechanisms import quadtree as device
from edge.mechanisms.quadtree import params_of, sensitivity
from physics.crowds.shares import sums
from physics.points import cells_of
from recovery.quadtree import plan
from recovery.quadtree.estimate import count_squares, density
from recovery.quadtree.schedule import epsilon_of
from recovery.quadtree.tree import level, paint

from .figures import FIGURES, Figure, Grid2, Mark, Order, Panel, Stage, Table
from .people import places_of_order
from .quadtree_runs import MADE, SIDE, ask, everybody, off, play, scale_users, show
from .trials import mark

THRESHOLDS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
RESERVES = (1.0, 1.5, 2.0, 3.0, 5.0)
SCALES = (1, 10, 100, 1000)
KINDS: tuple[Literal["systematic", "stochastic"], ...] = ("systematic", "stochastic")
BITS = (10, 12, 14, 16, 24)
VISITORS, PLACES = 2000, 16  # people of Table 2, and the most places of each
ROUGH = 64  # cells along a side of theirs
Whole = NDArray[np.int64]


def _run(order: Order, users: int, run: int, **asked: Any) -> tuple[float, list[Release], Any]:
    """Return the error of one whole run, its releases, and the map."""
    cells, rng = everybody(order, users, run), Tape(b"rules %d %d" % (order.seed, run))
    query = ask(Grid((SIDE, SIDE), 0), (1, 1), "zero-out", users, **asked)
    releases = play(query, cells, users, rng)
    mass = density(count_squares(query, releases))[0]
    return off(mass, cells / users), releases, mass


def make_quadtree_4(order: Order, stage: Stage) -> Figure:
    """Return how deep squares go, and what dividing fewer or giving some up again changes."""
    users = scale_users(order, 100_000)
    errors: dict[str, list[Mark]] = {"kept": [], "given up below k": []}
    sent: dict[str, list[Mark]] = {name: [] for name in errors}
    for threshold in THRESHOLDS:
        stage(f"dividing squares of more than {threshold:g} deviations")
        for name, collapse in zip(errors, (0.0, threshold), strict=True):
            found = [
                _run(order, users, run, threshold=threshold, collapse=collapse)
                for run in range(order.runs)
            ]
            errors[name].append(mark(threshold, [error for error, _, _ in found]))
            numbers = [float(sum(len(one.values) for one in some)) for _, some, _ in found]
            sent[name].append(mark(threshold, numbers))
    given_up = 4.0
    _, releases, mass = _run(order, users, 0, threshold=given_up, collapse=given_up)
    squares = params_of(releases[-1].round).squares
    where, deep = paint(squares, (SIDE, SIDE)), level(np.array(squares))
    parts = int((where.area < SIDE * SIDE >> 2 * deep).sum())
    truth = everybody(order, users) / users
    best = min((one for line in errors.values() for one in line), key=lambda one: one.mean)
    return Figure(
        "quadtree-4",
        FIGURES["quadtree-4"],
        "squares are divided where the count stands out of the noise, and may be in part",
        (
            f"with k = {given_up:g} and squares given up again, {parts} of {len(squares)} are "
            "divided in part",
            f"the least error, {best.mean:.3g}, is at k = {best.at:g}",
        ),
        panels=(
            Panel("Error", "k of equation 6", "MSE in 1e-9", _lines(errors)),
            Panel("Length", "k of equation 6", "numbers a device sends", _lines(sent)),
        ),
        maps=(
            Grid2(f"{users} people", show(truth, truth)),
            Grid2("level of the squares", where.cells(deep.astype(float)).tolist()),
            Grid2("the map", show(mass, truth)),
        ),
        notes=MADE,
    )


def _lines(found: dict[str, list[Mark]]) -> dict[str, tuple[Mark, ...]]:
    return {name: tuple(line) for name, line in found.items()}


def make_quadtree_5(order: Order, stage: Stage) -> Figure:
    """Return what each round spends, and how much a round must leave for another one."""
    spent: dict[str, tuple[Mark, ...]] = {}
    rows = list[tuple[Any, ...]]()
    for part in (10_000, 100_000, 1_000_000):
        users = scale_users(order, part)
        stage(f"asking {users} people")
        _, releases, _ = _run(order, users, 0)
        spent[f"{users} people"] = tuple(
            Mark(one.round.number, float(epsilon_of(one.round)), float("nan"), 1)
            for one in releases
        )
        rows += [
            (users, one.round.number, len(one.values), float(epsilon_of(one.round)))
            for one in releases
        ]
        rows.append((users, "all", sum(len(one.values) for one in releases), 1.0))
    users, line = scale_users(order, 100_000), list[Mark]()
    for reserve in RESERVES:
        stage(f"keeping {reserve:g} rounds' worth")
        runs = [_run(order, users, run, reserve=reserve)[0] for run in range(order.runs)]
        line.append(mark(reserve, runs))
    best = min(line, key=lambda one: one.mean)
    return Figure(
        "quadtree-5",
        FIGURES["quadtree-5"],
        "the first rounds spend little, as squares are few and full; the last has all the rest",
        (
            f"the last round has {spent[f'{users} people'][-1].mean:.0%} of epsilon",
            f"the least error, {best.mean:.3g}, is at psi = {best.at:g}; at 1 it is "
            f"{line[0].mean:.3g}, for a last round may be left with next to nothing",
        ),
        panels=(
            Panel("Budget", "round", "epsilon of the round", spent),
            Panel(f"{users} people", "psi of equation 9", "MSE in 1e-9", {"error": tuple(line)}),
        ),
        tables=(Table("rounds", ("people", "round", "squares", "epsilon"), tuple(rows)),),
        notes=MADE,
    )


class Visitors:
    """People who were at several places, each as often as a weight says."""

    def __init__(self, order: Order, run: int) -> None:
        """Draw them: most have one place that they like best, some have one place only."""
        users = scale_users(order, VISITORS)
        world = np.random.default_rng([order.seed, run, 2])
        grid = Grid((ROUGH, ROUGH), 0)
        points = places_of_order(order)(users * PLACES, world)
        cells = cells_of(points, grid).reshape(users, PLACES)
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
        shares = weights / weights.sum(axis=1, keepdims=True)
        self.truth = _map_of(cells, shares)
        dear = weights.argmax(axis=1)[:, None]
        self.dearest = np.bincount(
            np.take_along_axis(cells, dear, 1).ravel(), minlength=ROUGH**2
        ).reshape(ROUGH, ROUGH)

    def release(self, round: Round, bits: int, rng: Any) -> Release:
        """Return the sum of all marks and of everybody's noise, modulo 2**bits."""
        p, total = params_of(round), np.zeros(device.length(round), np.int64)
        for sensor, values in enumerate(self.values):
            for place, count in device.marks(round, Reading(sensor, values), rng):
                total[place] += count
        divisor = p.threshold - p.colluders
        rate = p.num, p.den * sensitivity(p)
        total += sums(len(total), self.users, divisor, *rate, rng)
        half = 1 << bits - 1
        return Release(round, ((total + half) % (2 * half) - half).tolist(), self.users)


def _map_of(cells: Whole, weights: Any) -> Any:
    found = np.bincount(cells.ravel(), weights.ravel(), ROUGH**2)
    return (found / found.sum()).reshape(ROUGH, ROUGH)


def make_quadtree_table2(order: Order, stage: Stage) -> Figure:
    """Return the error by how many parts a person is split into, and by the bits of a sum."""
    found: dict[tuple[str, int, int], list[float]] = {}
    alone, without = list[float](), list[float]()
    for run in range(order.runs):
        people = Visitors(order, run)
        grid, users = Grid((ROUGH, ROUGH), 0), people.users
        asked = ask(grid, (1, 1), "zero-out", users, places=PLACES)
        rng = Tape(b"places %d %d" % (order.seed, run))
        stage(f"run {run + 1} of {order.runs}: the dearest place alone")
        mass = density(count_squares(asked, play(asked, people.dearest, users, rng)))[0]
        alone.append(off(mass, people.truth))
        without.append(off(people.dearest / users, people.truth))
        for kind in KINDS:
            for scale in SCALES:
                stage(f"run {run + 1} of {order.runs}: {kind}, {scale} parts")
                query = replace(asked, kind=kind, scale=scale)
                for bits in BITS:
                    releases = list[Release]()
                    while made := plan(query, releases):
                        releases.append(people.release(made, bits, rng))
                    mass = density(count_squares(query, releases))[0]
                    found.setdefault((kind, scale, bits), []).append(off(mass, people.truth))
    rows: tuple[tuple[Any, ...], ...] = tuple(
        (f"{kind}, {scale}", *(statistics.fmean(found[kind, scale, bits]) for bits in BITS))
        for kind in KINDS
        for scale in SCALES
    )
    best = min(rows, key=lambda row: row[-1])
    return Figure(
        "quadtree-table2",
        FIGURES["quadtree-table2"],
        "more parts are better until the sum wraps around",
        (
            f"with bits enough the best is {best[0]}, {best[-1]:.3g}",
            f"the dearest place alone has {statistics.fmean(alone):.3g} with noise and "
            f"{statistics.fmean(without):.3g} without",
        ),
        tables=(
            Table(
                f"{people.users} people, MSE in 1e-9, by parts and bits of a sum",
                ("", *(f"{bits} bits" for bits in BITS)),
                rows,
            ),
        ),
        notes=(
            f"a made city with 1 to {PLACES} places a person, {ROUGH} x {ROUGH} cells, epsilon 1; "
            "the paper has check-ins of Tokyo",
            "a device of ours takes as many bits as the sum needs, so nothing wraps but here",
        ),
    )

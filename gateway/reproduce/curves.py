"""Panels of mean distances over one axis, as Figures 8, 9 and 13 have them."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from recovery.noise import Ratio

from .people import CITY, SYNTHETIC
from .privacy import privacy
from .record import UNIFORM, Mark, Order, Panel, Stage
from .trials import Source, Trial, mark, played, scored

# A subset mechanism with sets of more cells takes half a minute a run.
_SUBSETS_EPSILON = Fraction(1)


class Curve(NamedTuple):
    """A panel that is asked for: people, mechanisms, and one axis that changes."""

    title: str
    source: Source
    mechanisms: tuple[str, ...]
    sides: tuple[int, ...]
    epsilons: tuple[Ratio, ...]
    radii: tuple[tuple[float, float], ...] = ()  # what is shown, and the radius in cells

    @property
    def across(self) -> str:
        """What the axis is called."""
        if self.radii:
            return "radius, in parts of the best"
        return "cells along a side, d" if len(self.sides) > 1 else "epsilon"


def sources(order: Order, files_only: bool = False) -> tuple[Source, ...]:
    """Return the people of an order: the synthetic sets, and the files that came."""
    files = tuple(Source(path.stem, path) for path in order.points)
    return files if files_only else (*(Source(name) for name in SYNTHETIC), *files)


def whole(order: Order) -> tuple[Source, ...]:
    """Return the files that came, each as one square, or the synthetic city."""
    files = tuple(Source(path.stem, path, whole=True) for path in order.points)
    return files or (Source(CITY),)


def ratio(text: str) -> Ratio:
    """Return a decimal as a ratio.

    >>> ratio("3.5")
    (7, 2)
    """
    return Fraction(text).as_integer_ratio()


def drawn(curves: Sequence[Curve], order: Order, stage: Stage, name: str) -> tuple[Panel, ...]:
    """Return the panels, every run of which is made as the order says."""
    asked = [_places(curve, order) for curve in curves]
    tasks = [
        trial
        for lines in asked
        for places in lines.values()
        for _, trials in places
        for trial in trials
    ]
    scores = played(tasks, scored, order, stage, name)
    return tuple(
        _panel(curve, lines, scores, stage) for curve, lines in zip(curves, asked, strict=True)
    )


def slow(mechanism: str, epsilon: Ratio, side: int, runs: int) -> bool:
    """Say whether a place is left out of a quick figure: large sets of the subset mechanism."""
    small = Fraction(*epsilon) < _SUBSETS_EPSILON and side > 1
    return mechanism == "SEM-Geo-I" and small and runs < 10


def _places(curve: Curve, order: Order) -> dict[str, list[tuple[float, list[Trial]]]]:
    """Return, for each line, what is at each place of the axis and the runs it is had from."""
    lines: dict[str, list[tuple[float, list[Trial]]]] = {}
    for name in (*curve.mechanisms, UNIFORM):
        lines[name] = []
        for side in curve.sides:
            for epsilon in curve.epsilons:
                if slow(name, epsilon, side, order.runs):
                    continue
                for shown, radius in curve.radii or ((None, None),):
                    if shown is not None:
                        at = shown
                    else:
                        at = side if len(curve.sides) > 1 else epsilon[0] / epsilon[1]
                    runs = 1 if name == UNIFORM else order.runs
                    chance = None if name == UNIFORM else radius
                    trial = Trial(
                        curve.source, name, side, epsilon, 0, order.seed, order.scale, chance
                    )
                    lines[name].append((at, [trial._replace(run=run) for run in range(runs)]))
    return lines


def _panel(
    curve: Curve,
    lines: Mapping[str, list[tuple[float, list[Trial]]]],
    scores: Mapping[Trial, float],
    stage: Stage,
) -> Panel:
    found: dict[str, tuple[Mark, ...]] = {}
    notions: dict[str, str] = {}
    for name, places in lines.items():
        made = []
        for at, trials in places:
            one = mark(at, [scores[trial] for trial in trials])
            if name != UNIFORM and not curve.radii:
                stage(f"what {name} hides")
                first = trials[0]
                told = privacy(name, (first.side, first.side), first.epsilon)
                one = one._replace(
                    local_privacy_cells=told.local_privacy_cells,
                    worst_log_ratio=told.worst_log_ratio,
                )
                notions[name] = told.notion.partition(", k =")[0]
            made.append(one)
        found[name] = tuple(made)
    return Panel(curve.title, curve.across, "W2, in cells", found, notions)


def winners(panel: Panel, at: float, among: Sequence[str]) -> list[str]:
    """Return who has the least mean at a place, and then those that intervals do not tell from it.

    Two means differ for certain where the difference is more than the root of both squared half
    widths; where there was one run only, any difference counts.
    """
    found = {name: one for name in among for one in panel.lines.get(name, ()) if one.at == at}
    first = min(found, key=lambda name: found[name].mean)
    near = [
        name
        for name, one in found.items()
        if name != first
        and one.mean - found[first].mean <= math.hypot(one.half_width, found[first].half_width)
    ]
    return [first, *sorted(near, key=lambda name: found[name].mean)]

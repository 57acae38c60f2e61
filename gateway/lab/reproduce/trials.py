"""Runs of mechanisms on people, and panels of their mean distances over one axis."""

import math
import statistics
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from recovery.distance import wasserstein2
from recovery.noise import Ratio

from ...faults import OperatorFault
from .disk_contenders import Setting, privacy, recover
from .figures import UNIFORM, Mark, Order, Panel, Stage
from .people import CITY, SYNTHETIC, Crowd, count, of_file, synthetic

_NORMAL_95 = 1.96

Task = TypeVar("Task")


class Source(NamedTuple):
    """Which people: a synthetic set by its name, or a file."""

    name: str
    path: Path | None = None
    whole: bool = False

    def crowd(self, seed: int, scale: float) -> Crowd:
        """Return the points themselves."""
        return of_file(self.path, self.whole) if self.path else synthetic(self.name, seed, scale)


class Trial(NamedTuple):
    """One run of one mechanism.

    A run is told everything by its Trial, its chance included, so a figure is the same to the last
    digit wherever its runs were made and in whichever order they ended.
    """

    source: Source
    mechanism: str  # of `disk_contenders.CONTENDERS`, or UNIFORM
    side: int  # cells along either axis
    epsilon: Ratio
    run: int
    seed: int
    scale: float = 1.0
    radius: float | None = None


def score(trial: Trial) -> float:
    """Return how far the map is from the people, W2 in cells; the mean over the crowd's parts."""
    crowd = trial.source.crowd(trial.seed, trial.scale)
    scores = []
    for number, part in enumerate(crowd.parts):
        people = count(part, trial.side)
        if trial.mechanism == UNIFORM:
            found = np.ones(people.shape)
        else:
            setting = Setting((trial.side, trial.side), trial.epsilon, trial.radius)
            # Told by what it is, and not by its place in a figure.
            told = repr((trial.mechanism, trial.side, trial.epsilon, trial.radius)).encode()
            world = np.random.default_rng([trial.seed, 1, trial.run, number, zlib.crc32(told)])
            found = recover(trial.mechanism, people, setting, world)
        scores.append(wasserstein2(people, found, normalise=True) * trial.side)
    return statistics.fmean(scores)


def mark(at: float, scores: Sequence[float]) -> Mark:
    """Return the mean of these runs and the half width of its 95 % interval."""
    half = float("nan")
    if len(scores) > 1:
        half = _NORMAL_95 * statistics.stdev(scores) / math.sqrt(len(scores))
    return Mark(at, statistics.fmean(scores), half, len(scores))


def play_all(
    tasks: Iterable[Task], work: Callable[[Task], Any], order: Order, stage: Stage, name: str
) -> dict[Task, Any]:
    """Return the result of every task, by task.

    Raises:
        OperatorFault: the cluster cannot be reached, or distributed is not installed.
    """
    asked = list(dict.fromkeys(tasks))
    found: dict[Task, Any] = {}
    with ExitStack() as stack:
        for done, (task, result) in enumerate(_each(asked, work, order, stack), 1):
            found[task] = result
            stage(f"{name}: {done} of {len(asked)} runs")
    return found


def _each(
    tasks: list[Task], work: Callable[[Task], Any], order: Order, stack: ExitStack
) -> Iterator[tuple[Task, Any]]:
    if order.cluster is not None:
        client = stack.enter_context(_client(order.cluster))
        from distributed import as_completed as as_gathered  # type: ignore[import-not-found,unused-ignore]

        sent = {client.submit(work, task, pure=False): task for task in tasks}
        for one in as_gathered(list(sent)):
            yield sent[one], one.result()
    elif order.jobs > 1:
        pool = stack.enter_context(ProcessPoolExecutor(order.jobs))
        stack.callback(pool.shutdown, cancel_futures=True)
        futures = {pool.submit(work, task): task for task in tasks}
        for future in as_completed(futures):
            yield futures[future], future.result()
    else:
        for task in tasks:
            yield task, work(task)


def _client(address: str) -> Any:
    try:
        from distributed import Client  # type: ignore[import-not-found,unused-ignore]
    except ImportError as fault:
        raise OperatorFault(
            f"--cluster {address} came but dask.distributed is not installed here, which speaks "
            "to clusters. Install heatveil[cluster], or take --jobs for processes of this machine"
        ) from fault
    try:
        return Client(address, timeout="10s")
    except (OSError, ValueError) as fault:
        raise OperatorFault(
            f"--cluster {address} came but no scheduler answers there ({fault}); it would do the "
            "work. Begin one with dask scheduler, and workers with the same heatveil installed"
        ) from fault


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


def draw(curves: Sequence[Curve], order: Order, stage: Stage, name: str) -> tuple[Panel, ...]:
    """Return the panels, every run of which is made as the order says."""
    asked = [_places(curve, order) for curve in curves]
    tasks = [
        trial
        for lines in asked
        for places in lines.values()
        for _, trials in places
        for trial in trials
    ]
    scores = play_all(tasks, score, order, stage, name)
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

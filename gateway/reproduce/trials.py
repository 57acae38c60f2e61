"""Runs of mechanisms on people: one after the other, in processes, or on a cluster; same code.

A run is told everything by its Trial, its chance included, so a figure is the same to the last
digit wherever its runs were made and in whichever order they ended.
"""

import math
import statistics
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from edge.records import Grid
from recovery.distance import far_off
from recovery.noise import Ratio

from ..faults import OperatorFault
from .contenders import Setting, recovered
from .people import Crowd, counted, of_file, synthetic
from .record import UNIFORM, Mark, Order, Stage

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
    """One run of one mechanism."""

    source: Source
    mechanism: str  # of `contenders.CONTENDERS`, or UNIFORM
    side: int  # cells along either axis
    epsilon: Ratio
    run: int
    seed: int
    scale: float = 1.0
    radius: float | None = None


def scored(trial: Trial) -> float:
    """Return how far the map is from the people, W2 in cells; the mean over the crowd's parts."""
    crowd = trial.source.crowd(trial.seed, trial.scale)
    grid = Grid((trial.side, trial.side), 0)
    scores = []
    for number, part in enumerate(crowd.parts):
        people = counted(part, trial.side)
        if trial.mechanism == UNIFORM:
            found = np.ones(people.shape)
        else:
            setting = Setting(grid.shape, trial.epsilon, trial.radius)
            # Told by what it is, and not by its place in a figure.
            told = repr((trial.mechanism, trial.side, trial.epsilon, trial.radius)).encode()
            world = np.random.default_rng([trial.seed, 1, trial.run, number, zlib.crc32(told)])
            found = recovered(trial.mechanism, people, setting, world)
        scores.append(far_off(people, found, grid).cells)
    return statistics.fmean(scores)


def mark(at: float, scores: Sequence[float]) -> Mark:
    """Return the mean of these runs and the half width of its 95 % interval."""
    half = float("nan")
    if len(scores) > 1:
        half = _NORMAL_95 * statistics.stdev(scores) / math.sqrt(len(scores))
    return Mark(at, statistics.fmean(scores), half, len(scores))


def played(
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

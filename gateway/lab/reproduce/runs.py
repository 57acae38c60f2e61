"""Runs of figures on an executor, and the tables of values that they leave, a CSV a figure.

A run is told everything by its Task, its chance included, so a figure is the same to the last
digit wherever its runs were made and in whichever order they ended. Rows are written as they
come; what stands in a figure's table of the same settings is not computed again.
"""

import csv
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    ProcessPoolExecutor,
    as_completed,
)
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import sha256
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from ...faults import OperatorFault
from ...output import Stage, check_places, write_all
from .figures import Figure, Finding, Results, Task, Value, table
from .picture import draw

# `of` is how many rows a run has: one that a full disk or a cut power left half is made again.
_COLUMNS = (
    "version",
    "seed",
    "scale",
    "points",
    "place",
    "run",
    "of",
    "panel",
    "line",
    "at",
    "value",
)
_ATTEMPTS = 3  # pools that may lose a process before we give up


@dataclass(frozen=True, slots=True)
class Order:
    """How figures are made.

    Args:
        trials: runs at each place; None for as many as the figure wants.
        seed: of people and answers; equal orders have equal figures.
        quick: fewer runs, people and places, as each figure says.
        points: a file of people in the place of the made city.
        jobs: processes at work at once.
        cluster: the address of a scheduler of dask.distributed instead.
    """

    trials: int | None = None
    seed: int = 1
    quick: bool = False
    points: Path | None = None
    jobs: int = 1
    cluster: str | None = None


def make(
    figures: Sequence[Figure], order: Order, folder: Path, stage: Stage
) -> Iterator[tuple[Figure, Results, Finding]]:
    """Yield each figure when its last run is in, its table and its picture being written.

    Raises:
        OperatorFault: a place cannot be written to, the cluster is
            not there or went away. What was written before stays.
    """
    points = str(order.points.resolve()) if order.points else ""
    _content.cache_clear()  # the file may be another than last time
    tables = {one.name: folder / f"{one.name}.csv" for one in figures}
    check_places([*tables.values()], [order.points] if order.points else [])
    asked = {one.name: one.tasks(order.trials, order.seed, order.quick, points) for one in figures}
    found = {name: _known(tables[name], set(tasks)) for name, tasks in asked.items()}
    left = [task for tasks in asked.values() for task in tasks if task not in found[task.figure]]
    total, began, done = len(left), time.monotonic(), 0
    waiting = list(figures)
    results = play_all(left, order)
    while waiting:
        for figure in [one for one in waiting if len(found[one.name]) == len(asked[one.name])]:
            waiting.remove(figure)
            rows = [
                (task.run, one) for task in asked[figure.name] for one in found[figure.name][task]
            ]
            results_of = Results(rows)
            write = partial(
                draw, f"{figure.name}: {figure.claim}", results_of.drawn(figure.across, figure.up)
            )
            write_all({folder / f"{figure.name}.png": write})
            yield figure, results_of, figure.check(results_of)
        if waiting:
            task, values = next(results)
            _keep(tables[task.figure], task, values)
            found[task.figure][task] = values
            done += 1
            minutes = (time.monotonic() - began) / done * (total - done) / 60
            stage(f"{task.figure}: {done} of {total} runs, about {minutes:.0f} min left")


def play(task: Task) -> list[Value]:
    """Return the values of one run, here and now."""
    return list(table()[task.figure].work(task))


def play_all(tasks: Sequence[Task], order: Order) -> Iterator[tuple[Task, list[Value]]]:
    """Yield every run with its values, as they end.

    Raises:
        OperatorFault: processes, or the cluster, were lost again and again.
    """
    left = dict.fromkeys(tasks)
    for _ in range(_ATTEMPTS):
        if not left:
            return
        if order.jobs == 1 and order.cluster is None:
            yield from ((task, play(task)) for task in tasks)
            return
        executor = _executor(order)
        try:
            futures = {executor.submit(play, task): task for task in left}
            for future in as_completed(futures):
                values = future.result()
                del left[futures[future]]
                yield futures[future], values
        except (BrokenExecutor, CancelledError, OSError):
            continue  # whoever was lost, the runs that are left are begun anew
        finally:
            executor.shutdown(wait=False, cancel_futures=True)
    if left:
        raise OperatorFault(
            f"the processes at work were lost {_ATTEMPTS} times with {len(left)} runs to go; what "
            "is done is kept. Look at memory and at the cluster, and give the same command again"
        )


def _executor(order: Order) -> Executor:
    if order.cluster is None:
        # Forking a process that has threads may hang it.
        return ProcessPoolExecutor(order.jobs, mp_context=get_context("spawn"))
    try:
        from distributed import Client  # type: ignore[import-not-found,unused-ignore]
    except ImportError as fault:
        raise OperatorFault(
            f"--cluster {order.cluster} came but dask.distributed is not installed here, which "
            "speaks to clusters. Install heatveil[cluster], or leave it out for processes here"
        ) from fault
    try:
        executor: Executor = Client(order.cluster, timeout="10s").get_executor(
            pure=False, retries=_ATTEMPTS
        )
    except (OSError, ValueError) as fault:
        raise OperatorFault(
            f"--cluster {order.cluster} came but no scheduler answers there ({fault}); it would "
            "do the work. Begin one with dask scheduler, and workers with the same heatveil"
        ) from fault
    return executor


@lru_cache(maxsize=1)
def _version() -> str:
    return version("heatveil")


@lru_cache(maxsize=1)
def _content(path: str) -> str:
    """Return what tells a file of people from another, wherever it lies."""
    return sha256(Path(path).read_bytes()).hexdigest()[:16]


def _settings(task: Task) -> dict[str, Any]:
    return {
        "version": _version(),
        "seed": task.seed,
        "scale": task.scale,
        "points": _content(task.points) if task.points else "",
        "place": " ".join(map(str, task.place)),
        "run": task.run,
    }


def _keep(path: Path, task: Task, values: Sequence[Value]) -> None:
    """Add a run to its table."""
    try:
        with path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, _COLUMNS)
            if file.tell() == 0:
                writer.writeheader()
            writer.writerows(
                {**_settings(task), "of": len(values), **one._asdict()} for one in values
            )
    except OSError as fault:
        raise OperatorFault(
            f"{path} cannot be written ({fault.strerror}); the runs that are in it are kept. Make "
            "room for it and give the same command again"
        ) from fault


def _known(path: Path, tasks: set[Task]) -> dict[Task, list[Value]]:
    """Return the runs of these that a table holds whole."""
    if not path.exists():
        return {}
    by_words = {tuple(map(str, _settings(task).values())): task for task in tasks}
    found: dict[Task, list[Value]] = {}
    lengths: dict[Task, int] = {}
    try:
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                task = by_words.get(tuple(row[name] or "" for name in _COLUMNS[:6]))
                if task is None or None in row.values():
                    continue
                value = Value(row["panel"], row["line"], float(row["at"]), float(row["value"]))
                found.setdefault(task, []).append(value)
                lengths[task] = int(row["of"])
    except (OSError, ValueError, KeyError, UnicodeDecodeError) as fault:
        raise OperatorFault(
            f"{path} is no table of earlier runs ({fault}) but one that is there is gone on with; "
            "it would be spoilt. Move it away or give another --folder"
        ) from fault
    return {task: values for task, values in found.items() if len(values) == lengths[task]}

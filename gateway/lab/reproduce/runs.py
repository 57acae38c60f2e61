"""Runs of figures on all cores, and the tables of values that they leave, a folder a figure.

A run is told everything by its Task, its chance included, so a figure is the same to the last
digit wherever its runs were made and in whichever order they ended. Every second's worth of runs
is a CSV of its own; what an earlier order has left there, by the same code and under the same
settings, is not computed again.
"""

import csv
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeAlias

from ...faults import OperatorFault
from ...output import Stage, check_writable, make_folder, write_all
from .figures import Figure, Finding, Results, Task, Value, load_figures
from .picture import draw_panels

Played: TypeAlias = dict[Task, list[Value]]

_SETTINGS = ("code", "seed", "scale", "points", "place", "run")
_ROOT = Path(__file__).parents[3]
# Whatever has a part in a value; a change of the page or of a command is none.
_PARTS = ("edge", "physics", "recovery", "gateway/mechanisms", "gateway/lab/reproduce")
_LIBRARIES = ("numpy", "scipy", "cvxpy", "clarabel", "pot", "numba")  # so has each of these
_CHUNK, _CHUNK_S = 64, 1.0  # the most runs that are handed over at once, and for how long
_ATTEMPTS = 3  # pools that may lose a process before we give up


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How figures are made.

    Args:
        trials: runs at each place; None for as many as the figure wants.
        seed: of people and answers; equal orders have equal figures.
        quick: fewer runs, people and places, as each figure says.
        points: a file of people in the place of the made city.
        jobs: processes at work at once.
    """

    trials: int | None = None
    seed: int = 1
    quick: bool = False
    points: Path | None = None
    jobs: int = 1


def make_figures(
    figures: Sequence[Figure], order: RunOptions, folder: Path, stage: Stage
) -> Iterator[tuple[Figure, Results, Finding]]:
    """Yield each figure when its last run is in, its table and its picture being written.

    Raises:
        OperatorFault: a place cannot be written to, or processes died. What was written before
            stays.
    """
    points = str(order.points.resolve()) if order.points else ""
    _hash_content.cache_clear()  # the file may be another than last time
    check_writable(
        [folder / f"{one.name}{ending}" for one in figures for ending in (".csv", ".png")],
        [order.points] if order.points else [],
    )
    asked = {
        one.name: one.list_tasks(order.trials, order.seed, order.quick, points) for one in figures
    }
    found = {name: _read_known(folder / name, tasks) for name, tasks in asked.items()}
    left = [task for tasks in asked.values() for task in tasks if task not in found[task.figure]]
    total, began, done = len(left), time.monotonic(), 0
    waiting = list(figures)
    results = run_all_tasks(left, order)
    while waiting:
        for figure in [one for one in waiting if len(found[one.name]) == len(asked[one.name])]:
            waiting.remove(figure)
            played = {task: found[figure.name][task] for task in asked[figure.name]}
            results_of = Results((task.run, one) for task in played for one in played[task])
            panels = results_of.make_panels(figure.across, figure.up)
            write_all(
                {
                    folder / f"{figure.name}.csv": partial(_write, _make_rows(played)),
                    folder / f"{figure.name}.png": partial(
                        draw_panels, f"{figure.name}: {figure.claim}", panels
                    ),
                }
            )
            yield figure, results_of, figure.check(results_of)
        if waiting:
            played = next(results)
            name = next(iter(played)).figure
            _keep(folder / name, played)
            found[name] |= played
            done += len(played)
            minutes = (time.monotonic() - began) / done * (total - done) / 60
            stage(f"{name}: {done} of {total} runs, about {minutes:.0f} min left")


def run_tasks(tasks: Sequence[Task]) -> tuple[str, Played]:
    """Return `hash_code`, and the values of the first of some runs: a second's worth.

    A run of a few milliseconds would take longer to hand over than to make.
    """
    until_s, played = time.monotonic() + _CHUNK_S, Played()
    for task in tasks:
        played[task] = list(load_figures()[task.figure].work(task))
        if time.monotonic() >= until_s:
            break
    return hash_code(), played


def run_all_tasks(tasks: Sequence[Task], order: RunOptions) -> Iterator[Played]:
    """Yield every run with its values, some of one figure at a time, as they end.

    Raises:
        OperatorFault: processes were lost again and again.
    """
    left = dict.fromkeys(tasks)
    for _ in range(_ATTEMPTS):
        if not left:
            return
        many = 2 * order.jobs if order.jobs > 1 else 1
        with _open_executor(order.jobs) as executor:
            queue, running = deque(left), dict[Future[Any], list[Task]]()
            try:
                while queue or running:
                    while queue and len(running) < many:
                        some = _take(queue, many)
                        running[executor.submit(run_tasks, some)] = some
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        some = running.pop(future)
                        theirs, played = future.result()
                        if theirs != hash_code():
                            raise OperatorFault(
                                "the code has changed while the figure was made, so that it would "
                                "mix two. Run this again: finished runs are kept"
                            )
                        queue.extendleft(task for task in reversed(some) if task not in played)
                        for task in played:
                            del left[task]
                        yield played
            except BrokenExecutor:
                continue  # whoever was lost, the runs that are left are begun anew
    if left:
        raise OperatorFault(
            f"the worker processes died {_ATTEMPTS} times with {len(left)} runs left; finished "
            "runs are kept. Check memory, and give the same command again"
        )


def _take(queue: deque[Task], hands: int) -> list[Task]:
    """Take the next runs from a queue, of one figure, and no more than leaves some for others."""
    some = [queue.popleft()]
    most = min(_CHUNK, 1 + len(queue) // hands)
    while queue and len(some) < most and queue[0].figure == some[0].figure:
        some.append(queue.popleft())
    return some


class _Here(Executor):
    """One process, this one: a run is made when it is handed over."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Return a future that is done."""
        future = Future[Any]()
        future.set_result(fn(*args, **kwargs))
        return future


@contextmanager
def _open_executor(jobs: int) -> Iterator[Executor]:
    # Forking a process that has threads may hang it.
    spawn = get_context("spawn")
    executor = ProcessPoolExecutor(jobs, mp_context=spawn) if jobs > 1 else _Here()
    try:
        yield executor
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


@lru_cache(maxsize=1)
def hash_code() -> str:
    """Return what tells the heatveil that computes values from any other: sources, libraries."""
    digest = sha256()
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            digest.update(f"{name} {version(name)}\0".encode())
    for path in sorted(path for part in _PARTS for path in (_ROOT / part).rglob("*.py")):
        digest.update(str(path.relative_to(_ROOT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


@lru_cache(maxsize=1)
def _hash_content(path: str) -> str:
    """Return what tells a file of people from another, wherever it lies."""
    return sha256(Path(path).read_bytes()).hexdigest()[:16]


def _list_settings(task: Task) -> dict[str, Any]:
    return {
        "code": hash_code(),
        "seed": task.seed,
        "scale": task.scale,
        "points": _hash_content(task.points) if task.points else "",
        "place": " ".join(map(str, task.place)),
        "run": task.run,
    }


def _make_rows(played: Mapping[Task, Sequence[Value]]) -> list[dict[str, Any]]:
    return [{**_list_settings(task), **one._asdict()} for task in played for one in played[task]]


def _keep(folder: Path, played: Played) -> None:
    """Add runs to the folder of their figure, as a file that is whole or not there."""
    first = " ".join(map(str, _list_settings(next(iter(played))).values()))
    make_folder(folder)
    name = sha256(first.encode()).hexdigest()[:16] + ".csv"
    write_all({folder / name: partial(_write, _make_rows(played))})


def _write(rows: Sequence[dict[str, Any]], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def _read_known(folder: Path, tasks: Sequence[Task]) -> Played:
    """Return the runs of these that a folder holds."""
    by_words = {tuple(map(str, _list_settings(task).values())): task for task in tasks}
    found = Played()
    for path in sorted(folder.glob("[!.]*.csv")):
        try:
            with path.open(newline="", encoding="utf-8") as file:
                for row in csv.DictReader(file):
                    task = by_words.get(tuple(row[name] for name in _SETTINGS))
                    if task is not None:
                        at, value = float(row["at"]), float(row["value"])
                        one = Value(row["panel"], row["line"], at, value)
                        found.setdefault(task, []).append(one)
        except (OSError, ValueError, KeyError) as fault:
            raise OperatorFault(
                f"{path} cannot be read as a table of earlier runs ({fault}) and is not "
                "overwritten. Move it away, or give another --folder"
            ) from fault
    return found

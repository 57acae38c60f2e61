"""Copies of the source in which mistakes are made, two at a time, and tried."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from tests import processes
from tests.mutants import trial
from tests.mutants.planting import PACKAGES, ROOT, Row, copied, plant, prepare, restore

WORKERS = 2
WRITTEN = ("report.json", "notes.json", "said.txt")  # by `trial.py`


class Bench:
    """A copy to make mistakes in, and what tries them: with heatveil ready, or as it is there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        copied(folder, [*PACKAGES, "tests"])
        os.link(ROOT / "pyproject.toml", folder / "pyproject.toml")
        if (ROOT / ".tools").is_dir():
            (folder / ".tools").symlink_to(ROOT / ".tools")
        # Both now: a program that a test starts ends with that test.
        self._tries = {heat: self._start(heat) for heat in ("warm", "cold")}
        self._ready: set[str] = set()

    def _start(self, heat: str) -> processes.Child:
        return processes.Child(
            [sys.executable, "-P", Path(__file__).with_name("trial.py"), heat, self._folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={name: one for name, one in os.environ.items() if not name.startswith("HEATVEIL_")}
            | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
            | {"MPLCONFIGDIR": str(self._folder)},
        )

    def run(self, row: Row, what: str, names: Sequence[str]) -> tuple[int, list[str]]:
        """Audit or test the copy with this mistake in it, and take that back again.

        Returns:
            The exit status, and what is in the report, the notes and among what was said.
        """
        for name in WRITTEN:
            (self._folder / name).unlink(missing_ok=True)
        for heat in ("warm", "cold") if row.where else ("cold",):  # as it is, as it is started
            if heat not in self._ready:  # what it loads must be without a mistake
                assert self._read(heat) == "ready\n"
                self._ready.add(heat)
            file = plant(self._folder, row) if row.where else ""
            try:
                status = self._ask(heat, [file, what, *names])
            finally:
                if file:
                    restore(self._folder, file)
            if status != trial.COLD:
                break
        paths = [self._folder / name for name in WRITTEN]
        return status, [path.read_text() if path.exists() else "" for path in paths]

    def _ask(self, heat: str, words: Sequence[str]) -> int:
        asked = self._tries[heat].stdin
        assert asked is not None
        print(json.dumps(words), file=asked, flush=True)
        return int(self._read(heat))

    def _read(self, heat: str) -> str:
        answer = self._tries[heat].stdout
        return str(answer.readline())

    def close(self) -> None:
        """End what tries."""
        for one in self._tries.values():
            one.communicate()


@contextmanager
def outcomes(
    request: pytest.FixtureRequest, home: Path, attempt: Callable[[Bench, Any], Any]
) -> Iterator[dict[Any, "Future[Any]"]]:
    """Give what comes of each mistake that is a `mutant` of the tests that will be run."""
    wanted = [
        item.callspec.params["mutant"]
        for item in request.session.items
        if item.path == request.path and hasattr(item, "callspec")
    ]
    prepare(one for one in wanted if one.where)
    idle: SimpleQueue[Bench] = SimpleQueue()
    benches = [Bench(home / str(place)) for place in range(WORKERS)]
    for one in benches:
        idle.put(one)

    def tried(mutant: Any) -> Any:
        bench = idle.get()
        try:
            return attempt(bench, mutant)
        finally:
            idle.put(bench)

    with ThreadPoolExecutor(WORKERS) as pool:
        yield {mutant: pool.submit(tried, mutant) for mutant in wanted}
        pool.shutdown(cancel_futures=True)
    for one in benches:
        one.close()
    shutil.rmtree(home)

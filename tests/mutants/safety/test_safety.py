"""Every known way to lose, double or give away something is rejected by a test of its package.

The tables beside this file list them, one mistake a row, with the test that must see it. The
mistake is made in a copy of the source, and the copy's own test is run there; it must fail by an
assertion, for an exception that has nothing to do with the trap is no rejection.
"""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

import pytest

from tests import processes
from tests.mutants.planting import PACKAGES, ROOT, copied, node_id, plant, prepare, restore

TABLES = sorted(Path(__file__).parent.glob("*.toml"))
SAYS = {"AssertionError", "Failed"}  # how a test says that something is not so
WORKERS = 2


class Mistake(NamedTuple):
    """One mistake: what it means, where it is made, and the test that must reject it.

    raises: an exception that is the rejection, where the code itself finds that it was misled.
    needs: a program that the test is skipped without.
    """

    trap: str
    where: str
    old: str
    new: str
    test: str
    raises: str = ""
    needs: str = ""


class Outcome(NamedTuple):
    """What became of the tests of a copy."""

    status: int
    notes: dict[str, dict[str, str]]
    words: str


BY_TABLE = [
    [
        Mistake(**row | {"test": node_id(row["test"])})
        for row in tomllib.loads(table.read_text("utf-8"))["mistake"]
    ]
    for table in TABLES
]
MISTAKES = [mistake for table in BY_TABLE for mistake in table]
FIRST = [table[0] for table in BY_TABLE]  # what `make test` tries
CONTROL = Mistake("nothing", "", "", "", "")


class Bench:
    """A process that has other people's packages ready, and a copy to make mistakes in."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        copied(folder, [*PACKAGES, "tests"])
        os.link(ROOT / "pyproject.toml", folder / "pyproject.toml")
        self._process = processes.Child(
            [sys.executable, "-P", Path(__file__).with_name("trial.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )

    def tried(self, mistake: Mistake) -> Outcome:
        """Return what becomes of one mistake, which is taken back again."""
        if not mistake.where:
            return self._run(sorted({one.test for one in MISTAKES}))
        file = plant(self._folder, mistake)
        try:
            return self._run([mistake.test])
        finally:
            restore(self._folder, file)

    def _run(self, tests: list[str]) -> Outcome:
        asked, answer = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answer is not None
        notes, words = self._folder / "notes.json", self._folder / "said.txt"
        for old in (notes, words):
            old.unlink(missing_ok=True)
        print(json.dumps([str(self._folder), *tests]), file=asked, flush=True)
        status = int(answer.readline())
        found = json.loads(notes.read_text()) if notes.exists() else {}
        return Outcome(status, found, words.read_text()[-3000:])

    def close(self) -> None:
        """End it."""
        self._process.communicate()


@pytest.fixture(scope="session")
def trials(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[Mistake, "Future[Outcome]"]]:
    """Give the outcome of every mistake that was asked for, two of them tried at a time."""
    wanted = [
        item.callspec.params["mistake"]
        for item in request.session.items
        if item.path == Path(__file__) and "mistake" in getattr(item, "fixturenames", ())
    ]
    prepare(one for one in wanted if one != CONTROL)
    home = tmp_path_factory.mktemp("safety")
    idle: SimpleQueue[Bench] = SimpleQueue()
    benches = [Bench(home / str(place)) for place in range(WORKERS)]
    for one in benches:
        idle.put(one)

    def tried(mistake: Mistake) -> Outcome:
        bench = idle.get()
        try:
            return bench.tried(mistake)
        finally:
            idle.put(bench)

    with ThreadPoolExecutor(WORKERS) as pool:
        yield {mistake: pool.submit(tried, mistake) for mistake in wanted}
        pool.shutdown(cancel_futures=True)
    for one in benches:
        one.close()
    shutil.rmtree(home)


@pytest.mark.long
@pytest.mark.parametrize("mistake", [CONTROL], ids=["untouched"])
def test_the_untouched_copy_passes_every_test_of_the_tables(mistake: Mistake, trials) -> None:
    """What follows would mean nothing if they failed anyhow."""
    outcome = trials[mistake].result()

    assert [one for one, note in outcome.notes.items() if note["outcome"] != "passed"] == []
    assert outcome.status == 0, outcome.words
    assert len(outcome.notes) == len({one.test for one in MISTAKES}), outcome.words


@pytest.mark.parametrize(
    "mistake",
    [
        pytest.param(one, marks=[pytest.mark.long] * (one not in FIRST), id=one.trap)
        for one in MISTAKES
    ],
)
def test_a_planted_mistake_is_rejected(
    mistake: Mistake, trials, need: Callable[[str], str]
) -> None:
    """Somebody made each of these, or will."""
    if mistake.needs:
        need(mistake.needs)
    outcome = trials[mistake].result()
    note = outcome.notes.get(mistake.test, {})

    assert outcome.status == 1, f"it survived, or broke off: {mistake.trap}\n{outcome.words}"
    assert (note["when"], note["outcome"]) == ("call", "failed"), outcome.words
    assert note["raised"] in ({mistake.raises} if mistake.raises else SAYS), outcome.words

"""Every known mistake, planted in a copy of the source, is rejected by that copy's own audit.

The tables beside this file list them, one mistake a row, each with the layer that must see it.
An audit that no mistake can fail would look the same as one that finds nothing. A row whose code
is no longer in the source fails (see `planting`): the trap would have gone unwatched.
"""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

import pytest

from tests import processes
from tests.mutants.planting import PACKAGES, ROOT, copied, plant, prepare

TABLES = sorted(Path(__file__).parent.glob("*.toml"))
BROKE_OFF = "the layer runs to its end"  # the runner's claim on a layer that raised
WORKERS = 2


class Mutant(NamedTuple):
    """One mistake: what it means, where it is made, and the layer that must reject it.

    crash: the audit may reject it by breaking off; else a claim must fail for what it says, for
    a traceback that has nothing to do with the trap is no rejection.
    """

    trap: str
    where: str
    old: str
    new: str
    layer: str
    crash: bool = False


class Outcome(NamedTuple):
    """What the audit of a copy said of it."""

    status: int
    failed: tuple[str, ...]  # the claims that do not hold
    broke: bool  # whether a layer broke off
    words: str  # what it wrote beside its report


MUTANTS = [
    Mutant(**row)
    for table in TABLES
    for row in tomllib.loads(table.read_text("utf-8")).get("mutant", [])
]
# The untouched copy must pass what the mutants fail, or they would fail for nothing.
CONTROL = Mutant("nothing", "", "", "", "")
LAYERS = sorted({mutant.layer for mutant in MUTANTS})
FIRST = {mutant.layer: mutant for mutant in reversed(MUTANTS)}  # what `make test` tries


class Warm:
    """A process that has other people's packages ready, and audits one copy after the other."""

    def __init__(self, home: Path) -> None:
        self._process = processes.Child(
            [sys.executable, Path(__file__).with_name("warm.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={
                "PATH": os.environ.get("PATH", ""),
                "PYTHONDONTWRITEBYTECODE": "1",
                "OPENBLAS_NUM_THREADS": "1",
                "MPLCONFIGDIR": str(home),
            },
        )

    def audited(self, folder: Path, *layers: str) -> Outcome:
        """Return what a copy's own quick audit says of itself."""
        asked, answer = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answer is not None
        print(json.dumps([str(folder), *layers]), file=asked, flush=True)
        status = int(answer.readline())
        words = (folder / "complaints.txt").read_text()[-3000:]
        try:
            claims = json.loads((folder / "report.json").read_text())["claims"]
        except ValueError:
            return Outcome(status, (), True, words)
        failed = [claim for claim in claims if claim["outcome"] == "fails"]
        said = tuple(f"{one['layer']}: {one['sentence']} ({one['detail']})" for one in failed)
        broke = any(one["sentence"].endswith(BROKE_OFF) for one in failed)
        return Outcome(status, said, broke, words)

    def close(self) -> None:
        """End it."""
        self._process.communicate()


def tried(folder: Path, mutant: Mutant, idle: "SimpleQueue[Warm]") -> Outcome:
    """Return what becomes of one mistake."""
    copied(folder, PACKAGES)
    if (ROOT / ".tools").is_dir():
        (folder / ".tools").symlink_to(ROOT / ".tools")
    if mutant.where:
        plant(folder, mutant)
    warm = idle.get()
    try:
        return warm.audited(folder, *([mutant.layer] if mutant.where else LAYERS))
    finally:
        idle.put(warm)
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def outcomes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[Mutant, "Future[Outcome]"]]:
    """Give the outcome of every mutant that was asked for, two of them tried at a time."""
    wanted = [
        item.callspec.params["mutant"]
        for item in request.session.items
        if "outcomes" in getattr(item, "fixturenames", ()) and hasattr(item, "callspec")
    ]
    prepare(one for one in wanted if one != CONTROL)
    home = tmp_path_factory.mktemp("mutants")
    idle: SimpleQueue[Warm] = SimpleQueue()
    warm = [Warm(home) for _ in range(WORKERS)]
    for one in warm:
        idle.put(one)
    with ThreadPoolExecutor(WORKERS) as pool:
        yield {
            mutant: pool.submit(tried, home / str(place), mutant, idle)
            for place, mutant in enumerate(wanted)
        }
        pool.shutdown(cancel_futures=True)
    for one in warm:
        one.close()


@pytest.mark.long
@pytest.mark.parametrize("mutant", [CONTROL], ids=["untouched"])
def test_the_untouched_source_is_not_rejected(mutant: Mutant, outcomes) -> None:
    """What follows would mean nothing if the copy were rejected as it is."""
    outcome = outcomes[mutant].result()

    assert outcome.failed == (), outcome.words
    assert outcome.status in (0, 3), outcome.words  # 3: a port of MicroPython is not here


@pytest.mark.parametrize(
    "mutant",
    [
        pytest.param(one, marks=[pytest.mark.long] * (FIRST[one.layer] != one), id=name)
        for one in MUTANTS
        for name in [f"{one.layer}: {one.trap}"]
    ],
)
def test_a_planted_mistake_is_rejected(mutant: Mutant, outcomes) -> None:
    """Somebody made each of these; the audit says so before anybody publishes."""
    outcome = outcomes[mutant].result()

    assert outcome.status == 1, f"it survived: {mutant.trap}\n{outcome.words}"
    assert mutant.crash or not outcome.broke, f"broke off: {outcome.failed}\n{outcome.words}"
    assert any(sentence.startswith(f"{mutant.layer}:") for sentence in outcome.failed)

"""Every known way to lose, double or give away something is rejected by a test of its package.

The tables beside this file list them, one mistake a row, under the test that must see it. The
mistake is made in a copy of the source, and the copy's own test is run there; it must fail by an
assertion, for an exception that has nothing to do with the trap is no rejection.
"""

import json
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.mutants import benches
from tests.mutants.benches import Bench
from tests.mutants.planting import node_id

TABLES = sorted(Path(__file__).parent.glob("*.toml"))
SAYS = {"AssertionError", "Failed"}  # how a test says that something is not so


class Mistake(NamedTuple):
    """One mistake: what it means, where it is made, and the test that must reject it.

    raises: an exception that is the rejection, where the code itself finds that it was misled.
    needs: a program that the test is skipped without.
    """

    test: str
    trap: str
    where: str
    old: str
    new: str = ""
    raises: str = ""
    needs: str = ""


class Outcome(NamedTuple):
    """What became of the tests of a copy."""

    status: int
    notes: dict[str, dict[str, str]]
    words: str


BY_TABLE = [
    [
        Mistake(node_id(test), **row)
        for test, rows in tomllib.loads(table.read_text("utf-8")).items()
        for row in rows
    ]
    for table in TABLES
]
MISTAKES = [mistake for table in BY_TABLE for mistake in table]
FIRST = [table[0] for table in BY_TABLE]  # what `make test` tries
CONTROL = Mistake("", "nothing", "", "")


def run_tests(bench: Bench, mistake: Mistake) -> Outcome:
    """Return what becomes of a mistake where its test is run, or of all tests without one."""
    tests = [mistake.test] if mistake.where else sorted({one.test for one in MISTAKES})
    status, (_, notes, words) = bench.run(mistake, "tests", tests)
    return Outcome(status, json.loads(notes or "{}"), words[-3000:])


@pytest.fixture(scope="module")
def trials(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[Mistake, "Future[Outcome]"]]:
    """Give the outcome of every mistake that was asked for."""
    with benches.outcomes(request, tmp_path_factory.mktemp("safety"), run_tests) as found:
        yield found


@pytest.mark.long
@pytest.mark.timeout(1800)  # all of it, beside others
@pytest.mark.parametrize("mutant", [CONTROL], ids=["untouched"])
def test_the_untouched_copy_passes_every_test_of_the_tables(mutant: Mistake, trials) -> None:
    """What follows would mean nothing if they failed anyhow."""
    outcome = trials[mutant].result()

    assert [one for one, note in outcome.notes.items() if note["outcome"] != "passed"] == []
    assert outcome.status == 0, outcome.words
    assert len(outcome.notes) == len({one.test for one in MISTAKES}), outcome.words


@pytest.mark.parametrize(
    "mutant",
    [
        pytest.param(one, marks=[pytest.mark.long] * (one not in FIRST), id=one.trap)
        for one in MISTAKES
    ],
)
def test_a_planted_mistake_is_rejected(
    mutant: Mistake, trials, need: Callable[[str], str]
) -> None:
    """Somebody made each of these, or will."""
    if mutant.needs:
        need(mutant.needs)
    outcome = trials[mutant].result()
    note = outcome.notes.get(mutant.test, {})

    assert outcome.status == 1, f"it survived, or broke off: {mutant.trap}\n{outcome.words}"
    assert (note["when"], note["outcome"]) == ("call", "failed"), outcome.words
    assert note["raised"] in ({mutant.raises} if mutant.raises else SAYS), outcome.words

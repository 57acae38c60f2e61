"""Every known mistake, planted in a copy of the source, is rejected by what must see it there.

The tables beside this file list mistakes under the layer of the audit, and those in `safety` under
the test, one mistake a row. An audit or a test that no mistake can fail would look the same as one
that finds nothing. A row whose code is no longer in the source fails (see `planting`): the trap
would have gone unwatched.
"""

import json
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.mutants import benches, changes
from tests.mutants.benches import Bench
from tests.mutants.planting import node_id

HERE = Path(__file__).parent
BROKE_OFF = "the layer runs to its end"  # the runner's claim on a layer that raised
SAYS = {"AssertionError", "Failed"}  # how a test says that something is not so


class Mutant(NamedTuple):
    """One mistake: what it means, where it is made, and the layer or the test that must reject it.

    An exception that has nothing to do with the trap is no rejection: a claim, or an assertion,
    must fail for what it says.

    crash: the audit may reject it by breaking off.
    raises: an exception that is the rejection, where the code itself finds that it was misled.
    needs: a program that the test is skipped without.
    """

    what: str  # that is run: "audit" or "tests"
    guard: str
    trap: str
    where: str
    old: str
    new: str = ""
    crash: bool = False
    raises: str = ""
    needs: str = ""


class Outcome(NamedTuple):
    """What became of a copy's audit, or of its tests."""

    status: int
    claims: list[dict[str, Any]]  # that do not hold; none where there is no report
    notes: dict[str, dict[str, str]]  # of each test
    words: str  # what was said beside


def read_tables(folder: Path, what: str) -> list[list[Mutant]]:
    """Return the rows of each table in a folder."""
    return [
        [
            Mutant(what, guard if what == "audit" else node_id(guard), **row)
            for guard, rows in tomllib.loads(table.read_text("utf-8")).items()
            for row in rows
        ]
        for table in sorted({*folder.glob("*.toml")} - {changes.DATA})
    ]


AUDITED = [one for table in read_tables(HERE, "audit") for one in table]
BY_TEST = read_tables(HERE / "safety", "tests")
TESTED = [one for table in BY_TEST for one in table]
# What `make test` tries: the first of each layer, and of each table of tests.
FIRST = {*{one.guard: one for one in reversed(AUDITED)}.values(), *(table[0] for table in BY_TEST)}
# The untouched copy must pass what the mutants fail, or they would fail for nothing: all of the
# audit, so that a build server need not run it once more, and all tests of the tables.
CONTROLS = [Mutant(what, "", "nothing", "", "") for what in ("audit", "tests")]


def try_mistake(bench: Bench, mutant: Mutant) -> Outcome:
    """Return what the copy says of a mistake: its own audit, or its test; all, without one."""
    every = [] if mutant.what == "audit" else sorted({one.guard for one in TESTED})
    names = [mutant.guard] if mutant.where else every
    status, (report, notes, words) = bench.run(mutant, mutant.what, names)
    try:
        claims = json.loads(report)["claims"]
    except ValueError:
        claims = []
    failed = [claim for claim in claims if not claim["holds"]]
    return Outcome(status, failed, json.loads(notes or "{}"), words[-3000:])


@pytest.fixture(scope="module")
def outcomes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[Mutant, "Future[Outcome]"]]:
    """Give the outcome of every mutant that was asked for."""
    with benches.outcomes(request, tmp_path_factory.mktemp("mutants"), try_mistake) as found:
        yield found


@pytest.mark.long
@pytest.mark.timeout(1800)  # all of it, beside others
@pytest.mark.parametrize("mutant", CONTROLS, ids=["audit", "tests"])
def test_the_untouched_source_is_not_rejected(mutant: Mutant, outcomes) -> None:
    """What follows would mean nothing if the copy were rejected as it is."""
    outcome = outcomes[mutant].result()

    assert outcome.claims == [], outcome.words
    assert [one for one, note in outcome.notes.items() if note["outcome"] != "passed"] == []
    assert outcome.status == 0, outcome.words
    if mutant.what == "tests":
        assert len(outcome.notes) == len({one.guard for one in TESTED}), outcome.words


@pytest.mark.parametrize(
    "mutant",
    [
        pytest.param(one, marks=[pytest.mark.long] * (one not in FIRST), id=name)
        for one in AUDITED
        for name in [f"{one.guard}: {one.trap}"]
    ],
)
def test_a_planted_mistake_is_rejected(mutant: Mutant, outcomes) -> None:
    """Somebody made each of these; the audit says so before anybody publishes."""
    outcome = outcomes[mutant].result()
    failed = [f"{one['layer']}: {one['sentence']} ({one['detail']})" for one in outcome.claims]
    broke = not failed or any(one["sentence"].endswith(BROKE_OFF) for one in outcome.claims)

    assert outcome.status == 1, f"it survived: {mutant.trap}\n{outcome.words}"
    assert mutant.crash or not broke, f"broke off: {failed}\n{outcome.words}"
    assert any(sentence.startswith(f"{mutant.guard}:") for sentence in failed)


@pytest.mark.parametrize(
    "mutant",
    [
        pytest.param(one, marks=[pytest.mark.long] * (one not in FIRST), id=one.trap)
        for one in TESTED
    ],
)
def test_a_planted_mistake_fails_its_test(
    mutant: Mutant, outcomes, need: Callable[[str], str]
) -> None:
    """Somebody made each of these, or will: a way to lose, double or give away something."""
    if mutant.needs:
        need(mutant.needs)
    outcome = outcomes[mutant].result()
    note = outcome.notes.get(mutant.guard, {})

    assert outcome.status == 1, f"it survived, or broke off: {mutant.trap}\n{outcome.words}"
    assert (note["when"], note["outcome"]) == ("call", "failed"), outcome.words
    assert note["raised"] in ({mutant.raises} if mutant.raises else SAYS), outcome.words

"""Every known mistake, planted in a copy of the source, is rejected by that copy's own audit.

The tables beside this file list them, one mistake a row, under the layer that must see it.
An audit that no mistake can fail would look the same as one that finds nothing. A row whose code
is no longer in the source fails (see `planting`): the trap would have gone unwatched.
"""

import json
import tomllib
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.mutants import benches, changes
from tests.mutants.benches import Bench

TABLES = sorted(set(Path(__file__).parent.glob("*.toml")) - {changes.DATA})
BROKE_OFF = "the layer runs to its end"  # the runner's claim on a layer that raised


class Mutant(NamedTuple):
    """One mistake: what it means, where it is made, and the layer that must reject it.

    crash: the audit may reject it by breaking off; else a claim must fail for what it says, for
    a traceback that has nothing to do with the trap is no rejection.
    """

    layer: str
    trap: str
    where: str
    old: str
    new: str = ""
    crash: bool = False


class Outcome(NamedTuple):
    """What the audit of a copy said of it."""

    status: int
    failed: tuple[str, ...]  # the claims that do not hold
    broke: bool  # whether a layer broke off
    words: str  # what it wrote beside its report


MUTANTS = [
    Mutant(layer, **row)
    for table in TABLES
    for layer, rows in tomllib.loads(table.read_text("utf-8")).items()
    for row in rows
]
# The untouched copy must pass what the mutants fail, or they would fail for nothing: all of the
# audit, so that a build server need not run it once more.
CONTROL = Mutant("", "nothing", "", "")
FIRST = {mutant.layer: mutant for mutant in reversed(MUTANTS)}  # what `make test` tries


def run_audit(bench: Bench, mutant: Mutant) -> Outcome:
    """Return what the copy's own quick audit says of a mistake."""
    layers = [mutant.layer] if mutant.where else []  # all of them
    status, (report, _, words) = bench.run(mutant, "audit", layers)
    try:
        claims = json.loads(report)["claims"]
    except ValueError:
        return Outcome(status, (), True, words[-3000:])
    failed = [claim for claim in claims if not claim["holds"]]
    said = tuple(f"{one['layer']}: {one['sentence']} ({one['detail']})" for one in failed)
    broke = any(one["sentence"].endswith(BROKE_OFF) for one in failed)
    return Outcome(status, said, broke, words[-3000:])


@pytest.fixture(scope="module")
def outcomes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[Mutant, "Future[Outcome]"]]:
    """Give the outcome of every mutant that was asked for."""
    with benches.outcomes(request, tmp_path_factory.mktemp("mutants"), run_audit) as found:
        yield found


@pytest.mark.long
@pytest.mark.timeout(1800)  # all of it, beside others
@pytest.mark.parametrize("mutant", [CONTROL], ids=["untouched"])
def test_the_untouched_source_is_not_rejected(mutant: Mutant, outcomes) -> None:
    """What follows would mean nothing if the copy were rejected as it is."""
    outcome = outcomes[mutant].result()

    assert outcome.failed == (), outcome.words
    assert outcome.status == 0, outcome.words


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

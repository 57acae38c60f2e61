"""`heatveil audit`: one command, a report to read, and one to compute with."""

import json
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from gateway.audit import layers
from gateway.audit.claim import (
    ALPHA,
    FALSE_ALARM,
    WHOLE,
    Claim,
    Effort,
    claim_at_most,
    claim_fact,
    claim_none,
    is_refused,
)
from gateway.audit.layers import LAYERS, VERBS, Layer, audit, run_layer
from gateway.audit.report import TITLE, format_page
from gateway.cli import audit as command
from gateway.mechanisms import MECHANISMS

Heatveil = Callable[..., Any]


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put other layers into the table, whose claims are given."""

    def plant(*claims: Claim) -> None:
        def run(mechanism: Any, effort: Effort) -> Iterator[Claim]:
            for verb in layers.VERBS if mechanism else ():
                with suppress(TypeError):  # called is called
                    getattr(mechanism, verb)()
            yield from claims

        table = (Layer("planted", "what is planted", run),)
        # Not in the audit's own table: what is planted cannot be sent to a process.
        monkeypatch.setattr(command, "LAYERS", table)

    return plant


@pytest.mark.long
def test_an_audit_that_holds_leaves_a_page_and_numbers(heatveil: Heatveil, tmp_path: Path) -> None:
    """For a reader, and for a program."""
    folder = tmp_path / "audit"
    said = heatveil("audit", "--layer", "price", "--layer", "promise", "--folder", folder)
    page, found = (
        (folder / "audit.md").read_text(),
        json.loads((folder / "audit.json").read_text()),
    )

    assert "claims hold." in said.success
    assert page.startswith(TITLE)
    assert found["holds"] is True
    assert found["effort"] == "quick"
    assert found["false_alarm"] <= found["false_alarm_allowed"] == 1e-6
    assert {claim["layer"] for claim in found["claims"]} == {"price", "promise", WHOLE}
    assert all(claim["sentence"].split(": ")[-1] in page for claim in found["claims"])
    keys = {"claimed", "measured", "bound", "holds", "samples", "seed", "seconds", "alpha"}
    assert all(keys <= set(claim) for claim in found["claims"])


def test_a_claim_that_fails_is_named_in_one_line_with_status_1(
    heatveil: Heatveil, tmp_path: Path, planted: Callable[..., None]
) -> None:
    """A script needs the status, its reader the sentence; the report is written all the same."""
    planted(
        claim_at_most("epsilon is small", 1.0, 0.5, samples=1),
        claim_at_most("noise is large", 1.0, 7.25, samples=1),
    )
    said = heatveil("audit", "--folder", tmp_path)

    assert said.status == 1
    assert said.err.startswith("heatveil: ")
    assert said.err.count("\n") == 1
    assert "noise is large" in said.err
    assert "7.25" in said.err
    assert "**FAILS**" in (tmp_path / "audit.md").read_text()
    assert json.loads((tmp_path / "audit.json").read_text())["holds"] is False


def test_json_prints_one_object_and_nothing_else(
    heatveil: Heatveil, tmp_path: Path, planted: Callable[..., None]
) -> None:
    """For a pipe."""
    planted(claim_fact("a fact", True, samples=1))
    said = heatveil("audit", "--folder", tmp_path, "--json", "--seed", "12")

    assert said.status == 0
    assert json.loads(said.out) == json.loads((tmp_path / "audit.json").read_text())
    assert json.loads(said.out)["claims"][0]["seed"] == 12


@pytest.mark.parametrize("name", ["audit.md", "audit.json"])
def test_what_no_audit_wrote_is_not_written_over(
    heatveil: Heatveil, tmp_path: Path, planted: Callable[..., None], name: str
) -> None:
    """Somebody's own notes may have the same name."""
    planted(claim_fact("a fact", True, samples=1))
    (tmp_path / name).write_text("my own notes")
    said = heatveil("audit", "--folder", tmp_path)

    assert f"{name} exists and no audit wrote it" in said.refusal
    assert (tmp_path / name).read_text() == "my own notes"


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--mechanism", "termal"], 1, "did you mean thermal?"),
        (["--layer", "sensitivty"], 1, "did you mean sensitivity?"),
        (["--fast"], 2, ""),
        (["--seed", "-1"], 2, ""),
    ],
)
def test_a_wrong_word_is_answered_before_anything_is_looked_at(
    heatveil: Heatveil, tmp_path: Path, words: list[str], status: int, said: str
) -> None:
    """With the nearest right one."""
    found = heatveil("audit", "--folder", tmp_path, *words)

    assert found.status == status
    assert said in found.err
    assert list(tmp_path.iterdir()) == []


def test_the_gravest_is_named_first_by_how_much_noise_is_missing(
    heatveil: Heatveil, tmp_path: Path, planted: Callable[..., None]
) -> None:
    """Who reads one line only must read the leak, not the first of what is out of order."""
    waste = claim_at_most("nor for nothing", 1.0, 9.0, samples=1, unit="variance given / asked")
    enough = claim_at_most(
        "a: there is enough", 1.0, 4.0, samples=1, unit="variance asked / given"
    )
    planted(waste, claim_fact("a fact", False, samples=1), enough)
    said = heatveil("audit", "--mechanism", "thermal", "--folder", tmp_path)
    page = (tmp_path / "audit.md").read_text()

    assert said.err.startswith("heatveil: variance asked / given is 4 where 1 may be; ")
    assert "the gravest of 3 that fail" in said.err
    assert "Publish nothing more" in said.err
    places = [page.index(words) for words in ("1. **variance asked", "2. **it is not", "3. **")]
    assert places == sorted(places)
    assert places[-1] < page.index("| layer |")


QUICK = ("--layer", "deployment", "--layer", "sensitivity", "--layer", "counts")


@pytest.fixture
def deployed(heatveil: Heatveil, tmp_path: Path) -> Path:
    """Return the file of a small deployment whose devices are enrolled."""
    lines = heatveil("config", "--sample").out
    for old, new in (("cells = 80", "cells = 16"), ("count = 50", "count = 4")):
        lines = lines.replace(old, new)
    file = tmp_path / "gateway.toml"
    file.write_text(lines)
    assert heatveil("enrol", "--config", file).status == 0
    return file


@pytest.mark.long
def test_a_deployment_is_looked_at_in_place_of_our_own_rooms(
    heatveil: Heatveil, deployed: Path, tmp_path: Path
) -> None:
    """Rooms that we chose say little of a building that we have not seen."""
    said = heatveil("audit", "--config", deployed, *QUICK, "--folder", tmp_path / "a")
    found = json.loads((tmp_path / "a" / "audit.json").read_text())

    assert said.status == 0, said.err
    assert found["rooms"] == [str(deployed)]
    sentences = [claim["sentence"] for claim in found["claims"] if claim["mechanism"]]
    assert sum(str(deployed) in sentence for sentence in sentences) >= 5
    assert any("steps of 1/128 K" in claim["sentence"] for claim in found["claims"])


@pytest.mark.long
def test_devices_that_were_enrolled_for_too_little_noise_are_found(
    heatveil: Heatveil, deployed: Path, tmp_path: Path
) -> None:
    """What counts is what they hold, not what the file would give them today."""
    file = deployed.with_name("limits.json")
    body = json.loads(file.read_text())
    body["devices"][0]["limits"][3] //= 4  # the variance
    file.write_text(json.dumps(body))
    said = heatveil("audit", "--config", deployed, *QUICK, "--folder", tmp_path / "a")

    assert "variance asked / given is 4" in said.refusal


def test_places_are_looked_at_in_their_own_cells(heatveil: Heatveil, tmp_path: Path) -> None:
    """The other mechanism, by the same door."""
    file = tmp_path / "gateway.toml"
    file.write_text(heatveil("config", "--sample", "--mechanism", "disk").out)
    said = heatveil("audit", "--config", file, "--layer", "deployment", "--folder", tmp_path / "a")

    assert said.status == 0, said.err


def test_a_layer_that_looks_at_nothing_is_refused(heatveil: Heatveil, tmp_path: Path) -> None:
    """Else two claims about the audit itself would pass for claims about the mechanism."""
    said = heatveil("audit", "--mechanism", "quadtree", "--layer", "noise", "--folder", tmp_path)

    assert "noise has nothing to look at in quadtree" in said.refusal
    assert not [*tmp_path.iterdir()]


# What the runner makes of layers: one that breaks off has failed, and nothing goes unseen.


THERMAL = MECHANISMS[0]


def failed(claims: list[Claim]) -> list[str]:
    return [claim.sentence for claim in claims if not claim.holds]


def layer(run: Any, each: bool = True, kinds: tuple[str, ...] = ("noise", "finite")) -> Layer:
    return Layer("planted", "", run, each, kinds)


def breaks(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    yield claim_fact("one promise", True, samples=1)
    raise RuntimeError("the second could not be looked at")


def test_a_layer_that_breaks_off_has_shown_nothing() -> None:
    """A mutant that raises is as dead as one that gives a wrong number."""
    first, second = run_layer(layer(breaks), THERMAL, Effort()).claims

    assert first.holds
    assert not second.holds
    assert "the second could not be looked at" in second.detail


def test_a_mechanism_without_a_subject_fails() -> None:
    """The next mechanism is audited by being there, or it is not there."""
    bare = replace(THERMAL, name="bare", subject=None)
    found = audit(
        [bare], [layer(lambda m, e: [claim_fact("a promise", True, samples=1)])], Effort()
    )

    assert any("brings recovery/bare/cases" in sentence for sentence in failed(found))


def test_a_layer_looks_at_the_kinds_that_it_is_for() -> None:
    """What adds noise cannot be enumerated, and what is finite has no noise."""
    only = layer(lambda m, e: [claim_fact("a promise", True, samples=1)], kinds=("finite",))
    found = audit([THERMAL], [only], Effort())

    assert [claim.layer for claim in found if claim.layer != WHOLE] == []


def test_a_verb_that_no_layer_called_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """All four are on the way from a reading to a map."""

    def plans(mechanism: Any, effort: Effort) -> Iterator[Claim]:
        mechanism.plan(next(iter(mechanism.subject.list_queries()))[1], ())
        yield claim_fact("a promise", True, samples=1)

    few = [layer(plans)]
    monkeypatch.setattr("gateway.audit.layers.LAYERS", few)
    found = [claim for claim in audit([THERMAL], few, Effort()) if "every verb" in claim.sentence]

    assert [claim.holds for claim in found] == [False]
    assert found[0].detail == "never called: report, release, recover"
    assert set(VERBS) <= {one.name for one in fields(THERMAL)}


def test_false_alarms_are_added_up_and_bounded() -> None:
    """By the union bound; one claim too many that rests on chance, and the suite says so."""

    def many(count: int) -> Layer:
        claim = Claim("by chance", 1.0, 0.5, True, samples=1, alpha=ALPHA)
        return layer(lambda m, e: [claim] * count, each=False)

    most = int(FALSE_ALARM / ALPHA)
    assert failed(audit([], [many(most)], Effort())) == []
    assert failed(audit([], [many(most + 1)], Effort()))


@pytest.mark.long
def test_layers_in_processes_give_what_they_give_alone() -> None:
    """Two processes are for speed: order, seeds and numbers must not depend on them."""
    chosen = [one for one in LAYERS if one.name in ("promise", "price")]
    both = audit(MECHANISMS, chosen, Effort(seed=3))
    alone = [
        claim
        for one in chosen
        for claim in run_layer(one, THERMAL if one.each else None, Effort(seed=3)).claims
    ]

    assert [(c.sentence, c.measured, c.seed) for c in both][: len(alone)] == [
        (c.sentence, c.measured, c.seed) for c in alone
    ]
    assert failed(both) == []


def test_a_claim_is_judged_by_its_bound() -> None:
    """And what is not finite can still be written into JSON."""
    assert claim_at_most("a", 1.0, 1.0, samples=1).holds
    assert not claim_at_most("a", 1.0, math.nextafter(1, 2), samples=1).holds
    assert not claim_at_most("a", 1.0, math.nan, samples=1).holds
    assert claim_at_most("a", 1.0, math.inf, samples=1).to_row()["measured"] == "inf"
    assert Claim("a", 1.0, 0.5, True, bound=0.7).proven == 0.7


@pytest.mark.parametrize(("fits", "samples"), [(True, 1), (True, 0), (False, 0), (False, 1)])
def test_nothing_holds_that_nobody_looked_at(fits: bool, samples: int) -> None:
    """Sixteen claims said that they hold, and had looked at nothing."""
    claim = claim_fact("a claim", fits, samples=samples)

    assert claim.holds == claim.to_row()["holds"] == (fits and samples > 0)


# The page of an audit is for somebody who did not write it: plain words, the worst first.


def variance(sentence: str, over: float) -> Claim:
    return claim_at_most(sentence, 1.0, over, samples=1, unit="variance asked / given")


@pytest.mark.parametrize(("found", "holds"), [(0, True), ([], True), (1, False), (["a"], False)])
def test_one_of_what_must_not_be_is_one_too_many(found: int | list[str], holds: bool) -> None:
    """Counted, or named."""
    assert claim_none("x", found, samples=1).holds is holds


def test_an_attempt_that_breaks_was_not_refused() -> None:
    """A mistake of the audit's own must not be taken for a device that says no."""
    assert is_refused(lambda: int("x"))
    assert not is_refused(lambda: int("1"))
    with pytest.raises(ZeroDivisionError):
        is_refused(lambda: 1 // 0)


def test_a_sentence_cannot_break_the_page() -> None:
    """A table's columns are parted by a sign that a sentence may hold."""
    claim = claim_fact("|x| is small\nand y", False, samples=1, detail="a | b")

    assert "\\|x\\| is small and y (a \\| b)" in format_page([claim], Effort(), 0.1)


def test_one_row_shows_the_worst_of_all_rooms() -> None:
    """Eight rows that say the same hide the ninth that does not."""
    rooms = [variance(f"{room}: there is enough", over) for room, over in (("a", 0.5), ("b", 1.5))]
    page = format_page(rooms, Effort(), 0.1, ["a", "b"])

    assert page.count("| there is enough |") == 1
    assert "| **FAILS** (1 of 2) | there is enough | b (worst of 2) | 1 | 1.5 | 1.5 |" in page

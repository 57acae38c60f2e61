"""`heatveil audit`: one command, a report to read, one to compute with, and a picture."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gateway.audit import layers, runner
from gateway.audit.claim import WHOLE, Claim, Effort, at_most, true
from gateway.audit.layers import Layer
from gateway.audit.report import TITLE
from gateway.commands import auditing

Heatveil = Callable[..., Any]


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put other layers into the table, whose claims are given."""

    def plant(*claims: Claim) -> None:
        def run(mechanism: Any, effort: Effort) -> Iterator[Claim]:
            for verb in runner.VERBS if mechanism else ():
                with suppress(TypeError):  # called is called
                    getattr(mechanism, verb)()
            yield from claims

        table = (Layer("planted", "what is planted", run),)
        for module in (
            layers,
            auditing,
        ):  # not runner: what is planted cannot be sent to a process
            monkeypatch.setattr(module, "LAYERS", table)

    return plant


def test_an_audit_that_holds_leaves_a_page_numbers_and_a_picture(
    heatveil: Heatveil, tmp_path: Path
) -> None:
    """For a reader, for a program and for a slide."""
    folder = tmp_path / "audit"
    said = heatveil("audit", "--layer", "price", "--layer", "promise", "--folder", folder)
    page, found = (
        (folder / "audit.md").read_text(),
        json.loads((folder / "audit.json").read_text()),
    )

    assert said.status == 0, said.err
    assert "claims hold." in said.out
    assert page.startswith(TITLE)
    assert found["holds"] is True
    assert found["effort"] == "quick"
    assert found["false_alarm"] <= found["false_alarm_allowed"] == 1e-6
    assert {claim["layer"] for claim in found["claims"]} == {"price", "promise", WHOLE}
    assert all(claim["sentence"].split(": ")[-1] in page for claim in found["claims"])
    keys = {"claimed", "measured", "bound", "holds", "samples", "seed", "seconds", "alpha"}
    assert all(keys <= set(claim) for claim in found["claims"])
    assert (folder / "audit.png").read_bytes().startswith(b"\x89PNG")


def test_a_claim_that_fails_is_named_in_one_line_with_status_1(
    heatveil: Heatveil, tmp_path: Path, planted: Callable[..., None]
) -> None:
    """A script needs the status, its reader the sentence; the report is written all the same."""
    planted(at_most("epsilon is small", 1.0, 0.5), at_most("noise is large", 1.0, 7.25))
    said = heatveil("audit", "--folder", tmp_path)

    assert said.status == 1
    assert said.err.startswith("heatveil: ")
    assert said.err.count("\n") == 1
    assert "noise is large" in said.err
    assert "7.25" in said.err
    assert "**FAILS**" in (tmp_path / "audit.md").read_text()
    assert json.loads((tmp_path / "audit.json").read_text())["holds"] is False


def test_what_is_not_finite_is_written_out(
    heatveil: Heatveil, tmp_path: Path, planted: Callable[..., None]
) -> None:
    """An infinite epsilon is the worst that an audit can find; JSON has no number for it."""
    planted(at_most("epsilon is small", 1.0, float("inf")))
    said = heatveil("audit", "--folder", tmp_path, "--json")

    assert said.status == 1
    assert json.loads(said.out)["claims"][0]["measured"] == "inf"


def test_json_prints_one_object_and_nothing_else(
    heatveil: Heatveil, tmp_path: Path, planted: Callable[..., None]
) -> None:
    """For a pipe."""
    planted(true("a fact", True))
    said = heatveil("audit", "--folder", tmp_path, "--json", "--seed", "12")

    assert said.status == 0
    assert json.loads(said.out) == json.loads((tmp_path / "audit.json").read_text())
    assert json.loads(said.out)["claims"][0]["seed"] == 12


def test_a_seed_is_fixed_unless_a_fresh_one_is_asked_for(
    heatveil: Heatveil, tmp_path: Path, planted: Callable[..., None]
) -> None:
    """A pull request must not fail by chance; a night's run should look somewhere new."""
    planted(true("a fact", True))
    seeds = [
        json.loads(heatveil("audit", "--folder", tmp_path, "--json", *more).out)["seed"]
        for more in ((), (), ("--fresh",), ("--fresh",))
    ]

    assert seeds[0] == seeds[1]
    assert len(set(seeds)) == 3


@pytest.mark.parametrize("name", ["audit.md", "audit.json", "audit.png"])
def test_what_no_audit_wrote_is_not_written_over(
    heatveil: Heatveil, tmp_path: Path, planted: Callable[..., None], name: str
) -> None:
    """Somebody's own notes may have the same name."""
    planted(true("a fact", True))
    (tmp_path / name).write_text("my own notes")
    said = heatveil("audit", "--folder", tmp_path)

    assert said.status == 1
    assert f"{name} is there and no audit wrote it" in said.err
    assert (tmp_path / name).read_text() == "my own notes"


def test_an_older_report_is_replaced(
    heatveil: Heatveil, tmp_path: Path, planted: Callable[..., None]
) -> None:
    """The same folder, night after night."""
    planted(true("a fact", True))

    assert [heatveil("audit", "--folder", tmp_path).status for _ in range(2)] == [0, 0]


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--mechanism", "termal"], 1, "did you mean thermal?"),
        (["--layer", "sensitivty"], 1, "did you mean sensitivity?"),
        (["--fast"], 2, ""),
        (["--seed", "-1"], 2, ""),
        (["--seed", "3", "--fresh"], 1, "--seed came with --fresh"),
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
    waste = at_most("nor for nothing", 1.0, 9.0, unit="variance given / asked")
    enough = at_most("a: there is enough", 1.0, 4.0, unit="variance asked / given")
    planted(waste, true("a fact", False), enough)
    said = heatveil("audit", "--mechanism", "thermal", "--folder", tmp_path)
    page = (tmp_path / "audit.md").read_text()

    assert said.err.startswith("heatveil: the noise is 0.50 of what is promised; ")
    assert "the gravest of 3 that fail" in said.err
    assert "Publish nothing more" in said.err
    places = [page.index(words) for words in ("1. **the noise is 0.50", "2. **it is not", "3. **")]
    assert places == sorted(places)
    assert places[-1] < page.index("| layer |")


def test_noise_for_nothing_gives_nobody_away(
    heatveil: Heatveil, tmp_path: Path, planted: Callable[..., None]
) -> None:
    """It is a failure, and no reason to alarm anybody."""
    planted(at_most("nor for nothing", 1.0, 9.0, unit="variance given / asked"))
    said = heatveil("audit", "--folder", tmp_path)

    assert "the noise is 3 times what is needed" in said.err
    assert "nobody is given away" in said.err

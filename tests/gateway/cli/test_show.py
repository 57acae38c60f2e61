"""`heatveil ledger` and `heatveil show`: what a store knows, read beside a gateway."""

import dataclasses
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gateway.cli import show
from gateway.cli.show import BARS, mosaic
from gateway.faults import OperatorFault
from gateway.mechanisms import named
from gateway.settings import config
from recovery.maps.heatmap import Unresolved, from_npz

Heatveil = Callable[..., Any]


def test_the_ledger_in_words(kept: Any, heatveil: Heatveil) -> None:
    """For whoever is asked what it has cost the people in the room."""
    said = heatveil("ledger", "--config", kept.path)
    lines = said.out.splitlines()

    assert said.status == 0
    assert lines[0] == "Site seen: 83.3% of the promise is spent. Nothing more is asked."
    assert "of 8 at delta 1/100000" in lines[2]
    assert [line.split()[:2] for line in lines[4:]] == [["round", "2"], ["round", "1"]]
    assert lines[5].endswith("and 1 devices that answered it again")


def test_the_newest_map_is_shown_with_its_promise(kept: Any, heatveil: Heatveil) -> None:
    """As dark as it is warm, at the place where it is, with who answered and what is promised."""
    said = heatveil("show", "--config", kept.path)
    lines = said.out.splitlines()
    drawn = lines[1].strip("[]")

    assert said.status == 0
    assert lines[0].startswith("Round 1, ")
    assert lines[0].endswith(" UTC, 5 of 6 devices.")
    mass = np.array(kept.body["mass"])[0]
    assert len(drawn) == len(mass) == 40
    most = max(drawn, key=BARS.find)
    assert drawn.index(most) == mass.argmax()
    assert lines[2] == " 0 to 10 m"
    assert "Sensors used: 5 of 6." in lines
    assert "Formally: epsilon 8, delta 1/100000." in lines


def test_a_script_is_given_the_map_as_it_was_published(kept: Any, heatveil: Heatveil) -> None:
    """The very body, on standard output and nothing beside it."""
    assert json.loads(heatveil("show", "--config", kept.path, "--json").out) == kept.body


@pytest.mark.long
@pytest.mark.parametrize("ending", [".json", ".npz", ".png"])
def test_a_map_is_written_as_its_ending_says(kept: Any, heatveil: Heatveil, ending: str) -> None:
    """The same map each time, to the last digit where the file holds digits."""
    out = kept.path.parent / f"map{ending}"
    assert heatveil("show", "--config", kept.path, 1, "--out", out).status == 0

    if ending == ".json":
        assert json.loads(out.read_text()) == kept.body
    elif ending == ".npz":
        assert from_npz(out).mass.tolist() == kept.body["mass"]
    else:
        assert out.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((2,), "there is no map of round 2"),
        (("--out", "map.bmp"), "must have one of .png, .npz, .json"),
        (("--out", "/nowhere/map.png"), "in no folder that we may write to"),
    ],
)
def test_what_cannot_be_shown_is_said_in_one_line(
    kept: Any, heatveil: Heatveil, words: tuple[Any, ...], reason: str
) -> None:
    """And why, and what would do."""
    said = heatveil("show", "--config", kept.path, *words)

    assert said.status == 1
    assert reason in said.err
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize("name", ["ledger", "show"])
def test_without_a_store_nothing_is_made(site: Path, heatveil: Heatveil, name: str) -> None:
    """Who looks into the wrong folder must not leave a database there."""
    said = heatveil(name, "--config", site)

    assert said.status == 1
    assert "heatveil.sqlite" in said.err
    assert not (site.parent / "heatveil.sqlite").exists()


def test_a_store_of_this_promise_passes_and_of_another_does_not(
    kept: Any, heatveil: Heatveil
) -> None:
    """`heatveil check` finds it before `heatveil serve` would refuse to start."""
    good = heatveil("check", kept.path)
    kept.path.write_text(kept.path.read_text().replace("1/100000", "1/1000"))
    bad = heatveil("check", kept.path)

    assert "nothing more is asked" in good.out
    assert good.status == 0
    assert bad.status == 1
    assert "promises something else than its database was charged for" in bad.out


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", None, "latin-1"])
@pytest.mark.parametrize("shape", [(1, 3000), (90, 40), (1, 1), (3, 500)])
def test_a_map_fits_the_terminal_whatever_it_can_show(
    shape: tuple[int, int], encoding: str | None
) -> None:
    """And its warmest place is full, its empty ones empty."""
    mass = np.zeros(shape)
    mass[-1, -1], mass[0, 0] = 8.0, 1.0
    lines = mosaic(mass, 80, encoding)

    assert all(len(line) <= 80 for line in lines)
    assert len(lines) <= 90
    "".join(lines).encode(encoding or "ascii")
    assert lines[-1][-2] in "█@"
    assert shape == (1, 1) or lines[0][1] not in " █@"


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ("schema = 4", 0, "brings it up to date"),
        ("schema = 99", 1, "Use that heatveil"),
        ("site = 'other'", 1, "belongs to site other"),
    ],
)
def test_a_store_of_another_heatveil_or_site_is_told_apart(
    kept: Any, heatveil: Heatveil, change: str, status: int, words: str
) -> None:
    """An older one is brought up by the gateway; the others must not be touched."""
    with closing(sqlite3.connect(config.load(kept.path).site.database)) as database:
        database.execute(f"UPDATE about SET {change}")
        database.commit()
    checked = heatveil("check", kept.path)
    shown = heatveil("show", "--config", kept.path)

    assert checked.status == status
    assert words in checked.out
    assert shown.status == 1
    assert words in shown.err


def test_the_promise_that_is_shown_is_the_one_that_the_map_was_had_under(
    kept: Any, heatveil: Heatveil
) -> None:
    """Not the file's of today: a map of last year was not made better by an edit."""
    kept.path.write_text(kept.path.read_text().replace('epsilon = "8/1"', 'epsilon = "4/1"'))
    said = heatveil("show", "--config", kept.path)

    assert kept.body["guarantee"]["epsilon"] == [8, 1]
    assert said.status == 0
    assert "epsilon 8, delta 1/100000" in said.out


def test_a_map_of_another_room_is_not_laid_over_this_one(kept: Any) -> None:
    """40 cells drawn as 20 would show people where nobody was."""
    query = config.query(config.load(kept.path))
    other = dataclasses.replace(query, grid=query.grid._replace(shape=(20, 1)))

    assert show.drawn(kept.body, query).mass.shape == (1, 40)
    with pytest.raises(OperatorFault, match="40x1 cells and the deployment says 20x1"):
        show.drawn(kept.body, other)


def test_a_round_without_an_estimate_is_shown_with_its_reason(kept: Any) -> None:
    """And no picture is made of nothing."""
    query = config.query(config.load(kept.path))
    body = {**kept.body, "mass": None, "why": "too few answered"}
    found = show.drawn(body, query)

    assert isinstance(found, Unresolved)
    assert any(
        "too few answered" in line for line in show._told(body, found, None, named("thermal"))
    )
    with pytest.raises(OperatorFault, match="no map .too few answered."):
        show._writer(kept.path.with_suffix(".png"), body, found, query, None)

"""`heatveil recover` of places: from published counts, and from nothing else."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def published(heatveil: Callable[..., Any], tmp_path: Path) -> Path:
    """Return published counts of two rounds, with the map that was drawn at once beside it."""
    path = tmp_path / "public.json"
    words = ("play", "disk", "--points", "mnormal", "--users", 3000, "--grid", "9x9")
    words += ("--epsilon", "6/1", "--set", "readings=2", "--set", "radius=2.5", "--seed", "3")
    heatveil(*words, "--published", path, "--out", tmp_path / "map.npz")
    return path


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda one: one["values"].pop(), "counts for"),
        (lambda one: one["values"].__setitem__(40, -1), "cell 40 was answered -1 times"),
        (lambda one: one["values"].__setitem__(40, 1.5), "cell 40 was answered 1.5 times"),
        (lambda one: one["params"].__setitem__(2, 2 * one["params"][2]), "exp"),
        (lambda one: one["params"].__setitem__(3, 4), "plan"),
        (lambda one: one["params"].__setitem__(0, "3"), "not all whole numbers"),
        (lambda one: one.pop("guarantee"), "'guarantee' is missing"),
        (lambda one: one["guarantee"].__setitem__("epsilon", [1, 100]), "plan"),
    ],
)
def test_a_file_that_no_gateway_made_is_refused(
    heatveil: Callable[..., Any],
    published: Path,
    tmp_path: Path,
    change: Callable[[Any], Any],
    says: str,
) -> None:
    """Other weights are another channel, and a stranger promise would be printed as ours."""
    found = json.loads(published.read_text())
    change(found["rounds"][1])
    published.write_text(json.dumps(found))
    said = heatveil("recover", published, "--out", tmp_path / "new.npz")

    assert (said.status, said.err.count("\n")) == (1, 1)
    assert says in said.err
    assert not (tmp_path / "new.npz").exists()


@pytest.mark.long
def test_more_rounds_than_the_promise_is_for_are_refused(
    heatveil: Callable[..., Any], published: Path
) -> None:
    """Two reports were promised for; a third would be one more than anybody allowed."""
    found = json.loads(published.read_text())
    found["rounds"].append({**found["rounds"][0], "number": 3})
    published.write_text(json.dumps(found))

    assert "3 rounds share a promise for 2" in heatveil("recover", published).err

"""`heatveil recover` of places: from published counts, and from nothing else."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recovery.maps.heatmap import from_npz


@pytest.fixture
def published(heatveil: Callable[..., Any], tmp_path: Path) -> Path:
    """Return published counts of two rounds, with the map that was drawn at once beside it."""
    path = tmp_path / "public.json"
    words = ("play", "disk", "--points", "mnormal", "--users", 3000, "--grid", "9x9")
    words += ("--epsilon", "6/1", "--set", "readings=2", "--set", "radius=2.5", "--seed", "3")
    heatveil(*words, "--published", path, "--out", tmp_path / "map.npz")
    return path


@pytest.mark.long
def test_the_published_file_gives_the_map_that_was_drawn_at_once(
    heatveil: Callable[..., Any], published: Path, tmp_path: Path
) -> None:
    """Recovery needs nothing private: the public file alone leads to the same shares."""
    out, plot = tmp_path / "again.npz", tmp_path / "again.png"
    said = heatveil("recover", published, "--out", out, "--plot", plot)

    assert (said.status, said.err) == (0, "")
    once, again = (from_npz(tmp_path / name) for name in ("map.npz", "again.npz"))
    assert (once.mass == again.mass).all()
    assert once.sd is not None
    assert again.sd is not None
    assert (once.sd == again.sd).all()
    assert once.guarantee == again.guarantee
    assert "--seed" in again.guarantee.trust
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.long
def test_another_estimator_draws_another_map_under_the_same_promise(
    heatveil: Callable[..., Any], published: Path, tmp_path: Path
) -> None:
    """And one that does not exist is named."""
    maps = []
    for name in ("em", "ems"):
        said = heatveil("recover", published, "--estimator", name, "--out", tmp_path / name)
        assert said.status == 0
        maps.append(from_npz(tmp_path / name))

    assert (maps[0].mass != maps[1].mass).any()
    assert maps[0].guarantee == maps[1].guarantee
    assert "estimator is 'magic'" in heatveil("recover", published, "--estimator", "magic").err


@pytest.mark.long
def test_the_published_file_holds_counts_and_no_device(published: Path) -> None:
    """Whose answer is where is nobody's to know; counts add up to all who answered."""
    found = json.loads(published.read_text())

    assert set(found) == {"schema", "mechanism", "query", "rounds"}
    assert found["query"]["radius"] == 2.5
    assert [set(one) for one in found["rounds"]] == [
        {"number", "params", "guarantee", "values"}
    ] * 2
    assert [sum(one["values"]) for one in found["rounds"]] == [3000, 3000]


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

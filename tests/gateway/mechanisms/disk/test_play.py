"""`heatveil play disk`: its files are a contract with scripts, its faults a line each."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

GOOD = "user,x,y\nann,0.10,0.10\nbob,0.60,0.20\neve,0.95,0.85\n"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "line 1: the header is 'missing'"),
        ("x,y\n0.1,0.1\n", "line 1: the header"),
        ("user,x,y\nann,0.1\n", "line 2"),
        ("user,x,y\nann,0.1,0.1\nbob,nan,0.1\n", "line 3: x is 'nan'"),
        ("user,x,y\nann,0.1,left\n", "line 2: y is 'left'"),
        ("user,x,y\n,0.1,0.1\n", "line 2: the user is missing"),
        (GOOD + "ann,0.2,0.2\n", "line 5: row 2 of user ann"),
        ("user,x,y,weight\nann,0.1,0.1,3\n", "line 2: the weight is 3"),
        ("user,x,y\nann,120,44\n", "1 of 1 points beyond the grid"),
    ],
)
def test_a_fault_of_the_file_is_said_by_its_line_and_nothing_is_written(
    heatveil: Callable[..., Any], tmp_path: Path, content: str, says: str
) -> None:
    """One line on standard error, status 1, and no file where there was none."""
    path, out = tmp_path / "points.csv", tmp_path / "map.npz"
    path.write_text(content)
    said = heatveil("play", "disk", "--points", path, "--out", out, "--scores", tmp_path / "s")

    assert said.status == 1
    assert said.err.count("\n") == 1
    assert says in said.err
    assert [one.name for one in tmp_path.iterdir()] == ["points.csv"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "--points is missing"),
        (("--points", "normal", "--sensors", 5), "--sensors came with disk, which takes --points"),
        (("--points", "normal", "--cells", 5), "--cells came with disk"),
        (("--points", "normal", "--delta", "1/100"), "--delta came with disk"),
        (("--sources-random", 2), "--sources-random came with disk"),
        (("--points", "normal", "--set", "sigma=1/10"), "'sigma' is not a setting"),
        (("--points", "normal", "--set", "grid=4"), "use --grid and --length"),
        (("--points", "normal", "--set", "scheme=square"), "scheme is 'square'"),
        (("--points", "normal", "--set", "radius=-1"), "radius is -1"),
        (("--points", "normal", "--estimator", "posterior"), "estimator is 'posterior'"),
        (("--points", "normal", "--epsilon", "0.5"), "write 1/2"),
        (("--points", "normal", "--epsilon", "100/1"), "epsilon of one report is 100"),
        (("--points", "normal", "--grid", "4x0"), "--grid is 4x0"),
        (("--points", "normal", "--grid", "9999x9999"), "at most 1048576"),
        (("--points", "normal", "--grid", "7x7", "--length", "1"), "whole millimetres"),
    ],
)
def test_a_flag_that_means_nothing_here_is_refused(
    heatveil: Callable[..., Any], words: tuple[object, ...], says: str
) -> None:
    """A flag that is ignored would be believed to hold."""
    said = heatveil("play", "disk", *words)

    assert said.status == 1
    assert said.err.count("\n") == 1
    assert says in said.err


# `heatveil recover` of places: from published counts, and from nothing else.


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

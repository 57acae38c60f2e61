"""`heatveil play disk`: its files are a contract with scripts, its faults a line each."""

import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edge.mechanisms.disk import Table
from gateway.mechanisms import find
from gateway.mechanisms.flags import query_of
from recovery.disk import plan
from recovery.maps.heatmap import from_npz

query = partial(query_of, find("disk"))
GOOD = "user,x,y\nann,0.10,0.10\nbob,0.60,0.20\neve,0.95,0.85\n"


@pytest.mark.long
def test_what_the_wire_carried_has_the_law_of_the_round(
    heatveil: Callable[..., Any], tmp_path: Path
) -> None:
    """All stand in one cell, so counts are multinomial by the whole weights; chi-square, seeded.

    The same counts are held against the law of the neighbouring cell, which they must fail.
    """
    path, out = tmp_path / "points.csv", tmp_path / "public.json"
    path.write_text("user,x,y\n" + "".join(f"{n},0.5,0.5\n" for n in range(10_000)))
    heatveil(
        *("play", "disk", "--points", path, "--grid", "5x5", "--epsilon", "2/1"),
        *("--set", "radius=1", "--set", "scheme=dam-ns", "--seed", 3, "--published", out),
    )
    counts = np.array(json.loads(out.read_text())["rounds"][0]["values"]).reshape(7, 7)
    round = plan(query(grid="5x5", epsilon="2/1", settings=["radius=1", "scheme=dam-ns"]), [])
    table, (_, far, near, *_) = Table(round), round.params

    # A cross of five likelier cells; crosses cover all of the 7 x 7 but its corners.
    domain = np.ones((7, 7), dtype=bool)
    for y in (0, -1):
        for x in (0, -1):
            domain[y, x] = False
    assert counts.sum() == 10_000
    assert counts[~domain].sum() == 0

    def statistic(y: int, x: int) -> float:
        weight = np.where(domain, far, 0).astype(float)
        for dy, dx in ((0, 0), (0, 1), (1, 0), (0, -1), (-1, 0)):
            weight[y + dy, x + dx] = near
        assert weight.sum() == table.total
        expected = 10_000 * weight[domain] / table.total
        return float(((counts[domain] - expected) ** 2 / expected).sum())

    cells = int(domain.sum())
    assert abs(statistic(3, 3) - (cells - 1)) < 5 * math.sqrt(2 * cells)
    assert statistic(3, 4) > cells + 50 * math.sqrt(2 * cells)


@pytest.mark.long
def test_on_a_line_and_with_a_length_all_goes_the_same_way(
    heatveil: Callable[..., Any], tmp_path: Path
) -> None:
    """A corridor of people, in metres, with its picture of bars."""
    path, plot = tmp_path / "points.csv", tmp_path / "map.png"
    path.write_text("user,x,y\n" + "".join(f"{n},{4 + n % 2},0.1\n" for n in range(200)))
    words = ("play", "disk", "--points", path, "--grid", 20, "--length", 10, "--epsilon", "4/1")
    said = heatveil(*words, "--seed", 1, "--plot", plot)

    assert said.status == 0
    assert [line for line in said.out.splitlines() if line.startswith("W2 ") and " m (" in line]
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.long
def test_a_score_out_of_reach_is_null_and_not_nought(
    heatveil: Callable[..., Any], tmp_path: Path
) -> None:
    """Of 256 x 256 cells nobody has the exact W2; its sliced lower bound is there."""
    scores, out = tmp_path / "scores.json", tmp_path / "map.npz"
    words = ("play", "disk", "--points", "szipf", "--users", 9000, "--grid", "256x256")
    words += ("--epsilon", "4/1", "--set", "radius=12", "--seed", "1")
    said = heatveil(*words, "--scores", scores, "--out", out)

    assert said.status == 0
    found = json.loads(scores.read_text())
    assert [found[name] for name in ("w2", "w2_cells", "emd_l2", "local_privacy_cells")] == [
        None
    ] * 4
    assert found["w2_sliced"] > 0
    assert found["emd_l1"] > 0
    assert "W2, sliced," in said.out
    assert from_npz(out).mass.shape == (256, 256)


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

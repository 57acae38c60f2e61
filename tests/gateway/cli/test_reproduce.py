"""`heatveil reproduce`: the list, a table with its files, one's own points, what it refuses."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gateway.lab.reproduce import disk_distances, pyramid_heatmaps, trajectories
from gateway.lab.reproduce.figures import FIGURES, maker

Command = Callable[..., Any]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the figures with chance have few places."""
    few = ("few d", ("DAM", "MDSW", "k-RR"), (1, 3), ("3.5",))
    monkeypatch.setattr(
        disk_distances, "KINDS", (few, few, ("epsilon", ("DAM",), (3,), ("2", "5")))
    )
    monkeypatch.setattr(pyramid_heatmaps, "EPSILONS", ((1, 1),))
    monkeypatch.setattr(trajectories, "SIDES", (2,))
    monkeypatch.setattr(trajectories, "EPSILONS", ("1.5",))
    monkeypatch.setattr(trajectories, "SIDE", 2)


def test_the_list_names_every_figure(heatveil: Command) -> None:
    """Without a figure one learns what there is, and each of them can be loaded."""
    said = heatveil("reproduce")

    assert said.status == 0
    assert [line.split()[0] for line in said.out.splitlines()] == [
        *(f"disk-{number}" for number in range(8, 15)),
        *(f"quadtree-{number}" for number in ("table1", "table2", 1, 2, 3, 4, 5, 6, 7, 8, 9)),
        *(f"pyramid-{number}" for number in range(1, 14)),
        *(f"ranks-{number}" for number in range(3, 11)),
        *(f"ranks-table{number}" for number in (1, 2)),
    ]
    assert all(callable(maker(name)) for name in FIGURES)


@pytest.mark.long
@pytest.mark.parametrize("figure", FIGURES)
def test_every_figure_is_printed_drawn_and_written(
    heatveil: Command, tmp_path: Path, figure: str
) -> None:
    """Tiny, but all the way: a table, the paper's words beside ours, a picture, the numbers."""
    said = heatveil(
        "reproduce", figure, "--runs", 2, "--scale", 0.01, "--folder", tmp_path / "made"
    )
    numbers = json.loads((tmp_path / "made" / f"{figure}.json").read_text("utf-8"))

    assert said.status == 0, said.err
    assert said.out.startswith(f"{figure}: ")
    assert "\nthe paper: " in said.out
    assert "\nhere: " in said.out
    assert (tmp_path / "made" / f"{figure}.png").read_bytes()[:4] == b"\x89PNG"
    assert numbers["figure"] == figure
    assert numbers["seed"] == 1
    assert numbers["panels"] or numbers["tables"]


@pytest.mark.long
def test_equal_orders_have_equal_figures(heatveil: Command, tmp_path: Path) -> None:
    """And another seed has another one."""
    for name, seed in (("a", 4), ("b", 4), ("c", 5)):
        heatveil(
            "reproduce", "disk-13", "--runs", 1, "--scale", 0.01, "--seed", seed,
            "--folder", tmp_path / name,
        )  # fmt: skip
    a, b, c = ((tmp_path / name / "disk-13.json").read_text("utf-8") for name in "abc")

    assert a == b
    assert a != c


@pytest.mark.long
def test_points_of_ones_own_take_the_place_of_the_city(heatveil: Command, tmp_path: Path) -> None:
    """Then nothing is said of a synthetic city."""
    places = np.random.default_rng(1).random((400, 2))
    rows = "".join(f"{n},{x:.4f},{y:.4f}\n" for n, (x, y) in enumerate(places))
    (tmp_path / "town.csv").write_text("user,x,y\n" + rows, "utf-8")
    given = ("--points", tmp_path / "town.csv", "--runs", 1, "--folder", tmp_path)
    own = heatveil("reproduce", "disk-13", *given).out
    nine = heatveil("reproduce", "disk-9", "--scale", 0.01, *given).out
    walks = heatveil("reproduce", "disk-14", "--scale", 0.02, *given).out
    city = heatveil("reproduce", "disk-13", "--runs", 1, "--scale", 0.01, "--folder", tmp_path).out

    assert "town, few d" in own
    assert "town, few d" in nine
    assert "town, by d" in walks
    assert "SYNTHETIC" not in own + walks
    assert "SYNTHETIC" in city


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("disk-99",), "disk-99 is not a figure that can be made again"),
        (("disk-8", "--scale", "2"), "--scale 2 came but it must be above 0 and at most 1"),
        (("disk-13", "--points", "none.csv"), "none.csv cannot be read"),
        (("disk-8", "--folder", "/proc/none"), "cannot be made"),
    ],
)
def test_what_cannot_be_made_is_refused_in_a_line(
    heatveil: Command, words: tuple[str, ...], said: str
) -> None:
    """Before anything is computed."""
    left = heatveil("reproduce", *words)

    assert left.status == 1
    assert said in left.err
    assert left.err.count("\n") == 1

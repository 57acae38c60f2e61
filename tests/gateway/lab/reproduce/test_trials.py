"""Runs and their means: the same however they are made, and as independent sums say."""

import math
import statistics
from pathlib import Path

import numpy as np
import pytest

from gateway.faults import OperatorFault
from gateway.lab.reproduce.figures import UNIFORM, Mark, Order, Panel
from gateway.lab.reproduce.people import city, count, file_notes, of_file, synthetic
from gateway.lab.reproduce.trials import (
    Curve,
    Source,
    Trial,
    draw,
    mark,
    play_all,
    ratio,
    score,
    winners,
)
from recovery.distance import wasserstein2

TRIAL = Trial(Source("Normal"), "DAM", 4, (7, 2), 0, 5, 0.01)


def silent(stage: str) -> None:
    """Take no notice."""


def test_a_score_is_the_distance_to_the_people() -> None:
    """The even map needs no chance: its score is had in another way."""
    truth = count(synthetic("Normal", 5, 0.01).parts[0], 4)
    expected = 4 * wasserstein2(truth, np.ones((4, 4)), normalise=True)

    assert score(TRIAL._replace(mechanism=UNIFORM)) == pytest.approx(expected)


def test_runs_differ_and_repeat() -> None:
    """Equal trials are equal, and each run has a chance of its own."""
    scores = [score(TRIAL._replace(run=run)) for run in (0, 1, 0)]

    assert scores[0] == scores[2]
    assert scores[0] != scores[1]
    assert score(TRIAL._replace(seed=6)) != scores[0]


def test_processes_give_the_same_numbers() -> None:
    """A figure must not depend on how many were at work."""
    tasks = [TRIAL._replace(run=run) for run in range(3)]
    alone = play_all(tasks, score, Order(), silent, "x")
    many = play_all(tasks, score, Order(jobs=2), silent, "x")

    assert alone == many


def test_a_mean_has_its_interval() -> None:
    """1.96 standard errors; one run has none."""
    scores = [0.2, 0.5, 0.3, 0.4]
    found = mark(3.5, scores)

    assert found.mean == pytest.approx(0.35)
    assert found.half_width == pytest.approx(1.96 * statistics.stdev(scores) / 2)
    assert math.isnan(mark(1, [0.5]).half_width)


def test_winners_are_those_that_cannot_be_told_apart() -> None:
    """A mean that is least by less than chance is no victory alone."""
    marks = {"a": Mark(1, 0.30, 0.05, 5), "b": Mark(1, 0.34, 0.02, 5), "c": Mark(1, 0.5, 0.1, 5)}
    panel = Panel("", "", "", {name: (one,) for name, one in marks.items()})

    assert winners(panel, 1, ["a", "b", "c"]) == ["a", "b"]


def test_a_panel_has_all_its_places_and_what_is_hidden_there() -> None:
    """Lines by name, each place with its interval and both numbers of privacy."""
    curve = Curve("t", Source("Normal"), ("DAM", "k-RR"), (2, 3), (ratio("3.5"),))
    panel = draw([curve], Order(runs=2, scale=0.01), silent, "x")[0]

    assert list(panel.lines) == ["DAM", "k-RR", UNIFORM]
    assert [one.at for one in panel.lines["DAM"]] == [2, 3]
    assert all(3.4 < one.worst_log_ratio <= 3.5 for one in panel.lines["k-RR"])
    assert panel.lines[UNIFORM][0].runs == 1
    assert panel.across == "cells along a side, d"


def test_a_file_over_new_york_is_taken_in_the_papers_parts(tmp_path: Path) -> None:
    """Whichever of both coordinates is written first; a file of elsewhere is one square."""
    world = np.random.default_rng(1)
    boxes = [
        (-73.84, -73.74, 40.65, 40.75),
        (-73.95, -73.86, 40.65, 40.74),
        (-73.90, -73.83, 40.82, 40.89),
    ]
    places = np.concatenate([world.uniform(box[::2], box[1::2], size=(600, 2)) for box in boxes])
    for name, turned in (("lonlat", places), ("latlon", places[:, ::-1])):
        _write(tmp_path / f"{name}.csv", turned)
    _write(tmp_path / "room.csv", world.random((50, 2)) * [3, 1])
    lonlat, latlon, room = (of_file(tmp_path / f"{n}.csv") for n in ("lonlat", "latlon", "room"))

    assert "parts of New York" in lonlat.name
    assert len(lonlat.parts) == 3
    assert all(np.array_equal(a, b) for a, b in zip(lonlat.parts, latlon.parts, strict=True))
    assert len(of_file(tmp_path / "lonlat.csv", whole=True).parts) == 1
    assert room.name == "room"
    assert np.ptp(room.parts[0][:, 0]) == pytest.approx(1)
    assert np.ptp(room.parts[0][:, 1]) == pytest.approx(1 / 3, abs=0.03)


def _write(path: Path, places: np.ndarray) -> None:
    rows = "".join(f"u{n},{x:.6f},{y:.6f}\n" for n, (x, y) in enumerate(places))
    path.write_text("user,x,y\n" + rows, "utf-8")


def test_a_person_with_many_points_is_spoken_of(tmp_path: Path) -> None:
    """Figures let every point answer; whoever reads them must know that a user is not a point."""
    many, one = tmp_path / "many.csv", tmp_path / "one.csv"
    many.write_text("user,x,y\na,0,0\na,1,1\nb,0,1\n", "utf-8")
    one.write_text("user,x,y\na,0,0\nb,1,1\n", "utf-8")
    said = file_notes([many, one])

    assert len(said) == 1
    assert "many has 3 points of 2 users" in said[0]
    assert "promised to a point" in said[0]


def test_a_file_without_a_square_is_refused(tmp_path: Path) -> None:
    """All in one place, or none at all."""
    one = tmp_path / "one.csv"
    one.write_text("user,x,y\na,1,1\nb,1,1\n", "utf-8")

    with pytest.raises(OperatorFault, match="all its points in one place"):
        of_file(one)
    with pytest.raises(OperatorFault, match="cannot be read"):
        of_file(tmp_path / "none.csv")


def test_the_synthetic_city_has_streets_and_an_empty_bay() -> None:
    """What it is for: people on lines, and places where nobody is."""
    points = city(20_000, np.random.default_rng(2))
    counts = count(points, 40)

    assert len(points) == 20_000
    assert points.min() >= 0
    assert points.max() < 1
    assert (counts == 0).mean() > 0.2
    assert counts[4:12, 33:].sum() == 0  # within the bay


def test_a_cluster_that_is_not_there_is_named() -> None:
    """With distributed or without it, in one sentence that says what to do."""
    with pytest.raises(OperatorFault, match="--cluster 127.0.0.1:1 came but"):
        play_all([TRIAL], score, Order(cluster="127.0.0.1:1"), silent, "x")

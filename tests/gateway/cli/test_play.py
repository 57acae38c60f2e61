"""`heatveil play thermal`: its files are a contract with scripts."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gateway import mechanisms, output
from gateway.mechanisms import find_mechanism
from gateway.mechanisms.flags import parse_query
from recovery.maps.heatmap import from_npz

# Whether a run of `heatveil play` can be repeated: only by who asked for that.

SCENES = [
    ("thermal", "--sources-random", 2, "--cells", 100, "--sensors", 50, "--spread", 0.05),
    ("disk", "--points", "mnormal", "--users", 400, "--grid", "8x8"),
]


@pytest.mark.long
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene[0])
def test_a_seed_repeats_the_run_and_says_that_it_is_not_private(
    heatveil: Callable[..., Any], scene: tuple[Any, ...], tmp_path: Path
) -> None:
    """Experiments must be repeatable; a map made so must never pass for a private one."""
    maps = []
    for index, seed in enumerate((7, 7, 8)):
        out = tmp_path / f"{index}.npz"
        said = heatveil("play", *scene, "--seed", seed, "--out", out)
        maps.append(from_npz(out))
        assert "not private" in said.out

    assert (maps[0].mass == maps[1].mass).all()
    assert (maps[0].mass != maps[2].mass).any()
    assert "--seed" in maps[0].guarantee.trust


def test_frames_that_nobody_plays_are_not_passed_over(
    heatveil: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The map of an invented room would be taken for that of the recording."""
    without = replace(find_mechanism("thermal"), play_frames=None)
    monkeypatch.setattr(mechanisms, "find_mechanism", lambda _: without)

    with pytest.raises(RuntimeError, match="cannot play"):
        heatveil("play", "thermal", "--frames", tmp_path / "frames.npz")


@pytest.mark.long
@pytest.mark.parametrize(
    ("mechanism", "flag", "rows"),
    [
        ("thermal", "--sources", "position,intensity\n0.25,1\n0.8,1\n"),
        ("disk", "--points", "user,x,y\n" + "".join(f"u{n},0.1,0.5\n" for n in range(600))),
    ],
)
def test_without_a_seed_nobody_can_repeat_what_was_told(
    heatveil: Callable[..., Any], mechanism: str, flag: str, rows: str, tmp_path: Path
) -> None:
    """The default is private: the same command on the same scene draws other noise."""
    (tmp_path / "scene.csv").write_text(rows)
    told = []
    for name in ("a.json", "b.json"):
        scene = (flag, tmp_path / "scene.csv", "--published", tmp_path / name)
        said = heatveil("play", mechanism, *scene)
        told.append(json.loads((tmp_path / name).read_text())["rounds"][0]["values"])
        assert "not private" not in said.out

    pairs = [pair for pair in zip(*told, strict=True) if any(pair)]
    assert sum(one == other for one, other in pairs) < len(pairs) / 2


def test_a_map_that_contradicts_its_own_query_counts_on_what_was_read(
    heatveil: Callable[..., Any], tmp_path: Path
) -> None:
    """Twelve sources where eight are stated: the query was believed, and a guess was nearer."""
    out, scores = tmp_path / "map.npz", tmp_path / "scores.json"
    room = ("--cells", 30, "--sensors", 15, "--epsilon", "4/1", "--seed", 3)
    files = ("--out", out, "--scores", scores)
    wrong = heatveil("play", "thermal", "--sources-random", 12, *room, *files)
    found, map = json.loads(scores.read_text()), from_npz(out)
    right = heatveil("play", "thermal", "--sources-random", 1, *room, *files)
    fits = json.loads(scores.read_text())

    assert found["emd_l1_data_free"] > 2 * found["emd_l1"]
    assert (
        (map.verdict.level, map.contradicted)
        == (found["verdict"]["level"], False)
        == ("other", False)
    )
    assert found["expected_error"] == map.expected_error > found["emd_l1"] / 2
    assert found["verdict"]["says"] in wrong.out
    assert (fits["verdict"]["level"], fits["verdict"]["why"]) == ("fits", "")
    assert fits["expected_error"] > 0
    assert "Do not trust" not in right.out


def test_no_map_is_a_result_and_leaves_no_old_map_behind(
    heatveil: Callable[..., Any], tmp_path: Path
) -> None:
    """A radius that nearly always fails: the exit is 0, the scores null, the file gone."""
    out, scores = tmp_path / "map.npz", tmp_path / "scores.json"
    out.write_bytes(b"an older map")
    words = ("play", "thermal", "--sources-random", 2, "--seed", 2, "--set", "failure=0.999999")
    said = heatveil(*words, "--estimator", "l1", "--out", out, "--scores", scores)

    assert said.status == 0
    assert said.out.startswith("No map: ")
    found = json.loads(scores.read_text())
    assert found["emd_l1"] is None
    assert found["status"].startswith("unresolved")
    assert found["emd_l1_data_free"] > 0
    assert not out.exists()


def test_a_source_beyond_the_assumption_is_pointed_out(
    heatveil: Callable[..., Any], tmp_path: Path
) -> None:
    """The noise is made for sources of intensity 1; a warmer one is hidden less."""
    path = tmp_path / "sources.csv"
    path.write_text("position,intensity\n0.5,3\n")

    assert "intensity_max=3" in heatveil("play", "thermal", "--sources", path).out


# `heatveil recover`: a map from what is public, and from nothing else.

query = partial(parse_query, find_mechanism("thermal"))


@pytest.fixture
def published(heatveil: Callable[..., Any], tmp_path: Path) -> Path:
    """Return published readings, with the map that was drawn of them at once beside it."""
    path = tmp_path / "public.json"
    words = ("play", "thermal", "--sources-random", 2, "--epsilon", "4/1", "--seed", 3)
    files = ("--published", path, "--out", tmp_path / "map.npz")
    heatveil(*words, "--set", "readings=3", *files)
    return path


def test_the_published_file_holds_no_reading(published: Path) -> None:
    """The true temperatures are nowhere in it: all values are noised whole numbers."""
    found = json.loads(published.read_text())

    assert set(found) == {"schema", "mechanism", "query", "rounds"}
    assert [set(round) for round in found["rounds"]] == [
        {"number", "params", "guarantee", "values"}
    ] * 3
    first, second, third = (np.array(round["values"]) for round in found["rounds"])
    sigma = found["rounds"][0]["params"][4] ** 0.5
    assert np.std(first - second) == pytest.approx(2**0.5 * sigma, rel=0.4)
    assert np.std(second - third) == pytest.approx(2**0.5 * sigma, rel=0.4)


def test_what_takes_long_says_where_it_is_in_a_pipe_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two million devices take a minute, in which nothing was said; a short run stays silent."""
    now_s = iter([0.0, 10.0, 31.0, 31.0, 50.0])
    monkeypatch.setattr(output.time, "monotonic", lambda: next(now_s))
    with output.show_stages() as stage:
        for thousands in (2, 4, 6):
            stage(f"blurring the readings, {thousands},000 so far")

    assert capsys.readouterr().err == "blurring the readings, 4,000 so far ...\n"

"""Whether a run of `heatveil play` can be repeated: only by who asked for that."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recovery.maps.heatmap import from_npz

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

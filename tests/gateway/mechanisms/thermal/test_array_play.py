"""Recorded frames through edge and recovery: what comes out, and what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edge.core.records import Grid
from gateway.cli import main
from gateway.cli.play import ResultFiles
from gateway.faults import OperatorFault
from gateway.mechanisms.thermal.arrays import play_frames
from gateway.mechanisms.thermal.picture import Picture, draw_picture
from recovery.maps.heatmap import from_npz

DOORWAY, CEILING = "grideye8x8_doorway.npz", "grideye8x8_ceiling.npz"


@pytest.fixture
def clip_file(tmp_path: Path) -> Path:
    """Write a file of made frames: an empty room, one person who walks, and what is broken."""
    world = np.random.default_rng(1)
    y, x = np.mgrid[:8, :8]
    walks = [
        24 * np.exp(-((x - column) ** 2 + (y - row) ** 2) / 3.4)
        for column, row in world.uniform(1, 6, (24, 2))
    ]
    counts = [90 + world.normal(0, 1, (24, 8, 8)) + heat for heat in (0, np.array(walks))]
    empty, one = (np.rint(clip).astype(np.uint8) for clip in counts)
    broken = one.copy()
    broken[::3] = 0
    path = tmp_path / "array.npz"
    wide = np.full((9, 8, 10), 90, np.uint8)
    np.savez(path, empty=empty, one=one, broken=broken, dead=0 * one, wide=wide, seconds=x[0] / 2)
    return path


def clips(path: Path, clip: str | None, background: str | None, fit: str | None) -> dict[str, Any]:
    return {"frames": path, "clip": clip, "background": background, "fit": fit}


@pytest.fixture(scope="module")
def doorway(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], ResultFiles]:
    """Play people who walk through a door, once for all the tests that look at it."""
    folder = tmp_path_factory.mktemp("doorway")
    files = ResultFiles(folder / "map.npz", folder / "scores.json", folder / "frame.png")
    given = clips(data / "thermal" / DOORWAY, "two_people", "background", "one_person")
    return play_frames(**given, epsilon="1000/1", seed=1, files=files), files


@pytest.mark.long
def test_a_doorway_tells_nothing_at_epsilon_one_and_nearly_all_at_a_hundred(
    doorway: tuple[list[str], ResultFiles],
) -> None:
    """The honest answer: an epsilon that hides a step hides the person, and the table says so."""
    _, files = doorway
    found = json.loads(files.scores.read_text())
    rows = {row["epsilon"]: row for row in found["by_epsilon"]}

    assert rows[1]["emd_map"] > 0.9 * rows[1]["emd_data_free"]
    assert rows[1]["nearer_map"] < 0.5  # no better than a coin
    assert rows[100]["emd_map"] < 0.4 * rows[100]["emd_data_free"]
    assert rows[100]["counted_as_unveiled"] > 0.8
    assert rows[1]["noise_kelvin"] > 20 * rows[100]["noise_kelvin"]


@pytest.mark.long
def test_the_files_of_a_play_of_frames_are_whole(doorway: tuple[list[str], ResultFiles]) -> None:
    """Scripts read them; what nobody can know is null, never nought."""
    _, files = doorway
    assert files.out is not None
    assert files.plot is not None
    found = json.loads(files.scores.read_text())

    assert from_npz(files.out).mass.shape == (8, 8)
    assert from_npz(files.out).guarantee.epsilon == (1000, 1)
    assert files.plot.read_bytes().startswith(b"\x89PNG")
    assert found["emd_l1"] is None
    assert (found["reports"], found["vector_length"]) == (20, 64)
    assert found["bytes_per_report"] <= 1.2 * 2.5 * 64


@pytest.mark.long
def test_the_blur_of_real_people_is_near_a_gaussian(data: Path, tmp_path: Path) -> None:
    """One person under the ceiling, on two days: counted right where the noise allows it."""
    given = clips(
        data / "thermal" / CEILING,
        "grideye4_27_1people_light",
        "grideye1_28_nopeople_light",
        "grideye4_30_1people_nolight",
    )
    files = ResultFiles(scores=tmp_path / "scores.json")
    play_frames(**given, frames_count=8, label=1, seed=1, files=files)
    found = json.loads((tmp_path / "scores.json").read_text())
    rows = {row["epsilon"]: row for row in found["by_epsilon"]}

    assert 0.1 < found["blur"]["deviation"] < 0.15
    assert rows[None]["counted_as_labelled"] == 1
    assert rows[100]["counted_as_labelled"] > 0.8
    assert rows[1]["counted_as_labelled"] < 0.3


def test_broken_frames_are_dropped_and_counted(clip_file: Path) -> None:
    """A frame of noughts is an array that did not answer."""
    given = clips(clip_file, "broken", "empty", "one") | {"frames_count": 2}

    assert play_frames(**given, seed=1)[0] == "8 frames of broken hold noughts and are dropped."


@pytest.mark.parametrize(
    ("clip", "background", "fit", "complaint"),
    [
        ("nobody", "empty", "one", "--clip: .* has no clip 'nobody' but holds empty, one, "),
        ("one", None, "one", "came without --background; it holds empty, one, "),
        ("one", "empty", None, "came without --fit; "),
        (None, "empty", None, "came without --clip and --fit; "),
        ("dead", "empty", "one", "--clip: every one of the 24 frames"),
        ("seconds", "empty", "one", r"--clip: .* has shape \(8,\)"),
        ("wide", "empty", "one", "must be of one array"),
        ("wide", "wide", "wide", "square"),
        ("one", "empty", "empty", "--fit empty: .* one person"),
    ],
)
def test_clips_that_cannot_be_played_are_refused(
    clip_file: Path, clip: str, background: str | None, fit: str | None, complaint: str
) -> None:
    """Each in one line that says which flag, what there is instead, and what to do."""
    with pytest.raises(OperatorFault, match=complaint):
        play_frames(**clips(clip_file, clip, background, fit))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--frames-count", "0"], "--frames-count is 0"),
        (["--every", "0"], "--every is 0"),
        (["--epsilon", "0.5"], "write 1/2, so"),
        (["--set", "readings=3"], "Say --frames-count 3 instead"),
        (["--cells", "16x16"], "--cells came with --frames"),
        (["--published", "public.json"], "cannot be, for heatveil recover"),
    ],
)
def test_a_wrong_word_is_one_line_and_leaves_no_file(
    clip_file: Path, capsys: pytest.CaptureFixture[str], words: list[str], complaint: str
) -> None:
    """What the operator can mend is said in one line, status 1, with nothing half done."""
    frames = ["--frames", str(clip_file), "--clip", "one", "--background", "empty", "--fit", "one"]
    out = clip_file.with_name("map.npz")
    with pytest.raises(SystemExit) as left:
        main(["play", "thermal", *frames, "--out", str(out), *words])
    told = capsys.readouterr().err

    assert left.value.code == 1
    assert complaint in told
    assert told.count("\n") == 1
    assert not out.exists()


# Pictures of a play: whatever came of it, a PNG comes out, and no window or global state.

TITLES = ("truth", "wire", "map")


@pytest.mark.long
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.parametrize("grid", [Grid((20, 1), 0), Grid((20, 1), 500), Grid((6, 4), 0)])
def test_there_is_a_picture_of_every_outcome(
    tmp_path: Path, grid: Grid, known: bool, mapped: bool
) -> None:
    """With the truth and without, with a map and without, on a line and in a plane."""
    columns, rows = grid.shape
    heat = np.zeros((rows, columns))
    heat[0, 1] = 2.0
    places = np.array([[0.2, 0.3], [0.6, 0.9]]) if rows > 1 else np.array([0.2, 0.6])
    sent = np.array([[0.1, np.nan], [0.3, -0.2]])
    path = tmp_path / "veil.png"
    warmth = np.array([0.2, 0.1])
    mass = heat / 2 if mapped else None
    draw_picture(
        Picture(
            grid, heat if known else None, warmth if known else None, places, sent, mass, TITLES
        ),
        path,
    )

    assert path.read_bytes().startswith(b"\x89PNG")

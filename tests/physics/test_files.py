"""Files of sources and of frames: what they hold, and what is said of a bad one."""

from pathlib import Path

import numpy as np
import pytest

from physics.files import from_frames_file, read_sources

LINE, PLANE = "position,intensity\n", "x,y,intensity\n"


@pytest.mark.parametrize(
    "text",
    [
        LINE + "0,1\n0.5,0.25\n1,0\n",
        "\ufeffPosition, Intensity\r\n0, 1\r\n\r\n 0.5 ,0.25\r\n1.0,0.0",
        '"position","intensity"\n"0","1"\n"5e-1","0.25"\n"1","0"\n',
    ],
)
def test_sources_along_a_line(tmp_path: Path, text: str) -> None:
    """However a spreadsheet or an editor writes it."""
    path = tmp_path / "sources.csv"
    path.write_bytes(text.encode())
    places, intensities = read_sources(path)

    assert places.tolist() == [0, 0.5, 1]
    assert intensities.tolist() == [1, 0.25, 0]


def test_sources_in_a_plane_of_metres(tmp_path: Path) -> None:
    """Each axis ends where the room does."""
    path = tmp_path / "sources.csv"
    path.write_text(PLANE + "3.5,1.5,1\n")
    places, _ = read_sources(path, (4.0, 2.0))

    assert places.tolist() == [[3.5, 1.5]]
    with pytest.raises(ValueError, match=r"line 2: x is .3\.5. but must be a finite"):
        read_sources(path)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "line 1: the header is 'missing' but must be 'position,intensity' or"),
        ("position;intensity\n0.5;1\n", "line 1: the header is 'position;intensity'"),
        (LINE, r"has 0 source\(s\) with no heat"),
        (LINE + "0.5,1\n1.2,1\n", "line 3: position is '1.2' but must be a finite number from 0"),
        (LINE + "nan,1\n", "line 2: position is 'nan' but must"),
        (LINE + "0.5,-1\n", "line 2: intensity is '-1' but must be a finite number nought or"),
        (LINE + "0.5,1e999\n", "line 2: intensity is '1e999' but must"),
        (LINE + "0.5,warm\n", "line 2: intensity is 'warm' but must"),
        (LINE + "\n0.5\n", "line 3: there are 1 values but 2 are needed, position,intensity"),
        (LINE + "2,1\n0.5,1\n3,1\n4,1\n", r"line 2: .*\(more faults in line 4, 5\)"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, text: str, fault: str) -> None:
    """File, line, value and need, so that it can be mended without a search."""
    path = tmp_path / "sources.csv"
    path.write_text(text)

    with pytest.raises(ValueError, match=fault) as caught:
        read_sources(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_a_clip_of_frames_comes_back_whole(tmp_path: Path) -> None:
    """Small unsigned counts become whole numbers that can be subtracted."""
    path, frames = tmp_path / "clips.npz", np.arange(3 * 8 * 8, dtype=np.uint8).reshape(3, 8, 8)
    np.savez(path, background=frames, walk=frames + 1)
    np.savez(tmp_path / "one.npz", only=frames)
    clip = from_frames_file(path, "walk")

    assert clip.dtype == np.int64
    assert (clip == frames + 1).all()
    assert (from_frames_file(tmp_path / "one.npz") == frames).all()


@pytest.mark.parametrize(
    ("frames", "fault"),
    [
        (np.ones((8, 8), int), r"has shape \(8, 8\) of int64 but must be"),
        (np.ones((2, 8, 8)), r"of float64 but must be \(frames, rows, columns\) of whole"),
        (np.ones((0, 8, 8), int), r"has shape \(0, 8, 8\)"),
        (np.array([None]), "cannot be read"),
    ],
)
def test_an_array_that_is_no_clip_is_refused(tmp_path: Path, frames, fault: str) -> None:
    """Floats would be rounded behind the recorder's back."""
    path = tmp_path / "clips.npz"
    np.savez(path, walk=frames)

    with pytest.raises(ValueError, match=fault):
        from_frames_file(path, "walk")

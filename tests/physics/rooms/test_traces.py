"""Recorded positions, linked into people: nobody is lost and nobody invented."""

import csv
import gzip
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from physics.rooms.day import walked
from physics.rooms.records import Air, Clock, Room, Walker
from physics.rooms.traces import Frames, link, read_trace

HALL = Room("hall", (4.0, 3.0), 2.5, 100, Air(0.005, 0, 12, 20, ((0, 20),)), Clock(0, 24, 60), {})
RECORDING = "thermal/thermo_presence_positions.csv.gz"


def walker(frames: Frames, **parts: object) -> Walker:
    """Return a walker of 28 W, two frames a second from nine o'clock."""
    kept = {"jump_m": 1.5, "gap_frames": 4, "at_s": (32400.0,)} | parts
    return Walker("w", 28.0, frames, 2.0, **kept)


@pytest.mark.long
def test_linked_tracks_have_the_recorded_counts(data: Path, tmp_path: Path) -> None:
    """At each of 13,643 frames as many people are in the room as were marked in it."""
    with gzip.open(data / RECORDING, "rt", newline="") as file:
        header, *rows = file.read().splitlines()
    marked: Counter[tuple[str, int]] = Counter()
    clips: dict[str, list[str]] = {}
    for text, row in zip(rows, csv.DictReader([header, *rows]), strict=True):
        marked[row["sequence"], int(row["frame"])] += bool(row["x_px"])
        clips.setdefault(row["sequence"], []).append(text)
    stays, people = 0, 0
    for sequence, texts in clips.items():
        (tmp_path / "clip.csv").write_text("\n".join([header, *texts]))
        frames = read_trace(tmp_path / "clip.csv", (32.0, 24.0))
        numbers = sorted({int(text.split(",")[1]) for text in texts})
        in_metres = tuple(
            (frame, tuple((x / 8, y / 8) for x, y in places)) for frame, places in frames
        )
        tracks = walked(HALL, walker(in_metres))
        first = 32400.0 - numbers[0] / 2
        counts = [
            sum(track.at_s[0] <= first + frame / 2 <= track.at_s[-1] for track in tracks)
            for frame in numbers
        ]
        assert counts == [marked[sequence, frame] for frame in numbers]
        joules = sum(track.joules for track in tracks)
        assert joules == pytest.approx(28.0 * 0.5 * sum(counts))
        stays += len(tracks)
        people += len({track.name for track in tracks})

    assert sum(marked.values()) == 40213
    # Five people at most in 29 clips: most stay for a whole one, and few names are made up.
    assert people < 29 * 8
    assert stays < 1.5 * people


def test_two_who_follow_each_other_keep_their_names() -> None:
    """The pairs are the shortest together; nearest first, one after the other, would swap them."""
    places = [((0.4 * frame, 1.0), (0.6 + 0.4 * frame, 1.0)) for frame in range(6)]
    frames = tuple((at, pair[:: 1 if at % 2 else -1]) for at, pair in enumerate(places))
    one, other = sorted(link(frames, 1.5, 4), key=lambda person: person[0])

    assert list(one.values()) == [first for first, _ in places]
    assert list(other.values()) == [second for _, second in places]
    # Negative control: the nearest pair of all is the wrong one.
    assert math.dist(places[0][1], places[1][0]) < math.dist(places[0][1], places[1][1])


def test_somebody_lost_for_a_while_is_known_again_but_not_there() -> None:
    """Three frames without a mark: one name, two stays, and no heat between."""
    seen = [0, 1, 2, 6, 7]
    frames = tuple((f, ((1.0 + 0.1 * f, 1.0),) if f in seen else ()) for f in range(8))
    known = walked(HALL, walker(frames, gap_frames=3))
    strangers = walked(HALL, walker(frames, gap_frames=2))

    assert [track.name for track in known] == ["w 1", "w 1"]
    assert [track.name for track in strangers] == ["w 1", "w 2"]
    assert sum(track.joules for track in known) == pytest.approx(5 * 0.5 * 28)
    assert known[0].place(32400.0 + 2.0) is None


def test_a_recording_can_be_played_twice() -> None:
    """The second time is the first one later, and frames may begin anywhere."""
    frames = ((7, ((1.0, 1.0),)), (8, ((1.2, 1.0),)))
    first, second = walked(HALL, walker(frames, at_s=(100.0, 200.0)))

    assert first.at_s == pytest.approx([99.75, 100.0, 100.5, 100.75])
    assert second.at_s == pytest.approx(first.at_s + 100)
    assert np.array_equal(first.places_m, second.places_m)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("a,x,1,1,1", "line 3: 'x,1,1'"),
        ("a,2,1,33,1", "line 3: a place at 33, 1"),
        ("a,2,1,1,", "line 3: '2,1,'"),
    ],
)
def test_a_row_that_makes_no_sense_is_named(row: str, says: str, tmp_path: Path) -> None:
    """The CSV has lines, too."""
    trace = tmp_path / "trace.csv"
    trace.write_text(f"sequence,frame,people,x_px,y_px\na,1,1,2,2\n{row}\n")

    with pytest.raises(ValueError, match=says):
        read_trace(trace, (32.0, 24.0))
    with pytest.raises(ValueError, match="no position of 'b'"):
        read_trace(trace.with_name("trace.csv"), (99.0, 99.0), "b")

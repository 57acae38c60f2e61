"""Recorded positions: who was where in each frame, read from CSV and told apart."""

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from scipy.optimize import linear_sum_assignment

from .records import Point

Frames: TypeAlias = tuple[tuple[int, tuple[Point, ...]], ...]
_COLUMNS = ("frame", "x_px", "y_px")
_EXAMPLE = "sequence,frame,people,x_px,y_px\n    office,0,1,7.25,3.1875"
# Dearer than any true pair: whoever would have to jump is somebody else.
_NEVER = 1e9


def read_trace(path: Path, frame_px: Point, sequence: str | None = None) -> Frames:
    """Return the places of people in each frame of a recording, in pixels, in frame order.

    Args:
        path: a CSV with the columns frame, x_px and y_px, and sequence where there are several;
            a row for each person in each frame, or one with empty places where nobody is.
        frame_px: how many pixels a frame has, across and down; places go from 0 to there.
        sequence: which recording; the first one in the file without.

    Raises:
        ValueError: no such file or recording, no frame in it, or a row that makes no sense; it
            names the file and the line.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            rows = [(reader.line_num, row) for row in reader]
            columns = [name or "" for name in reader.fieldnames or ()]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _fault(path, 1, f"{error}", "a CSV of positions is needed") from error
    if not set(_COLUMNS) <= set(columns):
        raise _fault(
            path, 1, f"the header is {','.join(columns)!r}", f"it needs {', '.join(_COLUMNS)}"
        )
    if sequence is None and rows and "sequence" in columns:
        sequence = rows[0][1]["sequence"]
    frames: dict[int, list[Point]] = {}
    for line, row in rows:
        if sequence is None or row.get("sequence") == sequence:
            frame, place = _row(path, line, row, frame_px)
            frames.setdefault(frame, []).extend(place)
    if not any(frames.values()):
        which = f" of {sequence!r}" if sequence is not None else ""
        raise _fault(path, 1, f"there is no position{which}", "at least one is needed")
    return tuple((frame, tuple(frames[frame])) for frame in sorted(frames))


def link(frames: Frames, jump_m: float, gap_frames: int) -> tuple[dict[int, Point], ...]:
    """Return where each person was in each frame: places without names, put together.

    From frame to frame, everybody goes to the place that makes all ways together shortest, if it
    is near enough; who is lost for a few frames is known again, and is in no frame between.
    Nobody is added and nobody left out: in each frame there are as many as were recorded.

    Args:
        frames: frame numbers, rising, and the places in metres.
        jump_m: the furthest way from one frame to the next.
        gap_frames: for how many frames somebody may be lost and still be the same.

    Source: Jaqaman et al. 2008, Nature Methods 5, 695, first step: linear assignment, with the
    best pairing by `scipy.optimize.linear_sum_assignment`.
    """
    people: list[dict[int, Point]] = []
    for frame, places in frames:
        open_ = [one for one in people if frame - _last(one) <= gap_frames + 1]
        pairs = _pairs(open_, frame, places, jump_m)
        for index, place in enumerate(places):
            if index in pairs:
                open_[pairs[index]][frame] = place
            else:
                people.append({frame: place})
    return tuple(people)


def _pairs(
    people: list[dict[int, Point]], frame: int, places: Sequence[Point], jump_m: float
) -> dict[int, int]:
    """Return who is at each place, by index; no entry for a place where somebody new is."""
    if not people or not places:
        return {}
    last = [(_last(one), one[_last(one)]) for one in people]
    ways = np.array([[math.dist(place, then) for place in places] for _, then in last])
    reach = jump_m * np.array([frame - seen for seen, _ in last])[:, None]
    rows, columns = linear_sum_assignment(np.where(ways <= reach, ways, _NEVER))
    return {
        int(column): int(row)
        for row, column in zip(rows, columns, strict=True)
        if ways[row, column] <= reach[row, 0]
    }


def _last(person: dict[int, Point]) -> int:
    return next(reversed(person))  # frames rise


def _row(
    path: Path, line: int, row: dict[str, str], frame_px: Point
) -> tuple[int, tuple[Point, ...]]:
    words = [(row.get(name) or "").strip() for name in _COLUMNS]
    try:
        frame = int(words[0])
        if words[1:] == ["", ""]:
            return frame, ()
        x, y = float(words[1]), float(words[2])
    except ValueError as error:
        raise _fault(
            path, line, f"{','.join(words)!r}", "must be a frame and two numbers"
        ) from error
    if not (0 <= x <= frame_px[0] and 0 <= y <= frame_px[1]):
        raise _fault(
            path,
            line,
            f"a place at {x:g}, {y:g}",
            f"must be within {frame_px[0]:g} by {frame_px[1]:g} px (frame_px of the [[walker]])",
        )
    return frame, ((x, y),)


def _fault(path: Path, line: int, given: str, needed: str) -> ValueError:
    return ValueError(
        f"{path} line {line}: {given}, but {needed}, for walkers go where people were recorded. "
        f"For example:\n    {_EXAMPLE}"
    )

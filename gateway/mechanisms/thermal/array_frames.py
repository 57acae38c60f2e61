"""Recorded frames of a thermal array: as its device would have read them, and through the veil."""

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edge import thermal
from edge.pixels import above, baseline
from edge.records import Reading, Release
from edge.thermal import params_of
from physics.scenes import from_frames_file
from recovery.maps.heatmap import Heatmap, Unresolved
from recovery.thermal import Query, plan
from recovery.thermal.frames import Blur, fit_blur, people, recover

from ...faults import OperatorFault
from ..flags import undrawn

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Clips:
    """Which frames of a file are played, and which tell what the array sees."""

    file: Path
    clip: str | None  # the frames that are played; private
    background: str | None  # frames of the empty room; public
    fit: str | None  # frames of one person at a time; public
    every: int | None = None  # play one frame of so many; None to spread them over the clip
    frames: int = 20  # play so many


@dataclass(frozen=True)
class Recorded:
    """The frames that are played, and what is known of their array."""

    counts: Counts  # (frames, side, side), as the converter counted
    empty: list[int]  # the same of the empty room, pixel by pixel
    step: Fraction  # of the converter, in kelvin
    blur: Blur
    notes: tuple[str, ...]  # what had to be left out, in sentences

    @cached_property
    def warmth(self) -> Floats:
        """The frames in kelvin above the empty room, (frames, side, side). Private."""
        return _warmth(self.counts, self.empty, self.step)

    def reading(self, round: Any, frame: int) -> Reading:
        """Return what the device reads of one frame for a Round, in grains. Private."""
        ratio, exponent = self.step.as_integer_ratio(), params_of(round).exponent
        return Reading(0, above(self.counts[frame].ravel().tolist(), self.empty, exponent, ratio))


def recorded(clips: Clips, step: Fraction) -> Recorded:
    """Return the frames that are played, with the empty room and the blur of their array.

    Raises:
        OperatorFault: the file, a clip or a number is wrong, or the clips do not fit together.
    """
    for flag, number in (("--every", clips.every), ("--frames-count", clips.frames)):
        if number is not None and number < 1:
            raise OperatorFault(
                f"{flag} is {number}; it must be a whole number from 1, or no frame would be "
                "played. Leave it out, or count from 1"
            )
    _check_named(clips)
    notes: list[str] = []
    background = _clip(clips.file, clips.background, "--background", notes)
    fit = _clip(clips.file, clips.fit, "--fit", notes)
    played = _clip(clips.file, clips.clip, "--clip", notes)
    for flag, frames in (("--fit", fit), ("--clip", played)):
        if frames.shape[1:] != background.shape[1:]:
            raise OperatorFault(
                f"{flag} has frames of {frames.shape[1:]} pixels and --background of "
                f"{background.shape[1:]}; they must be of one array, or a pixel would be held "
                "against another. Name clips that were recorded together"
            )
    empty = baseline(background.reshape(len(background), -1).tolist())
    try:
        blur = fit_blur(_warmth(fit, empty, step))
    except ValueError as fault:
        raise OperatorFault(f"--fit {clips.fit}: {fault}") from fault
    every = clips.every or max(1, len(played) // clips.frames)
    chosen = played[::every][: clips.frames]
    notes.append(
        f"{len(chosen)} frames of {clips.clip} are played, every {every} of {len(played)}; the "
        f"empty room is the middle of {len(background)} frames of {clips.background}."
    )
    return Recorded(chosen, empty, step, blur, tuple(notes))


def _check_named(clips: Clips) -> None:
    """Refuse a file of several clips where it was not said which of them is which.

    Raises:
        OperatorFault: naming every flag that is missing.
    """
    named = {"--clip": clips.clip, "--background": clips.background, "--fit": clips.fit}
    missing = [flag for flag, name in named.items() if name is None]
    if not missing or not zipfile.is_zipfile(clips.file):
        return
    with zipfile.ZipFile(clips.file) as archive:
        held = [name.removesuffix(".npy") for name in archive.namelist()]
    if len(held) > 1:
        raise OperatorFault(
            f"--frames {clips.file} came without {' and '.join(missing)}; it holds "
            f"{', '.join(held)}, and nobody but you knows which of them is played, which is of "
            "the empty room and which of one person. Name one for each"
        )


def _clip(path: Path, name: str | None, flag: str, notes: list[str]) -> Counts:
    """Return the frames of a clip that are whole; a note is made of those that are not."""
    try:
        frames = from_frames_file(path, name)
    except ValueError as fault:
        blamed = flag if zipfile.is_zipfile(path) else "--frames"
        raise OperatorFault(f"{blamed}: {fault}") from fault
    # An array that was read too early sends noughts; 0 degrees indoors is no temperature.
    whole = (frames > 0).all(axis=(1, 2))
    if not whole.all():
        notes.append(f"{np.count_nonzero(~whole)} frames of {name} hold noughts and are dropped.")
    if not whole.any():
        raise OperatorFault(
            f"{flag}: every one of the {len(frames)} frames of {name} in {path} holds a nought; "
            "at least one must be whole, or there is nothing to see. Name another clip"
        )
    return frames[whole]


def _warmth(counts: Counts, empty: list[int], step: Fraction) -> Floats:
    return np.asarray((counts - np.reshape(empty, counts.shape[1:])) * float(step))


# One recorded frame seen through the veil, and what is made of it.


class Drawn(NamedTuple):
    """What was sent, and the map and the people that were made of it."""

    sent: Floats  # (side, side), in kelvin
    found: Heatmap | Unresolved
    people: Floats  # (side, side)

    @property
    def somewhere(self) -> bool:
        """Whether any heat was found, so that the map says where."""
        return isinstance(self.found, Heatmap) and self.found.total > 0

    @property
    def mass(self) -> Floats:
        """The map; uniform where there is none, for then nothing is known."""
        if isinstance(self.found, Heatmap):
            return self.found.mass
        return np.full(self.people.shape, 1 / self.people.size)


def drawn(recorded: Recorded, query: Query, frame: int, rng: Any = None) -> Drawn:
    """Return what is made of one frame under a promise of its own.

    Args:
        query: its epsilon is that of this frame.
        frame: its number among those recorded.
        rng: where the noise comes from; None for no veil at all, to compare with.

    Raises:
        ValueError: the query cannot be planned.
    """
    round: Any = plan(replace(query, readings=1), [])  # the first of one is never None
    reading = recorded.reading(round, frame)
    if rng is not None:
        payload = thermal.report(round, reading, rng)
    else:
        bare = params_of(round)._replace(variance=0)
        round, payload = round._replace(params=tuple(bare)), [0, *reading.values]
    return seen(recorded, query, [thermal.release(round, [payload], rng)])


def seen(recorded: Recorded, query: Query, releases: Sequence[Release]) -> Drawn:
    """Return what is made of frames that were released: their mean, its map, its people."""
    counted = people(query, releases, recorded.blur.heat)
    grains = np.mean([release.values for release in releases], axis=0)
    sent = np.ldexp(grains, -params_of(releases[0].round).exponent)
    with undrawn():
        found = recover(query, releases)
    return Drawn(sent.reshape(counted.shape), found, counted)

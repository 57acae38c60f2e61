"""Recorded frames of a thermal array, played through edge and recovery: `heatveil play --frames`.

The frames that are asked for share one budget and give one map, of where the heat was on
average. Beside it stands a table of what single frames give at which epsilon, because one
epsilon says little before it has been held against a guess. Where people truly stood is in no
recording, so a veiled map is held against the map of the same frame without a veil.
"""

import os
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edge.core.entropy import Tape, sealed
from edge.core.pixels import find_baseline, subtract_baseline
from edge.core.records import Reading, Release
from edge.mechanisms import thermal
from edge.mechanisms.thermal import params_of
from physics.scenes import read_frames
from recovery.distance import earth_movers
from recovery.maps.guarantee import describe_guarantee
from recovery.maps.heatmap import Heatmap, Unresolved, to_npz
from recovery.noise.gaussian import zcdp_epsilon
from recovery.thermal import Query, calibrate_query, plan
from recovery.thermal.frames import Blur, count_people, fit_blur, recover

from ... import mechanisms
from ...cli.play import ResultFiles
from ...faults import OperatorFault
from ...output import Writer, check_writable, make_json_writer, write_all
from ..flags import convert_recovery_faults, parse_query
from ..scores import Watch, compute_scores, count_frame_bytes
from . import MECHANISM
from .words import list_facts

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

# Hundreds of maps are drawn, so it must be a quick one; of those this comes nearest, on the
# recorded doorway, to what it draws without a veil.
ESTIMATOR = "lasso"
EPSILONS = (1, 4, 10, 20, 40, 100)


@dataclass(frozen=True)
class FrameSelection:
    """Which frames of a file are played, and which tell what the array sees."""

    file: Path
    clip: str | None  # the frames that are played; private
    background: str | None  # frames of the empty room; public
    fit: str | None  # frames of one person at a time; public
    every: int | None = None  # play one frame of so many; None to spread them over the clip
    frames: int = 20  # play so many


@dataclass(frozen=True)
class RecordedFrames:
    """The frames that are played, and what is known of their array."""

    counts: Counts  # (frames, side, side), as the converter counted
    empty: list[int]  # the same of the empty room, pixel by pixel
    step: Fraction  # of the converter, in kelvin
    blur: Blur
    notes: tuple[str, ...]  # what had to be left out, in sentences

    @cached_property
    def warmth(self) -> Floats:
        """The frames in kelvin above the empty room, (frames, side, side). Private."""
        return _compute_warmth(self.counts, self.empty, self.step)

    def make_reading(self, round: Any, frame: int) -> Reading:
        """Return what the device reads of one frame for a Round, in grains. Private."""
        ratio, exponent = self.step.as_integer_ratio(), params_of(round).exponent
        return Reading(
            0, subtract_baseline(self.counts[frame].ravel().tolist(), self.empty, exponent, ratio)
        )


def load_frames(clips: FrameSelection, step: Fraction) -> RecordedFrames:
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
    empty = find_baseline(background.reshape(len(background), -1).tolist())
    try:
        blur = fit_blur(_compute_warmth(fit, empty, step))
    except ValueError as fault:
        raise OperatorFault(f"--fit {clips.fit}: {fault}") from fault
    every = clips.every or max(1, len(played) // clips.frames)
    chosen = played[::every][: clips.frames]
    notes.append(
        f"{len(chosen)} frames of {clips.clip} are played, every {every} of {len(played)}; the "
        f"empty room is the middle of {len(background)} frames of {clips.background}."
    )
    return RecordedFrames(chosen, empty, step, blur, tuple(notes))


def _check_named(clips: FrameSelection) -> None:
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
        frames = read_frames(path, name)
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


def _compute_warmth(counts: Counts, empty: list[int], step: Fraction) -> Floats:
    return np.asarray((counts - np.reshape(empty, counts.shape[1:])) * float(step))


# One recorded frame seen through the veil, and what is made of it.


class RecoveredFrame(NamedTuple):
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


def recover_frame(
    recorded: RecordedFrames, query: Query, frame: int, rng: Any = None
) -> RecoveredFrame:
    """Return what is made of one frame under a promise of its own.

    Args:
        query: its epsilon is that of this frame.
        frame: its number among those recorded.
        rng: where the noise comes from; None for no veil at all, to compare with.

    Raises:
        ValueError: the query cannot be planned.
    """
    round: Any = plan(replace(query, readings=1), [])  # the first of one is never None
    reading = recorded.make_reading(round, frame)
    if rng is not None:
        payload = thermal.report(round, reading, rng)
    else:
        bare = params_of(round)._replace(variance=0)
        round, payload = round._replace(params=tuple(bare)), [0, *reading.values]
    return recover_frames(recorded, query, [thermal.release(round, [payload], rng)])


def recover_frames(
    recorded: RecordedFrames, query: Query, releases: Sequence[Release]
) -> RecoveredFrame:
    """Return what is made of frames that were released: their mean, its map, its people."""
    counted = count_people(query, releases, recorded.blur.heat)
    grains = np.mean([release.values for release in releases], axis=0)
    sent = np.ldexp(grains, -params_of(releases[0].round).exponent)
    with convert_recovery_faults():
        found = recover(query, releases)
    return RecoveredFrame(sent.reshape(counted.shape), found, counted)


# What single frames give at which epsilon, beside a guess that has seen nothing.


@dataclass(frozen=True)
class Row:
    """How the frames fared at one epsilon a frame; None for what does not apply.

    Distances are the earth mover's, l1, in sides of the picture and to the unveiled map; they are
    means over the frames in which somebody is seen without the veil.
    """

    epsilon: int | None  # of one frame by itself; None without a veil
    epsilon_together: float | None  # of all the frames that were played
    noise_kelvin: float  # standard deviation on each pixel
    emd_map: float | None  # of the map
    emd_data_free: float | None  # of a map that is equally warm everywhere
    nearer_map: float | None  # share of frames whose map is nearer than that
    counted_as_unveiled: float  # share of frames
    counted_as_labelled: float | None  # share of frames


def make_table(
    recorded: RecordedFrames,
    query: Query,
    bare: Sequence[RecoveredFrame],
    label: int | None,
    rng: Any,
) -> list[Row]:
    """Return a row for each epsilon of one frame, and a last one without a veil.

    Args:
        query: everything but the epsilon.
        bare: every frame without its veil.
        label: how many people every frame shows, or None where nobody said.
    """
    rows, delta = [], query.delta[0] / query.delta[1]
    for epsilon in EPSILONS:
        asked = replace(query, epsilon=(epsilon, 1), readings=1)
        made = calibrate_query(asked)
        together = zcdp_epsilon(len(bare) * made.rho[0] / made.rho[1], delta)
        veiled = [recover_frame(recorded, asked, frame, rng) for frame in range(len(bare))]
        rows.append(_make_row(epsilon, together, made.sigma, veiled, bare, label))
    # That a map is at no distance from itself says nothing.
    clear = replace(_make_row(None, None, 0.0, bare, bare, label), emd_map=None, nearer_map=None)
    return [*rows, clear]


def _make_row(
    epsilon: int | None,
    together: float | None,
    noise_kelvin: float,
    veiled: Sequence[RecoveredFrame],
    bare: Sequence[RecoveredFrame],
    label: int | None,
) -> Row:
    """Return the row of these frames."""
    uniform = np.full(bare[0].mass.shape, 1 / bare[0].mass.size)
    far = np.array(
        [
            (earth_movers(before.mass, after.mass), earth_movers(before.mass, uniform))
            for after, before in zip(veiled, bare, strict=True)
            if before.somewhere and before.people.any()
        ]
    )
    own, guess, nearer = (None, None, None)
    if len(far):
        own, guess = far.mean(axis=0).tolist()
        nearer = float(np.mean(far[:, 0] < far[:, 1] - 1e-9))
    counts = np.array([after.people.sum() for after in veiled])
    return Row(
        epsilon=epsilon,
        epsilon_together=together,
        noise_kelvin=noise_kelvin,
        emd_map=own,
        emd_data_free=guess,
        nearer_map=nearer,
        counted_as_unveiled=float(np.mean(counts == [before.people.sum() for before in bare])),
        counted_as_labelled=None if label is None else float(np.mean(counts == label)),
    )


def format_table(rows: Sequence[Row], frames: int) -> list[str]:
    """Return the table as text."""
    lines = [
        "epsilon  epsilon      noise  distance to unveiled map  nearer than  counted as",
        f"a frame  of all {frames:<4} K               map       guess  guess        "
        "unveiled  labelled",
    ]
    for row in rows:
        epsilon = "no veil" if row.epsilon is None else f"{row.epsilon}"
        together = "" if row.epsilon_together is None else f"{row.epsilon_together:.4g}"
        lines.append(
            f"{epsilon:<9}{together:<12}{row.noise_kelvin:6.2f}"
            f"{_format(row.emd_map, '.3f'):>13}{_format(row.emd_data_free, '.3f'):>12}"
            f"{_format(row.nearer_map, '.0%'):>7}"
            f"{_format(row.counted_as_unveiled, '.0%'):>16}"
            f"{_format(row.counted_as_labelled, '.0%'):>10}"
        )
    return lines


def _format(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


# The whole play.


def play_frames(
    *,
    frames: Path,
    clip: str | None,
    background: str | None,
    fit: str | None,
    every: int | None = None,
    frames_count: int = 20,
    epsilon: str = "1/1",
    delta: str = "1/100000",
    settings: tuple[str, ...] = (),
    label: int | None = None,
    seed: int | None = None,
    files: ResultFiles | None = None,
) -> list[str]:
    """Play the frames of a file, write the results, and return the lines to print.

    Args:
        settings: further fields of the query, "name=value" each.
        label: how many people every frame shows, where somebody knows.

    Raises:
        OperatorFault: an argument or an input file is wrong; then nothing was written.
    """
    clips, files = (
        FrameSelection(frames, clip, background, fit, every, frames_count),
        files or ResultFiles(),
    )
    if files.published:
        raise OperatorFault(
            "--published was given with --frames; it cannot be, for heatveil recover knows no "
            "array whose room drifts, and would draw the drift. Take --out"
        )
    check_writable(files.list_wanted())
    array, query = _prepare(clips, settings, {"epsilon": epsilon, "delta": delta})
    rng = sealed(os.urandom(32)) if seed is None else Tape(b"frames %d" % seed)
    watch = Watch()
    mechanisms.play(
        watch.watch_mechanism(replace(MECHANISM, recover=recover), seed is not None),
        query,
        lambda round: [array.make_reading(round, round.number - 1)],
        rng,
    )
    window = recover_frames(array, query, watch.releases)
    single = replace(query, readings=1, sigma=None)
    bare = [recover_frame(array, single, frame) for frame in range(len(array.counts))]
    rows = make_table(array, single, bare, label, rng)
    write_all(
        _make_writers(files, array, query, window, _list_score_numbers(array, watch, window, rows))
    )
    if files.out and not isinstance(window.found, Heatmap):
        files.out.unlink(missing_ok=True)  # an older map would be taken for this one
    sigma_k = calibrate_query(query).sigma
    return [
        *_describe_array(array, clips),
        f"All {query.readings} frames under one budget, {sigma_k:.3g} K of noise "
        f"on each pixel. People counted in their mean: {int(window.people.sum())}. "
        + " ".join(fact.sentence for fact in list_facts(window.found)),
        *describe_guarantee(window.found.guarantee),
        "",
        *format_table(rows, len(bare)),
        "",
        "Nobody recorded where people stood, so distances are to the map of the same frame "
        "without the veil, in sides of the picture, over the frames in which that map shows "
        "somebody. Counts are of people about as warm as the one of --fit, three pixels apart or "
        "more: fewer are counted where they are cooler or closer, without a veil too.",
    ]


def _prepare(
    clips: FrameSelection, settings: tuple[str, ...], words: dict[str, str]
) -> tuple[RecordedFrames, Query]:
    """Return the frames, and the query that fits their array.

    Raises:
        OperatorFault: a flag or the file is wrong.
    """
    asks: Any = partial(parse_query, MECHANISM)
    first = asks(settings, **words, cells="8x8", sensors="8x8")
    array = load_frames(clips, first.step or Fraction(1, 4))
    side, frames = array.counts.shape[1], len(array.counts)
    query = asks(
        (
            f"intensity_max={array.blur.heat_max!r}",
            f"sensor_noise={array.blur.misfit!r}",
            f"step={array.step.numerator}/{array.step.denominator}",
            f"readings={frames}",
            f"estimator={ESTIMATOR}",
            *settings,
        ),
        **words,
        cells=f"{side}x{side}",
        sensors=f"{side}x{side}",
        spread=array.blur.spread_m2,
    )
    if query.readings != frames:
        raise OperatorFault(
            f"--set readings={query.readings} was given but {frames} frames are played; each "
            "frame is one reading, and all of them share the budget. Say --frames-count "
            f"{query.readings} instead"
        )
    return array, query


def _describe_array(array: RecordedFrames, clips: FrameSelection) -> list[str]:
    """Return what was played, and what is taken for known of the array."""
    blur, side = array.blur, array.counts.shape[1]
    all_public = clips.clip in (clips.fit, clips.background)
    return [
        *array.notes,
        f"A person is a blur {blur.deviation * side:.2f} pixels wide (standard deviation), "
        f"{blur.peak:.1f} K at the middle, fitted on {blur.frames} frames of {clips.fit}; it "
        f"misses them by up to {blur.misfit:.2f} K.",
        f"For both, {clips.background} and {clips.fit} are taken as public"
        + (", and so is all that is played here." if all_public else "."),
        f"The noise is made for people up to {blur.heat_max / blur.heat:.2f} times as warm as "
        "that, as the warmest of those frames is: an assumption about the world.",
    ]


def _list_score_numbers(
    array: RecordedFrames, watch: Watch, window: RecoveredFrame, rows: Sequence[Row]
) -> dict[str, Any]:
    """Return the contents of scores.json; the truth is in no recording, so its scores are null."""
    found = window.found
    return {
        **compute_scores(window.people, None),
        "reports": watch.reports,
        "vector_length": array.counts[0].size,
        "bytes_per_report": count_frame_bytes(
            MECHANISM, watch.releases[0].round, array.counts[0].size
        ),
        **{f"seconds_{verb}": seconds for verb, seconds in watch.seconds.items()},
        "status": found.status if isinstance(found, Heatmap) else f"unresolved: {found.why}",
        "people": int(window.people.sum()),
        "blur": asdict(array.blur),
        "by_epsilon": [asdict(row) for row in rows],
    }


def _make_writers(
    files: ResultFiles,
    array: RecordedFrames,
    query: Query,
    window: RecoveredFrame,
    numbers: dict[str, Any],
) -> dict[Path, Writer]:
    writers: dict[Path, Writer] = {}
    found = window.found
    if files.scores:
        writers[files.scores] = make_json_writer(numbers)
    if files.plot:
        writers[files.plot] = lambda path: _draw(array, query, window, path)
    if files.out and isinstance(found, Heatmap):
        writers[files.out] = lambda path: to_npz(found, path)
    return writers


def _draw(array: RecordedFrames, query: Query, window: RecoveredFrame, path: Path) -> None:
    """Write the mean of the frames, what was sent of it, and the map, as PNG."""
    from ..panels import Panel, draw_panels  # half a second, and few plays are drawn

    above = "K above the empty room"
    shown = [
        Panel(
            "The mean of the frames, never sent",
            array.warmth.mean(axis=0),
            above,
        ),
        Panel("What was sent, blurred", window.sent, above),
    ]
    if window.somewhere:
        shown.append(Panel("What was recovered", window.mass, "share of the heat", True))
    draw_panels(query.grid, shown, path, f"People counted: {int(window.people.sum())}.")

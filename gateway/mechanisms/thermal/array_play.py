"""Recorded frames of a thermal array, played through edge and recovery: `heatveil play --frames`.

The frames that are asked for share one budget and give one map, of where the heat was on
average. Beside it stands a table of what single frames give at which epsilon, because one
epsilon says little before it has been held against a guess.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge import thermal, wire
from edge.entropy import Tape, sealed
from edge.records import Report
from recovery.distance import earth_movers
from recovery.maps.guarantee import sentences
from recovery.maps.heatmap import Heatmap, Unresolved, to_npz
from recovery.noise.gaussian import zcdp_epsilon
from recovery.thermal import Query, calibration, operator
from recovery.thermal.curve import curve
from recovery.thermal.frames import recover
from recovery.thermal.query import protected_cells

from ... import mechanisms
from ...cli.play import Files
from ...faults import OperatorFault
from ...output import Writer, as_json, check_places, write_all
from ..flags import query_of
from ..scores import Watch, scores
from . import MECHANISM
from .array_frames import Clips, Drawn, Recorded, drawn, recorded, seen
from .words import facts

Floats = NDArray[np.float64]

# Hundreds of maps are drawn, so it must be a quick one; of those this comes nearest, on the
# recorded doorway, to what it draws without a veil.
ESTIMATOR = "lasso"
EPSILONS = (1, 4, 10, 20, 40, 100)


@dataclass(frozen=True)
class Row:
    """How the frames fared at one epsilon a frame; None for what does not apply.

    Distances are the earth mover's, l1, in sides of the picture and to the unveiled map;
    they are means over the frames in which somebody is seen without the veil.
    """

    epsilon: int | None  # of one frame by itself; None without a veil
    epsilon_together: float | None  # of all the frames that were played
    noise_kelvin: float  # standard deviation on each pixel
    emd_map: float | None  # of the map
    emd_people: float | None  # of the people counted
    emd_data_free: float | None  # of a map that is equally warm everywhere
    nearer_map: float | None  # share of frames whose map is nearer than that
    nearer_people: float | None
    no_estimate: float  # share of frames that no heat at all explains best
    unresolved: float  # share of frames that no heat explains
    counted_as_unveiled: float  # share of frames
    counted_as_labelled: float | None  # share of frames


def table(
    recorded: Recorded, query: Query, bare: Sequence[Drawn], label: int | None, rng: Any
) -> list[Row]:
    """Return a row for each epsilon of one frame, and a last one without a veil.

    What comes out of recorded frames at which epsilon, beside a guess that has seen nothing. Where
    people truly stood is in no recording. So a veiled map is held against the map that the same
    program draws of the same frame without a veil, and a veiled count against that count.

    Args:
        query: everything but the epsilon.
        bare: every frame without its veil.
        label: how many people every frame shows, or None where nobody said.
    """
    rows, delta = [], query.delta[0] / query.delta[1]
    for epsilon in EPSILONS:
        asked = replace(query, epsilon=(epsilon, 1), readings=1)
        made = calibration(asked)
        together = zcdp_epsilon(len(bare) * made.rho[0] / made.rho[1], delta)
        veiled = [drawn(recorded, asked, frame, rng) for frame in range(len(bare))]
        rows.append(_row(epsilon, together, made.sigma, veiled, bare, label))
    # That a map is at no distance from itself says nothing.
    clear = replace(_row(None, None, 0.0, bare, bare, label), emd_map=None, nearer_map=None)
    return [*rows, clear]


def begins(rows: Sequence[Row], column: str) -> int | None:
    """Return the least epsilon from which on most frames beat a blind guess; None for never.

    Args:
        column: "nearer_map" or "nearer_people".
    """
    good = None
    for row in reversed([row for row in rows if row.epsilon is not None]):
        if not (getattr(row, column) or 0) > 0.5:
            break
        good = row.epsilon
    return good


def epsilon_text(epsilon: float) -> str:
    """Return an epsilon with three digits, however large.

    >>> epsilon_text(5.8237), epsilon_text(1341.2)
    ('5.82', '1341')
    """
    return f"{epsilon:.3g}" if epsilon < 1000 else f"{epsilon:.0f}"


def lines(rows: Sequence[Row], frames: int) -> list[str]:
    """Return the table as text."""
    told = [
        "epsilon  epsilon      noise  distance to unveiled map  nearer than guess  counted as",
        f"a frame  of all {frames:<4} K          map  people   guess       map  people  "
        "unveiled  labelled",
    ]
    for row in rows:
        epsilon = "no veil" if row.epsilon is None else f"{row.epsilon}"
        together = "" if row.epsilon_together is None else epsilon_text(row.epsilon_together)
        told.append(
            f"{epsilon:<9}{together:<12}{row.noise_kelvin:6.2f}"
            f"{_far(row.emd_map):>8}{_far(row.emd_people):>8}{_far(row.emd_data_free):>8}"
            f"{_share(row.nearer_map):>10}{_share(row.nearer_people):>8}"
            f"{_share(row.counted_as_unveiled):>10}{_share(row.counted_as_labelled):>10}"
        )
    return told


def _row(
    epsilon: int | None,
    together: float | None,
    noise_kelvin: float,
    veiled: Sequence[Drawn],
    bare: Sequence[Drawn],
    label: int | None,
) -> Row:
    """Return the row of these frames."""
    pairs = [
        (after, before.mass)
        for after, before in zip(veiled, bare, strict=True)
        if before.somewhere and before.people.any()
    ]
    means: list[float | None] = [None] * 5
    if pairs:
        far = np.array([_distances(after, mass) for after, mass in pairs])
        nearer = far[:, :2] < far[:, 2:] - 1e-9
        means = [*far.mean(axis=0).tolist(), *nearer.mean(axis=0).tolist()]
    unresolved = np.array([isinstance(after.found, Unresolved) for after in veiled])
    somewhere = np.array([after.somewhere for after in veiled])
    counts = np.array([after.people.sum() for after in veiled])
    return Row(
        epsilon=epsilon,
        epsilon_together=together,
        noise_kelvin=noise_kelvin,
        emd_map=means[0],
        emd_people=means[1],
        emd_data_free=means[2],
        nearer_map=means[3],
        nearer_people=means[4],
        no_estimate=float(np.mean(~somewhere & ~unresolved)),
        unresolved=float(unresolved.mean()),
        counted_as_unveiled=float(np.mean(counts == [before.people.sum() for before in bare])),
        counted_as_labelled=None if label is None else float(np.mean(counts == label)),
    )


def _distances(after: Drawn, mass: Floats) -> tuple[float, float, float]:
    """Return how far the map, the people and a blind guess are from this mass."""
    uniform = np.full(mass.shape, 1 / mass.size)
    crowd = after.people / after.people.sum() if after.people.any() else uniform
    return (
        earth_movers(mass, after.mass),
        earth_movers(mass, crowd),
        earth_movers(mass, uniform),
    )


def _far(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def array_lines(array: Recorded, clips: Clips) -> list[str]:
    """Return what was played, and what is taken for known of the array."""
    blur, side = array.blur, array.counts.shape[1]
    return [
        *array.notes,
        f"A person is a blur {blur.deviation * side:.2f} pixels wide (standard deviation), "
        f"{blur.peak:.1f} K at the middle, fitted on {blur.frames} frames of {clips.fit}; it "
        f"misses them by up to {blur.misfit:.2f} K.",
        f"For both, {clips.background} and {clips.fit} are taken as public"
        + (
            ", and so is all that is played here."
            if clips.clip in (clips.fit, clips.background)
            else "."
        ),
        f"The noise is made for people up to {blur.heat_max / blur.heat:.2f} times as warm as "
        "that, as the warmest of those frames is: an assumption about the world.",
    ]


def window_lines(query: Query, window: Drawn) -> list[str]:
    """Return the map of all frames under one budget, and its promise."""
    return [
        f"All {query.readings} frames under one budget, {calibration(query).sigma:.3g} K of noise "
        f"on each pixel. People counted in their mean: {int(window.people.sum())}. "
        + " ".join(fact.sentence for fact in facts(window.found)),
        *sentences(window.found.guarantee),
    ]


def why_lines(query: Query, rows: Sequence[Row]) -> list[str]:
    """Return from which epsilon on a frame is of use, and why not before."""
    side = query.grid.shape[0]
    made = calibration(query)
    matrix = operator(query)
    person = query.intensity_max * float(
        np.linalg.norm(matrix - matrix.mean(axis=0), axis=0).max()
    )
    whole = math.sqrt(made.sensitivity_squared) * 2.0**-made.exponent
    further = []
    if protected_cells(query) < side - 1:
        (far,) = curve(query, (side - 1,))
        further.append(
            "And it is one step: what all frames together hide with epsilon "
            f"{epsilon_text(made.epsilon)} is hidden with epsilon {epsilon_text(far.epsilon)} "
            f"when it moves by up to {far.cells} pixels."
        )
    beats = [
        f"{what} {'at no epsilon here' if least is None else f'from epsilon {least} a frame on'}"
        for what, least in (
            ("the map", begins(rows, "nearer_map")),
            ("the people counted", begins(rows, "nearer_people")),
        )
    ]
    return [
        "Where somebody is seen at all, a blind guess is beaten in most frames by "
        + ", by ".join(beats)
        + ".",
        f"Why not before: the protected step changes the picture by {whole:.2g} K over all pixels "
        f"together ({made.sensitivity:.2g} K by heat, the rest by rounding to the converter's "
        f"steps), and somebody's whole picture is {person:.2g} K. To hide the step is nearly to "
        "hide the person.",
        *further,
        "Nobody recorded where people stood, so distances are to the map of the same frame "
        "without the veil, in sides of the picture, over the frames in which that map shows "
        "somebody.",
    ]


PICTURED = (10, 40, 100)  # a frame at these epsilons: below, at and above what is of use


@dataclass(frozen=True)
class Asked:
    """What `heatveil play thermal --frames` was asked for, in the words of its flags."""

    clips: Clips
    epsilon: str = "1/1"
    delta: str = "1/100000"
    settings: tuple[str, ...] = ()
    label: int | None = None  # how many people every frame shows, where somebody knows
    seed: int | None = None
    files: Files = field(default_factory=Files)


def play_flags(
    *,
    frames: Path,
    clip: str | None,
    background: str | None,
    fit: str | None,
    every: int | None,
    frames_count: int,
    **others: Any,
) -> list[str]:
    """Return what `play_frames` does of these flags, and of those that are fields of `Asked`."""
    return play_frames(Asked(Clips(frames, clip, background, fit, every, frames_count), **others))


def play_frames(asked: Asked) -> list[str]:
    """Play the frames, write the files, and return the lines to print.

    Raises:
        OperatorFault: an argument or an input file is wrong; then nothing was written.
    """
    if asked.files.published:
        raise OperatorFault(
            "--published was given with --frames; it cannot be, for heatveil recover knows no "
            "array whose room drifts, and would draw the drift. Take --out"
        )
    check_places(asked.files.wanted())
    array, query = _prepared(asked)
    rng = sealed(os.urandom(32)) if asked.seed is None else Tape(b"frames %d" % asked.seed)
    watch = Watch()
    mechanisms.play(
        watch.over(replace(MECHANISM, recover=recover), asked.seed is not None),
        query,
        lambda round: [array.reading(round, round.number - 1)],
        rng,
    )
    window = seen(array, query, watch.releases)
    single = replace(query, readings=1, sigma=None)
    bare = [drawn(array, single, frame) for frame in range(len(array.counts))]
    rows = table(array, single, bare, asked.label, rng)
    numbers = _numbers(array, watch, window, rows)
    write_all(
        _writers(
            asked.files, window, numbers, lambda path: _picture(array, single, bare, rng, path)
        )
    )
    if asked.files.out and not isinstance(window.found, Heatmap):
        asked.files.out.unlink(missing_ok=True)  # an older map would be taken for this one
    return [
        *array_lines(array, asked.clips),
        *window_lines(query, window),
        "",
        *lines(rows, len(bare)),
        "",
        *why_lines(query, rows),
    ]


def _prepared(asked: Asked) -> tuple[Recorded, Query]:
    """Return the frames, and the query that fits their array.

    Raises:
        OperatorFault: a flag or the file is wrong.
    """
    words: dict[str, Any] = {"epsilon": asked.epsilon, "delta": asked.delta}
    asks = partial(query_of, MECHANISM)
    first = asks(asked.settings, **words, cells="8x8", sensors="8x8")
    array = recorded(asked.clips, first.step or Fraction(1, 4))
    side, frames = array.counts.shape[1], len(array.counts)
    query = asks(
        (
            f"intensity_max={array.blur.heat_max!r}",
            f"sensor_noise={array.blur.misfit!r}",
            f"step={array.step.numerator}/{array.step.denominator}",
            f"readings={frames}",
            f"estimator={ESTIMATOR}",
            *asked.settings,
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


def _numbers(array: Recorded, watch: Watch, window: Drawn, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the contents of scores.json; the truth is in no recording, so its scores are null."""
    found = window.found
    return {
        **scores(window.people, None),
        "reports": watch.reports,
        "vector_length": array.counts[0].size,
        "bytes_per_report": _frame_bytes(watch.releases[0].round, array.counts[0].size),
        **{f"seconds_{verb}": seconds for verb, seconds in watch.seconds.items()},
        "status": found.status if isinstance(found, Heatmap) else f"unresolved: {found.why}",
        "people": int(window.people.sum()),
        "blur": asdict(array.blur),
        "by_epsilon": [asdict(row) for row in rows],
    }


def _frame_bytes(round: Any, pixels: int) -> int:
    """Return how long the frame of one report is on the wire, its MAC included."""
    report = Report(wire.name_of(round), "array-0", 1, 1, [0] * (1 + pixels))
    topic = wire.topic("lab", report.sender, "data")
    return len(wire.pack_report(report, bytes(32), topic, thermal.bits(round)))


def _writers(
    files: Files, window: Drawn, numbers: dict[str, Any], picture: Writer
) -> dict[Path, Writer]:
    writers: dict[Path, Writer] = {}
    found = window.found
    if files.scores:
        writers[files.scores] = as_json(numbers)
    if files.plot:
        writers[files.plot] = picture
    if files.out and isinstance(found, Heatmap):
        writers[files.out] = lambda path: to_npz(found, path)
    return writers


def _picture(array: Recorded, query: Query, bare: Sequence[Drawn], rng: Any, path: Path) -> None:
    # Imported here alone: it takes half a second, and few plays are drawn.
    from .array_picture import Shown, draw

    fullest = max(
        range(len(bare)), key=lambda frame: (bare[frame].people.sum(), bare[frame].sent.max())
    )
    shown = [Shown(None, bare[fullest])]
    for epsilon in PICTURED:
        asked = replace(query, epsilon=(epsilon, 1))
        shown.append(Shown(epsilon, drawn(array, asked, fullest, rng)))
    draw(array.warmth[fullest], shown, path)

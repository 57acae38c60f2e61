"""Recorded frames of a thermal array, played through edge and recovery: `heatveil play --frames`.

The frames that are asked for share one budget and give one map, of where the heat was on
average. Beside it stands a table of what single frames give at which epsilon, because one
epsilon says little before it has been held against a guess.
"""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from edge import thermal, wire
from edge.entropy import Tape, sealed
from edge.records import Report
from recovery.maps.heatmap import Heatmap, to_npz
from recovery.thermal import Query
from recovery.thermal.frames import recover

from .. import mechanisms
from ..cli.play import Files
from ..faults import OperatorFault
from ..mechanisms.scores import Watch, scores
from ..mechanisms.thermal import query as choices_thermal
from ..output import Writer, as_json, check_places, write_all
from .recorded import Clips, Recorded, recorded
from .table import ESTIMATOR, Row, lines, table
from .told import array_lines, why_lines, window_lines
from .veiled import Drawn, drawn, seen

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


def play_frames(name: str, asked: Asked) -> list[str]:
    """Play the frames, write the files, and return the lines to print.

    Raises:
        OperatorFault: an argument or an input file is wrong; then nothing was written.
    """
    if mechanisms.named(name).name != thermal.NAME:
        raise OperatorFault(
            f"{name} was given --frames; only {thermal.NAME} takes frames of a thermal array, for "
            f"they are readings of warmth. Write heatveil play {thermal.NAME} --frames"
        )
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
        watch.over(mechanisms.named(name)._replace(recover=recover), asked.seed is not None),
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
    first = choices_thermal.query(**words, cells="8x8", sensors="8x8", settings=asked.settings)
    array = recorded(asked.clips, first.step or Fraction(1, 4))
    side, frames = array.counts.shape[1], len(array.counts)
    query = choices_thermal.query(
        **words,
        cells=f"{side}x{side}",
        sensors=f"{side}x{side}",
        spread=array.blur.spread_m2,
        settings=(
            f"intensity_max={array.blur.heat_max!r}",
            f"sensor_noise={array.blur.misfit!r}",
            f"step={array.step.numerator}/{array.step.denominator}",
            f"readings={frames}",
            f"estimator={ESTIMATOR}",
            *asked.settings,
        ),
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
    from .picture import Shown, draw

    fullest = max(
        range(len(bare)), key=lambda frame: (bare[frame].people.sum(), bare[frame].sent.max())
    )
    shown = [Shown(None, bare[fullest])]
    for epsilon in PICTURED:
        asked = replace(query, epsilon=(epsilon, 1))
        shown.append(Shown(epsilon, drawn(array, asked, fullest, rng)))
    draw(array.warmth[fullest], shown, path)

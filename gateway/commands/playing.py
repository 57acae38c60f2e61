"""One protocol in memory, against a truth that the simulator knows: `heatveil play`."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from edge import thermal, wire
from edge.entropy import Tape, sealed
from edge.records import Report
from recovery.bayes.yardstick import Yardstick
from recovery.heatmap import Heatmap, to_npz
from recovery.thermal import Query

from .. import mechanisms
from .outputs import Writer, as_json, check_places, write_all
from .played import Played, picture
from .promise import in_words
from .published import as_public
from .scores import data_free, scores
from .simulated import Room, scene_of
from .stages import Stage
from .summary import far, found_lines
from .watch import Watch
from .yardstick import yardstick, yardstick_lines


@dataclass(frozen=True)
class Files:
    """Where the results go; None for those that nobody wants."""

    out: Path | None = None
    scores: Path | None = None
    plot: Path | None = None
    published: Path | None = None

    def wanted(self) -> list[Path]:
        """Return the paths of the results that somebody wants."""
        every = (self.out, self.scores, self.plot, self.published)
        return [path for path in every if path is not None]


def play(
    name: str,
    query_of: Callable[[], Query],
    *,
    sources: Path | None,
    sources_random: int | None,
    seed: int | None,
    files: Files,
    stage: Stage,
) -> list[str]:
    """Play a mechanism once, write the files, and return the lines to print.

    Args:
        query_of: makes the query; called when the mechanism is known.
        seed: makes noise and world repeatable; None for noise that nobody can repeat.
        stage: hears what is being done at the moment.

    Raises:
        OperatorFault: an argument or an input file is wrong; then nothing was written.
    """
    mechanism = mechanisms.named(name)
    check_places(files.wanted(), [sources] if sources else [])
    query = query_of()
    world = np.random.default_rng(seed)
    room = Room(query, scene_of(query, sources, sources_random, world), world)
    rng = sealed(os.urandom(32)) if seed is None else Tape(b"play %d" % seed)
    watch = Watch(stage=stage)
    found = mechanisms.play(watch.over(mechanism, seed is not None), query, room.readings, rng)
    played = Played(room, watch, found)
    stage("holding the map against the truth")
    numbers = _numbers(played)
    stage("working out how near any map could come")
    best = yardstick(room, watch.releases[0].round)
    numbers["emd_l1_yardstick"] = None if best is None else best.distance
    stage("writing the files and the promise")
    write_all(_writers(files, played, numbers))
    if files.out and played.mass is None:
        files.out.unlink(missing_ok=True)  # an older map would be taken for this one
    return _lines(played, numbers, best)


def _numbers(played: Played) -> dict[str, Any]:
    """Return the contents of scores.json."""
    watch, found, truth = played.watch, played.found, played.room.heat
    return {
        **scores(truth, played.mass),
        "reports": watch.reports,
        "vector_length": 1,
        "bytes_per_report": _frame_bytes(watch.releases[0].round),
        **{f"seconds_{verb}": seconds for verb, seconds in watch.seconds.items()},
        "emd_l1_data_free": data_free(truth),
        "status": found.status if isinstance(found, Heatmap) else f"unresolved: {found.why}",
    }


def _frame_bytes(round: Any) -> int:
    """Return how long the frame of one report is on the wire, its MAC included."""
    report = Report(wire.name_of(round), "node-00", 1, 1, [0, 0])
    topic = wire.topic("lab", report.sender, "data")
    return len(wire.pack_report(report, bytes(32), topic, thermal.bits(round)))


def _writers(files: Files, played: Played, numbers: dict[str, Any]) -> dict[Path, Writer]:
    writers: dict[Path, Writer] = {}
    if files.scores:
        writers[files.scores] = as_json(numbers)
    if files.published:
        writers[files.published] = as_json(as_public(played.room.query, played.watch.releases))
    if files.plot:
        writers[files.plot] = lambda path: picture(played, numbers, path)
    if files.out and isinstance(played.found, Heatmap):
        found = played.found
        writers[files.out] = lambda path: to_npz(found, path)
    return writers


def _lines(played: Played, numbers: dict[str, Any], best: Yardstick | None) -> list[str]:
    lines = found_lines(played.found)
    score, guess = (numbers[name] for name in ("emd_l1", "emd_l1_data_free"))
    if score is not None and guess is not None:
        off, blind = (far(played.room.query.grid, parts) for parts in (score, guess))
        lines.append(
            f"Earth mover's distance to the truth {off}; a guess without data has {blind}."
        )
        if score >= guess:
            lines.append("So this map is no better than that guess: it says nothing of value.")
    lines += yardstick_lines(best, score, partial(far, played.room.query.grid))
    taken = ", ".join(
        f"{verb} {1000 * spent:.0f} ms" for verb, spent in played.watch.seconds.items()
    )
    many = "report" if numbers["reports"] == 1 else "reports"
    lines.append(f"{numbers['reports']} {many} of {numbers['bytes_per_report']} bytes; {taken}.")
    if beyond := played.room.beyond():
        lines.append(f"Beware: {beyond}.")
    return lines + in_words(played.room.query, played.found.guarantee)

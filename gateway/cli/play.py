"""One protocol in memory, against a truth that the simulator knows: `heatveil play`."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from edge.core.entropy import Tape, sealed
from recovery.maps.heatmap import Heatmap, to_npz

from .. import mechanisms
from ..mechanisms import TABLE, Mechanism
from ..mechanisms.flags import parse_query
from ..mechanisms.scores import Watch, compute_scores, count_frame_bytes, score_blind_guess
from ..mechanisms.worlds import Inputs, Judged, Numbers, Played
from ..output import Stage, Writer, check_writable, make_json_writer, show_stages, write_all
from . import flags
from .recover import pack_public_file


class ResultFiles(NamedTuple):
    """Where the results go; None for those that nobody wants."""

    out: Path | None = None
    scores: Path | None = None
    plot: Path | None = None
    published: Path | None = None

    def list_wanted(self) -> list[Path]:
        """Return the paths of the results that somebody wants."""
        return [path for path in self if path is not None]


def play_and_write(
    name: str,
    query_of: Callable[[], Any],
    inputs: Inputs,
    *,
    seed: int | None,
    files: ResultFiles,
    stage: Stage,
) -> list[str]:
    """Play a mechanism once, write the files, and return the lines to print.

    Args:
        query_of: makes the query; called when the mechanism is known.
        inputs: what there is to see.
        seed: makes noise and world repeatable; None for noise that nobody can repeat.
        stage: hears what is being done at the moment.

    Raises:
        OperatorFault: an argument or an input file is wrong; then nothing was written.
    """
    mechanism = mechanisms.find_mechanism(name)
    check_writable(files.list_wanted(), inputs.list_files())
    query = query_of()
    world = mechanism.world(query, inputs, np.random.default_rng(seed))
    rng = sealed(os.urandom(32)) if seed is None else Tape(b"play %d" % seed)
    watch = Watch(stage=stage)
    watched = watch.watch_mechanism(mechanism, seed is not None, mechanism.reporter)
    # The world's query: it knows how many there are.
    found = mechanisms.play(watched, world.query, world.read_devices, rng)
    played = Played(world, watch, found)
    stage("holding the map against the truth")
    numbers = _compute_score_numbers(mechanism, played)
    told = mechanism.judge(played, numbers, stage)
    numbers |= told.numbers
    stage("writing the files and the promise")
    write_all(_make_result_writers(mechanism, files, played, numbers))
    if files.out and played.mass is None:
        files.out.unlink(missing_ok=True)  # an older map would be taken for this one
    return _format_result_lines(mechanism, played, numbers, told)


def _compute_score_numbers(mechanism: Mechanism, played: Played) -> Numbers:
    """Return what scores.json holds of every mechanism."""
    watch, found, truth = played.watch, played.found, played.world.truth
    round = watch.releases[0].round
    return {
        **compute_scores(truth, played.mass),
        "reports": watch.reports,
        "vector_length": mechanism.vector_length(round),
        "bytes_per_report": count_frame_bytes(mechanism, round),
        **{f"seconds_{verb}": seconds for verb, seconds in watch.seconds.items()},
        "emd_l1_data_free": score_blind_guess(truth),
        "expected_error": found.expected_error if isinstance(found, Heatmap) else None,
        "status": found.status if isinstance(found, Heatmap) else f"unresolved: {found.why}",
    }


def _make_result_writers(
    mechanism: Mechanism, files: ResultFiles, played: Played, numbers: Numbers
) -> dict[Path, Writer]:
    writers: dict[Path, Writer] = {}
    if files.scores:
        # Loaded here alone: with it comes the store, which takes a third of a second.
        from ..service.telling import describe_map

        found = played.found
        verdict = describe_map(found)["verdict"] if isinstance(found, Heatmap) else None
        writers[files.scores] = make_json_writer(numbers | {"verdict": verdict})
    if files.published:
        writers[files.published] = make_json_writer(
            pack_public_file(played.world.query, played.watch.releases)
        )
    if files.plot:
        writers[files.plot] = lambda path: mechanism.picture(played, numbers, path)
    if files.out and isinstance(played.found, Heatmap):
        found = played.found
        writers[files.out] = lambda path: to_npz(found, path)
    return writers


def _format_result_lines(
    mechanism: Mechanism, played: Played, numbers: Numbers, told: Judged
) -> list[str]:
    lines = mechanism.format_lines(played.found) + told.lines
    taken = ", ".join(
        f"{verb} {1000 * spent:.0f} ms" for verb, spent in played.watch.seconds.items()
    )
    many = "report" if numbers["reports"] == 1 else "reports"
    size = f"of {numbers['bytes_per_report']} bytes"
    if numbers.get("rounds", 1) > 1:  # each round's are of another length
        size = f"in {numbers['rounds']} rounds"
    lines.append(f"{numbers['reports']} {many} {size}; {taken}{played.watch.describe_rate()}.")
    if beyond := played.world.describe_exceptions():
        lines.append(f"Beware: {beyond}.")
    promised = mechanism.promise(played.world.query, played.found.guarantee)
    return lines + [line for line in promised if line not in lines]


app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=flags.QueryCommand)
def play_command(
    context: typer.Context,
    mechanism: Annotated[
        str,
        typer.Argument(metavar="|".join(TABLE), help="Which protocol."),
    ],
    sources: flags.Sources = None,
    sources_random: flags.SourcesRandom = None,
    points: flags.Points = None,
    users: flags.Users = None,
    settings: flags.Settings = None,
    seed: flags.Seed = None,
    out: flags.Out = None,
    scores: Annotated[Path | None, typer.Option(help="Write the scores here, as JSON.")] = None,
    plot: flags.Plot = None,
    published: Annotated[
        Path | None, typer.Option(help="Write here what is public, for heatveil recover.")
    ] = None,
    frames: flags.Frames = None,
    clip: flags.Clip = None,
    background: flags.Background = None,
    fit: flags.Fit = None,
    every: flags.Every = None,
    frames_count: flags.FramesCount = 20,
    people: flags.People = None,
) -> None:
    """Play one protocol in memory and hold its map against the truth.

    A flag that the protocol has no use for is refused. With --frames the readings are recorded
    frames of a thermal array.
    """
    files = ResultFiles(out, scores, plot, published)
    chosen, given = mechanisms.find_mechanism(mechanism), flags.find_given_options(context)
    flags.check_flags_used(context, mechanism, chosen.flags, given)
    if "frames" in chosen.flags:
        flags.check_frame_flags(context, frames, given)
    if frames is not None:
        if chosen.play_frames is None:
            raise RuntimeError(f"{mechanism} takes --frames and cannot play them")
        ratios = {name: given[name] for name in ("epsilon", "delta") if name in given}
        lines = chosen.play_frames(
            frames=frames,
            clip=clip,
            background=background,
            fit=fit,
            every=every,
            frames_count=frames_count,
            settings=tuple(settings or ()),
            label=people,
            seed=seed,
            files=files,
            **ratios,
        )
        typer.echo("\n".join(lines))
        return
    inputs = Inputs(sources, sources_random, points, users)
    asks = partial(parse_query, chosen, settings or (), **given)
    with show_stages() as stage:
        lines = play_and_write(mechanism, asks, inputs, seed=seed, files=files, stage=stage)
    typer.echo("\n".join(lines))

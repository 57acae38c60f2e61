"""The commands that ask a query without a broker: play, recover, calibrate."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ..faults import OperatorFault
from . import flags


def play(
    context: typer.Context,
    mechanism: Annotated[str, typer.Argument(help="Which protocol; there is thermal.")],
    sources: flags.Sources = None,
    sources_random: flags.SourcesRandom = None,
    cells: flags.Cells = "100",
    length: flags.Length = None,
    sensors: flags.Sensors = "50",
    spread: flags.Spread = 0.05,
    epsilon: flags.Epsilon = "1/1",
    delta: flags.Delta = "1/100000",
    calibration: flags.Calibration = "exact",
    estimator: flags.Estimator = "auto",
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

    With --frames the readings are recorded frames of a thermal array, an .npz file.
    """
    from . import choices, playing, stages

    files = playing.Files(out, scores, plot, published)
    flags.check_frames(context, frames)
    if frames is not None:
        from ..frames.play import Asked, play_frames
        from ..frames.recorded import Clips

        clips = Clips(frames, clip, background, fit, every, frames_count)
        asked = Asked(clips, epsilon, delta, tuple(settings or ()), people, seed, files)
        typer.echo("\n".join(play_frames(mechanism, asked)))
        return
    query_of = partial(
        choices.query,
        cells=cells,
        length=length,
        sensors=sensors,
        spread=spread,
        epsilon=epsilon,
        delta=delta,
        calibration=calibration,
        estimator=estimator,
        settings=settings or (),
    )
    with stages.stages() as stage:
        lines = playing.play(
            mechanism,
            query_of,
            sources=sources,
            sources_random=sources_random,
            seed=seed,
            files=files,
            stage=stage,
        )
    typer.echo("\n".join(lines))


def recover(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="What play --published wrote, or a .csv.")],
    cells: flags.Cells = "100",
    length: flags.Length = None,
    sensors: flags.Sensors = "50",
    spread: flags.Spread = 0.05,
    sigma: Annotated[
        str | None,
        typer.Option(help="Standard deviation of the noise in a .csv, a ratio such as 1/10."),
    ] = None,
    delta: flags.Delta = "1/100000",
    estimator: flags.Estimator = "auto",
    settings: flags.Settings = None,
    out: flags.Out = None,
    plot: flags.Plot = None,
) -> None:
    """Draw the map of readings that are public already, by another estimator if you like.

    The flags of room and noise are for a .csv (sensor,reading); a JSON file has its own.
    """
    from . import choices, recovering

    if file.suffix.lower() != ".csv":
        flags.check_file(context, file)

    asked = context.get_parameter_source("estimator")
    drawn_by = estimator if asked is not None and asked.name == "COMMANDLINE" else None
    query_of = partial(
        choices.query,
        cells=cells,
        length=length,
        sensors=sensors,
        spread=spread,
        delta=delta,
        estimator=estimator,
        sigma=sigma,
        settings=settings or (),
    )
    typer.echo("\n".join(recovering.recovered(file, query_of, out, plot, drawn_by)))


def calibrate(
    context: typer.Context,
    deployment: Annotated[
        Path | None,
        typer.Argument(help="A deployment file instead of the flags of room and noise."),
    ] = None,
    cells: flags.Cells = "100",
    length: flags.Length = None,
    sensors: flags.Sensors = "50",
    spread: flags.Spread = 0.05,
    epsilon: flags.Epsilon = "1/1",
    delta: flags.Delta = "1/100000",
    calibration: flags.Calibration = "exact",
    settings: flags.Settings = None,
    config: Annotated[Path | None, typer.Option(help="The same as DEPLOYMENT.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw epsilon by distance here, as PNG.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Say which noise a promise needs, what it hides, what it does not hide, and what would."""
    from . import calibrating, choices, stages

    file, every_s = flags.one_file(deployment, config), None
    if file is None:
        query = choices.query(
            cells=cells,
            length=length,
            sensors=sensors,
            spread=spread,
            epsilon=epsilon,
            delta=delta,
            calibration=calibration,
            settings=settings or (),
        )
    else:
        flags.check_file(context, file)
        from ..config import load
        from ..config import query as query_of

        loaded = load(file)
        query, every_s = query_of(loaded), loaded.rounds.every_s
    with stages.stages() as stage:
        made = calibrating.calibrated(
            query,
            every_s=every_s,
            as_json=as_json,
            plot=plot,
            inputs=[file] if file else [],
            stage=stage,
        )
    if made.lines:
        typer.echo("\n".join(made.lines))
    if made.refusal:
        raise OperatorFault(made.refusal)

"""The command that plays a whole protocol without a broker: play."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from . import flags


def play(
    context: typer.Context,
    mechanism: Annotated[str, typer.Argument(help="Which protocol: thermal or disk.")],
    sources: flags.Sources = None,
    sources_random: flags.SourcesRandom = None,
    points: flags.Points = None,
    users: flags.Users = None,
    grid: flags.Grid = "15x15",
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

    thermal: warm things and thermometers. disk: people who each report one cell. A flag of the
    other one is refused. With --frames the readings are recorded frames of a thermal array.
    """
    from . import playing
    from .acts import named
    from .stages import stages

    files = playing.Files(out, scores, plot, published)
    act = named(mechanism)
    flags.check_taken(context, mechanism, act.takes)
    if "frames" in act.takes:
        flags.check_frames(context, frames)
    if frames is not None:
        from ..frames.play import Asked, play_frames
        from ..frames.recorded import Clips

        clips = Clips(frames, clip, background, fit, every, frames_count)
        asked = Asked(clips, epsilon, delta, tuple(settings or ()), people, seed, files)
        typer.echo("\n".join(play_frames(mechanism, asked)))
        return
    given = {
        "grid": grid,
        "cells": cells,
        "length": length,
        "sensors": sensors,
        "spread": spread,
        "epsilon": epsilon,
        "delta": delta,
        "calibration": calibration,
        "estimator": estimator,
        "settings": settings or (),
    }
    seen = {
        "sources": sources,
        "sources_random": sources_random,
        "points": points,
        "users": users,
    }
    query_of = partial(act.asked, **{name: given[name] for name in act.asks})
    with stages() as stage:
        lines = playing.play(mechanism, query_of, seed=seed, files=files, stage=stage, **seen)
    typer.echo("\n".join(lines))

"""The commands that ask a query without a broker: play (in `asking`), recover, calibrate."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ..faults import OperatorFault
from . import flags
from .asking import play as play


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
    from .choices_thermal import query as query_from
    from .recovering import recovered

    if file.suffix.lower() != ".csv":
        flags.check_file(context, file)

    asked = context.get_parameter_source("estimator")
    drawn_by = estimator if asked is not None and asked.name == "COMMANDLINE" else None
    query_of = partial(
        query_from,
        cells=cells,
        length=length,
        sensors=sensors,
        spread=spread,
        delta=delta,
        estimator=estimator,
        sigma=sigma,
        settings=settings or (),
    )
    typer.echo("\n".join(recovered(file, query_of, out, plot, drawn_by)))


def calibrate(
    context: typer.Context,
    deployment: Annotated[
        Path | None,
        typer.Argument(help="A deployment file instead of the flags of room and noise."),
    ] = None,
    mechanism: Annotated[str, typer.Option(help="thermal or disk; a file says it itself.")] = (
        "thermal"
    ),
    grid: flags.Grid = "15x15",
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
        Path | None, typer.Option(help="Draw epsilon by distance here, or the answers; PNG.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Say which noise a promise needs, what it hides, what it does not hide, and what would."""
    from .acts import named, of
    from .stages import stages

    file, every_s = flags.one_file(deployment, config), None
    if file is None:
        act = named(mechanism)
        flags.check_taken(context, mechanism, act.asks)
        given = {
            "grid": grid,
            "cells": cells,
            "length": length,
            "sensors": sensors,
            "spread": spread,
            "epsilon": epsilon,
            "delta": delta,
            "calibration": calibration,
            "settings": settings or (),
        }
        query = act.asked(**{name: given[name] for name in act.asks if name in given})
    else:
        flags.check_file(context, file)
        from ..config import load
        from ..config import query as query_of

        loaded = load(file)
        query, every_s = query_of(loaded), loaded.rounds.every_s
        act = of(query)
    with stages() as stage:
        made = act.calibrated(
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

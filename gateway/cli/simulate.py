"""A day in a room from its file: `heatveil simulate`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from physics.rooms.read import sample as sample_of_room
from recovery.estimators import HOMES

from ..faults import OperatorFault
from ..lab.thermal_days.rooms import modelled, room_of
from ..lab.thermal_days.run import Files, Order
from ..lab.thermal_days.run import simulate as simulated
from ..output import stages
from . import flags


def simulate(
    room: Annotated[
        Path | None, typer.Argument(metavar="ROOM.toml", help="The room: see --sample.")
    ] = None,
    seed: flags.Seed = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the day here: all of it with its maps as .npz, the readings as .parquet."
        ),
    ] = None,
    plot: flags.Plot = None,
    animation: Annotated[
        Path | None, typer.Option(help="Write a short animation here, as GIF.")
    ] = None,
    scores: Annotated[Path | None, typer.Option(help="Write the scores here, as JSON.")] = None,
    estimator: flags.Estimator = "auto",
    sample: Annotated[
        bool, typer.Option("--sample", help="Print a room file to begin with, and nothing else.")
    ] = False,
) -> None:
    """Live through a day in a room: its warmth, what its sensors send, and the maps of that.

    To begin: heatveil simulate --sample > room.toml
    """
    if sample:
        typer.echo(sample_of_room(), nl=False)
        return
    if room is None:
        raise OperatorFault(
            "no room file came but one says what room is simulated; there is none to fall back "
            "on. Write one with heatveil simulate --sample > room.toml"
        )
    if estimator not in HOMES:
        raise OperatorFault(
            f"--estimator {estimator} came but it must be one of {', '.join(HOMES)}, which are "
            "those that draw maps. Leave it out to have one chosen"
        )
    order = Order(seed, Files(out, scores, plot, animation))
    order.check([room])
    try:
        with stages() as stage:
            stage("reading the room")
            read = room_of(room)
            if not sys.stderr.isatty():  # stages are for terminals, and silence looks like death
                hours = f"{read.day.duration_h:g} h"
                typer.echo(f"living through {read.name}, {hours}: about half a minute", err=True)
            stage("working out what its thermometers feel of whom")
            told = simulated(modelled(read, estimator), order, stage)
    except KeyboardInterrupt:
        typer.echo("stopped; nothing was written", err=True)
        raise typer.Exit(130) from None
    typer.echo("\n".join(told))

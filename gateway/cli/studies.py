"""What is tried without a deployment: a paper's figure made again, and a day in a room.

`heatveil reproduce` and `heatveil simulate`.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..faults import OperatorFault
from ..output import as_json, check_places, make_folder, stages, write_all
from . import flags


def reproduce(
    figure: Annotated[
        str | None, typer.Argument(metavar="FIGURE", help="Such as disk-9; without, a list.")
    ] = None,
    runs: Annotated[
        int, typer.Option(min=1, help="How often each mechanism runs; 20 for the real thing.")
    ] = 3,
    seed: Annotated[int, typer.Option(min=0, help="Of the people and their answers.")] = 1,
    points: Annotated[
        list[Path] | None,
        typer.Option(help="CSV of user,x,y in the place of the paper's real data; repeatable."),
    ] = None,
    scale: Annotated[
        float, typer.Option(help="The part of the paper's people that is drawn, 1 for all.")
    ] = 1.0,
    jobs: Annotated[int, typer.Option(min=1, help="Processes at work at once.")] = 1,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A dask scheduler instead, host:port.")
    ] = None,
    folder: Annotated[
        Path, typer.Option(help="Where the picture and the numbers are written.")
    ] = Path("reproduced"),
) -> None:
    """Make a figure of a paper again: a table here, a picture and numbers in a folder.

    To begin: heatveil reproduce disk-12
    """
    from ..lab.reproduce.figures import FIGURES, Order, as_object, lines, maker
    from ..lab.reproduce.people import check_files
    from ..lab.reproduce.picture import draw

    if figure is None:
        width = max(map(len, FIGURES))
        typer.echo("\n".join(f"{name:{width}}  {title}" for name, title in FIGURES.items()))
        return
    make = maker(figure)
    if not 0 < scale <= 1:
        raise OperatorFault(
            f"--scale {scale:g} came but it must be above 0 and at most 1, all of the paper's "
            "people. Write 0.1 for a tenth"
        )
    order = Order(runs, seed, tuple(points or ()), jobs, cluster, scale)
    check_files(order.points)
    make_folder(folder)
    picture, numbers = folder / f"{figure}.png", folder / f"{figure}.json"
    check_places([picture, numbers], order.points)
    try:
        with stages() as stage:
            if not sys.stderr.isatty():  # stages are for terminals, and silence looks like death
                typer.echo(f"making {figure}: a minute or two", err=True)
            made = make(order, stage)
            stage("drawing")
            write_all(
                {
                    picture: lambda half: draw(made, half),
                    numbers: as_json(as_object(made, order)),
                }
            )
    except KeyboardInterrupt:
        typer.echo("stopped; nothing was written", err=True)
        raise typer.Exit(130) from None
    typer.echo("\n".join(lines(made)))
    typer.echo(f"drawn in {picture}, all numbers in {numbers}")


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
    from physics.rooms.read import sample as sample_of_room
    from recovery.estimators.table import ESTIMATORS

    from ..lab.thermal_days.rooms import make_model, room_of
    from ..lab.thermal_days.run import Files, Order
    from ..lab.thermal_days.run import simulate as simulated

    if sample:
        typer.echo(sample_of_room(), nl=False)
        return
    if room is None:
        raise OperatorFault(
            "no room file came but one says what room is simulated; there is none to fall back "
            "on. Write one with heatveil simulate --sample > room.toml"
        )
    if estimator not in ESTIMATORS:
        raise OperatorFault(
            f"--estimator {estimator} came but it must be one of {', '.join(ESTIMATORS)}, which "
            "are those that draw maps. Leave it out to have one chosen"
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
            told = simulated(make_model(read, estimator), order, stage)
    except KeyboardInterrupt:
        typer.echo("stopped; nothing was written", err=True)
        raise typer.Exit(130) from None
    typer.echo("\n".join(told))

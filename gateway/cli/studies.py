"""What is tried without a deployment: papers' figures made again, and a day in a room.

`heatveil reproduce` and `heatveil simulate`.
"""

import csv
import os
from pathlib import Path
from typing import Annotated

import typer

from ..faults import OperatorFault
from ..output import check_writable, make_folder, show_stages, write_all
from . import flags


def reproduce(
    figures: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FIGURE...",
            help="Such as disk-9f, thermal for all of one paper, or all; without, a list.",
        ),
    ] = None,
    trials: Annotated[
        int | None, typer.Option(min=2, help="Runs at each place; left out, the figure's own.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the people and their answers.")] = 1,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer runs, people and places: a first look.")
    ] = False,
    points: Annotated[
        Path | None,
        typer.Option(help="CSV of user,x,y, or Salicon's JSON, in the place of made people."),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(
            metavar="WEST,SOUTH,EAST,NORTH",
            help="In degrees: what is taken of --points, a set as it is published, such as "
            "Gowalla's.",
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes at work at once; left out, all cores.")
    ] = None,
    folder: Annotated[
        Path, typer.Option(help="Where a picture and all values of each figure are kept.")
    ] = Path("reproduced"),
) -> None:
    """Make figures of the papers again, and say which of their claims hold.

    What is in the folder from an earlier run of the same settings is not computed again.

    To begin: heatveil reproduce disk-12
    """
    from ..lab.reproduce.figures import (
        find_figures,
        format_claims,
        format_figure,
        format_table,
        load_figures,
    )
    from ..lab.reproduce.people import STAND_IN, describe_repeated_users, read_square
    from ..lab.reproduce.runs import RunOptions, make_figures

    if not figures:
        listed = ((one.name, one.claim) for one in load_figures().values())
        typer.echo("\n".join(format_table(("figure", "claim"), listed)))
        typer.echo("heatveil reproduce NAME... --quick, or all")
        return
    asked = find_figures(figures)
    make_folder(folder)
    if window is not None:
        points = _cut_window(points, window, folder)
    order = RunOptions(trials, seed, quick, points, jobs or os.cpu_count() or 1)
    if points is not None:
        read_square(points)
        people = any(STAND_IN in one.settings for one in asked)  # figures of gazes have persons
        if people and (note := describe_repeated_users(points)):
            typer.echo(f"note: {note}", err=True)
    found = []
    try:
        with show_stages() as stage:
            for figure, results, finding in make_figures(asked, order, folder, stage):
                found.append((figure, finding))
                typer.echo("\n".join(format_figure(figure, results, finding)) + "\n")
    except KeyboardInterrupt:
        typer.echo(f"stopped; what is done is kept in {folder}", err=True)
        raise typer.Exit(130) from None
    if len(found) > 1:
        found.sort(key=lambda one: asked.index(one[0]))
        typer.echo("\n".join(format_claims(found)))
    typer.echo(f"a picture and all values of each figure are in {folder}")


def _cut_window(points: Path | None, window: str, folder: Path) -> Path:
    """Return the file of who is in a window of a published set, which is written first.

    Raises:
        OperatorFault: there is no set, no such window, or nobody in it.
    """
    from physics.published import cut

    try:
        west, south, east, north = map(float, window.split(","))
    except ValueError:
        west = south = east = north = 0.0
    if points is None or not (west < east and south < north):
        raise OperatorFault(
            f"--window {window} came {'without --points' if points is None else ''} but must be "
            "four degrees of longitude and latitude, of a set that --points names. Write "
            "--window=-74.05,40.6,-73.75,40.9"
        )
    out, found = folder / "points.csv", 0
    check_writable([out], [points])

    def write(half: Path) -> None:
        nonlocal found
        found = cut(points, (west, south, east, north), half)

    try:
        points.open("rb").close()  # what cannot be read is told as that, not as what is written
        write_all({out: write})
    except (OSError, EOFError, ValueError, csv.Error) as fault:
        raise OperatorFault(str(fault)) from fault
    if not found:
        raise OperatorFault(
            f"{points} has nobody within {window} but somebody is needed; are longitude and "
            "latitude the wrong way round? Give another --window"
        )
    typer.echo(f"{out}: {found:,} places of {points.name}", err=True)
    return out


def simulate(
    room: Annotated[
        Path | None, typer.Argument(metavar="ROOM.toml", help="The room: see --sample.")
    ] = None,
    seed: flags.Seed = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the day here, with its maps, as .npz.")
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
    from physics.rooms.read import read_sample
    from recovery.estimators.table import ESTIMATORS

    from ..lab.thermal_days.rooms import load_room, make_model
    from ..lab.thermal_days.run import check_result_paths
    from ..lab.thermal_days.run import simulate as simulated

    if sample:
        typer.echo(read_sample(), nl=False)
        return
    if room is None:
        raise OperatorFault(
            "no room file was given, and there is no default room to simulate. Write one with "
            "heatveil simulate --sample > room.toml, and name it"
        )
    if estimator not in ESTIMATORS:
        raise OperatorFault(
            f"--estimator {estimator} came but it must be one of {', '.join(ESTIMATORS)}, which "
            "are those that draw maps. Leave it out to have one chosen"
        )
    files = {"out": out, "scores": scores, "plot": plot, "animation": animation}
    check_result_paths(files, [room])
    try:
        read = load_room(room)
        with show_stages(in_lines=True) as stage:  # minutes of silence look like death
            stage("working out what its thermometers feel of whom")
            told = simulated(make_model(read, estimator), seed, files, stage)
    except KeyboardInterrupt:
        typer.echo("stopped; nothing was written", err=True)
        raise typer.Exit(130) from None
    typer.echo("\n".join(told))

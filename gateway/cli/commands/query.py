"""The commands that need no broker: play, recover, calibrate, simulate, reproduce.

Only the flags are here; the work is in the modules that each imports when it runs.
"""

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from recovery.estimators import HOMES

from ...faults import OperatorFault
from ...mechanisms import TABLE, USUAL
from . import flags, queries

# The command that plays a whole protocol without a broker: play.


def play(
    context: typer.Context,
    mechanism: Annotated[str, typer.Argument(help=f"Which protocol: {' or '.join(TABLE)}.")],
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
    from ...mechanisms import named
    from ...mechanisms.flags import query_of
    from ...output import stages
    from .. import play as playing

    files = playing.Files(out, scores, plot, published)
    chosen, given = named(mechanism), queries.given(context)
    flags.check_taken(context, mechanism, chosen.flags, given)
    if "frames" in chosen.flags:
        flags.check_frames(context, frames, given)
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
    seen = {
        "sources": sources,
        "sources_random": sources_random,
        "points": points,
        "users": users,
    }
    asks = partial(query_of, chosen, settings or (), **given)
    with stages() as stage:
        lines = playing.play(mechanism, asks, seed=seed, files=files, stage=stage, **seen)
    typer.echo("\n".join(lines))


# The commands that ask a query without a broker: play (in `asking`), recover, calibrate.


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
    from ...mechanisms import MECHANISMS
    from ...mechanisms.flags import query_of
    from ..recover import recovered

    if file.suffix.lower() != ".csv":
        flags.check_file(context, file)

    asked = context.get_parameter_source("estimator")
    drawn_by = estimator if asked is not None and asked.name == "COMMANDLINE" else None
    (reader,) = (one for one in MECHANISMS if one.read_csv is not None)
    asks = partial(
        query_of,
        reader,
        [*(settings or ()), *([f"sigma={sigma}"] if sigma is not None else [])],
        cells=cells,
        length=length,
        sensors=sensors,
        spread=spread,
        delta=delta,
        estimator=estimator,
    )
    typer.echo("\n".join(recovered(file, asks, out, plot, drawn_by)))


def calibrate(
    context: typer.Context,
    deployment: Annotated[
        Path | None,
        typer.Argument(help="A deployment file instead of the flags of room and noise."),
    ] = None,
    mechanism: Annotated[
        str, typer.Option(help=f"{' or '.join(TABLE)}; a file says it itself.")
    ] = (USUAL),
    settings: flags.Settings = None,
    config: Annotated[Path | None, typer.Option(help="The same as DEPLOYMENT.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw epsilon by distance here, or the answers; PNG.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Say which noise a promise needs, what it hides, what it does not hide, and what would."""
    from ...mechanisms import named, of_query
    from ...mechanisms.flags import query_of as asked_for
    from ...output import stages

    file, every_s = flags.one_file(deployment, config), None
    if file is None:
        chosen, given = named(mechanism), queries.given(context)
        flags.check_taken(context, mechanism, chosen.flags, given)
        query = asked_for(chosen, settings or (), **given)
    else:
        flags.check_file(context, file, queries.given(context))
        from ...settings.config import load
        from ...settings.config import query as query_of

        loaded = load(file)
        query, every_s = query_of(loaded), loaded.rounds.every_s
        chosen = of_query(query)
    with stages() as stage:
        made = chosen.calibrate(
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


# The command `heatveil reproduce`: a figure of a paper made again.


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
    # Imported here, when the command runs.
    from ...lab.reproduce.figures import FIGURES, maker

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
    from ...lab.reproduce.figures import Order, as_object, lines
    from ...lab.reproduce.people import check_files
    from ...lab.reproduce.picture import draw
    from ...output import as_json, check_places, make_folder, stages, write_all

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


# The command `heatveil simulate`: a day in a room from its file.


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
    # Imported here, when the command runs: the simulator takes a second to load.
    if sample:
        from physics.rooms.read import sample as text

        typer.echo(text(), nl=False)
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
    from ...lab.thermal_days.rooms import modelled, room_of
    from ...lab.thermal_days.run import Files, Order
    from ...lab.thermal_days.run import simulate as simulated
    from ...output import stages

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

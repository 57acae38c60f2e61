"""Which noise a promise needs, what it hides and what it does not: `heatveil calibrate`."""

from pathlib import Path
from typing import Annotated

import typer

from ..faults import OperatorFault
from ..mechanisms import TABLE, USUAL, explain_idle_readings, find_for_query, find_mechanism
from ..mechanisms.flags import parse_query
from ..output import show_stages
from ..settings import config as deployments
from . import flags

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=flags.NoiseCommand)
def calibrate(
    context: typer.Context,
    deployment: Annotated[
        Path | None,
        typer.Argument(help="A deployment file instead of the flags of room and noise."),
    ] = None,
    mechanism: Annotated[
        str, typer.Option(help=f"{' or '.join(TABLE)}; a file says it itself.")
    ] = USUAL,
    settings: flags.Settings = None,
    config: Annotated[Path | None, typer.Option(help="The same as DEPLOYMENT.")] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            callback=flags.check_png,
            help="Draw what is hidden how far (thermal) and other windows here; PNG.",
        ),
    ] = None,
    as_json: flags.AsJson = False,
) -> None:
    """Say which noise a promise needs, what it hides, what it does not hide, and what would."""
    file, every_s, hours = flags.pick_deployment_file(deployment, config), None, None
    if file is None:
        chosen, given = find_mechanism(mechanism), flags.find_given_options(context)
        flags.check_flags_used(context, mechanism, chosen.flags, given)
        query = parse_query(chosen, settings or (), **given)
    else:
        flags.check_file_stands_alone(context, file, flags.find_given_options(context))
        loaded = deployments.load_deployment(file)
        query, every_s = deployments.make_query(loaded), loaded.rounds.every_s
        hours = loaded.rounds.hours
        chosen = find_for_query(query)
    with show_stages() as stage:
        made = chosen.calibrate(
            query,
            every_s=every_s,
            as_json=as_json,
            plot=plot,
            inputs=[file] if file else [],
            stage=stage,
        )
    notes = [f"Beware: {idle}." for idle in explain_idle_readings(query, every_s, hours)]
    if hours:
        notes.append(
            f"Beware: rounds open {hours} alone, and times here count those hours only: by the "
            "clock on the wall they are longer. Other windows and cadences are told of rounds all "
            "day."
        )
    if made.lines:
        typer.echo("\n".join([*made.lines, *([] if as_json else notes)]))
    if made.refusal:
        raise OperatorFault(made.refusal)

"""The commands of `heatveil`, in the order in which its help lists them."""

import os
from pathlib import Path
from typing import Annotated

import typer

from . import boards, flags, look, owner, queries, query, run

app = typer.Typer(
    name="heatveil",
    help="Thermal sensors that report warmth without giving away who stood where.",
    epilog="Exit status: 0 done; 1 what you can mend, said in one line; 2 a wrong usage; "
    "4 the store is not what it was.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

brokers = typer.Typer(help="A broker of your own: TLS, passwords, access list.")
app.add_typer(brokers, name="broker", no_args_is_help=True)
app.add_typer(boards.app, name="device", no_args_is_help=True)


@brokers.command("init")
def broker_init(
    config: flags.Config,
    host: Annotated[
        list[str] | None,
        typer.Option(help="Another name or address of the broker, beside that of [mqtt]."),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Where its files go; broker beside the config.")
    ] = None,
    secrets: Annotated[
        Path | None, typer.Option(help="Keys of the devices; secrets.json beside the config.")
    ] = None,
    plain: Annotated[
        bool,
        typer.Option("--plain", help="Files of passwords and access, not dynamic security."),
    ] = False,
) -> None:
    """Write certificates, passwords, access list and configuration for mosquitto."""
    from ..broker import init

    init(config, host or [], folder, secrets, typer.echo, plain)


@app.callback()
def heatveil(
    log: Annotated[
        str | None,
        typer.Option(metavar="LEVEL", help="Log from debug, info, warning or error up."),
    ] = None,
) -> None:
    """Thermal sensors that report warmth without giving away who stood where."""
    if log is not None:
        from ...logs import asked

        os.environ["HEATVEIL_LOG"] = log  # what this process starts is to say as much
        asked()  # a level that is none is refused by every command, also by one that logs nothing


app.command()(run.demo)
app.command()(run.serve)
app.command()(run.once)
app.command()(run.replay)
app.command()(run.work)
app.command()(run.enrol)
app.command()(run.fleet)
app.command()(look.check)
app.command()(look.config)
app.command()(look.ledger)
app.command()(look.show)
app.command()(look.health)
app.command()(look.audit)
app.command()(look.backup)
app.command()(look.export)
app.command()(owner.unveil)
app.command()(owner.tighten)
app.add_typer(owner.keys, name="keys", no_args_is_help=True)
app.command(cls=queries.OfQuery)(query.play)
app.command()(query.recover)
app.command(cls=queries.OfNoise)(query.calibrate)
app.command()(query.simulate)
app.command()(query.reproduce)
app.command()(boards.budget)
app.command()(boards.provision)
app.command()(boards.doctor)
app.command()(boards.rotate)

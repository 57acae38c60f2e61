"""The commands that look: check, config, ledger, show, health, audit, backup, export.

Only the flags are here; the work is in the modules that each imports when it runs.
"""

from pathlib import Path
from typing import Annotated

import typer

from ...faults import OperatorFault
from ...mechanisms import TABLE, USUAL
from . import flags

Optional = Annotated[Path | None, typer.Option("--config", help="The deployment file, TOML.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def check(
    file: Annotated[Path | None, typer.Argument(help="The deployment file, TOML.")] = None,
    config: Optional = None,
    connect: Annotated[bool, typer.Option("--connect", help="Ask the broker too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Look through a whole deployment and say what is, or may be, wrong with it.

    Nothing is changed, and a gateway that runs is not disturbed. Exit status 1 where there is a
    fault; notes are no faults.
    """
    from ..check import check

    if not check(_one(file, config), connect, as_json, typer.echo):
        raise typer.Exit(1)


def config(
    sample: Annotated[bool, typer.Option("--sample", help="A file, every key explained.")] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Its JSON Schema, for editors.")
    ] = False,
    mechanism: Annotated[str, typer.Option(help=f"Whose sample: {' or '.join(TABLE)}.")] = USUAL,
) -> None:
    """Print a deployment file to begin with, or what may stand in one.

    heatveil config --sample > gateway.toml; heatveil config --schema > gateway.schema.json
    """
    from ..config import show

    show(sample, schema, typer.echo, mechanism)


def ledger(
    config: flags.Config,
    as_json: AsJson = False,
    limit: Annotated[
        int, typer.Option(min=0, help="List so many rounds, the newest; in JSON all are.")
    ] = 10,
    lost: Annotated[
        int | None,
        typer.Option(
            "--accept",
            min=1,
            metavar="ROUND",
            help="Charge the rounds that the ledger lacks, up to this, which the gateway named.",
        ),
    ] = None,
) -> None:
    """Say what has been spent of the privacy of a deployment, and what is left.

    Beside a gateway that runs, or without one. In JSON every rho is an exact fraction. With
    --accept, after a gateway ended with status 4, what was lost with its store is charged first.
    """
    from ..status import accept, ledger

    if lost is not None:
        accept(config, lost, lambda line: typer.echo(line, err=as_json))
    ledger(config, limit, as_json, typer.echo)


def show(
    config: flags.Config,
    round: Annotated[
        int | None, typer.Argument(min=1, help="Its number; else the newest.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write it here: .png, .npz or .json.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show a map: where the warmth is, how sure that is, and under which promise.

    Beside a gateway that runs, or without one. In JSON it is the map as it was published.
    """
    from ..show import show

    show(config, round, out, as_json, typer.echo)


def health(
    config: Optional = None,
    url: Annotated[str | None, typer.Option(help="Of the page, instead of the file.")] = None,
    token_file: Annotated[Path | None, typer.Option(help="Of the page, with --url.")] = None,
    patience: Annotated[float, typer.Option(min=0.1, max=60, help="Seconds to wait.")] = 5.0,
    as_json: AsJson = False,
) -> None:
    """Ask a running gateway whether all of it works; exit status 1 where not.

    Give --config, or --url of its page. What does not work is named, with the reason.
    """
    from ..status import health

    if not health(config, url, token_file, patience, as_json, typer.echo):
        raise typer.Exit(1)


def _one(file: Path | None, config: Path | None) -> Path:
    found = flags.one_file(file, config)
    if found is None:
        raise OperatorFault(
            "no deployment file was named, and there must be one to look through; write "
            "heatveil check gateway.toml"
        )
    return found


def audit(
    config: Annotated[
        Path | None,
        typer.Option(help="A deployment file: look at its room, and not at the audit's."),
    ] = None,
    mechanism: Annotated[str | None, typer.Option(help="Only this mechanism; all else.")] = None,
    full: Annotated[
        bool,
        typer.Option("--full/--quick", help="All of it, which takes longer, or what is quick."),
    ] = False,
    layer: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this layer; may be repeated.")
    ] = None,
    folder: Annotated[Path, typer.Option(help="Where the report is written.")] = Path("audit"),
    seed: Annotated[
        int | None, typer.Option(min=0, help="Of what is drawn for the audit; else always one.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="A new seed instead.")] = False,
    first: Annotated[
        bool, typer.Option("--first", help="End a layer at the first claim that fails.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Hold every promise of every mechanism against what the code really does.

    Exit status 0: every claim holds. 1: one fails. 3: none fails, but some were not measured, for
    this machine lacks what they need.
    """
    from ..audit import audited, effort

    how = effort(full, seed, fresh, first)
    if left := audited(mechanism, config, layer or (), how, folder, as_json, typer.echo):
        typer.echo(f"heatveil: not measured, and so not known to hold: {left}", err=True)
        raise typer.Exit(3)


# The commands that take something out of a store and leave it as it was: backup, export.
#
# Only the flags are here; the work is in the module that each imports when it runs.


def backup(
    config: flags.Config,
    out: Annotated[Path, typer.Option(help="The copy; there must be nothing there yet.")],
) -> None:
    """Copy the store of a deployment while its gateway runs, and see that the copy is whole."""
    from ..export import backup

    backup(config, out, typer.echo)


def export(
    config: flags.Config,
    out: Annotated[Path, typer.Option(help="A new file: .csv, .jsonl or .parquet.")],
    what: Annotated[
        str | None,
        typer.Option(
            help="reports, releases, maps, messages or ledger. Without: reports, or releases "
            "where reports are sealed."
        ),
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="From then on: 2026-11-22 or 2026-11-22T08:00, UTC.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="Before then.")] = None,
) -> None:
    """Write what a deployment has gathered for others to work with, and its promise beside it."""
    from ..export import export

    export(config, out, what, since, until, typer.echo)

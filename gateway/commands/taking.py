"""The commands that take something out of a store and leave it as it was: backup, export.

Only the flags are here; the work is in the module that each imports when it runs.
"""

from pathlib import Path
from typing import Annotated

import typer

from . import flags


def backup(
    config: flags.Config,
    out: Annotated[Path, typer.Option(help="The copy; there must be nothing there yet.")],
) -> None:
    """Copy the store of a deployment while its gateway runs, and see that the copy is whole."""
    from .backing import backup

    backup(config, out, typer.echo)


def export(
    config: flags.Config,
    out: Annotated[Path, typer.Option(help="A new file: .csv, .jsonl or .parquet.")],
    what: Annotated[
        str, typer.Option(help="reports, releases, maps, messages or ledger.")
    ] = "reports",
    since: Annotated[
        str | None, typer.Option(help="From then on: 2026-11-22 or 2026-11-22T08:00, UTC.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="Before then.")] = None,
) -> None:
    """Write what a deployment has gathered for others to work with, and its promise beside it."""
    from .exporting import export

    export(config, out, what, since, until, typer.echo)

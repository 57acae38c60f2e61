"""The commands that look and change nothing: audit.

Only the flags are here; the work is in the module that each imports when it runs.
"""

from pathlib import Path
from typing import Annotated

import typer


def audit(
    mechanism: Annotated[str | None, typer.Option(help="Only this mechanism; all else.")] = None,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="Minutes of it, or less than one.")
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
    """Hold every promise of every mechanism against what the code really does."""
    from .auditing import audited, effort

    how = effort(full, seed, fresh, first)
    audited(mechanism, layer or (), how, folder, as_json, typer.echo)

"""The commands of who owns the keys and the promise: unveil, keys, tighten.

Only the flags are here; the service loads this module with the command line, and must not load
with it what takes noise off.
"""

from pathlib import Path
from typing import Annotated

import typer

from ...faults import OperatorFault
from . import flags

Keys = Annotated[
    Path | None, typer.Option(help="The owner's keys; keyholder.json beside the config.")
]
Device = Annotated[list[str] | None, typer.Option(help="Its name; may be repeated.")]

keys = typer.Typer(help="The owner's keys: list, hand out single boots, shred.")


def unveil(
    config: flags.Config,
    out: Annotated[Path, typer.Option(help="A new file, .sqlite or .csv. NOT PRIVATE.")],
    keys: Annotated[
        Path | None,
        typer.Option(help="keyholder.json or a granted epochs.json; the first beside the config."),
    ] = None,
    since: Annotated[int | None, typer.Option(min=1, help="From this round on.")] = None,
    round: Annotated[int | None, typer.Option(min=1, help="This round alone.")] = None,
) -> None:
    """Give the holder of keys the exact readings, in a file of their own. NOT PRIVATE."""
    from ...devices.owner.unveiling import ALL
    from ..owner import unveil

    if since is not None and round is not None:
        raise OperatorFault(
            "--since and --round came together; only one of them can be meant, or too many "
            "readings would be opened. Leave one out"
        )
    first, last = since or round or ALL[0], round or ALL[1]
    unveil(config, _held(config, keys), out, (first, last), typer.echo)


def tighten(
    config: flags.Config,
    device: Device = None,
    version: Annotated[
        int | None, typer.Option(min=1, help="In force now; only where limits.json is lost.")
    ] = None,
    patience: Annotated[
        float, typer.Option(min=0, max=3600, help="Seconds to wait for the devices' answers.")
    ] = 10.0,
) -> None:
    """Send the devices the limits of the deployment file: more privacy, never less."""
    from ..owner import tighten

    tighten(config, device or [], version, patience, typer.echo)


@keys.command("list")
def list_(config: flags.Config, keys: Keys = None) -> None:
    """Show who is enrolled with which key, and what the file of keys opens. No key is shown."""
    from ..owner import listed

    path = _held(config, keys)
    listed(config, path if keys or path.exists() else None, typer.echo)


@keys.command()
def grant(
    config: flags.Config,
    device: Annotated[list[str], typer.Option(help="Its name; may be repeated.")],
    epochs: Annotated[str, typer.Option(help="Boots, such as 3-7 or 3,5.")],
    out: Annotated[Path, typer.Option(help="A new file for whoever is to open these boots.")],
    keys: Keys = None,
) -> None:
    """Write the keys of some boots of a device: they open those and no other."""
    from ..owner import grant

    grant(config, _held(config, keys), device, epochs, out, typer.echo)


@keys.command()
def shred(
    config: flags.Config,
    before: Annotated[int, typer.Option(min=2, help="The first boot that can still be opened.")],
    device: Device = None,
    keys: Keys = None,
    future: Annotated[
        bool, typer.Option("--future", help="Forget boots too that no device has begun.")
    ] = False,
) -> None:
    """Forget the keys of earlier boots for ever, the root with them."""
    from ..owner import shred

    shred(config, _held(config, keys), device or [], before, future, typer.echo)


def _held(config: Path, keys: Path | None) -> Path:
    return keys or config.with_name("keyholder.json")

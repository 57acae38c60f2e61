"""One device more or less: `heatveil device list|add|remove|rotate|free|shut`.

Only the flags are here; the work is in the modules that each imports when it runs.
"""

from pathlib import Path
from typing import Annotated

import typer

from . import flags

Name = Annotated[str, typer.Argument(help="The device.", metavar="NAME")]
Folder = Annotated[
    Path | None, typer.Option(help="Of the broker's files; broker beside the config.")
]
Secrets = Annotated[
    Path | None, typer.Option(help="Of virtual devices; secrets.json beside the config.")
]
Out = Annotated[
    Path | None, typer.Option(help="For the board; NAME.device.json beside the config.")
]
Keys = Annotated[
    bool, typer.Option("--keys", help="All keys anew, a new enrolment, not the password alone.")
]
NewBudget = Annotated[
    bool,
    typer.Option(
        "--new-budget", help="With --keys: all of one, though the room has paid already."
    ),
]

app = typer.Typer(help="The devices: list, add, remove, new keys, shut out and let back.")


@app.command("list")
def listed(config: flags.Config) -> None:
    """Show every device: its sensor, its keys, when it was heard, why it is shut out."""
    from .device_standing import listed

    listed(config, typer.echo)


@app.command()
def add(
    name: Name,
    config: flags.Config,
    sensor: Annotated[
        int | None, typer.Option(min=0, help="Which it reads; the first that has no device.")
    ] = None,
    sensors: Annotated[
        int, typer.Option(min=1, help="How many it reads, from that one on: 64 of an 8x8 array.")
    ] = 1,
    virtual: Annotated[
        bool, typer.Option("--virtual", help="One of `heatveil fleet`, and no board.")
    ] = False,
    out: Out = None,
    folder: Folder = None,
    secrets: Secrets = None,
) -> None:
    """Enrol one device more, let it in at the broker, and write one file for its board."""
    from .device_changes import Change

    with Change(config, name, folder, secrets, out, typer.echo) as change:
        change.add(sensor, virtual, sensors)


@app.command()
def remove(
    name: Name, config: flags.Config, folder: Folder = None, secrets: Secrets = None
) -> None:
    """Cut a device off at the broker, and forget its keys."""
    from .device_changes import Change

    with Change(config, name, folder, secrets, None, typer.echo) as change:
        change.remove()


@app.command("rotate")
def device_rotate(
    name: Name,
    config: flags.Config,
    keys: Keys = False,
    new_budget: NewBudget = False,
    out: Out = None,
    folder: Folder = None,
    secrets: Secrets = None,
) -> None:
    """Give a device a new password at the broker; the old one is worth nothing at once."""
    if new_budget and not keys:
        raise typer.BadParameter("a budget belongs to keys: give --keys too")
    from .device_changes import Change

    with Change(config, name, folder, secrets, out, typer.echo) as change:
        change.rotate(keys, new_budget)


@app.command()
def free(name: Name, config: flags.Config, folder: Folder = None) -> None:
    """Let a device back that was shut out."""
    from .device_standing import free

    free(config, name, folder, typer.echo)


@app.command()
def shut(
    name: Name,
    config: flags.Config,
    why: Annotated[str, typer.Option(help="For whoever looks at it later.")] = "by hand",
    folder: Folder = None,
) -> None:
    """Shut a device out, until it is let back."""
    from .device_standing import shut

    shut(config, name, why, folder, typer.echo)

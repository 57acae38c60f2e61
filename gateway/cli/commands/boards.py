"""The commands for devices: budget, provision, doctor and rotate for a board, and device list etc.

Only the flags are here; the work is in the modules that each imports when it runs.
"""

from pathlib import Path
from typing import Annotated

import typer

from . import flags

# One device more or less: `heatveil device list|add|remove|rotate|free|shut`.
#
# Only the flags are here; the work is in the modules that each imports when it runs.

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
    from ..device_status import listed

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
    central: flags.Central = "",
    out: Out = None,
    folder: Folder = None,
    secrets: Secrets = None,
) -> None:
    """Enrol one device more, let it in at the broker, and write one file for its board."""
    from ..devices import Change

    with Change(config, name, folder, secrets, out, typer.echo) as change:
        change.add(sensor, virtual, sensors, central)


@app.command()
def remove(
    name: Name, config: flags.Config, folder: Folder = None, secrets: Secrets = None
) -> None:
    """Cut a device off at the broker, and forget its keys."""
    from ..devices import Change

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
    from ..devices import Change

    with Change(config, name, folder, secrets, out, typer.echo) as change:
        change.rotate(keys, new_budget)


@app.command()
def free(name: Name, config: flags.Config, folder: Folder = None) -> None:
    """Let a device back that was shut out."""
    from ..device_status import free

    free(config, name, folder, typer.echo)


@app.command()
def shut(
    name: Name,
    config: flags.Config,
    why: Annotated[str, typer.Option(help="For whoever looks at it later.")] = "by hand",
    folder: Folder = None,
) -> None:
    """Shut a device out, until it is let back."""
    from ..device_status import shut

    shut(config, name, why, folder, typer.echo)


# The commands for a board in one's hand: budget, provision, doctor, rotate.
#
# Only the flags are here; the work is in the module that each imports when it runs.

Address = Annotated[
    str,
    typer.Option(help="auto, a port such as /dev/ttyACM0, socket://HOST:PORT, or folder:PATH."),
]
Wait = Annotated[
    float, typer.Option(min=0, help="Seconds to look for it at the broker; 0 for not at all.")
]
WAIT_S = 60.0
Mpy = Annotated[bool, typer.Option("--mpy", help="Compiled modules: a quicker start, less flash.")]
Release = Annotated[
    Path | None, typer.Option(help="A folder that `make edge` made, instead of --mpy.")
]
Optional = Annotated[
    Path | None, typer.Option("--config", help="Take variance and cadence from a deployment.")
]


def budget(
    config: Optional = None,
    sensor: Annotated[
        str | None,
        typer.Option(
            help="ds18b20, tmp117, sht4x, amg8833 or mlx90640; gps or fixed for a place. ds18b20 "
            "if not said, gps where the deployment asks for places."
        ),
    ] = None,
    readings: Annotated[
        int | None, typer.Option(min=1, help="In one frame; all that the sensor has else.")
    ] = None,
    every: Annotated[float, typer.Option(help="Seconds from one answer to the next.")] = 60.0,
    variance: Annotated[int, typer.Option(help="Of the noise, in grains squared.")] = 250_000,
    battery: Annotated[float, typer.Option(help="What it holds, in mAh.")] = 2500.0,
    sampler: Annotated[str, typer.Option(help="exact, table or viper.")] = "exact",
    awake: Annotated[bool, typer.Option("--awake", help="It never sleeps.")] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Without TLS.")] = False,
    own: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A figure of your own board."),
    ] = None,
    figures: Annotated[
        bool, typer.Option("--figures", help="List what it rests on, with the sources.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say how long a battery lasts, and what memory, flash and bytes a board needs."""
    from ...devices.kit.needs import SENSORS, Plan, parse_figures
    from ..doctor import USUAL, budget, of_deployment

    named, promised = sensor or USUAL, None
    known = SENSORS.get(named)
    count = known.readings if known else 1
    plan = Plan(named, count, every, variance, battery, sampler, not plain, not awake)
    if config is not None:
        found, promised = of_deployment(config, sensor)
        plan = plan._replace(**found)
    if readings is not None:
        plan = plan._replace(readings=readings)
    plan = plan._replace(own=parse_figures(own or []))
    budget(plan, as_json, figures, promised, typer.echo)


def provision(
    name: Name,
    config: flags.Config,
    board: Address = "auto",
    settings: Annotated[
        Path | None,
        typer.Option(help="Its sensor and Wi-Fi, TOML; a board that has them keeps them."),
    ] = None,
    sensor: Annotated[
        int | None, typer.Option(min=0, help="Which it reads, if it is enrolled only now.")
    ] = None,
    sensors: Annotated[
        int, typer.Option(min=1, help="How many, from that one on: 64 of an 8x8 array.")
    ] = 1,
    central: flags.Central = "",
    mpy: Mpy = False,
    release: Release = None,
    out: Out = None,
    folder: Folder = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="End another device whose budget the board holds.")
    ] = False,
    wait: Wait = WAIT_S,
) -> None:
    """Make a device of a bare board with MicroPython; cut off, it goes on where it was."""
    from ...devices.kit.connect import lend_board, load_modules
    from ..provision import provision

    files, which = load_modules(mpy, release), (sensor, sensors, central)
    with lend_board(board, wait > 0) as place:
        provision(
            config, name, place, settings, out, folder, files, which, replace, wait, typer.echo
        )


def doctor(
    board: Address = "auto",
    config: Annotated[
        Path | None, typer.Option("--config", help="Hold it against a deployment's devices.")
    ] = None,
    reach: Annotated[
        bool, typer.Option("--reach", help="Try Wi-Fi, broker and password from there, too.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say what a board holds, what is left of its budget, and what is wrong with it."""
    from ...devices.kit.connect import open_board
    from ..doctor import examine

    if not examine(open_board(board, fresh=False), config, reach, as_json, typer.echo):
        raise typer.Exit(1)


def rotate(
    name: Name,
    config: flags.Config,
    board: Address = "auto",
    keys: Keys = False,
    new_budget: NewBudget = False,
    settings: Annotated[
        Path | None, typer.Option(help="Its sensor and Wi-Fi, TOML; those that it has else.")
    ] = None,
    folder: Folder = None,
    mpy: Mpy = False,
    release: Release = None,
    wait: Wait = WAIT_S,
) -> None:
    """Give a device a new password, or new keys, and bring them to its board."""
    from ...devices.kit.connect import lend_board, load_modules
    from ..provision import rotate

    if new_budget and not keys:
        raise typer.BadParameter("a budget belongs to keys: give --keys too")
    files = load_modules(mpy, release)
    with lend_board(board, wait > 0) as place:
        rotate(config, name, place, folder, settings, files, keys, new_budget, wait, typer.echo)

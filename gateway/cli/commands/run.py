"""The commands that run something: demo, serve, once, replay, work, enrol, fleet.

Only the flags are here; the work is in the module that each imports when it runs.
"""

from pathlib import Path
from typing import Annotated

import typer

from . import flags


def demo(
    sensors: Annotated[int, typer.Option(min=2, max=1000, help="Virtual thermometers.")] = 50,
    epsilon: Annotated[str, typer.Option(help="A ratio, for all rounds together.")] = "8/1",
    rounds: Annotated[int, typer.Option(min=1, max=1000, help="Readings of each sensor.")] = 4,
    seed: flags.Seed = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave it running until Ctrl-C.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of the page; 0 for any.")] = 0,
    folder: Annotated[Path, typer.Option(help="Where veil.png is written.")] = Path("demo"),
) -> None:
    """Everything on this machine: broker, gateway, live page and virtual sensors."""
    from ...mechanisms import MECHANISMS

    run = next(one.demo for one in MECHANISMS if one.demo is not None)
    run(sensors, epsilon, rounds, seed=seed, keep=keep, port=port, folder=folder)


def serve(
    config: flags.Config,
    rounds: Annotated[
        int | None, typer.Option(min=1, help="End after so many rounds; else run on.")
    ] = None,
    hold: Annotated[
        bool,
        typer.Option(
            "--hold",
            help="Instead of leaving with status 4, say why and rest until told to stop: where "
            "whoever starts it again knows no statuses, as Docker does.",
        ),
    ] = False,
) -> None:
    """Run the gateway of a deployment, with its page, until it is told to stop."""
    from ..serve import holding, serve

    with holding(hold):
        serve(config, rounds, typer.echo)


def once(config: flags.Config) -> None:
    """Run one round of a deployment, print its map, and leave nothing running."""
    from ..serve import once

    if not once(config, typer.echo):
        raise typer.Exit(1)


def replay(
    file: Annotated[
        Path, typer.Argument(help="JSON lines, as `heatveil export --what messages` writes them.")
    ],
    config: flags.Config,
) -> None:
    """See what becomes of recorded messages, without writing or publishing anything."""
    from ..replay import replay

    if not replay(file, config, typer.echo):
        raise typer.Exit(1)


def work(
    config: flags.Config,
    name: Annotated[
        str | None, typer.Option(help="Of this worker, in logs; the machine's own else.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="For its /readyz and /metrics; else it has none."),
    ] = None,
) -> None:
    """Take a share of a site's devices, beside its gateway: see [workers] in the file."""
    from ..serve import work

    work(config, name, port, typer.echo)


def enrol(
    config: flags.Config,
    secrets: Annotated[
        Path | None, typer.Option(help="Keys of the devices; secrets.json beside the config.")
    ] = None,
    central: flags.Central = "",
) -> None:
    """Make new keys and budgets for the devices of a deployment, and keys for its gateway."""
    from ..fleet import enrol_fleet

    enrol_fleet(config, secrets, typer.echo, central)


def fleet(
    config: flags.Config,
    nodes: Annotated[
        int | None,
        typer.Option(min=1, help="How many virtual devices; all that are enrolled else."),
    ] = None,
    secrets: Annotated[
        Path | None,
        typer.Option(help="Identities of the devices; secrets.json beside the config."),
    ] = None,
    enrol: Annotated[
        bool, typer.Option("--enrol", help="Make new keys and the gateway's devices file first.")
    ] = False,
    sources: flags.Sources = None,
    sources_random: flags.SourcesRandom = None,
    scene: flags.Scene = None,
    speed: flags.Speed = None,
    since: flags.From = None,
    points: flags.Points = None,
    vm: Annotated[
        str | None,
        typer.Option(
            metavar="PROGRAM",
            help="Each device in a MicroPython of its own: this one. In the heap of a small "
            "board, 64 KB, where words have 32 bits and mpy-cross is installed.",
        ),
    ] = None,
    churn: Annotated[
        float, typer.Option(min=0, help="So many devices a minute die, and come back.")
    ] = 0.0,
) -> None:
    """Run virtual devices against the broker of a deployment, until told to stop."""
    from ..fleet import How, Seen, fleet

    seen = Seen(sources, sources_random, scene, speed, since, points)
    fleet(config, nodes, secrets, enrol, seen, typer.echo, How(vm, churn))

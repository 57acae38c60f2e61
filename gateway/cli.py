"""The command `heatveil`: words in, lines out, and whose fault it was in the exit status.

0 is done; 1 is the operator's fault, in one line on standard error; 2 is a wrong usage. Any
other exception is our own fault and shows its traceback. A command's work is in the module
named for it and is imported when the command runs, so that --help is quick.
"""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from .commands import flags, owning, questions, simulating
from .faults import OperatorFault

app = typer.Typer(
    name="heatveil",
    help="Thermal sensors that report warmth without giving away who stood where.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
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
    from .commands.demo import run

    run(sensors, epsilon, rounds, seed=seed, keep=keep, port=port, folder=folder)


@app.command()
def serve(
    config: flags.Config,
    rounds: Annotated[
        int | None, typer.Option(min=1, help="End after so many rounds; else run on.")
    ] = None,
) -> None:
    """Run the gateway of a deployment, with its page, until it is told to stop."""
    from .commands.hosting import serve

    serve(config, rounds, typer.echo)


@app.command()
def enrol(
    config: flags.Config,
    secrets: Annotated[
        Path | None, typer.Option(help="Keys of the devices; secrets.json beside the config.")
    ] = None,
) -> None:
    """Make new keys and budgets for the devices of a deployment, and keys for its gateway."""
    from .commands.virtual import enrol_fleet

    enrol_fleet(config, secrets, typer.echo)


@app.command()
def fleet(
    config: flags.Config,
    nodes: Annotated[
        int | None, typer.Option(min=1, help="How many virtual devices; all of [sensors] else.")
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
) -> None:
    """Run virtual devices against the broker of a deployment, until told to stop."""
    from .commands.virtual import Seen, fleet

    seen = Seen(sources, sources_random, scene, speed, since)
    fleet(config, nodes, secrets, enrol, seen, typer.echo)


@app.command()
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
    from .commands.auditing import audited, effort

    how = effort(full, seed, fresh, first)
    audited(mechanism, layer or (), how, folder, as_json, typer.echo)


brokers = typer.Typer(help="A broker of your own: TLS, passwords, access list.")
app.add_typer(brokers, name="broker", no_args_is_help=True)


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
) -> None:
    """Write certificates, passwords, access list and configuration for mosquitto."""
    from .commands.broker_init import init

    init(config, host or [], folder, secrets, typer.echo)


app.command()(owning.unveil)
app.command()(owning.tighten)
app.add_typer(owning.keys, name="keys", no_args_is_help=True)
app.command()(questions.play)
app.command()(questions.recover)
app.command()(questions.calibrate)
app.command()(simulating.simulate)


def main(words: list[str] | None = None) -> None:
    """Run a command and leave with its exit status."""
    with _politely():
        try:
            app(words, prog_name="heatveil")
        except OperatorFault as fault:
            print("heatveil:", " ".join(str(fault).split()), file=sys.stderr)
            sys.exit(1)


@contextmanager
def _politely() -> Iterator[None]:
    """Let SIGTERM end the program as Ctrl-C does; by itself it would leave half files."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

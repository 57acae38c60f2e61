"""The command `heatveil`: words in, lines out, and whose fault it was in the exit status.

0 is done; 1 is the operator's fault, in one line on standard error; 2 is a wrong usage; 3 is an
audit in which nothing fails and not all could be measured; 4 is a store that is not what it was,
with which nothing may be started again. Any other exception is our own fault and shows its
traceback. A command's work is in the module named for it and is imported when the command runs,
so that --help is quick.
"""

import errno
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from .commands import (
    boards,
    devices,
    flags,
    looking,
    owning,
    questions,
    reproducing,
    running,
    simulating,
    taking,
)
from .faults import OperatorFault

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
app.add_typer(devices.app, name="device", no_args_is_help=True)


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
    from .commands.broker_init import init

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
        from .logs import asked

        os.environ["HEATVEIL_LOG"] = log  # what this process starts is to say as much
        asked()  # a level that is none is refused by every command, also by one that logs nothing


app.command()(running.demo)
app.command()(running.serve)
app.command()(running.once)
app.command()(running.replay)
app.command()(running.work)
app.command()(running.enrol)
app.command()(running.fleet)
app.command()(looking.check)
app.command()(looking.config)
app.command()(looking.ledger)
app.command()(looking.show)
app.command()(looking.health)
app.command()(looking.audit)
app.command()(taking.backup)
app.command()(taking.export)
app.command()(owning.unveil)
app.command()(owning.tighten)
app.add_typer(owning.keys, name="keys", no_args_is_help=True)
app.command()(questions.play)
app.command()(questions.recover)
app.command()(questions.calibrate)
app.command()(simulating.simulate)
app.command()(reproducing.reproduce)
app.command()(boards.budget)
app.command()(boards.provision)
app.command()(boards.doctor)
app.command()(boards.rotate)


def main(words: list[str] | None = None) -> None:
    """Run a command and leave with its exit status."""
    with _politely():
        try:
            app(words, prog_name="heatveil")
        except OperatorFault as fault:
            _refused(str(fault), fault.status)
        except MemoryError as fault:
            _refused(
                f"more memory was asked for than there is ({fault or 'no size was named'}); what "
                "was asked is not done. Ask for fewer cells, sensors or readings, or use a "
                "larger machine"
            )
        except OSError as fault:
            if fault.errno != errno.ENOSPC or fault.filename is not None:
                raise
            _refused(
                "what is printed goes to a file or a device that is full; the end of it is "
                "missing there. Make room, and run it again"
            )


def _refused(sentence: str, status: int = 1) -> NoReturn:
    print("heatveil:", " ".join(sentence.split()), file=sys.stderr)
    sys.exit(status)


@contextmanager
def _politely() -> Iterator[None]:
    """Let SIGTERM, and a terminal that closes, end the program as Ctrl-C does.

    By itself it would leave half files, or keys in those for the moment.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ends = [signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as under nohup
        ends.append(signal.SIGHUP)
    before = [signal.signal(one, lambda number, _: sys.exit(128 + number)) for one in ends]
    try:
        yield
    finally:
        for one, was in zip(ends, before, strict=True):
            signal.signal(one, was)

"""The command `heatveil`: words in, lines out, and whose fault it was in the exit status.

0 is done; 1 is the operator's fault, in one line on standard error; 2 is a wrong usage; 4 is a
store that is not what it was, with which nothing may be started again. Any other exception is our
own fault and shows its traceback. A command's module is imported when it runs: so --help waits for
no library, and the service loads nothing of the owner's keys.
"""

import atexit
import errno
import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from ..faults import OperatorFault

# By name: the module, which has an `app` or something of that name, and the line in the help.
COMMANDS = {
    "demo": ("serve", "Everything on this machine: broker, gateway, page and sensors."),
    "serve": ("serve", "Run the gateway of a deployment, with its page."),
    "once": ("serve", "Run one round of a deployment and print its map."),
    "replay": ("records.replay", "See what becomes of recorded messages; nothing is written."),
    "work": ("serve", "Take a share of a site's devices, beside its gateway."),
    "enrol": ("devices.fleet", "Make new keys and budgets for the devices of a deployment."),
    "fleet": ("devices.fleet", "Run virtual devices against the broker of a deployment."),
    "check": ("check", "Say what is, or may be, wrong with a deployment."),
    "config": ("config", "Print a deployment file to begin with, or its schema."),
    "ledger": ("records.ledger", "Say what is spent of a deployment's privacy, and what is left."),
    "show": ("records.show", "Show a map: where the warmth is, and how sure that is."),
    "report": ("records.report", "Write a day as a page, to be read, sent or printed."),
    "health": ("health", "Ask a running gateway whether all of it works."),
    "audit": ("audit", "Hold every promise against what the code really does."),
    "backup": ("records.export", "Copy the store of a deployment while its gateway runs."),
    "export": ("records.export", "Write what a deployment has gathered, with its promise."),
    "delete": ("records.delete", "Delete what a site has gathered; what was spent stays."),
    "unveil": ("devices.owner", "Give the holder of keys the exact readings: NOT PRIVATE."),
    "tighten": ("devices.owner", "Send the devices tighter limits: more privacy, never less."),
    "play": ("play", "Play one protocol in memory and hold its map against the truth."),
    "recover": ("recover", "Draw the map of readings that are public already."),
    "calibrate": ("calibrate", "Say which noise a promise needs, and what it hides."),
    "simulate": ("studies", "Live through a day in a room."),
    "reproduce": ("studies", "Make figures of the papers again."),
    "budget": ("devices.doctor", "Say how long a battery lasts, and what a board needs."),
    "provision": ("devices.provision", "Make a device of a bare board with MicroPython."),
    "doctor": ("devices.doctor", "Say what a board holds, and what is wrong with it."),
    "rotate": ("devices.provision", "Bring a new password, or new keys, to a board."),
    "update": ("devices.update", "Bring boards a new release over the air."),
    "broker": ("devices.broker", "A broker of your own: TLS, passwords, rights."),
    "device": ("devices.change", "Devices: list, add, remove, new keys, shut out, let back."),
    "keys": ("devices.owner", "The owner's keys: list, hand out single boots, shred."),
}


def load_command(name: str) -> Any:
    """Return a command with everything that it takes."""
    module = import_module(f".{COMMANDS[name][0]}", __name__)
    declared = getattr(module, "app", None) or getattr(module, name)
    if not isinstance(declared, typer.Typer):
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        single.command()(declared)
        declared = single
    command = typer.main.get_command(declared)
    command.name = name
    return command


def load_program() -> Any:
    """Return the program with every command loaded, for whoever looks at what each takes."""
    top: Any = typer.main.get_command(app)
    for name in COMMANDS:
        top.add_command(load_command(name))
    return top


class Commands(TyperGroup):
    """All the commands, by their lines in the help until one is called."""

    def __init__(self, **given: Any) -> None:
        """Begin with nothing loaded."""
        super().__init__(**given)
        for name, (_, line) in COMMANDS.items():
            self.add_command(TyperCommand(name, help=line))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return what is called, which is loaded now, and what it is called with."""
        name, stub, rest = super().resolve_command(ctx, args)
        return name, stub if name is None else load_command(name), rest


app = typer.Typer(
    name="heatveil",
    cls=Commands,
    help="Thermal sensors that report warmth without giving away who stood where.",
    epilog="Exit status: 0 done; 1 what you can mend, said in one line; 2 a wrong usage; "
    "4 the store is not what it was.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def heatveil(
    log: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL",
            help="Log from debug, info, warning or error up. Add plain or json, as in info,plain, "
            "for that form: else it is plain on a terminal, and JSON elsewhere.",
        ),
    ] = None,
) -> None:
    """Thermal sensors that report warmth without giving away who stood where."""
    if log is not None:
        from ..logs import read_variable

        os.environ["HEATVEIL_LOG"] = log  # what this process starts is to say as much
        read_variable()  # a level that is none is refused, whether the command logs or not


def main(words: list[str] | None = None) -> None:
    """Run a command and leave with its exit status."""
    # What is loaded stays to the end: looking for garbage in it takes long, then and before.
    gc.set_threshold(200_000, 20, 20)
    atexit.register(gc.freeze)
    with _exit_on_end_signals():
        try:
            app(words, prog_name="heatveil")
        except OperatorFault as fault:
            _refuse(str(fault), fault.status)
        except MemoryError as fault:
            _refuse(
                f"more memory was asked for than there is ({fault or 'no size was named'}); what "
                "was asked is not done. Ask for fewer cells, sensors or readings, or use a "
                "larger machine"
            )
        except OSError as fault:
            if fault.errno != errno.ENOSPC or fault.filename is not None:
                raise
            _refuse(
                "what is printed goes to a file or a device that is full; the end of it is "
                "missing there. Make room, and run it again"
            )


def _refuse(sentence: str, status: int = 1) -> NoReturn:
    print("heatveil:", " ".join(sentence.split()), file=sys.stderr)
    sys.exit(status)


@contextmanager
def _exit_on_end_signals() -> Iterator[None]:
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

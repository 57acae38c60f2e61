"""The flags that several commands share, and those made of what the fields of queries say."""

import sys
import typing
from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import cache
from importlib import import_module
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from recovery.estimators import HOMES

from ..faults import OperatorFault

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask; do it.")]


def ask(question: str, nothing: str) -> None:
    """Ask before what cannot be undone is done, and raise where the answer is not yes.

    Args:
        nothing: what follows of a no.

    Raises:
        OperatorFault: the answer is no, or nobody gives one.
    """
    try:
        if typer.confirm(question):
            return
    except typer.Abort:
        typer.echo()
        raise OperatorFault(
            f"{nothing}: nobody answered the question, and it cannot be undone. Answer it with y, "
            "or give --yes"
        ) from None
    raise OperatorFault(nothing)


def make_command_group(help: str) -> typer.Typer:
    """Return what several commands of one name are declared in."""
    return typer.Typer(
        help=help, no_args_is_help=True, add_completion=False, rich_markup_mode=None
    )


# The options of queries, made of what the fields of every mechanism's query say of themselves.

_KEY = "heatveil.query"


class QueryCommand(TyperCommand):
    """A command that takes the options of queries, besides its own."""

    map_too = True  # also those that alter the map alone

    def get_params(self, ctx: Any) -> list[Any]:
        """Return its own parameters, and one for each option of any query."""
        *ours, help = super().get_params(ctx)
        return [*ours, *_make_query_options(self.map_too), help]


class NoiseCommand(QueryCommand):
    """A command that takes the options of queries that alter the noise."""

    map_too = False


def find_given_options(context: Any) -> dict[str, str]:
    """Return the texts of those options that stand on the command line, by their names."""
    found: dict[str, str] = context.meta.get(_KEY, {})
    return found


def list_query_options(context: Any) -> list[str]:
    """Return the names of all the options of queries that a command takes."""
    return [
        one.name for one in _make_query_options(context.command.map_too) if one.name is not None
    ]


def load_estimator(text: str) -> str:
    """Return the name of an estimator; one of one's own, MODULE:FUNCTION, is registered by it.

    The folder at hand is searched last. Only a command line may name code: no file that is read.

    Raises:
        OperatorFault: there is no such function.
    """
    module, colon, name = text.partition(":")
    if not colon:
        return text
    from recovery.estimators.table import register

    if "" not in sys.path:
        sys.path.append("")
    try:
        register(text, getattr(import_module(module), name))
    except Exception as fault:  # whatever a module that is not ours does when it is loaded
        raise OperatorFault(
            f"--estimator {text} cannot be loaded ({type(fault).__name__}: {fault}); it must be "
            "MODULE:FUNCTION, importable from here, and the function must take a Seen. "
            "Correct it, or name one that heatveil has"
        ) from fault
    return text


def _keep(context: typer.Context, option: typer.CallbackParam, text: Any) -> None:
    if option.name is not None and is_given(context, option.name):
        if option.name == "estimator":
            load_estimator(str(text))
        context.meta.setdefault(_KEY, {})[option.name] = str(text)


@cache
def _make_query_options(map_too: bool) -> tuple[Any, ...]:
    """Return an option for each flag; its help is each mechanism's own where they differ."""
    from ..mechanisms import MECHANISMS

    helps: dict[str, dict[str, list[str]]] = {}
    usual: dict[str, set[str | None]] = {}
    kinds: dict[str, Any] = {}
    for mechanism in MECHANISMS:
        types = typing.get_type_hints(mechanism.query)
        for field in fields(mechanism.query):
            said = mechanism.abouts[field.name]
            if said.flag and (map_too or not said.map_only):
                helps.setdefault(said.flag, {}).setdefault(said.sentence, []).append(
                    mechanism.name
                )
                usual.setdefault(said.flag, set()).add(
                    said.example or _format_default(field.default)
                )
                kinds[said.flag] = types[field.name] if types[field.name] in (int, float) else str
    length = "Metres along the columns; without it the unit interval."
    made = [_make_option("length", length, float, {None})]
    for flag, texts in helps.items():
        alike = len(texts) == 1
        told = [text if alike else f"{', '.join(who)}: {text}" for text, who in texts.items()]
        made.append(_make_option(flag, " ".join(told), kinds[flag], usual[flag]))

    def none(**given: Any) -> None:
        """Do nothing: its parameters are wanted."""

    none.__signature__ = Signature(made)  # type: ignore[attr-defined]
    none.__annotations__ = {one.name: one.annotation for one in made}
    app = typer.Typer(add_completion=False)
    app.command()(none)
    return tuple(typer.main.get_command(app).params)


def _make_option(flag: str, help: str, kind: Any, usual: set[str | None]) -> Parameter:
    """Return a parameter; usual: its defaults, of which there is none where they differ."""
    said = typer.Option(f"--{flag}", help=help, expose_value=False, callback=_keep)
    default = min(usual, key=str) if len(usual) == 1 else None
    return Parameter(
        flag,
        Parameter.KEYWORD_ONLY,
        default=default if default is None else kind(default),
        annotation=Annotated[kind | None, said],
    )


def _format_default(value: Any) -> str:
    return f"{value[0]}/{value[1]}" if isinstance(value, tuple) else str(value)


# Flags of several commands.

Central = Annotated[
    str,
    typer.Option(
        metavar="MECHANISM",
        help="Let it answer this mechanism, whose gateway reads what devices report.",
    ),
]

# Flags that would do nothing, or say what a file says: refused, for they would be believed.

# What an array says by itself, and what goes with frames alone.
_ROOM = ["sources", "sources_random"]
_OF_ARRAY = ("cells", "length", "sensors", "spread", "calibration", "estimator")
_FRAMES = ["clip", "background", "fit", "every", "frames_count", "people"]


# What goes with every mechanism.
_ALWAYS = (
    *("mechanism", "seed", "out", "scores", "plot", "published"),
    *("deployment", "config", "as_json"),
)


def check_frame_flags(
    context: typer.Context, frames: Path | None, asked: Iterable[str] = ()
) -> None:
    """Check that no flag would do nothing unnoticed, with recorded frames or without.

    Args:
        asked: the flags of the query that stand on the command line.

    Raises:
        OperatorFault: there is such a flag.
    """
    if frames is None:
        if given := _join_given(context, _FRAMES):
            raise OperatorFault(
                f"{given} came without --frames; it speaks of recorded frames, and would be "
                "silently ignored without them. Add --frames FILE"
            )
    elif given := _join_given(context, _ROOM, [one for one in asked if one in _OF_ARRAY]):
        raise OperatorFault(
            f"{given} came with --frames; the recording itself determines that, or cannot be "
            "played that way, so it would be silently ignored. Leave it out"
        )


def check_flags_used(
    context: typer.Context, name: str, takes: Sequence[str], asked: Iterable[str]
) -> None:
    """Check that every flag given is one that the mechanism has a use for.

    Args:
        takes: the flags that it has one for, beside those of every mechanism.
        asked: the flags of queries that stand on the command line.

    Raises:
        OperatorFault: there is another one.
    """
    every = [name for name in context.params if name not in (*_ALWAYS, *takes)]
    if given := _join_given(context, every, [one for one in asked if one not in takes]):
        known = {*context.params, *list_query_options(context)}
        if given == "--points" and "sources" in takes:
            raise OperatorFault(
                f"--points came with {name}, but it maps warmth, not people: {name} takes "
                "--sources FILE or --sources-random N instead"
            )
        listed = ", ".join(_format_flag(one) for one in takes if one in known)
        raise OperatorFault(
            f"{given} came with {name}, which takes {listed}, and names of files for its "
            "results; it would be silently ignored. Leave it out, or choose a mechanism that "
            "takes it"
        )


def check_file_stands_alone(context: typer.Context, file: Path, asked: Iterable[str] = ()) -> None:
    """Check that nothing is said beside a deployment file that says it.

    Args:
        asked: the flags of a query that stand on the command line.

    Raises:
        OperatorFault: there is such a flag.
    """
    if given := _join_given(context, ["mechanism", "settings"], asked):
        raise OperatorFault(
            f"{given} came with {file}; the file sets that itself, and one of the two would be "
            "ignored. Leave the option out, or change the file"
        )


def pick_deployment_file(first: Path | None, second: Path | None) -> Path | None:
    """Return the deployment file, however it was named; None where it was not.

    Raises:
        OperatorFault: two were named.
    """
    if first is not None and second is not None:
        raise OperatorFault(
            f"two deployment files were given, {first} and --config {second}; the command takes "
            "one. Leave one out"
        )
    return first or second


def _join_given(context: typer.Context, names: list[str], asked: Iterable[str] = ()) -> str:
    """Return those of these flags that were given, and those of a query, for a sentence."""
    return " and ".join(
        map(_format_flag, [*(one for one in names if is_given(context, one)), *asked])
    )


def is_given(context: typer.Context, name: str) -> bool:
    """Return whether a parameter stands on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _format_flag(name: str) -> str:
    """Return a flag as it is written.

    >>> _format_flag("sources_random"), _format_flag("settings")
    ('--sources-random', '--set')
    """
    return "--set" if name == "settings" else "--" + name.replace("_", "-")


Sources = Annotated[
    Path | None, typer.Option(help="CSV of what is warm: position,intensity or x,y,intensity.")
]
SourcesRandom = Annotated[
    int | None, typer.Option(help="So many sources in random cells instead of a file.")
]
Points = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|NAME",
        help="CSV of where people are, user,x,y or user,longitude,latitude; or an example: "
        "normal, szipf, mnormal.",
    ),
]
Users = Annotated[
    int | None, typer.Option(min=1, help="So many people in an example of --points; 10000 else.")
]
Estimator = Annotated[
    str,
    typer.Option(
        help=f"Who draws the map: {', '.join(HOMES)}, or MODULE:FUNCTION, one's own.",
        metavar="NAME",
        callback=load_estimator,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any further field of the query."),
]
Seed = Annotated[
    int | None, typer.Option(min=0, help="Make the run repeatable; then it is not private.")
]
Out = Annotated[Path | None, typer.Option(help="Write the map here, as .npz.")]


def check_png(plot: Path | None) -> Path | None:
    """Return where a picture goes; refuse a name of another format."""
    if plot is not None and plot.suffix.lower() != ".png":
        raise OperatorFault(
            f"--plot {plot} ends in {plot.suffix or 'nothing'} but the picture is a PNG. Name a "
            "file that ends in .png"
        )
    return plot


Plot = Annotated[
    Path | None, typer.Option(callback=check_png, help="Write a picture here, as PNG.")
]
Frames = Annotated[
    Path | None,
    typer.Option(help="Recorded frames of an array, .npz; with --clip, --background, --fit."),
]
Clip = Annotated[
    str | None, typer.Option(help="The clip that is played; needed where the file holds several.")
]
Background = Annotated[
    str | None,
    typer.Option(help="A clip of the empty room, taken as public; needed as --clip is."),
]
Fit = Annotated[
    str | None,
    typer.Option(help="A clip of one person, taken as public, to fit the blur on; needed too."),
]
Every = Annotated[
    int | None, typer.Option(help="Play one frame of so many; else spread them over the clip.")
]
FramesCount = Annotated[int, typer.Option(help="Play so many frames.")]
People = Annotated[
    int | None, typer.Option(help="How many people every frame shows, to score the counts.")
]
Scene = Annotated[
    Path | None,
    typer.Option(help="A room file: devices read the room as it lives, instead of sources."),
]
Speed = Annotated[
    float | None, typer.Option(min=0.001, help="Of --scene: how much faster than life; 60 else.")
]
From = Annotated[
    str | None, typer.Option("--from", help="Of --scene: the time it begins; its first else.")
]
Config = Annotated[Path, typer.Option("--config", help="The deployment file, TOML.")]
File = Annotated[Path | None, typer.Option("--config", help="The deployment file, TOML.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Board = Annotated[
    str,
    typer.Option(help="auto, a port such as /dev/ttyACM0, socket://HOST:PORT, or folder:PATH."),
]
Name = Annotated[str, typer.Argument(help="The device.", metavar="NAME")]

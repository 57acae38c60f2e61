"""The options of queries, made of what the fields of every mechanism's query say of themselves."""

import sys
import typing
from dataclasses import fields
from functools import cache
from importlib import import_module
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from ..faults import OperatorFault

_KEY = "heatveil.query"


class OfQuery(TyperCommand):
    """A command that takes the options of queries, besides its own."""

    map_too = True  # also those that alter the map alone

    def get_params(self, ctx: Any) -> list[Any]:
        """Return its own parameters, and one for each option of any query."""
        *ours, help = super().get_params(ctx)
        return [*ours, *_options(self.map_too), help]


class OfNoise(OfQuery):
    """A command that takes the options of queries that alter the noise."""

    map_too = False


def find_given(context: Any) -> dict[str, str]:
    """Return the texts of those options that stand on the command line, by their names."""
    found: dict[str, str] = context.meta.get(_KEY, {})
    return found


def names(context: Any) -> list[str]:
    """Return the names of all the options of queries that a command takes."""
    return [one.name for one in _options(context.command.map_too) if one.name is not None]


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
            "MODULE:FUNCTION, importable from here, a function of what was seen. Correct it, or "
            "name one that heatveil has"
        ) from fault
    return text


def _keep(context: typer.Context, option: typer.CallbackParam, text: Any) -> None:
    source = context.get_parameter_source(option.name or "")
    if source is not None and source.name == "COMMANDLINE" and option.name is not None:
        if option.name == "estimator":
            load_estimator(str(text))
        context.meta.setdefault(_KEY, {})[option.name] = str(text)


@cache
def _options(map_too: bool) -> tuple[Any, ...]:
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
                usual.setdefault(said.flag, set()).add(said.example or _text(field.default))
                kinds[said.flag] = types[field.name] if types[field.name] in (int, float) else str
    length = "Metres along the columns; without it the unit interval."
    made = [_option("length", length, float, {None})]
    for flag, texts in helps.items():
        alike = len(texts) == 1
        told = [text if alike else f"{', '.join(who)}: {text}" for text, who in texts.items()]
        made.append(_option(flag, " ".join(told), kinds[flag], usual[flag]))

    def none(**given: Any) -> None:
        """Do nothing: its parameters are wanted."""

    none.__signature__ = Signature(made)  # type: ignore[attr-defined]
    none.__annotations__ = {one.name: one.annotation for one in made}
    app = typer.Typer(add_completion=False)
    app.command()(none)
    return tuple(typer.main.get_command(app).params)


def _option(flag: str, help: str, kind: Any, usual: set[str | None]) -> Parameter:
    """Return a parameter; usual: its defaults, of which there is none where they differ."""
    said = typer.Option(f"--{flag}", help=help, expose_value=False, callback=_keep)
    default = min(usual, key=str) if len(usual) == 1 else None
    return Parameter(
        flag,
        Parameter.KEYWORD_ONLY,
        default=default if default is None else kind(default),
        annotation=Annotated[kind | None, said],
    )


def _text(value: Any) -> str:
    return f"{value[0]}/{value[1]}" if isinstance(value, tuple) else str(value)

"""Flags that would do nothing, or say what a file says: refused, for they would be believed."""

from collections.abc import Sequence
from pathlib import Path

import typer

from ..faults import OperatorFault

# What an array says by itself, and what goes with frames alone.
_ROOM = ["sources", "sources_random", "cells", "length", "sensors", "spread"]
_ROOM += ["calibration", "estimator"]
_FRAMES = ["clip", "background", "fit", "every", "frames_count", "people"]


# What goes with every mechanism.
_ALWAYS = (
    *("mechanism", "seed", "out", "scores", "plot", "published"),
    *("deployment", "config", "as_json"),
)
_READINGS = ["cells", "length", "sensors", "spread", "sigma", "delta", "settings"]
_CONFIG = [
    "mechanism",
    "grid",
    "cells",
    "length",
    "sensors",
    "spread",
    "epsilon",
    "delta",
    "calibration",
    "settings",
]


def check_frames(context: typer.Context, frames: Path | None) -> None:
    """Check that no flag would do nothing unnoticed, with recorded frames or without.

    Raises:
        OperatorFault: there is such a flag.
    """
    given = _given(context, _FRAMES if frames is None else _ROOM)
    if given and frames is None:
        raise OperatorFault(
            f"{given} came without --frames; there must be recorded frames to speak of, or it "
            "would do nothing unnoticed. Add --frames FILE"
        )
    if given:
        raise OperatorFault(
            f"{given} came with --frames; the recording says that itself, or cannot be played "
            "so, and it would do nothing unnoticed. Leave it out"
        )


def check_taken(context: typer.Context, name: str, takes: Sequence[str]) -> None:
    """Check that every flag given is one that the mechanism has a use for.

    Args:
        takes: the flags that it has one for, beside those of every mechanism.

    Raises:
        OperatorFault: there is another one.
    """
    every = [name for name in context.params if name not in (*_ALWAYS, *takes)]
    if given := _given(context, every):
        listed = ", ".join(_flag(one) for one in takes if one in context.params)
        raise OperatorFault(
            f"{given} came with {name}, which takes {listed}, and names of files for its "
            "results; it would do nothing unnoticed. Leave it out, or take a mechanism that "
            "has a use for it"
        )


def check_file(context: typer.Context, file: Path) -> None:
    """Check that nothing is said beside a file that says it, a deployment or published readings.

    Raises:
        OperatorFault: there is such a flag.
    """
    if given := _given(context, _CONFIG if context.info_name == "calibrate" else _READINGS):
        raise OperatorFault(
            f"{given} came with {file}; the file says that itself, and two answers to one "
            "question cannot both count. Leave it out, or change the file"
        )


def one_file(first: Path | None, second: Path | None) -> Path | None:
    """Return the deployment file, however it was named; None where it was not.

    Raises:
        OperatorFault: two were named.
    """
    if first is not None and second is not None:
        raise OperatorFault(
            f"{first} and --config {second} both came; one deployment is asked about at a time, "
            "or it is not known which. Leave one out"
        )
    return first or second


def _given(context: typer.Context, names: list[str]) -> str:
    """Return those of these flags that stand on the command line, joined for a sentence."""
    sources = {name: context.get_parameter_source(name) for name in names}
    return " and ".join(
        _flag(name)
        for name, source in sources.items()
        if source is not None and source.name == "COMMANDLINE"
    )


def _flag(name: str) -> str:
    """Return a flag as it is written.

    >>> _flag("sources_random"), _flag("settings")
    ('--sources-random', '--set')
    """
    return "--set" if name == "settings" else "--" + name.replace("_", "-")

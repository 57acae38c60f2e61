"""The flags that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from recovery.estimators import HOMES

from .flags_given import check_file as check_file
from .flags_given import check_frames as check_frames
from .flags_given import check_taken as check_taken
from .flags_given import one_file as one_file

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
        help="CSV of where people are, user,x,y; or an example: normal, szipf, mnormal.",
    ),
]
Users = Annotated[
    int | None, typer.Option(min=1, help="So many people in an example of --points; 10000 else.")
]
Grid = Annotated[
    str, typer.Option(metavar="NxM", help="Cells of a map of people: columns x rows.")
]
Cells = Annotated[str, typer.Option(help="Cells of the map: N on a line, NxM in a plane.")]
Length = Annotated[
    float | None, typer.Option(help="Metres along the columns; without it the unit interval.")
]
Sensors = Annotated[str, typer.Option(help="Sensors, evenly spread: M, or MxK in a plane.")]
Spread = Annotated[
    float, typer.Option(help="Diffusivity times time: the paper's T, or m2 with --length.")
]
Epsilon = Annotated[str, typer.Option(help="A ratio such as 1/2, for all readings together.")]
Delta = Annotated[str, typer.Option(help="A ratio such as 1/100000.")]
Calibration = Annotated[str, typer.Option(help="exact, or paper for the formula as printed.")]
Estimator = Annotated[
    str, typer.Option(help=f"Who draws the map: {', '.join(HOMES)}.", metavar="NAME")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any further field of the query."),
]
Seed = Annotated[
    int | None, typer.Option(min=0, help="Make the run repeatable; then it is not private.")
]
Out = Annotated[Path | None, typer.Option(help="Write the map here, as .npz.")]
Plot = Annotated[Path | None, typer.Option(help="Write a picture here, as PNG.")]
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
Config = Annotated[Path, typer.Option(help="The deployment file, TOML.")]

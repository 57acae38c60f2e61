"""How a demonstration ends: truth beside map, what was promised, what was spent, a picture."""

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from edge.thermal import params_of
from recovery.thermal.query import cell_m

from ..certainty import heard as certainty
from .audience import Audience
from .choices_thermal import first_round
from .outputs import write_all
from .promise import in_words
from .scores import data_free, scores
from .simulated import Room
from .summary import Floats, places_of_most, written
from .sureness import doubt_lines
from .watch import SEEDED


def report(console: Console, room: Room, heard: Audience, picture: Path, seeded: bool) -> None:
    """Print the end of a demonstration along a line, and write its picture."""
    mass = None if heard.best is None else np.array(heard.best["mass"], dtype=np.float64)
    long_m = room.query.grid.shape[0] * cell_m(room.query.grid)
    off = scores(room.heat, mass)["emd_l1"]
    guess = data_free(room.heat) or 0.0
    console.print()
    if mass is not None and off is not None:
        console.print(_table(room, mass))
        console.print(
            f"All warmth together, the map is {off * long_m:.1f} m from the truth (earth mover's "
            f"distance); a guess that has seen no data is {guess * long_m:.1f} m from it."
        )
    for line in [] if heard.best is None else doubt_lines(certainty(heard.best)[2]):
        console.print(line)
    console.print("\n".join(["", *_promise(room, heard, seeded), ""]))
    titles = (
        f"The truth, which only the simulator knows: {len(room.scene.places)} people",
        "What the wire carried: every dot was blurred before it left its thermometer",
        "What was recovered: no map"
        if off is None
        else f"What was recovered: {off * long_m:.1f} m from the truth (a guess without data: "
        f"{guess * long_m:.1f} m)",
    )
    _draw(room, heard, mass, titles, picture)
    console.print(f"Picture: {picture}", soft_wrap=True)


def _table(room: Room, mass: Floats) -> Table:
    """Return each true source beside the recovered place that is nearest to it."""
    grid, found = room.query.grid, places_of_most(mass, room.query.grid)
    table = Table("person", "stood at", "the map says", "apart")
    for number, place in enumerate(room.scene.places, 1):
        nearest = min(found, key=lambda one: abs(float(one.at[0]) - place), default=None)
        seen = (
            ("nothing near", "")
            if nearest is None
            else (
                f"{nearest.share:.0%} of the warmth near {written(nearest.at, grid)}",
                f"{abs(float(nearest.at[0]) - place):.1f} m",
            )
        )
        table.add_row(str(number), written(place, grid), *seen)
    return table


def _promise(room: Room, heard: Audience, seeded: bool) -> list[str]:
    """Return the guarantee, and what is left of it."""
    guarantee = first_round(room.query).guarantee
    if seeded:
        guarantee = guarantee._replace(trust=SEEDED)
    lines = in_words(room.query, guarantee)
    if heard.budget is not None:
        lines.append(
            f"Budget: epsilon {heard.budget['epsilon_spent']:.2f} of "
            f"{heard.budget['epsilon']:.2f} spent; rounds left: {heard.budget['rounds_left']}."
        )
    if seeded:
        lines.append("With --seed the noise is repeatable: nothing of this is private.")
    return lines


def _draw(room: Room, heard: Audience, mass: Floats | None, titles: Any, path: Path) -> None:
    from .pictures import Picture, draw  # half a second

    exponent = params_of(first_round(room.query)).exponent
    values = np.array([event["values"] for event in heard.releases], dtype=np.float64)
    sent = np.ldexp(values.reshape(-1, len(room.temperatures)), -exponent)
    places = room.sensors.places_m
    known = () if heard.best is None else certainty(heard.best)
    shown = (room.query.grid, room.heat, room.temperatures, places, sent, mass, titles)
    picture = Picture(*shown, *known)
    write_all({path: lambda half: draw(picture, half)})

"""Places on the command line: people who each answer a cell, their map, how sure it is."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edge import disk
from edge.records import Release, Round
from recovery.disk.query import Query
from recovery.distance import sliced
from recovery.maps.heatmap import Heatmap

from ...output import Stage, Writer
from ..record import Act, Floats, Found, Numbers, Played, Seen, Stand, Told
from ..scores import data_free
from . import query
from .crowd import crowd_of
from .deployment import in_words
from .picture import foot, panels
from .words import away, distance_lines, found_lines, guess_lines, guesses, rms


def _reporter(round: Round) -> Callable[[Any, Any], list[int]]:
    """Return the device's own report, with the Round's table made once and not by each device."""
    table = disk.Table(round)
    return lambda reading, rng: disk.report(round, reading, rng, table)


def _judge(played: Played, numbers: Numbers, stage: Stage) -> Told:
    """Return how far the map is from the truth beside an even one, and what a report tells."""
    truth, round = played.world.truth, played.watch.releases[0].round
    even = np.full(truth.shape, 1 / truth.size)
    own = {f"{name}_data_free": data_free(truth, name) for name in ("w2", "similarity")}
    w2 = own["w2_data_free"]
    own["w2_cells_data_free"] = None if w2 is None else w2 * max(truth.shape)
    seen = {"w2_sliced": played.mass, "w2_sliced_data_free": even}
    for name, mass in seen.items():  # a lower bound of w2, at any size
        own[name] = None if mass is None else sliced(truth / truth.sum(), mass)
    stage("working out what a report tells whoever sees it")
    told = guesses(round)
    epsilon = played.found.guarantee.epsilon
    own |= {
        "users": played.world.cells.shape[1],
        "epsilon": epsilon[0] / epsilon[1],
        "epsilon_per_report": round.params[3] / round.params[4],
        "worst_log_ratio": told.log_ratio,
        "local_privacy_cells": told.off_cells,
        "local_privacy_cells_data_free": told.blind_cells,
        "best_guess_right": told.right,
        "best_guess_right_data_free": told.blind,
        "radius_cells": round.params[0],
        "outer_cells": told.outer,
        **_covered(played, truth),
    }
    return Told(own, [*distance_lines(played, numbers | own), *guess_lines(told, played)])


def _covered(played: Played, truth: Floats) -> Numbers:
    """Return how many cells are within two standard deviations of the truth, and how wide."""
    sd = played.found.sd if isinstance(played.found, Heatmap) else None
    if sd is None or played.mass is None:
        return {"sd_mean": None, "within_two_sd": None}
    off = np.abs(played.mass - truth / truth.sum())
    return {"sd_mean": rms(sd), "within_two_sd": float(np.mean(off <= 2 * sd))}


def _picture(played: Played, numbers: Numbers, path: Path) -> None:
    # Imported here alone: it takes half a second, and few plays are drawn.
    from ..panels import draw

    query = played.world.query
    found = "no map"
    if played.mass is not None:
        sliced_only = numbers["w2"] is None
        w2 = "w2_sliced" if sliced_only else "w2"
        found = (
            f"What was recovered: W2{', sliced,' * sliced_only} {away(query.grid, numbers[w2])}, "
            f"an even map has {away(query.grid, numbers[w2 + '_data_free'])}"
        )
    shown = panels(query, played.watch.releases, played.found, found, played.world.truth)
    draw(query.grid, shown, path, foot(query, played.found))


def _redrawn(query: Query, releases: Sequence[Release], found: Found, name: str) -> Writer:
    def write(path: Path) -> None:
        from ..panels import draw

        title = f"Recovered from {name} by {query.estimator}"
        draw(query.grid, panels(query, releases, found, title), path, foot(query, found))

    return write


def _calibrated(query: Query, **how: Any) -> Any:
    from .calibrate import calibrated  # of no use to the other commands

    return calibrated(query, **how)


def _stand(query: Query, seen: Seen, sensors: int, world: np.random.Generator) -> Stand:
    from .crowd import stand  # with it come devices

    return stand(query, seen, sensors, world)


DISK = Act(
    name=disk.NAME,
    query=Query,
    asks=("grid", "length", "epsilon", "estimator", "settings"),
    sees=("points", "users"),
    other_flags=query.OTHER_FLAGS,
    asked=query.query,
    checked=query.checked,
    world=crowd_of,
    bits=disk.bits,
    vector_length=lambda round: 1,
    found_lines=found_lines,
    judge=_judge,
    picture=_picture,
    redrawn=_redrawn,
    promise=in_words,
    written=query.written,
    opened=query.opened,
    calibrated=_calibrated,
    stand=_stand,
    reporter=_reporter,
)

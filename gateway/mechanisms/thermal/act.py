"""Thermal sensors on the command line: a room of sources, and its picture."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from edge import thermal
from edge.records import Release
from physics.places import sensor_places
from recovery.maps.heatmap import Heatmap
from recovery.thermal import Query

from ...output import Stage, Writer
from ..record import Act, Found, Inputs, Numbers, Played, Seen, Stand, Told
from . import published, query
from .words import far, found_lines, in_words, label, sent
from .world import Room, scene_of, yardstick, yardstick_lines


def _world(query: Query, inputs: Inputs, world: np.random.Generator) -> Room:
    return Room(query, scene_of(query, inputs.sources, inputs.sources_random, world), world)


def _judge(played: Played, numbers: Numbers, stage: Stage) -> Told:
    """Return how far the map is from the truth, beside a blind guess and the best there is."""
    stage("working out how near any map could come")
    best = yardstick(played.world, played.watch.releases[0].round)
    own = {"emd_l1_yardstick": None if best is None else best.distance}
    length = partial(far, played.world.query.grid)
    score, guess = (numbers[name] for name in ("emd_l1", "emd_l1_data_free"))
    lines = []
    if score is not None and guess is not None:
        lines.append(
            f"Earth mover's distance to the truth {length(score)}; a guess without data has "
            f"{length(guess)}."
        )
        if score >= guess:
            lines.append("So this map is no better than that guess: it says nothing of value.")
    return Told(own, lines + yardstick_lines(best, score, length))


def _sure(found: Found) -> tuple[Any, ...]:
    if not isinstance(found, Heatmap):
        return ()
    return found.credible, found.certified, found.verdict


def _picture(played: Played, numbers: Numbers, path: Path) -> None:
    """Draw what was played, with how far off its map is."""
    # Imported here alone: it takes half a second, and few plays are drawn.
    from .picture import Picture, draw

    room, carried = played.world, label(played.world.query, played.found.guarantee)
    score, guess = (numbers[name] for name in ("emd_l1", "emd_l1_data_free"))
    grid = room.query.grid
    found = "no map" if score is None else f"{far(grid, score)} from the truth"
    draw(
        Picture(
            grid,
            room.heat,
            room.temperatures,
            room.sensors.places_m,
            sent(played.watch.releases),
            played.mass,
            (
                "The truth, which only the simulator knows",
                f"What the wire carried: {carried}",
                f"What was recovered: {found}"
                + (f" (a guess without data: {far(grid, guess)})" if guess is not None else ""),
            ),
            *_sure(played.found),
        ),
        path,
    )


def _redrawn(query: Query, releases: Sequence[Release], found: Found, name: str) -> Writer:
    from .picture import Picture, draw  # half a second, and few maps are drawn

    titles = ("", f"The published readings of {name}", found_lines(found)[0])
    places = np.asarray(sensor_places(query.sensors, query.grid))
    mass = found.mass if isinstance(found, Heatmap) else None
    shown = (query.grid, None, None, places, sent(releases), mass, titles)
    picture = Picture(*shown, *_sure(found))
    return lambda half: draw(picture, half)


def _heard(releases: Sequence[Release]) -> list[str]:
    """Return how many sensors were heard, where some were not."""
    values = zip(*(release.values for release in releases), strict=True)
    heard = [any(value is not None for value in sensor) for sensor in values]
    if all(heard):
        return []
    return [f"{sum(heard)} of {len(heard)} sensors were heard; of the others nothing is known."]


def _calibrated(query: Query, **how: Any) -> Any:
    from .calibrate import calibrated  # of no use to the other commands

    return calibrated(query, **how)


def _stand(query: Query, seen: Seen, sensors: int, world: np.random.Generator) -> Stand:
    from .world import warmth  # with it come devices

    return warmth(query, seen, sensors, world)


THERMAL = Act(
    name=thermal.NAME,
    query=Query,
    asks=(
        *("cells", "length", "sensors", "spread", "epsilon", "delta"),
        *("calibration", "estimator", "settings"),
    ),
    sees=("sources", "sources_random"),
    further=("frames", "clip", "background", "fit", "every", "frames_count", "people"),
    other_flags=query.OTHER_FLAGS,
    asked=query.query,
    checked=query.checked,
    world=_world,
    bits=thermal.bits,
    vector_length=lambda round: 1,
    found_lines=found_lines,
    judge=_judge,
    picture=_picture,
    redrawn=_redrawn,
    promise=in_words,
    written=published.written,
    opened=published.opened,
    calibrated=_calibrated,
    stand=_stand,
    heard=_heard,
    possible=published.check_possible,
)

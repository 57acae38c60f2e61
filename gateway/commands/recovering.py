"""A map from readings that are public already: `heatveil recover`."""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np

from edge.records import Release
from physics.places import sensor_places
from recovery.heatmap import Heatmap, to_npz
from recovery.thermal import Query, recover

from .choices import checked, undrawn
from .outputs import Writer, check_places, write_all
from .promise import as_stated, in_words
from .published import read
from .readings import read_csv
from .summary import found_lines, sent


def recovered(
    path: Path,
    query_of: Callable[[], Query],
    out: Path | None,
    plot: Path | None,
    estimator: str | None = None,
) -> list[str]:
    """Draw the map of a file, write what is wanted, and return the lines to print.

    Args:
        path: as `play --published` writes it, or a CSV by its name.
        query_of: makes the query of a CSV, which says nothing of room and noise.
        estimator: who draws the map instead of who drew it before; None for the same.

    Raises:
        OperatorFault: the file or an argument is wrong; then nothing was written.
    """
    check_places([place for place in (out, plot) if place], [path])
    plain = path.suffix.lower() == ".csv"
    if plain:
        query = query_of()
        releases = read_csv(path, query)
    else:
        query, releases = read(path)
        if estimator is not None:
            known = {field.name: getattr(query, field.name) for field in fields(query)}
            query = checked(known | {"estimator": estimator})
    with undrawn():
        found = recover(query, releases)
    writers: dict[Path, Writer] = {}
    if plot:
        from .pictures import Picture, draw  # half a second, and few maps are drawn

        mass, credible, certified = (
            (found.mass, found.credible, found.certified)
            if isinstance(found, Heatmap)
            else (None, None, None)
        )
        titles = ("", f"The published readings of {path.name}", found_lines(found)[0])
        places = np.asarray(sensor_places(query.sensors, query.grid))
        shown = (query.grid, None, None, places, sent(releases), mass, titles)
        picture = Picture(*shown, credible, certified)
        writers[plot] = lambda half: draw(picture, half)
    if out and isinstance(found, Heatmap):
        writers[out] = lambda half: to_npz(found, half)
    write_all(writers)
    if out and not isinstance(found, Heatmap):
        out.unlink(missing_ok=True)  # an older map would be taken for this one
    told = as_stated if plain else in_words
    return [*found_lines(found), *_silent(releases), *told(query, found.guarantee)]


def _silent(releases: list[Release]) -> list[str]:
    """Return how many sensors were heard, where some were not."""
    values = zip(*(release.values for release in releases), strict=True)
    heard = [any(value is not None for value in sensor) for sensor in values]
    if all(heard):
        return []
    return [f"{sum(heard)} of {len(heard)} sensors were heard; of the others nothing is known."]

"""A map from readings that are public already: `heatveil recover`."""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from recovery.maps.heatmap import Heatmap, to_npz
from recovery.thermal import Query

from .. import mechanisms
from . import acts
from .choices import undrawn
from .outputs import Writer, check_places, write_all
from .promise import as_stated
from .published import read
from .readings import read_csv


def recover(query: Any, releases: Any) -> Any:
    """Return the map of public releases, by the mechanism that the query is of."""
    return mechanisms.named(acts.of(query).name).recover(query, releases)


def recovered(
    path: Path,
    query_of: Callable[[], Query],
    out: Path | None,
    plot: Path | None,
    estimator: str | None = None,
) -> list[str]:
    """Draw the map of a file, write what is wanted, and return the lines to print.

    Args:
        path: as `play --published` writes it, or a CSV by its name, of thermal sensors.
        query_of: makes the query of a CSV, which says nothing of room and noise.
        estimator: who draws the map instead of who drew it before; None for the same.

    Raises:
        OperatorFault: the file or an argument is wrong; then nothing was written.
    """
    check_places([place for place in (out, plot) if place], [path])
    plain = path.suffix.lower() == ".csv"
    if plain:
        query = query_of()
        act, releases = acts.of(query), read_csv(path, query)
    else:
        act, query, releases = read(path)
        if estimator is not None:
            known = {field.name: getattr(query, field.name) for field in fields(query)}
            query = act.checked(known | {"estimator": estimator})
    with undrawn():
        found = recover(query, releases)
    writers: dict[Path, Writer] = {}
    if plot:
        writers[plot] = act.redrawn(query, releases, found, path.name)
    if out and isinstance(found, Heatmap):
        writers[out] = lambda half: to_npz(found, half)
    write_all(writers)
    if out and not isinstance(found, Heatmap):
        out.unlink(missing_ok=True)  # an older map would be taken for this one
    told = as_stated if plain else act.promise
    return [*act.found_lines(found), *act.heard(releases), *told(query, found.guarantee)]

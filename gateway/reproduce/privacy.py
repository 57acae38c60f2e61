"""What two numbers say of a mechanism's privacy, for they must stand beside each other.

Local privacy is an average, in cells: how far off somebody guesses who sees one answer and has
no idea of the user. The worst log-ratio is the promise: what one answer moves the odds between
two cells by, at worst. SEM-Geo-I at the disk's local privacy has a worst log-ratio many times the
disk's.
"""

from functools import lru_cache
from typing import NamedTuple

from edge.records import Grid
from recovery.disk.channel import Channel
from recovery.disk.query import Query
from recovery.peers import frequency_oracles, mdsw, sem_geo_i
from recovery.peers.local_privacy import distances, local_privacy, worst_log_ratio

# A channel with more entries is not written out for the sake of a column of a table.
_ENTRIES_MAX = 3_000_000


class Privacy(NamedTuple):
    """Both numbers; NaN where they were not computed."""

    local_privacy_cells: float
    worst_log_ratio: float
    notion: str  # what is promised, and to whom


def of_disk(channel: Channel) -> Privacy:
    """Return both for a disk round, exactly, from its channel."""
    cells = channel.rows * channel.columns
    if cells == 1:
        return Privacy(0.0, 0.0, LOCAL)
    if cells * channel.support.size > _ENTRIES_MAX:
        return Privacy(float("nan"), float("nan"), LOCAL)
    matrix = channel.matrix()
    away = distances(channel.columns, channel.rows)
    return Privacy(local_privacy(matrix, away), worst_log_ratio(matrix), LOCAL)


LOCAL = "local, epsilon a user"
GEO = "by distance: exponent a cell, at the disk's local privacy"


@lru_cache(maxsize=256)
def privacy(name: str, shape: tuple[int, int], epsilon: tuple[int, int]) -> Privacy:
    """Return both numbers of a contender by name, at its own radius."""
    # The contenders ask for the disk's own numbers.
    from .contenders import AUTO, DAM_AUTO, DISKS, Setting, calibrated, planned

    columns, rows = shape
    value = epsilon[0] / epsilon[1]
    if columns * rows == 1:
        return Privacy(0.0, 0.0, GEO if name == "SEM-Geo-I" else LOCAL)
    away = distances(columns, rows)
    scheme = {**DISKS, DAM_AUTO: "dam", AUTO: "wave", "k-RR": "krr"}.get(name)
    if scheme is not None:
        return of_disk(planned(scheme, Setting(shape, epsilon, estimator=""))[1])
    if name.startswith("MDSW"):
        split: mdsw.Split = "budget" if name.endswith("budget") else "users"
        axes = [_channel(query) for query in mdsw.queries(Grid(shape, 0), epsilon, split)]
        sizes = [axis.support.size for axis in axes]
        answers = sum(sizes) if split == "users" else sizes[0] * sizes[1]
        if answers * columns * rows > _ENTRIES_MAX:
            return Privacy(float("nan"), value, LOCAL)
        matrix = mdsw.matrix(axes[0], axes[1], split)
        return Privacy(local_privacy(matrix, away), worst_log_ratio(matrix), LOCAL)
    if name == "OUE":
        return Privacy(frequency_oracles.local_privacy(away, value), value, LOCAL)
    size, _, table = calibrated(shape, epsilon)
    same = of_disk(planned("dam", Setting(shape, epsilon, estimator=""))[1])
    worst = sem_geo_i.worst_log_ratio(table, size)
    return Privacy(same.local_privacy_cells, worst, f"{GEO}, k = {size}")


def _channel(query: Query) -> Channel:
    from .contenders import line

    return line(query)[1]

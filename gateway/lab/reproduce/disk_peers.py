"""The mechanisms that a figure compares: the map that each gives of people, and what it hides.

For experiments only: people are drawn by numpy, and no answer of theirs is ever released. What
devices and a gateway do is the same law, held by `tests/physics/crowds`.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from edge.core.records import Grid, Round
from physics.crowds.disk import count_many
from physics.crowds.peers import count_oue, report_sem_geo_i
from recovery.disk import promise
from recovery.disk.channel import Channel, channel_of
from recovery.disk.estimators import estimate
from recovery.disk.query import Query
from recovery.disk.round import make_round
from recovery.noise import Ratio
from recovery.peers import frequency_oracles, mdsw, sem_geo_i
from recovery.peers.local_privacy import distances, local_privacy, worst_log_ratio
from recovery.peers.sem_geo_i import find_set_size


class Privacy(NamedTuple):
    """Both numbers of a mechanism.

    Local privacy is an average, in cells: how far off somebody guesses who sees one answer and has
    no idea of the user. The worst log-ratio is the promise: what one answer moves the odds between
    two cells by, at worst. SEM-Geo-I at the disk's local privacy has a worst log-ratio many times
    the disk's.
    """

    local_privacy_cells: float
    worst_log_ratio: float


@lru_cache(maxsize=256)
def find_privacy(name: str, shape: tuple[int, int], epsilon: tuple[int, int]) -> Privacy:
    """Return both numbers of a contender by name, at its own radius."""
    columns, rows = shape
    value = epsilon[0] / epsilon[1]
    if columns * rows == 1:
        return Privacy(0.0, 0.0)
    away = distances(columns, rows)
    scheme = {**DISKS, DAM_AUTO: "dam", AUTO: "wave", "k-RR": "krr"}.get(name)
    if name == "OUE":
        return Privacy(frequency_oracles.local_privacy(away, value), value)
    if name == "SEM-Geo-I":
        size, _, table = calibrate_subset(shape, epsilon)
        same = find_privacy("DAM", shape, epsilon).local_privacy_cells
        return Privacy(same, sem_geo_i.worst_log_ratio(table, size))
    if name == "MDSW":
        queries = mdsw.make_queries(Grid(shape, 0), epsilon)
        across, down = (plan_channel(query)[1] for query in queries)
        matrix = mdsw.compute_matrix(across, down, "users")
    else:
        matrix = plan_disk(scheme, Setting(shape, epsilon))[1].matrix()
    return Privacy(local_privacy(matrix, away), worst_log_ratio(matrix))


Floats: TypeAlias = NDArray[np.float64]
Whole: TypeAlias = NDArray[np.int64]


class Setting(NamedTuple):
    """Under what a mechanism runs."""

    shape: tuple[int, int]  # columns and rows
    epsilon: Ratio  # of one user
    radius: float | None = None  # of a disk, in cells; None for the one that tells most


Contender: TypeAlias = Callable[[Whole, Setting, np.random.Generator], Floats]

# Disk rounds by the name that figures have for them.
DISKS = {"DAM": "dam", "DAM-NS": "dam-ns", "area": "area", "HUEM": "huem", "wave": "wave"}
# Those with our estimator, the second with our footprint and radius, too.
DAM_AUTO, AUTO = "DAM, auto", "wave, auto"


@lru_cache(maxsize=64)
def plan_channel(query: Query) -> tuple[Round, Channel]:
    """Return the Round of a query and its channel."""
    made = make_round(query, 1, promise(query))
    return made, channel_of(made)


def plan_disk(scheme: Any, setting: Setting) -> tuple[Round, Channel]:
    """Return the Round of a disk scheme, of DISKS or krr, and its channel."""
    grid, radius = Grid(setting.shape, 0), setting.radius
    return plan_channel(Query(grid, setting.epsilon, scheme=scheme, radius=radius))


def make_disk_contender(scheme: str, estimator: str = "em") -> Contender:
    """Return the contender that answers by disk rounds of this scheme.

    Args:
        estimator: that draws the map: the paper's, or ours, "auto".
    """

    def run(people: Whole, setting: Setting, world: np.random.Generator) -> Floats:
        round_, channel = plan_disk(scheme, setting)
        counts = count_many(round_, people, world)
        return estimate(estimator, channel, counts, setting.epsilon[0] / setting.epsilon[1]).mass

    return run


def map_by_square_waves(people: Whole, setting: Setting, world: np.random.Generator) -> Floats:
    """Return the map of the square wave, where half of the people answer each axis."""
    asked = mdsw.make_queries(Grid(setting.shape, 0), setting.epsilon)
    (across, of_columns), (down, of_rows) = (plan_channel(query) for query in asked)
    first = world.binomial(people, 0.5)
    columns = count_many(across, first.sum(axis=0)[None, :], world)
    rows = count_many(down, (people - first).sum(axis=1)[None, :], world)
    epsilon = setting.epsilon[0] / setting.epsilon[1]
    return mdsw.estimate(of_columns, columns, of_rows, rows, epsilon).mass


def map_by_randomised_response(
    people: Whole, setting: Setting, world: np.random.Generator
) -> Floats:
    """Return the map of k-ary randomised response, which is a disk round of no reach."""
    round_, _ = plan_disk("krr", setting._replace(radius=None))
    counts = count_many(round_, people, world)
    return frequency_oracles.estimate_krr(counts, math.log(round_.params[2] / round_.params[1]))


def map_by_unary_encoding(people: Whole, setting: Setting, world: np.random.Generator) -> Floats:
    """Return the map of optimised unary encoding."""
    epsilon = setting.epsilon[0] / setting.epsilon[1]
    ones = count_oue(people, epsilon, world)
    return frequency_oracles.estimate_oue(ones, int(people.sum()), epsilon)


@lru_cache(maxsize=64)
def calibrate_subset(shape: tuple[int, int], epsilon: Ratio) -> tuple[int, float, Floats]:
    """Return SEM-Geo-I's set size, its exponent and its table at the disk's local privacy."""
    away = distances(*shape)
    target = find_privacy("DAM", shape, epsilon).local_privacy_cells
    size, exponent = find_set_size(away, target, epsilon[0] / epsilon[1])
    return size, exponent, sem_geo_i.anchors(away, exponent)


def map_by_subset(people: Whole, setting: Setting, world: np.random.Generator) -> Floats:
    """Return the map of SEM-Geo-I, at the local privacy that the disk has."""
    size, _, table = calibrate_subset(setting.shape, setting.epsilon)
    at = np.repeat(np.arange(people.size), people.ravel())
    sets = report_sem_geo_i(table, at, size, world)
    gain = 1e-3 * math.exp(setting.epsilon[0] / setting.epsilon[1])
    return sem_geo_i.run_em(sets, table, gain=gain).mass.reshape(people.shape)


CONTENDERS: dict[str, Contender] = {
    **{name: make_disk_contender(scheme) for name, scheme in DISKS.items()},
    DAM_AUTO: make_disk_contender("dam", "auto"),
    AUTO: make_disk_contender("wave", "auto"),
    "MDSW": map_by_square_waves,
    "SEM-Geo-I": map_by_subset,
    "k-RR": map_by_randomised_response,
    "OUE": map_by_unary_encoding,
}


def recover_map(name: str, people: Whole, setting: Setting, world: np.random.Generator) -> Floats:
    """Return the map that a mechanism gives of these people, (rows, columns), adding to one.

    Args:
        name: of `CONTENDERS`.
        people: (rows, columns), how many are in each cell.
    """
    if people.size == 1:  # there is nothing to hide, nor to find
        return np.ones((1, 1))
    return CONTENDERS[name](people, setting, world)

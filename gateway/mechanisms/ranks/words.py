"""What is said and drawn of sorted places: who is trusted first, and how far off they are."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from edge.core.records import Release
from edge.mechanisms.ranks import params_of
from recovery.maps.guarantee import round_up
from recovery.noise import epsilon_of_report
from recovery.ranks.groups import choose_group, find_paper_group, group_of, predict_error
from recovery.ranks.order import compute_voronoi_density, estimate_release_order
from recovery.ranks.query import Query, count_of

from ...output import SENT, Stage
from .. import usual
from ..panels import Panel
from ..worlds import Judged, Numbers, Played

_RASTER = 256  # of a density, along a side


def predict_place_error(query: Query, users: int) -> float:
    """Return by which part of the curve a place is off, by the model."""
    count = max(1, users * query.points)
    one = float(epsilon_of_report(query)) / query.points
    return predict_error(count, one, min(group_of(query), count))


def judge_map(played: Played, numbers: Numbers, stage: Stage) -> Judged:
    """Return how far the map is from the truth, and what the model says of places in order."""
    told = usual.judge_map(played, numbers, stage)
    query, release = played.world.query, played.watch.releases[0]
    error, params = predict_place_error(query, release.reports), params_of(release.round)
    own = {
        "group": params.group,
        "groups": len(release.values),
        "expected_error_of_order": error,
    }
    line = (
        f"{len(release.values)} groups of {params.group} places; by the model a place is off by "
        f"{round_up(error)} of the curve in the mean"
    )
    if params.axes > 1:
        line += f", which is up to {round_up(min(1.42, 3 * error**0.5))} of a side"
    return Judged(told.numbers | own, [*told.lines, f"{line}."])


def make_panels(query: Query, releases: Sequence[Release]) -> list[Any]:
    """Return how dense the averages of groups are."""

    params = params_of(releases[0].round)
    if not releases[0].reports:
        return []
    points, weights = estimate_release_order(releases[0], lines=False).points(
        params.order, params.axes
    )
    columns, rows = query.grid.shape
    scale = max(1, _RASTER // max(columns, rows))
    raster = columns * scale, 1 if rows == 1 else rows * scale
    density = compute_voronoi_density(points, weights, raster)
    said = "How dense the averages of groups are: each is spread over the places nearest to it"
    most = float(np.quantile(density, 0.99))
    return [Panel(said, density, "times the mean", top=most, colour=SENT)]


def describe_groups(query: Query, round: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the size of groups by each rule, and the error that the model expects."""
    count, one = count_of(query), float(epsilon_of_report(query)) / query.points
    group = params_of(round).group
    sizes = {
        "group": group,
        "rule": choose_group(count, one),
        "paper": find_paper_group(count, one),
    }
    errors = {name: predict_error(count, one, min(size, count)) for name, size in sizes.items()}
    return {"groups": sizes, "expected_error": errors}, [
        f"{count:,} points, {query.points} of each user, in "
        f"groups of {group}: a place is off by {round_up(errors['group'])} of the curve in the "
        f"mean; the rule's {sizes['rule']} would give {round_up(errors['rule'])}, the paper's "
        f"{sizes['paper']} {round_up(errors['paper'])}."
    ]

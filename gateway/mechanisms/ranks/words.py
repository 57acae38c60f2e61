"""What is said and drawn of sorted places: who is trusted first, and how far off they are."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edge.mechanisms.ranks import params_of
from edge.records import Release
from recovery.maps.guarantee import sentences, upward
from recovery.maps.heatmap import Heatmap
from recovery.ranks import plan
from recovery.ranks.groups import expected_error, group_of, paper_group, rule_group
from recovery.ranks.order import order_behind, voronoi_density
from recovery.ranks.query import Query, count_of, epsilon_of_one

from ...faults import OperatorFault
from ...output import FOUND, SENT, TRUE, Stage, Writer
from .. import usual
from ..flags import first_round_of
from ..panels import Panel, draw
from ..record import Fact
from ..scores import SEEDED
from ..worlds import Calibrated, Floats, Found, Numbers, Played, Told

TRUSTED = (
    "Who is trusted: the gateway. It sees every place until the noise is on; whoever runs it, or "
    "breaks into it before then, sees them too."
)
_RASTER = 256  # of a density, along a side


def promise(query: Query, guarantee: Any) -> list[str]:
    """Return the guarantee in sentences, who is trusted first."""
    return [TRUSTED, *sentences(guarantee)]


def cautions(query: Query) -> list[str]:
    """Return what an operator should know first."""
    return [
        TRUSTED,
        "Counts in fixed squares err less than sorted places in a plane and in range queries; "
        "sorted places need no grid, and are as good on a line.",
    ]


def facts(found: Found) -> list[Fact]:
    """Return who was trusted, where most of a map is, and who drew it."""
    return [Fact("Trusted", "gateway", "", TRUSTED), *usual.facts(found)]


def error_of(query: Query, users: int) -> float:
    """Return by which part of the curve a place is off, by the model."""
    count = max(1, users * query.points)
    one = float(epsilon_of_one(query)) / query.points
    return expected_error(count, one, min(group_of(query), count))


def judge(played: Played, numbers: Numbers, stage: Stage) -> Told:
    """Return how far the map is from the truth, and what the model says of places in order."""
    told = usual.judge(played, numbers, stage)
    query, release = played.world.query, played.watch.releases[0]
    error, params = error_of(query, release.reports), params_of(release.round)
    own = {
        "group": params.group,
        "groups": len(release.values),
        "expected_error_of_order": error,
    }
    line = (
        f"{len(release.values)} groups of {params.group} places; by the model a place is off by "
        f"{upward(error)} of the curve in the mean"
    )
    if params.axes > 1:
        line += f", which is up to {upward(min(1.42, 3 * error**0.5))} of a side"
    return Told(told.numbers | own, [*told.lines, f"{line}."])


def _panels(
    query: Query, releases: Sequence[Release], found: Found, title: str, truth: Floats | None
) -> list[Panel]:
    shown = []
    mass = found.mass if isinstance(found, Heatmap) else None
    share = None if truth is None else truth / truth.sum()
    top = max((float(one.max()) for one in (share, mass) if one is not None), default=None)
    if share is not None:
        said = "The truth, which only the simulator knows"
        shown.append(Panel(said, share, "share", True, top, colour=TRUE))
    if mass is None:
        return shown
    shown.append(Panel(title, mass, "share", True, top, colour=FOUND))
    params = params_of(releases[0].round)
    if params.axes < 3 and releases[0].reports:
        points, weights = order_behind(releases[0], lines=False).points(params.order, params.axes)
        columns, rows = query.grid.shape
        scale = max(1, _RASTER // max(columns, rows))
        raster = columns * scale, 1 if rows == 1 else rows * scale
        density = voronoi_density(points, weights, raster)
        said = "How dense the averages of groups are: each spreads over what is nearest to it"
        most = float(np.quantile(density, 0.99))
        shown.append(Panel(said, density, "times the mean", top=most, colour=SENT))
    return shown


def _foot(query: Query, found: Found) -> str:
    said = [TRUSTED, *sentences(found.guarantee)[:2]]
    if found.guarantee.trust == SEEDED:
        said.insert(0, "An experiment with --seed: nothing of this is private.")
    return " ".join(said)


def picture(played: Played, numbers: Numbers, path: Path) -> None:
    """Draw the truth, what was recovered, and the density of the groups."""
    query = played.world.query
    shown = _panels(
        query, played.watch.releases, played.found, "What was recovered", played.world.truth
    )
    draw(query.grid, shown, path, _foot(query, played.found))


def redraw(query: Query, releases: Sequence[Release], found: Found, name: str) -> Writer:
    """Return the writer of a picture of public releases, where nobody knows the truth."""

    def write(path: Path) -> None:
        shown = _panels(query, releases, found, f"Recovered from {name}", None)
        if not shown:
            raise OperatorFault("there is nothing to draw: no map was found. Leave --plot out")
        draw(query.grid, shown, path, _foot(query, found))

    return write


def calibrate(query: Query, *, as_json: bool, **given: Any) -> Calibrated:
    """Return the promise, the size of groups by each rule, and the error that the model expects.

    Raises:
        OperatorFault: it cannot be planned, or a picture was asked for.
    """
    found = usual.calibrate(query, as_json=as_json, **given)
    count, one = count_of(query), float(epsilon_of_one(query)) / query.points
    group = params_of(first_round_of(query, plan)).group
    sizes = {"group": group, "rule": rule_group(count, one), "paper": paper_group(count, one)}
    errors = {name: expected_error(count, one, min(size, count)) for name, size in sizes.items()}
    if as_json:
        numbers = json.loads(found.lines[0]) | {"groups": sizes, "expected_error": errors}
        return Calibrated([json.dumps(numbers)], found.refusal)
    more = [
        f"{count:,} points, {query.points} of each user, in "
        f"groups of {group}: a place is off by {upward(errors['group'])} of the curve in the "
        f"mean; the rule's {sizes['rule']} would give {upward(errors['rule'])}, the paper's "
        f"{sizes['paper']} {upward(errors['paper'])}."
    ]
    return Calibrated([*found.lines, *more], found.refusal)

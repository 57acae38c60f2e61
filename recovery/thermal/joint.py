"""A map where spread or drift are not known: they are found beside the sources."""

from collections.abc import Sequence
from dataclasses import replace

from edge.core.records import Release
from physics.places import length_m

from ..bayes.unknown_physics import Joint, Physics, estimate_jointly
from ..estimators.record import Estimate, Seen
from .query import Query
from .seen import Levels, evenly


def jointly(
    query: Query, releases: Sequence[Release], weighed: Seen, levels: Levels | None = None
) -> Estimate:
    """Return the estimate over all that spread and drift may be.

    Args:
        query, releases: as for `recovery.thermal.recover`.
        weighed: what `seen.seen` made of them, and of these levels.

    Raises:
        ValueError: no release, or one of another query, or more cells than can be sampled.

    Source: `recovery.bayes.unknown_physics`.
    """
    seen, sensors_m = evenly(query, releases, weighed, levels)
    physics = Physics(
        sensors_m,
        (query.spread_m2, query.spread_max_m2 or query.spread_m2),
        query.walls,
        length_m=length_m(query.grid),
        offset=query.drift,
        slope=query.drift_slope,
    )
    joint = estimate_jointly(seen, physics)
    return replace(joint.estimate, estimator="posterior", why=_why(query, joint))


def _why(query: Query, joint: Joint) -> str:
    """Return what was found of the physics, in a clause."""
    unit, said = " m2" if query.grid.cell_mm else "", []
    if query.spread_max_m2 is not None:
        low, high = joint.spread_m2.within(query.level)
        said.append(f"a spread of {low:.3g} to {high:.3g}{unit} ({query.level:.0%} sure)")
    if query.drift or query.drift_slope:
        said.append(f"sensors {joint.offset:+.2g}{' K' if query.grid.cell_mm else ''} off")
    return f"sources and physics together, for they were not known; found {', '.join(said)}"

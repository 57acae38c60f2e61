"""What a pyramid by a secure sum says of its rounds, its noise and its promise."""

from typing import Any

from edge.mechanisms.pyramid_sum import levels, params_of, rates

from ...output import Stage
from .. import sums, usual
from ..worlds import Numbers, Played, Told


def judge(played: Played, numbers: Numbers, stage: Stage) -> Told:
    """Return the distances, and that the sums were simulated."""
    told = usual.judge(played, numbers, stage)
    release = played.watch.releases[0]
    p = params_of(release.round)
    own = {"vector_length": len(release.values), "shards": p.shards}
    lines = [
        *told.lines,
        f"A device sends {len(release.values)} numbers a report, squares of {len(p.weights)} "
        f"levels; one for every cell would be {played.world.truth.size}.",
        sums.simulate(p.shards, p.threshold),
    ]
    return Told(told.numbers | own, lines)


def calibrate(query: Any, round: Any) -> tuple[dict[str, Any], list[str]]:
    """Return what noise each level gets, as numbers and in words."""
    p = params_of(round)
    made = [
        {
            "squares": len(squares),
            "rate": [num, den],
            "noise_sd_users": 2**0.5 * den / num / p.units,
        }
        for squares, (num, den) in zip(levels(round), rates(round), strict=True)
    ]
    return {"levels": made}, [
        f"Level {level}: {one['squares']} squares, each sum off by {one['noise_sd_users']:.3g} "
        "users (one standard deviation, of one shard that nobody is missing from)."
        for level, one in enumerate(made, p.first)
    ]

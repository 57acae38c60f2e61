"""What a pyramid says of the noise on its levels."""

from typing import Any

from edge.mechanisms.pyramid import epsilons, params_of, within


def calibrate(query: Any, round: Any) -> tuple[dict[str, Any], list[str]]:
    """Return what noise each level gets, as numbers and in words."""
    p = params_of(round)
    levels = [
        {
            "squares": len(within(round.grid, level)),
            "epsilon": [num, den],
            "noise_sd_users": 2**0.5 * den / num,
        }
        for level, (num, den) in enumerate(epsilons(round), p.first)
    ]
    lines = [
        f"Level {level}: {one['squares']} square{'s' * (one['squares'] > 1)}, each measured one "
        f"off by {one['noise_sd_users']:.3g} users (one standard deviation)."
        for level, one in enumerate(levels, p.first)
    ]
    kept = f"Below level {p.first} is measured what lies in the {p.kept} fullest squares above."
    if len(levels) == 1:
        even = "" if p.first else ", which is the whole map: it cannot say where people are"
        kept = f"This level alone is measured{even}."
    return {"levels": levels, "kept": p.kept}, [*lines, kept]

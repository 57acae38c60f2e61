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
        f"Level {level}: {one['squares']} squares, each measured one off by "
        f"{one['noise_sd_users']:.3g} users (one standard deviation)."
        for level, one in enumerate(levels, p.first)
    ]
    kept = f"Measured on a level is what lies within the {p.kept} fullest squares above."
    return {"levels": levels, "kept": p.kept}, [*lines, kept]

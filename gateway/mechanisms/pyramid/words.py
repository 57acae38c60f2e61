"""What a pyramid says of its maps and of its promise; who is trusted always comes first."""

import json
from typing import Any

from edge.mechanisms.pyramid import epsilons, params_of, within
from recovery.maps.guarantee import sentences
from recovery.pyramid import plan

from .. import usual
from ..flags import first_round_of
from ..record import Fact
from ..worlds import Calibrated, Found

_TRUSTED = (
    "Trusted: the gateway, which sees where each device is before it draws the noise; the promise "
    "holds against everybody else."
)


def promise(query: Any, guarantee: Any) -> list[str]:
    """Return the guarantee in sentences, who is trusted first."""
    return [_TRUSTED, *sentences(guarantee)]


def facts(found: Found) -> list[Fact]:
    """Return who is trusted, and what a map says."""
    return [Fact("Trusted", "the gateway", "", _TRUSTED), *usual.facts(found)]


def calibrate(query: Any, **given: Any) -> Calibrated:
    """Return the promise, and what noise each level gets."""
    found = usual.calibrate(query, **given)
    round = first_round_of(query, plan)
    p, levels = params_of(round), []
    for level, (num, den) in enumerate(epsilons(round), p.first):
        levels.append(
            {
                "squares": len(within(round.grid, level)),
                "epsilon": [num, den],
                "noise_sd_users": 2**0.5 * den / num,
            }
        )
    if given["as_json"]:
        numbers = json.loads(found.lines[0]) | {"levels": levels, "kept": p.kept}
        return found._replace(lines=[json.dumps(numbers)])
    said = [
        f"Level {level}: {one['squares']} squares, each measured one off by "
        f"{one['noise_sd_users']:.3g} users (one standard deviation)."
        for level, one in enumerate(levels, p.first)
    ]
    kept = f"Measured on a level is what lies within the {p.kept} fullest squares above."
    return found._replace(lines=[*found.lines, *said, kept])

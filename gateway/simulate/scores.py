"""How near the maps of a simulated day came to the truth, as numbers for a file."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .records import Played


def numbers(played: Played) -> dict[str, Any]:
    """Return the contents of scores.json; distances are in metres, None where there is none."""
    scored = played.scored
    off = [moment.emd_m for moment in scored]
    blind = [moment.guess_m for moment in scored]
    return {
        "rounds": len(played.moments),
        "scored": len(scored),
        "emd_l1_m": _mean(off),
        "emd_l1_data_free_m": _mean(blind),
        "nearer": sum(a < b for a, b in zip(off, blind, strict=True) if a is not None and b),
        "by_round": [
            {
                "at_s": moment.at_s,
                "emd_l1_m": moment.emd_m,
                "emd_l1_data_free_m": moment.guess_m,
                "status": moment.status,
            }
            for moment in played.moments
        ],
        "warmest_k": float(played.lived.warmth_k.max()),
        "unbalanced": played.lived.unbalanced,
        "solver": played.lived.solver,
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = np.array([value for value in values if value is not None], dtype=float)
    return float(known.mean()) if len(known) else None

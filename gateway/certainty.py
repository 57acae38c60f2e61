"""How sure a map is, as the map topic and the page carry it: lists and numbers, no NaN."""

import math
from typing import Any

import numpy as np

from recovery.heatmap import Heatmap
from recovery.uncertainty import Band, Credible


def told(found: Heatmap) -> dict[str, Any]:
    """Return what JSON can write of a map's estimator, its credible and its certified band."""
    credible, certified = found.credible, found.certified
    event: dict[str, Any] = {"estimator": found.estimator, "chosen": found.why}
    event["certified"] = None if certified is None else _band(certified)
    event["credible"] = None if credible is None else _credible(credible)
    return event


def heard(event: dict[str, Any]) -> tuple[Credible | None, Band | None]:
    """Return what `told` was given."""
    credible, certified = event["credible"], event["certified"]
    band = None if certified is None else _read(certified)
    if credible is None:
        return None, band
    error = credible["expected_error"]
    return (
        Credible(
            credible["level"],
            np.array(credible["present"]),
            np.array(credible["numbers"]),
            None if credible["band"] is None else _read(credible["band"]),
            math.nan if error is None else error,
        ),
        band,
    )


def _credible(credible: Credible) -> dict[str, Any]:
    error = credible.expected_error
    return {
        "level": credible.level,
        "present": credible.present.tolist(),
        "numbers": credible.numbers.tolist(),
        "band": None if credible.band is None else _band(credible.band),
        "expected_error": error if math.isfinite(error) else None,
    }


def _band(band: Band) -> dict[str, Any]:
    return {"level": band.level, "low": band.low.tolist(), "high": band.high.tolist()}


def _read(band: dict[str, Any]) -> Band:
    return Band(band["level"], np.array(band["low"]), np.array(band["high"]))

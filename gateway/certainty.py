"""How sure a map is, as the map topic and the page carry it: lists and numbers, no NaN."""

import math
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recovery.maps.heatmap import Band, Credible, Heatmap, Verdict

# Digits after the point: a millionth is less than anybody can be sure of, and a chance of
# twenty digits for each of four thousand cells would double what the broker keeps.
_DIGITS = 6
_ONE = 10**_DIGITS


def told(found: Heatmap) -> dict[str, Any]:
    """Return what JSON can write of a map's estimator, its sd, and of how sure it is."""
    credible, certified = found.credible, found.certified
    event: dict[str, Any] = {"estimator": found.estimator, "chosen": found.why}
    event["sd"] = None if found.sd is None else _rounded(found.sd)
    event["certified"] = None if certified is None else _band(certified)
    event["credible"] = None if credible is None else _credible(credible)
    event["verdict"] = None if found.verdict is None else asdict(found.verdict)
    return event


def heard(event: dict[str, Any]) -> tuple[Credible | None, Band | None, Verdict | None]:
    """Return what `told` was given, to a millionth; older maps have no verdict."""
    credible, certified, verdict = event["credible"], event["certified"], event.get("verdict")
    band = None if certified is None else _read(certified)
    judged = None if verdict is None else Verdict(**verdict)
    if credible is None:
        return None, band, judged
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
        judged,
    )


def _credible(credible: Credible) -> dict[str, Any]:
    error = credible.expected_error
    return {
        "level": credible.level,
        "present": _rounded(credible.present),
        "numbers": _rounded(credible.numbers),
        "band": None if credible.band is None else _band(credible.band),
        "expected_error": error if math.isfinite(error) else None,
    }


def _band(band: Band) -> dict[str, Any]:
    """Return a band that is nowhere narrower, so that it holds what it held."""
    low = np.maximum(np.floor(band.low * _ONE), 0) / _ONE
    high = np.minimum(np.ceil(band.high * _ONE), _ONE) / _ONE
    return {"level": band.level, "low": low.tolist(), "high": high.tolist()}


def _rounded(chances: NDArray[np.float64]) -> Any:
    return np.round(chances, _DIGITS).tolist()


def _read(band: dict[str, Any]) -> Band:
    return Band(band["level"], np.array(band["low"]), np.array(band["high"]))

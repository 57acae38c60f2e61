"""How sure a map is: bands around its cumulative shares, and the chance of every cell."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """Between what the cumulative share of heat lies, along a line.

    Args:
        level: the chance that it does, 0.9 for nine in ten; what chance is over is said by
            who made the band.
        low, high: (cells,), of the share of all heat in this cell and those before it; both
            rise from 0 towards 1.

    Raises:
        ValueError: the bounds have other shapes, fall somewhere, or change sides.
    """

    level: float
    low: Floats
    high: Floats

    def __post_init__(self) -> None:
        same = self.low.ndim == 1 and self.low.shape == self.high.shape
        rising = same and all(
            (np.diff(bound) >= -1e-9).all() and bound.min() >= -1e-9 and bound.max() <= 1 + 1e-9
            for bound in (self.low, self.high)
        )
        if not (rising and (self.low <= self.high + 1e-9).all() and 0 < self.level < 1):
            raise ValueError(
                f"the band at level {self.level} has bounds of shapes {self.low.shape} and "
                f"{self.high.shape} but needs two that rise from 0 to 1, the lower one first: "
                "a cumulative share can do nothing else. Make both monotone."
            )


@dataclass(frozen=True, slots=True, eq=False)
class Credible:
    """What a posterior says: right as often as it says, if the prior is right.

    Args:
        level: of the band, and of what is made of the other numbers.
        present: (rows, columns), the chance that at least one source stands in the cell.
        numbers: (most + 1,), the chance of each number of sources, from none upwards.
        band: around the whole cumulative share at once, if there is a source at all; None in a
            plane. Where few shares are possible no band has just this chance, and the nearest
            is taken, below it or above. Sampled at low noise, with up to eight sources of
            unknown warmth, it held 83 of 100 whole curves where it said 90.
        expected_error: the distance that the map has from the truth, on average over the
            posterior, in the unit of the places; NaN where it was not computed.
    """

    level: float
    present: Floats
    numbers: Floats
    band: Band | None = None
    expected_error: float = float("nan")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the readings of a map can be, if what its query says is so.

    Args:
        level: "fits", or "assumptions" where they contradict what the query assumes.
        why: what is wrong, a sentence without its full stop; empty where nothing is.
    """

    level: str
    why: str = ""

    @property
    def fits(self) -> bool:
        return self.level == "fits"


def to_arrays(
    credible: Credible | None, certified: Band | None, verdict: Verdict | None
) -> dict[str, Any]:
    """Return what there is of all three, by the names that a map's archive gives them."""
    found: dict[str, Any] = {}
    if verdict is not None:
        found["verdict"] = np.array([verdict.level, verdict.why])
    if credible is not None:
        found["present"], found["numbers"] = credible.present, credible.numbers
        found["credible_level"] = np.array(credible.level)
        found["expected_error"] = np.array(credible.expected_error)
        if credible.band is not None:
            found["credible"] = np.stack([credible.band.low, credible.band.high])
    if certified is not None:
        found["certified"] = np.stack([certified.low, certified.high])
        found["certified_level"] = np.array(certified.level)
    return found


def from_arrays(
    found: Mapping[str, Any],
) -> tuple[Credible | None, Band | None, Verdict | None]:
    """Return what `to_arrays` was given; other names are left alone.

    Raises:
        ValueError: a band is none.
        KeyError: a part of one is missing.
    """
    credible, certified = None, None
    if "credible_level" in found:
        level = float(found["credible_level"])
        band = Band(level, *found["credible"]) if "credible" in found else None
        error = float(found["expected_error"])
        credible = Credible(level, found["present"], found["numbers"], band, error)
    if "certified_level" in found:
        certified = Band(float(found["certified_level"]), *found["certified"])
    verdict = Verdict(*map(str, found["verdict"])) if "verdict" in found else None
    return credible, certified, verdict

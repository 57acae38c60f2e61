"""What every estimator is given, and what it returns."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..uncertainty import Credible

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Prior:
    """What is held to be so before any reading: how many sources, and how warm each is.

    Every set of that many different cells is as likely as any other, and every number of
    sources from the fewest to the most.

    Args:
        fewest, most: sources; equal where the number is known.
        warmest: the most heat of one source, in the unit of the map's heat.
        coolest: the least. Equal to the warmest where all are known to be equally warm; None
            where it is not known whether they are: then "all at the warmest" and "each evenly
            between three tenths of it and all of it" are as likely as each other.

    Raises:
        ValueError: no such number or heat.
    """

    fewest: int = 1
    most: int = 4
    warmest: float = 1.0
    coolest: float | None = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.fewest <= self.most or self.most < 1:
            raise ValueError(
                f"the prior has {self.fewest} to {self.most} sources but needs 0 or more, one "
                "at most at least, and the fewest first: otherwise no scene would be possible. "
                "Correct the numbers."
            )
        coolest = self.warmest if self.coolest is None else self.coolest
        if not 0 < coolest <= self.warmest < np.inf:
            raise ValueError(
                f"the prior has sources of {self.coolest} to {self.warmest} but needs positive "
                "and finite heats, the coolest first: nothing else is a source. Correct them."
            )


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """Readings that have passed the veil, and all that an estimator may know of them.

    The noise is independent and of one deviation on every sensor: who has sensors that differ
    divides rows and readings by their deviations first.

    Args:
        operator: A, (sensors, cells), in kelvin per unit of heat.
        readings: y, (sensors,), in kelvin.
        sigma: deviation of the noise on each reading, in kelvin; positive.
        places: (cells, 1) along a line or (cells, 2) in a plane, in any one unit; sorted
            along a line.
        shape: (rows, columns) of the cells; (1, cells) along a line.
        prior: what is known of the sources.
        upper: the most heat that one cell can hold, in an estimator without a prior.
        failure: chance that the true heat lies outside of an estimator's radius.
        level: of credible statements.
        open: (cells,) where a source can be; None for everywhere. Furniture is False.
    """

    operator: Floats
    readings: Floats
    sigma: float
    places: Floats
    shape: tuple[int, int]
    prior: Prior = field(default_factory=Prior)
    upper: float = 1.0
    failure: float = 0.05
    level: float = 0.9
    open: NDArray[np.bool_] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Heat by cell, and how it was had.

    Args:
        heat: (cells,), not negative; all 0 where the estimate is that there is none.
        status: "optimal" where nothing needs saying, else a short sentence that can follow
            the name of the map: "no estimate: ...", "infeasible: ...", "inaccurate: ...",
            "undetermined: ...".
        residual: ||A f - y||, in kelvin.
        why: why this estimator was taken; "" where it was asked for by name.
        credible: what the posterior says of its own error, where there is one.
        gap: the objective exceeds the least by at most this, where there is an objective.
        estimator: the name of the one that was taken, where the choice was left open.
    """

    heat: Floats
    status: str
    residual: float
    why: str = ""
    credible: Credible | None = None
    gap: float = float("nan")
    estimator: str = ""

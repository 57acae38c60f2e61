"""What comes out of recorded frames at which epsilon, beside a guess that has seen nothing.

Where people truly stood is in no recording. So a veiled map is held against the map that the
same program draws of the same frame without a veil, and a veiled count against that count.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recovery.distance import earth_movers
from recovery.maps.heatmap import Unresolved
from recovery.noise.gaussian import zcdp_epsilon
from recovery.thermal import Query, calibration

from .recorded import Recorded
from .veiled import Drawn, drawn

Floats = NDArray[np.float64]

# Hundreds of maps are drawn, so it must be a quick one; of those this comes nearest, on the
# recorded doorway, to what it draws without a veil.
ESTIMATOR = "lasso"
EPSILONS = (1, 4, 10, 20, 40, 100)


@dataclass(frozen=True)
class Row:
    """How the frames fared at one epsilon a frame; None for what does not apply.

    Distances are the earth mover's, l1, in sides of the picture and to the unveiled map;
    they are means over the frames in which somebody is seen without the veil.
    """

    epsilon: int | None  # of one frame by itself; None without a veil
    epsilon_together: float | None  # of all the frames that were played
    noise_kelvin: float  # standard deviation on each pixel
    emd_map: float | None  # of the map
    emd_people: float | None  # of the people counted
    emd_data_free: float | None  # of a map that is equally warm everywhere
    nearer_map: float | None  # share of frames whose map is nearer than that
    nearer_people: float | None
    no_estimate: float  # share of frames that no heat at all explains best
    unresolved: float  # share of frames that no heat explains
    counted_as_unveiled: float  # share of frames
    counted_as_labelled: float | None  # share of frames


def table(
    recorded: Recorded, query: Query, bare: Sequence[Drawn], label: int | None, rng: Any
) -> list[Row]:
    """Return a row for each epsilon of one frame, and a last one without a veil.

    Args:
        query: everything but the epsilon.
        bare: every frame without its veil.
        label: how many people every frame shows, or None where nobody said.
    """
    rows, delta = [], query.delta[0] / query.delta[1]
    for epsilon in EPSILONS:
        asked = replace(query, epsilon=(epsilon, 1), readings=1)
        made = calibration(asked)
        together = zcdp_epsilon(len(bare) * made.rho[0] / made.rho[1], delta)
        veiled = [drawn(recorded, asked, frame, rng) for frame in range(len(bare))]
        rows.append(_row(epsilon, together, made.sigma, veiled, bare, label))
    # That a map is at no distance from itself says nothing.
    clear = replace(_row(None, None, 0.0, bare, bare, label), emd_map=None, nearer_map=None)
    return [*rows, clear]


def begins(rows: Sequence[Row], column: str) -> int | None:
    """Return the least epsilon from which on most frames beat a blind guess; None for never.

    Args:
        column: "nearer_map" or "nearer_people".
    """
    good = None
    for row in reversed([row for row in rows if row.epsilon is not None]):
        if not (getattr(row, column) or 0) > 0.5:
            break
        good = row.epsilon
    return good


def epsilon_text(epsilon: float) -> str:
    """Return an epsilon with three digits, however large.

    >>> epsilon_text(5.8237), epsilon_text(1341.2)
    ('5.82', '1341')
    """
    return f"{epsilon:.3g}" if epsilon < 1000 else f"{epsilon:.0f}"


def lines(rows: Sequence[Row], frames: int) -> list[str]:
    """Return the table as text."""
    told = [
        "epsilon  epsilon      noise  distance to unveiled map  nearer than guess  counted as",
        f"a frame  of all {frames:<4} K          map  people   guess       map  people  "
        "unveiled  labelled",
    ]
    for row in rows:
        epsilon = "no veil" if row.epsilon is None else f"{row.epsilon}"
        together = "" if row.epsilon_together is None else epsilon_text(row.epsilon_together)
        told.append(
            f"{epsilon:<9}{together:<12}{row.noise_kelvin:6.2f}"
            f"{_far(row.emd_map):>8}{_far(row.emd_people):>8}{_far(row.emd_data_free):>8}"
            f"{_share(row.nearer_map):>10}{_share(row.nearer_people):>8}"
            f"{_share(row.counted_as_unveiled):>10}{_share(row.counted_as_labelled):>10}"
        )
    return told


def _row(
    epsilon: int | None,
    together: float | None,
    noise_kelvin: float,
    veiled: Sequence[Drawn],
    bare: Sequence[Drawn],
    label: int | None,
) -> Row:
    """Return the row of these frames."""
    pairs = [
        (after, before.mass)
        for after, before in zip(veiled, bare, strict=True)
        if before.somewhere and before.people.any()
    ]
    means: list[float | None] = [None] * 5
    if pairs:
        far = np.array([_distances(after, mass) for after, mass in pairs])
        nearer = far[:, :2] < far[:, 2:] - 1e-9
        means = [*far.mean(axis=0).tolist(), *nearer.mean(axis=0).tolist()]
    unresolved = np.array([isinstance(after.found, Unresolved) for after in veiled])
    somewhere = np.array([after.somewhere for after in veiled])
    counts = np.array([after.people.sum() for after in veiled])
    return Row(
        epsilon=epsilon,
        epsilon_together=together,
        noise_kelvin=noise_kelvin,
        emd_map=means[0],
        emd_people=means[1],
        emd_data_free=means[2],
        nearer_map=means[3],
        nearer_people=means[4],
        no_estimate=float(np.mean(~somewhere & ~unresolved)),
        unresolved=float(unresolved.mean()),
        counted_as_unveiled=float(np.mean(counts == [before.people.sum() for before in bare])),
        counted_as_labelled=None if label is None else float(np.mean(counts == label)),
    )


def _distances(after: Drawn, mass: Floats) -> tuple[float, float, float]:
    """Return how far the map, the people and a blind guess are from this mass."""
    uniform = np.full(mass.shape, 1 / mass.size)
    crowd = after.people / after.people.sum() if after.people.any() else uniform
    return (
        earth_movers(mass, after.mass),
        earth_movers(mass, crowd),
        earth_movers(mass, uniform),
    )


def _far(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"

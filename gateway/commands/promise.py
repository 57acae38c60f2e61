"""The promise of a thermal query in plain words, with the exact chances of whoever guesses."""

from typing import Any

from edge.records import Guarantee
from recovery import thermal
from recovery.maps.guarantee import ratio_text, sentences, upward
from recovery.thermal import Query
from recovery.thermal.curve import curve
from recovery.thermal.guarantee import really_given
from recovery.thermal.noise import as_printed
from recovery.thermal.query import cell_m, protected_cells

# Instead of the trust that a play names: where readings come from, a table of them does not say.
ELSEWHERE = (
    "in whoever made these readings, that they were blurred as stated before anybody saw them; "
    "heatveil was not there"
)
# The promise is for one distance; this many times as far shows what becomes of it.
_FURTHER = 4


def in_words(query: Query, guarantee: Guarantee) -> list[str]:
    """Return the guarantee in sentences for somebody who manages a building.

    What epsilon and delta allow in general is far more than what this noise allows: the best
    test of two Gaussians is known, so its exact chance is said instead.
    """
    said = sentences(guarantee._replace(epsilon=None))
    said = [one.replace(" m2", " m²") for one in said]  # on the wire it is plain ASCII
    return [said[0], _chances(query), _formally(guarantee), *said[1:]]


def label(query: Query, guarantee: Guarantee) -> str:
    """Return the epsilon for a title; beside that of the printed formula, what it really gives."""
    epsilon = f"epsilon {guarantee.epsilon[0] / guarantee.epsilon[1]:g}"
    if not as_printed(query):
        return epsilon
    given, delta = really_given(query, thermal.calibration(query))
    return f"{epsilon} as printed, really {upward(given)} (or delta {upward(delta, 2)})"


def as_stated(query: Query, guarantee: Guarantee) -> list[str]:
    """Return what the stated noise would promise of readings that were made elsewhere."""
    said, sigma = in_words(query, guarantee), thermal.calibration(query).sigma
    return [
        f"If these readings were blurred as stated, with a sigma of {sigma:.4g} and "
        f"a delta of {ratio_text(query.delta)}: {said[0][0].lower()}{said[0][1:]}",
        *said[1:],
    ]


def _chances(query: Query) -> str:
    near = min(protected_cells(query), max(query.grid.shape) - 1)
    cells = tuple(one for one in (near, _FURTHER * near) if one < max(query.grid.shape))
    away = [
        f"one {_far(query.grid, row.cells)} away {_share(row.right)}"
        for row in curve(query, cells)
    ]
    return (
        "Whoever sees everything that the sensors send, and knows all but where one source "
        f"stands, can tell its place at best from {' of the time, and from '.join(away)} of the "
        "time (half is a blind guess)."
    )


def _formally(guarantee: Guarantee) -> str:
    epsilon, delta = (ratio_text(ratio) for ratio in (guarantee.epsilon, guarantee.delta))
    return f"Formally: epsilon {epsilon}, delta {delta}."


def _far(grid: Any, cells: int) -> str:
    length = f"{cells * cell_m(grid):g}"
    return f"{length} m" if grid.cell_mm else f"{length} of the side"


def _share(chance: float) -> str:
    """Return a chance in per cent, never rounded up to certainty.

    >>> _share(0.7837), _share(0.9996)
    ('78%', 'over 99%')
    """
    return f"{chance:.0%}" if chance < 0.99 else "over 99%"

"""A thermal promise in plain words, and maps and releases in few."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edge.records import Guarantee
from edge.thermal import params_of
from physics.places import cell_places
from recovery import thermal
from recovery.maps.guarantee import ratio_text, sentences, upward
from recovery.maps.heatmap import Credible, Heatmap, Unresolved, Verdict
from recovery.proofs.certified import certified_distance
from recovery.thermal import Query
from recovery.thermal.curve import curve
from recovery.thermal.guarantee import really_given
from recovery.thermal.noise import as_printed
from recovery.thermal.query import cell_m, protected_cells

# The promise of a thermal query in plain words, with the exact chances of whoever guesses.

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


# How sure a map is, in words.


def number_line(credible: Credible) -> str:
    """Return how many sources there are and how likely that is, the likeliest first.

    >>> number_line(Credible(0.9, np.ones((1, 2)), np.array([0.02, 0.18, 0.8])))
    'Number of sources: 2 (80 %), 1 (18 %).'
    """
    order = np.argsort(-credible.numbers, kind="stable")
    likely = [int(count) for count in order if credible.numbers[count] >= 0.05][:4]
    listed = ", ".join(f"{count} ({100 * credible.numbers[count]:.0f} %)" for count in likely)
    return f"Number of sources: {listed}."


def doubt_lines(verdict: Verdict | None) -> list[str]:
    """Return why a map is not to be trusted, one line or none."""
    if verdict is None or verdict.fits:
        return []
    return [f"Do not trust this map: {verdict.why}."]


def sure_lines(found: Heatmap) -> list[str]:
    """Return how a map was drawn and how sure it is, a line each."""
    lines = []
    if found.why:
        lines.append(f"Drawn by {found.estimator}: {found.why}.")
    lines += doubt_lines(found.verdict)
    credible, unit = found.credible, " m" if found.grid.cell_mm else " of the side"
    if credible is not None and found.total:
        lines.append(number_line(credible))
        if found.expected_error is not None:
            lines.append(
                f"It is off by about {found.expected_error:.2g}{unit}, if sources are as the "
                "query says."
            )
    if found.certified is not None and found.total:
        places = np.asarray(cell_places(found.grid)).ravel()
        off = certified_distance(found.certified, found.mass.ravel(), places)
        lines.append(
            f"It is off by at most {off:.2g}{unit}, for any heat that the query allows, wherever "
            "it is, if heat has spread exactly as long as it says and between the walls that it "
            f"says (at least {found.certified.level:.0%} of all readings keep to that)."
        )
    return lines


# Maps and releases in few words and numbers, for people.

Floats = NDArray[np.float64]

# Cells within this part of the map's longer side are spoken of as one place.
_REACH = 1 / 14
_SHARE_MIN = 0.05


class Place(NamedTuple):
    """A place with much of the heat: where its middle is, and how much of all it has."""

    at: Floats  # (axes,), in metres or in sides of a unit grid
    share: float


def places_of_most(mass: Floats, grid: Any) -> list[Place]:
    """Return where most of the heat is, the greatest share first.

    The warmest cell gathers those near it, then the warmest that is left, and so on.

    Args:
        mass: (rows, columns), adds to one.
    """
    places = cell_places(grid).reshape(mass.size, -1)
    reach = _REACH * float(np.ptp(places, axis=0).max())
    left, found = mass.ravel().copy(), []
    while left.max() > 0.002:
        near = np.linalg.norm(places - places[left.argmax()], axis=1) <= reach
        share = float(left[near].sum())
        found.append(Place(left[near] @ places[near] / share, share))
        left[near] = 0
    kept = [place for place in found if place.share >= _SHARE_MIN]
    return sorted(kept, key=lambda place: -place.share)


def written(at: Floats, grid: Any) -> str:
    """Return a place as one writes it, halves rounded up."""
    # As usual a middle of a cell, 0.125, would be 0.12, and a hair further 0.13.
    numbers = " / ".join(f"{round(float(axis), 6) + 1e-9:.2f}" for axis in np.atleast_1d(at))
    return f"{numbers} m" if grid.cell_mm else numbers


def far(grid: Any, parts: float) -> str:
    """Return a distance that is given in parts of the longer side."""
    if not grid.cell_mm:
        return f"{parts:.4f} of the interval"
    return f"{parts * max(grid.shape) * grid.cell_mm / 1000:.3f} m"


def most_of(mass: Floats, grid: Any) -> str:
    """Return in words where most of the heat is."""
    most = places_of_most(mass, grid)
    listed = [f"{place.share:.0%} near {written(place.at, grid)}" for place in most]
    return ", ".join(listed) or "spread out"


def found_lines(found: Heatmap | Unresolved) -> list[str]:
    """Return what was recovered, a line each."""
    if isinstance(found, Unresolved):
        return [f"No map: {found.why}."]
    if not found.total:
        return [f"{found.status.capitalize()}."]
    caution = "" if found.status == "optimal" else f" ({found.status})"
    recovered = f"Recovered heat: {most_of(found.mass, found.grid)}{caution}."
    return [recovered, *sure_lines(found)]


def sent(releases: Sequence[Any]) -> Floats:
    """Return what the wire carried, (releases, sensors), NaN where nothing came.

    In kelvin, or in the unit of the model.
    """
    values = np.array([release.values for release in releases], dtype=np.float64)
    return np.asarray(np.ldexp(values, -params_of(releases[0].round).exponent))

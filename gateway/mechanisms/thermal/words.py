"""A thermal promise in plain words, and maps and releases in few."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from edge.core.records import Guarantee, Release
from edge.mechanisms.thermal import params_of
from physics.places import cell_places
from recovery import thermal
from recovery.estimators.record import COOLEST
from recovery.maps.guarantee import OVER, describe_guarantee, format_ratio, round_up
from recovery.maps.heatmap import Heatmap, Unresolved, Verdict
from recovery.maps.sentence import Sentence, Wording, join_sentences
from recovery.proofs.certified import bound_distance
from recovery.thermal import Query
from recovery.thermal.curve import compute_curve
from recovery.thermal.guarantee import compute_true_promise, make_guarantee
from recovery.thermal.noise import is_printed
from recovery.thermal.query import cell_m, count_protected_cells

from ..record import Fact
from ..summary import describe_source_count, describe_warmest_places, find_warmest_places
from ..worlds import Floats

# The promise of a thermal query in plain words, with the exact chances of whoever guesses.

# The promise is for one distance; this many times as far shows what becomes of it.
_FURTHER = 4


def describe_promise(query: Query, guarantee: Guarantee) -> list[str]:
    """Return the guarantee in sentences for somebody who manages a building.

    What epsilon and delta allow in general is far more than what this noise allows: the best
    test of two Gaussians is known, so its exact chance is said instead.

    Args:
        query: of the deployment file, which may ask for less by now than was promised then.
    """
    said = [
        _format_square_metres(one) for one in describe_guarantee(guarantee)
    ]  # on the wire it is plain ASCII
    asked = _find_query(query, guarantee)
    strength = said[1] if asked is None else _describe_chances(asked)
    return [said[0], strength, _describe_formally(guarantee), *said[2:]]


def _find_query(query: Query, guarantee: Guarantee) -> Query | None:
    """Return the query that a guarantee was made for; None where it was of another room.

    The file's, or where that was tightened since, with the epsilon and readings of before. A
    chance under other noise than that of the round would be a promise that was not kept.
    """
    number = re.search(r"(\d+) readings? of", guarantee.unit)
    if number is None or guarantee.delta is None:
        return None
    with suppress(ValueError):  # what cannot be had was not promised
        before = replace(
            query, epsilon=guarantee.epsilon, delta=guarantee.delta, readings=int(number[1])
        )
        for one in (query, before):
            made = make_guarantee(one, thermal.calibrate_query(one))
            if made._replace(trust=guarantee.trust) == guarantee:  # the trust alters no noise
                return one
    return None


def _format_square_metres(said: Any) -> Any:
    """Return a sentence with the sign for square metres."""
    if not isinstance(said, str):
        return said
    text = said.replace(" m2", " m²")
    if not isinstance(said, Sentence):
        return text
    return Sentence(
        text, said.code, {name: _format_square_metres(one) for name, one in said.fields.items()}
    )


def format_epsilon_label(query: Query, guarantee: Guarantee) -> str:
    """Return the epsilon for a title; beside that of the printed formula, what it really gives."""
    epsilon = f"epsilon {guarantee.epsilon[0] / guarantee.epsilon[1]:g}"
    if not is_printed(query):
        return epsilon
    given, delta = compute_true_promise(query, thermal.calibrate_query(query))
    return f"{epsilon} as printed, really {round_up(given)} (or delta {round_up(delta, 2)})"


def _describe_chances(query: Query) -> str:
    near = min(count_protected_cells(query), max(query.grid.shape) - 1)
    cells = tuple(one for one in (near, _FURTHER * near) if one < max(query.grid.shape))
    away = [
        _AWAY(far=_format_distance(query.grid, row.cells), share=format_chance(row.right))
        for row in compute_curve(query, cells)
    ]
    return _CHANCES(away=join_sentences(away, by=" of the time, and from "))


_CHANCES = Wording(
    "guarantee.chances",
    "Whoever sees everything that the sensors send, and knows all but where one source stands, "
    "can tell its place at best from {away} of the time (half is a blind guess).",
)
_AWAY = Wording("guarantee.away", "one {far} away {share}")
_FORMALLY = Wording("guarantee.formally", "Formally: epsilon {epsilon}, delta {delta}.")


def compute_guess_curve(query: Query, guarantee: Guarantee) -> list[tuple[float, float]]:
    """Return how often the best guess tells two places of one source apart, by their distance.

    Empty where the guarantee is of another room than the query.
    """
    if (asked := _find_query(query, guarantee)) is None:
        return []
    side = cell_m(asked.grid)
    return [(row.cells * side, float(round_up(row.right, 6))) for row in compute_curve(asked)]


def _describe_formally(guarantee: Guarantee) -> str:
    epsilon, delta = (format_ratio(ratio) for ratio in (guarantee.epsilon, guarantee.delta))
    return _FORMALLY(epsilon=epsilon, delta=delta)


def _format_distance(grid: Any, cells: int) -> str:
    length = f"{cells * cell_m(grid):g}"
    return f"{length} m" if grid.cell_mm else f"{length} of the side"


def format_chance(chance: float) -> str:
    """Return a chance in per cent, never too small, and never certainty.

    >>> format_chance(0.69815), format_chance(0.99999)
    ('69.9%', 'over 99.9%')
    """
    return f"{round_up(100 * chance)}%" if chance < 0.999 else OVER(share="99.9%")


def format_doubt_lines(verdict: Verdict | None) -> list[str]:
    """Return what is wrong with a map or with its sensors, one line or none."""
    return [verdict.sentence] if verdict is not None and verdict.sentence else []


def list_certainty_facts(found: Heatmap) -> list[Fact]:
    """Return how a map was drawn and how sure it is."""
    told, verdict = [], found.verdict
    if found.why:
        said = f"Drawn by {found.estimator}: {found.why}."
        told.append(Fact("Estimator", found.estimator, "", said))
    for line in format_doubt_lines(verdict):
        told.append(Fact("Verdict", None if verdict is None else verdict.level, "", line))
    credible, unit = found.credible, "m" if found.grid.cell_mm else "of the side"
    if credible is not None and found.total:
        most = find_warmest_places(found.mass, found.grid, credible=credible)
        counted = describe_source_count(credible, most)
        told.append(Fact("Likely sources", credible.median, "", counted))
        if (error := found.expected_error) is not None:
            so = "if sources are as the query says"
            if found.estimator == "robust":  # it counts on other rooms and sources, too
                so = "on average over rooms and sources that these readings leave possible"
            line = f"It is off by about {error:.2g} {unit}, {so}."
            told.append(Fact("Expected error", error, unit, line))
    if found.certified is not None and found.total:
        places = np.asarray(cell_places(found.grid)).ravel()
        off = bound_distance(found.certified, found.mass.ravel(), places)
        line = (
            f"It is off by at most {off:.2g} {unit}, wherever the heat is, if that is no less "
            f"than one source's (intensity_min, or {COOLEST:g} of intensity_max where that is not "
            "said) and has spread exactly as long as the query says, between the walls that it "
            f"says (at least {found.certified.level:.0%} of all readings keep to that)."
        )
        told.append(Fact("Largest error", off, unit, line))
    return told


def list_facts(found: Heatmap | Unresolved) -> list[Fact]:
    """Return what was recovered, and how sure it is."""
    if isinstance(found, Unresolved):
        return [Fact("Map", None, "", f"No map: {found.why}.")]
    if not found.total:
        return [Fact("Warmth", 0, "", f"{found.status.capitalize()}.")]
    caution = "" if found.status == "optimal" else f" ({found.status})"
    places = describe_warmest_places(found.mass, found.grid, credible=found.credible)
    line = f"Recovered heat: {places}{caution}."
    share = Fact("Share of the warmest cell", 100 * float(found.mass.max()), "%", line)
    return [share, *list_certainty_facts(found)]


def decode_releases(releases: Sequence[Any]) -> Floats:
    """Return what the wire carried, (releases, sensors), NaN where nothing came.

    In kelvin, or in the unit of the model.
    """
    values = np.array([release.values for release in releases], dtype=np.float64)
    return np.asarray(np.ldexp(values, -params_of(releases[0].round).exponent))


def format_silent_lines(releases: Sequence[Release]) -> list[str]:
    """Return how many sensors were heard, where some were not."""
    values = zip(*(release.values for release in releases), strict=True)
    heard = [any(value is not None for value in sensor) for sensor in values]
    if all(heard):
        return []
    return [f"{sum(heard)} of {len(heard)} sensors were heard; of the others nothing is known."]

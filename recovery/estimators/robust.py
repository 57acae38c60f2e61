"""The map over worlds that may not be as stated: other powers, numbers, spreads, walls and levels.

What the query states is one family of worlds of six, and half as likely as all together before
any reading. Each counts by its evidence; the map is the median of the cumulative share over the
draws of all, and says how far it is from them on average.

Source: `recovery.bayes.bank`; the sampler of the stated world in `recovery.bayes.chain`.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ..bayes.bank import STATED, WEIGHTS, families, places_of
from ..bayes.chain import Draws, from_draws, sample_posterior
from ..maps.heatmap import Verdict
from .record import Estimate, Seen, check
from .verdict import basis_of

# Draws that stand for all families.
_DRAWS = 1200
# By this ratio of evidence the readings say that the world is not as stated: by Markov's
# inequality it is exceeded in one of two hundred readings that are.
_ODDS = 200.0
NAMES = {
    "powers": "sources that are fewer or more, weaker or stronger",
    "room": "such sources where spread or walls are others, or heat comes from outside",
    "level": "such sources in a room whose level is off",
    "equal": "sources as stated where spread or walls are others",
    "equal level": "sources as stated, in a room whose spread, walls or level are others",
}


def possible(seen: Seen) -> bool:
    """Say whether other worlds can be thought of: along a line where heat just spreads."""
    return seen.near is not None and seen.places.shape[1] == 1


def estimate(seen: Seen) -> Estimate:
    """Return the map that is nearest on average over all families of worlds.

    Raises:
        ValueError: the cells are no line, or what other rooms would show is not known.
    """
    check(seen)
    if seen.near is None or seen.places.shape[1] != 1:
        raise ValueError(
            "the estimator robust was asked for in a plane, or in a room whose response alone is "
            "known, but needs a line along which heat spreads freely or between walls: what "
            "another spread or wall would show is not known there. Take auto."
        )
    cells, size = places_of(seen), len(seen.places)
    found = families(seen, seen.near, basis_of(seen), cells)
    stated = sample_posterior(seen)
    logs = {name: math.log(WEIGHTS[name]) + one.log_evidence for name, one in found.items()}
    logs["stated"] = math.log(STATED) + stated.log_evidence
    top = max(logs.values())
    chances = {name: math.exp(log - top) for name, log in logs.items()}
    whole = sum(chances.values())
    known = np.append(cells, -1)
    drawn = []
    for name, chance in chances.items():
        count = round(_DRAWS * chance / whole)
        if name == "stated":
            some = np.linspace(0, len(stated.cells), count, endpoint=False).astype(np.int64)
            drawn.append((stated.cells[some], stated.powers[some]))
        elif count:
            places, powers = found[name].drawn(count)
            drawn.append((known[places], powers))
    slots = max(places.shape[1] for places, _ in drawn)
    pooled = Draws(
        np.concatenate([_wide(places, slots, -1) for places, _ in drawn]),
        np.concatenate([_wide(powers, slots, 0) for _, powers in drawn]),
        top + math.log(whole),
    )
    ratio = (whole - chances["stated"]) / (1 - STATED) / (chances["stated"] / STATED or 1e-300)
    verdict = Verdict("fits")
    if ratio >= _ODDS:
        likely = max(WEIGHTS, key=lambda name: chances[name])
        why = f"the readings are not as stated; likeliest: {NAMES[likely]}; the map counts on that"
        verdict = Verdict("other", why)
    return replace(from_draws(seen, pooled), verdict=verdict)


def _wide(part: Any, slots: int, empty: int) -> Any:
    return np.pad(part, ((0, 0), (0, slots - part.shape[1])), constant_values=empty)

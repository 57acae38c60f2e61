"""The map over worlds that may not be as stated: other powers, numbers, spreads, walls and levels.

What the query states is one family of worlds of six, and before any reading twice as likely as
all the others together. Each counts by its evidence. Where the others have hardly a say the map is
that of the posterior; else it is the median of the cumulative share over draws of all families,
and what it says of its own error, its band and the number of sources come from the same draws.

On the paper's line, where what is stated is so, that costs 3 in 100 of the error; in twelve kinds
of rooms that are not as stated it takes .091 to .053: `tests/bench/bench_verdict.py`.

Limits: a fault that no family has, or that leaves the readings as they could be, is not found.

Source: `recovery.bayes.bank`; for the stated world `recovery.estimators.posterior`.
"""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..bayes.bank import WEIGHTS, Family, families, places_of
from ..bayes.chain import Draws, from_draws, sample_posterior
from ..bayes.unknown_physics import conditional, together
from ..maps.heatmap import Verdict
from . import posterior
from .record import Estimate, Near, Seen, check, label, with_digits
from .verdict import ODDS, heat_directions

# How likely the stated world is before any reading.
_STATED = 2 / 3
# Draws that stand for all families.
_DRAWS = 1200
# Where all others together are less likely than this the stated world stands alone.
_HARDLY = 0.1
_OPEN = "more, fewer, weaker or stronger sources"
_NAMES = {
    "powers": _OPEN,
    "room": f"{_OPEN}, and another spread, other walls or heat from outside",
    "level": f"{_OPEN}, and a level that is off",
    "equal": "another spread or other walls",
    "equal level": "another spread or other walls, and a level that is off",
}


def estimate(seen: Seen) -> Estimate:
    """Return the map that is nearest on average over all families of worlds.

    In a plane, and where what other rooms would show is not known, it is the posterior's.
    """
    if seen.near is None or seen.places.shape[1] != 1:
        return posterior.estimate(seen)
    check(seen)
    weighed = with_digits(seen)
    return label(_estimated(weighed, seen.near), seen, weighed)


def _estimated(seen: Seen, near: Near) -> Estimate:
    stated, cells = conditional(seen), places_of(seen)
    found = families(seen, near, heat_directions(seen), cells)
    nothing = -0.5 * float(np.square(seen.readings / seen.sigma).sum())
    logs = {name: math.log(WEIGHTS[name]) + one.log_evidence for name, one in found.items()}
    ratio = float(np.logaddexp.reduce(list(logs.values()))) - stated.log_evidence - nothing
    logs = {name: math.log(1 - _STATED) + log for name, log in logs.items()}
    logs["stated"] = math.log(_STATED) + stated.log_evidence + nothing
    whole = float(np.logaddexp.reduce(list(logs.values())))
    if logs["stated"] - whole > math.log(1 - _HARDLY):
        return replace(together(seen, [stated], np.ones(1)), verdict=Verdict("fits"))
    chances = {name: math.exp(log - whole) for name, log in logs.items()}
    draws = stated.posterior
    if not isinstance(draws, Draws):
        draws = sample_posterior(seen)
    pooled = _pooled(draws, found, chances, np.append(cells, -1))
    verdict = Verdict("fits")
    if ratio > math.log(ODDS):
        likely = max(WEIGHTS, key=lambda name: chances[name])
        why = (
            "the readings speak against what is stated of the room and its sources; likeliest "
            f"instead: {_NAMES[likely]}; the map counts on that"
        )
        verdict = Verdict("other", why)
    return replace(from_draws(seen, pooled), verdict=verdict)


def _pooled(
    stated: Draws, found: dict[str, Family], chances: dict[str, float], known: NDArray[np.int64]
) -> Draws:
    """Return draws of all families, of each as many as its chance deserves."""
    parts = []
    for name, chance in chances.items():
        count = round(_DRAWS * chance)
        if name == "stated":
            some = np.linspace(0, len(stated.cells), count, endpoint=False).astype(np.int64)
            parts.append((stated.cells[some], stated.powers[some]))
        elif count:
            places, powers = found[name].draw(count, len(known) - 1)
            parts.append((known[places], powers))
    slots = max(cells.shape[1] for cells, _ in parts)
    missing = [((0, 0), (0, slots - cells.shape[1])) for cells, _ in parts]
    return Draws(
        np.concatenate(
            [
                np.pad(c, gap, constant_values=-1)
                for (c, _), gap in zip(parts, missing, strict=True)
            ]
        ),
        np.concatenate([np.pad(p, gap) for (_, p), gap in zip(parts, missing, strict=True)]),
        0.0,
    )

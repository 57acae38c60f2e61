"""The map over worlds that may not be as stated: other powers, numbers, spreads, walls and levels.

What the query states is one family of worlds of six, and before any reading twice as likely as
all the others together. Each counts by its evidence. Where the others have hardly a say the map is
that of the posterior; else it is the median of the cumulative share over draws of all families,
and what it says of its own error, its band and the number of sources come from the same draws.

On the paper's line, where what is stated is so, that costs 4 in 100 of the error; in twenty kinds
of rooms that are not as stated it takes .084 to .054: `tests/bench/bench_verdict.py`.

Limits: a fault that no family has, or that leaves the readings as they could be, is not found.

Source: `recovery.bayes.bank`; for the stated world `recovery.estimators.posterior`.
"""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..bayes.bank import WEIGHTS, Family, families, places_of
from ..bayes.chain import MOST_CELLS, Draws, cumulative_shares, from_draws, sample_posterior
from ..bayes.crowd import open_cells
from ..bayes.exact import Exact, Listed
from ..bayes.line import expected_distance, shares
from ..bayes.unknown_physics import conditional, together
from ..maps.heatmap import Verdict
from . import posterior
from .record import Estimate, Near, Seen, check, label, with_digits
from .verdict import ODDS, heat_directions, join

# How likely the stated world is before any reading.
_STATED = 2 / 3
# Draws that stand for all families.
_DRAWS = 1200
# Where all others together are less likely than this the stated world stands alone.
_HARDLY = 0.1
# A map that is off by more than this share of what an even one is tells next to nothing.
_NO_BETTER = 0.8
# Of each family so many draws say how far off the map is if that is so; of what is likelier than
# this, where it is so many times as far as the map says; spreads by so much longer or shorter.
_TRIED, _RARE, _MUCH, _FARTHER = 200, 0.01, 1.5, 1.15
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

    In a plane, and where what other rooms would show is not known, it is the posterior's; where it
    is known what sources show that have stood for other times than stated, it is over these too.
    """
    if seen.others is not None and (drawn := _at_any_time(seen)) is not None:
        return drawn
    if seen.near is None or seen.places.shape[1] != 1:
        return posterior.estimate(seen)
    check(seen)
    weighed = with_digits(seen)
    return label(_estimated(weighed, seen.near), seen, weighed)


def _at_any_time(seen: Seen) -> Estimate | None:
    """Return the map over sources that have each stood for any of the times that are known."""
    check(seen)
    weighed = with_digits(seen)
    wide, cells = weighed.of_any_time(), len(seen.places)
    if len(open_cells(wide)) > MOST_CELLS:
        return None
    draws = sample_posterior(wide)
    where = np.where(draws.cells < 0, -1, draws.cells % cells)
    return label(from_draws(weighed, replace(draws, cells=where)), seen, weighed)


def _estimated(seen: Seen, near: Near) -> Estimate:
    stated, cells = conditional(seen), places_of(seen)
    found = families(seen, near, heat_directions(seen), cells)
    nothing = -0.5 * float(np.square(seen.readings / seen.sigma).sum())
    logs = {name: math.log(WEIGHTS[name]) + one.log_evidence for name, one in found.items()}
    ratio = float(np.logaddexp.reduce(list(logs.values()))) - stated.log_evidence - nothing
    logs = {name: math.log(1 - _STATED) + log for name, log in logs.items()}
    logs["stated"] = math.log(_STATED) + stated.log_evidence + nothing
    whole = float(np.logaddexp.reduce(list(logs.values())))
    chances = {name: math.exp(log - whole) for name, log in logs.items()}
    known = np.append(cells, -1)
    posterior = stated.posterior
    if chances["stated"] > 1 - _HARDLY:
        drawn = together(seen, [stated], np.ones(1))
    else:
        draws = posterior if isinstance(posterior, Draws) else sample_posterior(seen)
        posterior = _pooled(draws, found, chances, known)
        drawn = from_draws(seen, posterior)
    verdict = Verdict("fits")
    if ratio > math.log(ODDS):
        likely = max(WEIGHTS, key=lambda name: chances[name])
        why = (
            "the readings speak against what is stated of the room and its sources; likeliest "
            f"instead: {_NAMES[likely]}; the map counts on that"
        )
        verdict = Verdict("other", why)
    said = math.nan if drawn.credible is None else drawn.credible.expected_error
    blind = _blind(seen, posterior) if math.isfinite(said) else math.nan
    if drawn.credible is not None and math.isfinite(blind):
        drawn = replace(drawn, credible=replace(drawn.credible, blind_error=blind))
    if said > _NO_BETTER * blind:
        verdict = join(verdict, Verdict("weak", "it is hardly nearer to the truth than a guess"))
    return replace(drawn, why=_unsaid(seen, drawn, found, chances, known), verdict=verdict)


def _blind(seen: Seen, posterior: Exact | Listed | Draws) -> float:
    """Return how far an even map of all open cells is from what is possible, on average."""
    where = np.ones(len(seen.places)) if seen.open is None else seen.open
    even, places = np.cumsum(where) / where.sum(), seen.places[:, 0]
    if isinstance(posterior, Exact):
        return expected_distance(shares(posterior), even, places)
    if not isinstance(posterior, Draws):
        return math.inf
    some = posterior.numbers > 0
    curves = cumulative_shares(posterior.cells[some], posterior.powers[some], len(even))
    return float(np.abs(curves - even[:, None]).mean(axis=1)[:-1] @ np.diff(places))


def _unsaid(
    seen: Seen,
    drawn: Estimate,
    found: dict[str, Family],
    chances: dict[str, float],
    known: NDArray[np.int64],
) -> str:
    """Return how far off the map is if the room is not as stated, where that is much farther.

    No test can find a fault that leaves readings as sources in the stated room could have left
    them. What is possible is said instead: the mean distance of the map to the worlds of a kind.
    """
    said = math.nan if drawn.credible is None else drawn.credible.expected_error
    if not math.isfinite(said):
        return ""
    shown = np.cumsum(drawn.heat / drawn.heat.sum())
    wide = np.diff(seen.places[:, 0])
    sums: dict[str, tuple[float, float]] = {}
    for name, family in found.items():
        some = family.draw(_TRIED, len(known) - 1)
        curves = cumulative_shares(known[some.places], some.heats, len(shown))
        away = wide @ np.abs(curves - shown[:, None])[:-1]
        kinds = {
            "walls are other than stated": some.walls,
            "heat comes from outside": some.outside,
            "heat has spread farther": some.spreads > _FARTHER,
            "heat has spread less far": some.spreads < 1 / _FARTHER,
            "all sensors are off together": np.full(_TRIED, "level" in name),
            "sources are warmer or cooler than stated": np.full(_TRIED, name == "powers"),
        }
        for kind, those in kinds.items():
            chance, total = sums.get(kind, (0.0, 0.0))
            share = chances[name] / _TRIED
            sums[kind] = chance + share * those.sum(), total + share * float(away @ those)
    far = {kind: total / chance for kind, (chance, total) in sums.items() if chance > _RARE}
    worst = sorted((off, kind) for kind, off in far.items() if off > _MUCH * said)[:-4:-1]
    if not worst:
        return ""
    listed = ", ".join(f"about {off / said:.2g} times as much if {kind}" for off, kind in worst)
    return f"it is off by {listed}, which these readings cannot tell"


def _pooled(
    stated: Draws, found: dict[str, Family], chances: dict[str, float], known: NDArray[np.int64]
) -> Draws:
    """Return draws of all families, of each as many as its chance deserves."""
    parts = []
    for name, chance in chances.items():
        count = round(_DRAWS * chance)
        if name == "stated":
            rows = np.linspace(0, len(stated.cells), count, endpoint=False).astype(np.int64)
            parts.append((stated.cells[rows], stated.powers[rows]))
        elif count:
            some = found[name].draw(count, len(known) - 1)
            parts.append((known[some.places], some.heats))
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

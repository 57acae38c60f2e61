"""Every estimator by its name, each loaded when it is first asked for."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from types import MappingProxyType

import numpy as np

from ..maps.heatmap import Verdict
from . import HOMES
from .record import Estimate, Seen, check

# Scenes whose readings are apart by less than this share of the noise: of two such the best
# test of all takes the wrong one in 48 of 100 runs.
_APART = 0.1


def describe_undetermined(seen: Seen) -> str:
    """Return in words what the readings cannot tell, "" where they can tell something of places.

    As much heat as the prior has at the most is thought of in one open cell and then in another.
    Heat that has spread too far, or too little to reach a sensor, looks the same from both.
    """
    columns = seen.operator if seen.open is None else seen.operator[:, seen.open]
    most = seen.prior.warmest * min(seen.prior.most, columns.shape[1])
    # No two columns are further apart than twice the way of the farthest to their mean.
    apart = 2 * float(np.linalg.norm(columns - columns.mean(axis=1, keepdims=True), axis=0).max())
    if columns.shape[1] == 1 or most * apart > _APART * seen.sigma:
        return ""
    return (
        "undetermined: wherever the heat is, the readings are alike but for a tenth of their "
        "noise, so they tell at most how much there is; the places are the estimator's own"
    )


# More sources than this a sampler's scenes do not find their way among.
_SOURCES_MAX = 12
# More cells than this cannot each be looked at for every draw.
_CELLS_MAX = 4096
# Less noise than this share of the loudest source leaves the weights of scenes no digits.
_QUIET = 1e-7


def estimate_by_choice(seen: Seen) -> Estimate:
    """Return what the chosen estimator makes of the readings, its name, and why it was chosen.

    With a verdict: sensors at odds with all the others are left out, and where no heat at all
    explains the rest there is no estimate.
    """
    # Loaded here, for whoever only checks a name must not wait for a solver.
    from .verdict import describe_misfit, join, judge, misfit

    name, why = choose(seen)
    kept, verdict = judge(seen)
    if fault := misfit(kept):
        unresolved = f"infeasible: {describe_misfit(*fault)}"
        verdict = Verdict("assumptions", describe_misfit(*fault), verdict.dropped)
        nothing = np.zeros(len(seen.places))
        return Estimate(nothing, unresolved, fault[0], why, estimator=name, verdict=verdict)
    found = ESTIMATORS[name](kept)
    why = "; ".join(filter(None, (why, found.why)))
    return replace(found, why=why, estimator=name, verdict=join(verdict, found.verdict))


def choose(seen: Seen) -> tuple[str, str]:
    """Return the name of an estimator, and in one sentence why it.

    | what is asked | taken | because |
    | --- | --- | --- |
    | up to 12 sources in up to 4096 open cells | posterior | nothing comes nearer on average |
    | the same, along a line where heat just spreads | robust | the room may be another |
    | more sources | entropy | of so many only hills can be told; these surprise least |
    | more cells | lasso | one convex program; with several sources it is far from the posterior |
    | noise below a ten-millionth of a source | l1 | weights of scenes have no digits left |

    Measured on 100 cells along a line and 400 in a plane: `tests/bench/bench_estimators.py` and
    the page `notebooks/10_estimators.py`.

    Limits: it believes the prior. Where the number or the warmth of the sources is not known, the
    prior should say so, with a range of numbers and with a coolest source below the warmest.
    """
    cells = len(seen.places) if seen.open is None else int(np.count_nonzero(seen.open))
    most = min(seen.prior.most, cells)
    loudest = seen.prior.warmest * float(np.linalg.norm(seen.operator, axis=0).max())
    if seen.sigma < _QUIET * loudest:
        return "l1", (
            "there is next to no noise, so the least heat that explains the readings is the "
            "sources themselves"
        )
    if most > _SOURCES_MAX:
        return "entropy", (
            f"up to {most} sources are too many to weigh scene by scene, and of so many only "
            "hills can be told"
        )
    if cells > _CELLS_MAX:
        return "lasso", (
            f"{cells} cells are too many to weigh scene by scene, and sources that are few "
            "among them are found by the price of heat"
        )
    many = f"up to {most} source{'s' * (most > 1)} in {cells} cells can be weighed scene by scene"
    if seen.near is not None and seen.places.shape[1] == 1:
        return "robust", f"{many}, and beside them sources and rooms that are not as stated"
    return "posterior", f"{many}, and nothing comes nearer on average if the prior is right"


def _run(home: str, seen: Seen) -> Estimate:
    check(seen)
    module, _, name = home.partition(".")
    estimated: Estimate = getattr(import_module(f"{__package__}.{module}"), name)(seen)
    if estimated.status == "optimal" and (unsaid := describe_undetermined(seen)):
        return replace(estimated, status=unsaid)
    return estimated


ESTIMATORS: Mapping[str, Callable[[Seen], Estimate]] = MappingProxyType(
    {name: partial(_run, home) for name, home in HOMES.items()}
)


def estimate_judged(name: str, seen: Seen) -> Estimate:
    """Return what an estimator makes of readings that were judged already, and why it.

    Args:
        name: "auto" is whichever `choose` chooses.
    """
    chosen, why = choose(seen) if name == "auto" else (name, "")
    found = estimate(chosen, seen)
    return replace(found, estimator=chosen, why="; ".join(filter(None, (why, found.why))))


def estimate(name: str, seen: Seen) -> Estimate:
    """Return what the estimator of that name makes of the readings.

    Args:
        name: a key of ESTIMATORS; "auto" picks one and says why.
        seen: readings that have passed the veil.

    Raises:
        ValueError: there is no such estimator, the readings do not fit each other, or the
            estimator cannot do what is asked, as one that orders places cannot in a plane.
    """
    if name not in ESTIMATORS:
        raise ValueError(
            f"the estimator is {name!r} but must be one of {', '.join(ESTIMATORS)}: another is "
            "not known here. Take 'auto' when in doubt."
        )
    return ESTIMATORS[name](seen)

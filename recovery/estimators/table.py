"""Every estimator by its name, loaded when it is first asked for, and those that others add."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from traceback import extract_tb
from types import MappingProxyType
from typing import Any

import numpy as np

from ..maps.heatmap import Verdict
from . import HOMES
from .record import ONE_TIME, Estimate, Floats, Seen, check

# What may be registered: an `Estimate`, or the heat of each cell alone, from what was seen.
Own = Callable[[Seen], Estimate | Floats]

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


def estimate_by_chosen(seen: Seen) -> Estimate:
    """Return what the chosen estimator makes of the readings, its name, and why it was chosen.

    With a verdict: sensors at odds with all the others are left out, and where no heat at all
    explains the rest there is no estimate.
    """
    # Loaded here, for whoever only checks a name must not wait for a solver.
    from .verdict import describe_misfit, join_verdicts, judge, measure_misfit

    name, why = choose_estimator(seen)
    kept, verdict = judge(seen)
    if fault := measure_misfit(kept):
        unresolved = f"infeasible: {describe_misfit(*fault)}"
        verdict = Verdict("assumptions", describe_misfit(*fault), verdict.dropped)
        nothing = np.zeros(len(seen.places))
        return Estimate(nothing, unresolved, fault[0], why, estimator=name, verdict=verdict)
    found = ESTIMATORS[name](kept)
    why = "; ".join(filter(None, (why, found.why)))
    return replace(found, why=why, estimator=name, verdict=join_verdicts(verdict, found.verdict))


def choose_estimator(seen: Seen) -> tuple[str, str]:
    """Return the name of an estimator, and in one sentence why it.

    | what is asked | taken | because |
    | --- | --- | --- |
    | up to 12 sources in up to 4096 open cells | posterior | nothing comes nearer on average |
    | the same, where heat just spreads | robust | the room may be another |
    | the same, of so many for all times, where known | robust | nobody knows how long one stood |
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
    if seen.near is not None:
        return "robust", f"{many}, and beside them sources and rooms that are not as stated"
    if seen.others is not None and (1 + len(seen.others)) * cells <= _CELLS_MAX:
        return "robust", f"{many}, each having stood there for any of several times"
    return "posterior", f"{many}, and nothing comes nearer on average if the prior is right"


# What knows that a source may have stood there for another time than the stated one.
_OF_ANY_TIME = (HOMES["auto"], HOMES["robust"])


def _run(home: str, seen: Seen) -> Estimate:
    check(seen)
    module, _, name = home.partition(".")
    estimated: Estimate = getattr(import_module(f"{__package__}.{module}"), name)(seen)
    if seen.others is not None and home not in _OF_ANY_TIME:
        why = "; ".join(filter(None, (estimated.why, ONE_TIME)))
        estimated = replace(estimated, why=why)
    return _say_undetermined(estimated, seen)


def _say_undetermined(estimated: Estimate, seen: Seen) -> Estimate:
    if estimated.status == "optimal" and (unsaid := describe_undetermined(seen)):
        return replace(estimated, status=unsaid)
    return estimated


_TABLE: dict[str, Callable[[Seen], Estimate]] = {
    name: partial(_run, home) for name, home in HOMES.items()
}
ESTIMATORS: Mapping[str, Callable[[Seen], Estimate]] = MappingProxyType(_TABLE)


# Estimators of one's own.


def register(name: str, function: Own | None = None) -> Any:
    """Add an estimator of one's own to the table, by this name; return the function.

    Without a function, a decorator. It is then taken wherever a name of an estimator is: in a
    `Query`, in `estimate`, in a study. What it returns is looked at each time.

    Args:
        name: a name that none of the program's own estimators has; one's own is replaced.
        function: gets a `Seen`, which `check` has looked at; returns an `Estimate`, or no more
            than the heat of each cell, (cells,), finite, not negative, none where nothing is open.

    Raises:
        ValueError: the name is taken or empty, or the function is none.
    """
    if function is None:
        return partial(register, name)
    if not name or name in HOMES:
        raise ValueError(
            f"an estimator of one's own is to be called {name!r} but must have a name that is not "
            f"one of {', '.join(HOMES)}: a map says by which one it was drawn. Take another name."
        )
    if not callable(function):
        raise ValueError(
            f"the estimator {name} is a {type(function).__name__} but must be a function of what "
            "was seen: it is called for every map. Give the function itself."
        )
    _TABLE[name] = partial(_run_own, name, function)
    return function


@contextmanager
def register_on_trial(functions: Mapping[str, Own]) -> Iterator[None]:
    """Register functions by their names, and undo that where what is done with them fails."""
    before = {name: _TABLE[name] for name in functions if name in _TABLE}
    try:
        for name, function in functions.items():
            register(name, function)
        yield
    except BaseException:
        for name in functions.keys() - before.keys():
            _TABLE.pop(name, None)
        _TABLE.update(before)
        raise


def _run_own(name: str, function: Own, seen: Seen) -> Estimate:
    check(seen)
    try:
        made = function(seen)
    except Exception as fault:
        frames = extract_tb(fault.__traceback__)
        # The author's own line, not that of a library which it calls.
        home = getattr(getattr(function, "__code__", None), "co_filename", None)
        where = next((one for one in reversed(frames) if one.filename == home), frames[-1])
        raise ValueError(
            f"the estimator {name} raised {type(fault).__name__} ({fault}) on "
            f"{len(seen.readings)} readings of {len(seen.places)} cells but must return heat: "
            f"there is no map without. Mend line {where.lineno} of {where.filename}."
        ) from fault
    if not isinstance(made, Estimate):
        made = Estimate(np.asarray(made), "optimal", float("nan"))
    if unfit := _explain_unfit(made.heat, seen):
        raise ValueError(
            f"the estimator {name} returned {unfit}, but must return the heat of each of the "
            f"{len(seen.places)} cells, finite, not negative, and 0 where nothing can stand: "
            "shares are made of it. Mend it."
        )
    heat = np.asarray(made.heat, dtype=np.float64)
    residual = float(np.linalg.norm(seen.operator @ heat - seen.readings))
    return _say_undetermined(replace(made, heat=heat, residual=residual), seen)


def _explain_unfit(heat: Any, seen: Seen) -> str:
    """Return in words why this is no heat by cell, "" where it is."""
    if not isinstance(heat, np.ndarray) or heat.dtype.kind not in "fiu":
        held = f" of {heat.dtype}" if isinstance(heat, np.ndarray) else ""
        return f"a {type(heat).__name__}{held}"
    if heat.shape != (len(seen.places),):
        return f"an array of shape {heat.shape}"
    if not np.isfinite(heat).all():
        return f"{np.count_nonzero(~np.isfinite(heat))} numbers that are not finite"
    if heat.min() < 0:
        return f"heat down to {heat.min():.3g}"
    if seen.open is not None and heat[~seen.open].any():
        return "heat where nothing can stand"
    return ""


def estimate_judged(name: str, seen: Seen) -> Estimate:
    """Return what an estimator makes of readings that were judged already, and why it.

    Args:
        name: "auto" is whichever `choose_estimator` chooses.
    """
    chosen, why = choose_estimator(seen) if name == "auto" else (name, "")
    found = _find(chosen)(seen)
    return replace(found, estimator=chosen, why="; ".join(filter(None, (why, found.why))))


def estimate(name: str, seen: Seen) -> Estimate:
    """Return what the estimator of that name makes of the readings.

    Its verdict says where no heat at all explains them, as after a forgotten baseline: an
    estimator that was asked by name draws a map even so. Only "auto" and `recover` look at single
    sensors and leave out those at odds with the others.

    Args:
        name: a key of ESTIMATORS; "auto" picks one and says why.
        seen: readings that have passed the veil.

    Raises:
        ValueError: there is no such estimator, the readings do not fit each other, or the
            estimator cannot do what is asked, as one that orders places cannot in a plane.
    """
    found = _find(name)(seen)
    if name == "auto":
        return found
    from .verdict import describe_misfit, join_verdicts, measure_misfit  # which load a solver

    fault = measure_misfit(seen)
    looked = Verdict("assumptions", describe_misfit(*fault)) if fault else Verdict("fits")
    return replace(found, verdict=join_verdicts(looked, found.verdict))


def _find(name: str) -> Callable[[Seen], Estimate]:
    if name not in ESTIMATORS:
        raise ValueError(
            f"the estimator is {name!r} but must be one of {', '.join(ESTIMATORS)}: another is "
            "not known here. Take 'auto' when in doubt."
        )
    return ESTIMATORS[name]

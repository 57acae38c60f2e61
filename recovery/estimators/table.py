"""Every estimator by its name, each loaded when it is first asked for."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from types import MappingProxyType

from .blind import undetermined
from .check import check
from .names import HOMES
from .record import Estimate, Seen


def _run(home: str, seen: Seen) -> Estimate:
    check(seen)
    estimated: Estimate = import_module(f"{__package__}.{home}").estimate(seen)
    if estimated.status == "optimal" and (unsaid := undetermined(seen)):
        return replace(estimated, status=unsaid)
    return estimated


ESTIMATORS: Mapping[str, Callable[[Seen], Estimate]] = MappingProxyType(
    {name: partial(_run, home) for name, home in HOMES.items()}
)


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

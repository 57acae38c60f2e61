"""The table: each mechanism that is served, by its name.

Another one is another module of this package with its `SERVES`, a line here, and what its part of
the deployment file is, in `belonging`.
"""

from collections.abc import Callable
from typing import Any

from .. import mechanisms
from ..deployment import Deployment
from ..faults import OperatorFault
from .disk.deployment import SERVES as DISK
from .record import Payload
from .record import Serves as Serves
from .thermal.deployment import SERVES as THERMAL

SERVES: dict[str, Serves] = {"thermal": THERMAL, "disk": DISK}


def named(mechanism: str) -> Serves:
    """Return the entry of a mechanism.

    Raises:
        OperatorFault: there is none of that name, or it is played in memory alone.
    """
    if mechanism in SERVES:
        return SERVES[mechanism]
    mechanisms.named(mechanism)  # whose words are better where there is no such thing at all
    raise OperatorFault(
        f"[rounds] mechanism is {mechanism!r}, which can be played but not served: nobody has "
        f"said what a deployment of it is. Serve one of {', '.join(SERVES)}"
    )


def wrong_in(plan: Any) -> Callable[[Payload], str]:
    """Return what says why a payload cannot count in a Round, or "" where it may."""
    entry = SERVES.get(plan.mechanism, THERMAL)  # of one in memory alone nothing is known
    return entry.wrong(plan)


def of(deployment: Deployment) -> Serves:
    """Return the entry of a deployment's mechanism.

    Raises:
        OperatorFault: there is none.
    """
    return named(deployment.rounds.mechanism)


def first(deployment: Deployment, query: Any) -> Any:
    """Return the Round that a deployment asks first.

    Args:
        query: the deployment's, which takes long to make where a room has a file.

    Raises:
        OperatorFault: it cannot be served.
    """
    try:
        return mechanisms.named(deployment.rounds.mechanism).plan(query, [])
    except (ValueError, ArithmeticError) as fault:
        raise OperatorFault(f"no round can be planned: {fault}") from fault


def granted(deployment: Deployment, query: Any) -> Any:
    """Return the first `Limits` of every device of a deployment; arguments as for `first`.

    Raises:
        OperatorFault: it cannot be served, or its promise is too fine for a budget.
    """
    return of(deployment).granted(query, deployment.rounds.every_s)

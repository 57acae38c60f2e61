"""What mechanisms whose gateway learns sums alone have in common in a deployment and in a play."""

from dataclasses import replace
from typing import Any

from ..faults import OperatorFault
from . import usual


def query_of(deployment: Any) -> Any:
    """Return what the analyst asks: of as many users as there are devices.

    Raises:
        ValueError: there is no such promise.
    """
    query: Any = usual.query_of(deployment)
    return query if query.users else replace(query, users=deployment.own.devices)


def limits_of(query: Any, every_s: float, rounds: int) -> Any:
    """Return the first `Limits` of every device: epsilon for all Rounds together.

    A price is rounded up to whole nano-rho, so there is one more for each Round.
    """
    from ..devices.enrol import capped

    found = capped.limits_of(replace(query, readings=1), every_s)
    return found._replace(budget=found.budget + rounds)


def check_held(query: Any, sensors: Any, held: Any) -> None:
    """Check that enrolled devices fit the query: one place each, and within their limits.

    Raises:
        OperatorFault: one does not, or it would refuse what is asked.
    """
    from ..devices.enrol import capped

    capped.check_held(replace(query, readings=1), sensors, held)


def count_people(query: Any, users: int) -> Any:
    """Return the query of a play with so many people.

    Raises:
        OperatorFault: others were stated, or there is no such query.
    """
    if query.users not in (None, 0, users):
        raise OperatorFault(
            f"users is {query.users} but there are {users} people; noise is shared among those "
            "who answer. Leave users out in a play"
        )
    try:
        return replace(query, users=users)
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault


def cautions(name: str, query: Any) -> list[str]:
    """Return what an operator should know first."""
    said = []
    if not query.dropout[0]:
        said.append(
            f"dropout under [{name}] is 0: where one device is silent, nothing of a round is "
            'opened, and its epsilon is spent. Say how many may be missing: dropout = "1/10"'
        )
    if not query.colluders[0]:
        said.append(
            f"colluders under [{name}] is 0: the promise holds while no device helps the "
            'gateway. Say how many may: colluders = "1/20"'
        )
    return said


def simulate(shards: int, threshold: int) -> str:
    """Return what a play must say of its sums."""
    sums = f"{shards} secure sums a round were" if shards > 1 else "The secure sum of a round was"
    return (
        f"{sums} simulated in this process, over at least {threshold} devices. No "
        "cryptography hid them from it."
    )

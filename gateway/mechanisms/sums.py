"""What mechanisms whose gateway learns sums alone have in common in a deployment and in a play."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge.mechanisms import module_of

from ..faults import OperatorFault


def check_enrolled(query: Any, sensors: Mapping[str, int], held: Mapping[str, Any]) -> None:
    """Check that enrolled devices fit the query, as `capped.check_enrolled` does.

    Devices that an earlier version enrolled fit it, too: one answer of theirs may tell as much
    as all are promised to, and all together a nano-rho a reading more.

    Raises:
        OperatorFault: one does not.
    """
    from ..devices.enrol import capped

    former = capped.make_first_limits(replace(query, readings=1), 1.0)
    cap, most = Fraction(former.square, former.variance), former.budget + query.readings
    later = {
        name: own
        for name, own in held.items()
        if Fraction(own.square, own.variance) != cap or own.budget > most
    }
    capped.check_enrolled(query, sensors, later)


@dataclass(frozen=True)
class PlaySums:
    """What all devices of a play mark, in the place of their readings. Private."""

    marks: NDArray[np.int64]
    present: int


def make_reporter(round: Any) -> Callable[[Any, Any], Any]:
    """Return what reports to a Round; what all devices mark stays as it is until the release."""
    device = module_of(round.mechanism)

    def report(reading: Any, rng: Any) -> Any:
        return reading if isinstance(reading, PlaySums) else device.report(round, reading, rng)

    return report


def set_user_count(query: Any, users: int) -> Any:
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


def list_cautions(query: Any) -> list[str]:
    """Return what an operator should know first."""
    said = []
    if not query.dropout[0]:
        said.append(
            "dropout is 0: where one device is silent, nothing of a round is opened, and its "
            'epsilon is spent. Say how many may be missing: dropout = "1/10"'
        )
    if not query.colluders[0]:
        said.append(
            "colluders is 0: the promise holds while no device helps the gateway. Say how many "
            'may: colluders = "1/20"'
        )
    return said


def describe_simulation(shards: int, threshold: int) -> str:
    """Return what a play must say of its sums."""
    sums = f"{shards} secure sums a round were" if shards > 1 else "The secure sum of a round was"
    return (
        f"{sums} simulated in this process, over at least {threshold} devices. No "
        "cryptography hid them from it."
    )


def describe_gain(sent: int, cells: int) -> str:
    """Return what a play adds where squares are about as many as cells."""
    return ": squares save nothing here" if 10 * sent > 9 * cells else ""

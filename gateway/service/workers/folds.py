"""Releases from sums: what a report adds to which slot, and the way back.

A mechanism whose release is made of sums over reports says so in its record; the sums
are taken by the workers as the reports come, and by the database when the round closes.
"""

from collections.abc import Iterable, Sequence

from ... import mechanisms
from ...faults import OperatorFault
from ...mechanisms.record import Fold as Fold
from ...store.message_rows import Sum


def combined(fold: Fold, payloads: Iterable[Sequence[int]]) -> dict[int, Sum]:
    """Return the sums of some reports, on the way to the database.

    >>> combined(named("thermal"), [[0, 5, -3], [2, 7]])
    {0: Sum(amount=5, reports=1), 1: Sum(amount=-3, reports=1), 2: Sum(amount=7, reports=1)}
    """
    sums: dict[int, tuple[int, int]] = {}
    for payload in payloads:
        for slot, amount in fold.slots(payload):
            so_far, count = sums.get(slot, (0, 0))
            sums[slot] = so_far + amount, count + 1
    return {slot: Sum(*row) for slot, row in sums.items()}


def named(mechanism: str) -> Fold:
    """Return the fold of a mechanism.

    Raises:
        OperatorFault: it has none.
    """
    fold = mechanisms.serving(mechanism).fold
    if fold is None:
        raise OperatorFault(
            f"{mechanism} cannot be gathered in parts: several workers need a release that is a "
            "sum over reports, and it says of none. Set partitions = 1 under [workers]"
        )
    return fold

"""Releases from sums: what a report adds to which slot, and the way back.

A mechanism whose release is made of sums over reports has an entry here; the sums are taken by the
workers as the reports come, and by the database when the round closes. It must give what the
mechanism's own `release` gives of all payloads together, exactly.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from edge.records import Release
from edge.thermal import params_of

from ..faults import OperatorFault
from ..storage.tallies import Sum


class Fold(NamedTuple):
    """How reports become sums, and sums a release."""

    slots: Callable[[Sequence[int]], Iterable[tuple[int, int]]]  # (slot, amount) of a payload
    release: Callable[[Any, Mapping[int, Sum], int], Any]  # round, sums, reports


def combined(fold: Fold, payloads: Iterable[Sequence[int]]) -> dict[int, Sum]:
    """Return the sums of some reports, on the way to the database.

    >>> combined(FOLDS["thermal"], [[0, 5, -3], [2, 7]])
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
    if mechanism in FOLDS:
        return FOLDS[mechanism]
    raise OperatorFault(
        f"{mechanism} cannot be gathered in parts: several workers need a release that is a sum "
        "over reports, and it says of none. Set partitions = 1 under [workers]"
    )


def _sensors(payload: Sequence[int]) -> Iterable[tuple[int, int]]:
    return enumerate(payload[1:], payload[0])


def _readings(round: Any, sums: Mapping[int, Sum], reports: int) -> Any:
    """Return what `edge.thermal.release` does: a sensor's sum is its one reading, or None."""
    sensors = params_of(round).sensors
    for sensor, (_, count) in sums.items():
        if not 0 <= sensor < sensors or count != 1:
            raise ValueError(
                f"sensor {sensor} answers round {round.number} {count} times, and the round has "
                f"sensors 0 to {sensors - 1}, once each; more would average the noise away"
            )
    readings = {sensor: amount for sensor, (amount, _) in sums.items()}
    return Release(round, [readings.get(sensor) for sensor in range(sensors)], reports)


FOLDS = {"thermal": Fold(_sensors, _readings)}

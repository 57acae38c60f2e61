"""What a store holds after a run, against what the load says it has sent."""

import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np


class Held(NamedTuple):
    """Readings in the store, and what is wrong with them."""

    stored: int
    lost: int  # that were sent and are not there
    unsent: int  # that are there and nobody has sent
    altered: int  # that are there with other bytes


def held(path: str, asked: dict[str, Any], sent: int) -> Held:
    """Return what a store holds of the first readings of a load, so many, in its order.

    The bytes of each are made anew from the device's key and held against those in the store.
    """
    import fleet

    known, rounds, devices = _known(asked), asked["rounds"], asked["devices"]
    there = np.zeros(rounds * devices, bool)
    stored = unsent = altered = 0
    index = {name: at for at, name in enumerate(known.by_name)}
    for number in range(fleet.START, fleet.START + rounds):
        right = fleet.frames(known, number, asked["cells"])
        for device, epoch, seq, frame in _rows(path, fleet.plan(number)):
            at = (number - fleet.START) * devices + index[device]
            stored += 1
            unsent += at >= sent
            altered += (epoch, seq) != (1, number) or frame != right[index[device]]
            there[at] = True
    return Held(stored, int(sent - np.count_nonzero(there[:sent])), unsent, altered)


def _known(asked: dict[str, Any]) -> Any:
    import fleet

    return fleet.devices(asked["devices"], asked["cells"])


def _rows(path: str, plan: Any) -> Iterator[Any]:
    from edge.core import wire

    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        wanted = "SELECT device, epoch, seq, frame FROM reports WHERE round = ?"
        yield from connection.execute(wanted, (bytes(wire.name_of(plan)),))
    finally:
        connection.close()

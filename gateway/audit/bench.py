"""Real devices on a bench: what the audit's layers ask, boot and listen to.

Nothing of a device is imitated here. A device is enrolled as any other, keeps its budget in two
slots, gets Rounds as signed messages and answers with signed frames, which are opened with the
gateway's half of its keys and folded by the mechanism's own release.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge import limits, tightening, wire
from edge.budget import Budget
from edge.host import post, rootkeys
from edge.host.enrol import provision
from edge.node import Node
from edge.slots import Ram

SITE, SITE_KEY = "audit", bytes(range(64, 96))
Whole = NDArray[np.int64]


class Device:
    """One device, from its enrolment on.

    Args:
        round: what it will be asked; its limits let just this through, and no less noise.
        root: its 32-byte root key.
        sensors, first: how many sensors it reads, and the first of them.
        slots: where its budget is kept; in memory if None.
        budget: nano-rho for its life; so much that it does not end, if none is given.
        tables: whether it may draw noise from tables.
    """

    def __init__(
        self,
        round: Any,
        root: bytes,
        *,
        name: str = "bench-1",
        sensors: int = 1,
        first: int = 0,
        slots: Any = None,
        budget: int = (1 << 63) - 1,
        tables: bool = False,
    ) -> None:
        params, self.tables = round.params, tables
        self.mode = "keyholder" if params[6] else "sealed"
        self.identity = rootkeys.identity(SITE, name, root, SITE_KEY, first, self.mode, sensors)
        num, den = round.guarantee.rho
        square = num * 2 * params[4] // den
        self.limits = limits.Limits(*[1, params[1], square, params[4], budget, 0])
        self.slots = Ram() if slots is None else slots
        provision(self.slots, self.identity.state_key, rootkeys.first_chain(root), self.limits)
        self.boot()

    def boot(self) -> None:
        """Start it anew: what was in its memory is gone, what was in its slots is not."""
        self.budget = Budget(self.slots, self.identity.state_key)
        self.budget.boot()
        self.node = Node(self.identity, self.budget, tables=self.tables)

    def answer(self, message: bytes, values: Sequence[int]) -> bytes | None:
        """Return the frame that answers a Round's message, or None: see `node.refusal`."""
        self.node.prepare()
        frame: bytes | None = self.node.answer(message, lambda params: tuple(values))
        return frame

    def order(self, asked: Any) -> bytes:
        """Return the signed message that gives it other limits."""
        return post.pack_limits(
            asked, self.identity.config_key, tightening.topic(SITE, self.identity.name)
        )

    def opened(self, frame: bytes | None) -> Any:
        """Return the Report in a frame, as the gateway reads it.

        Raises:
            RuntimeError: there is no frame, where one was expected.
        """
        if frame is None:
            raise RuntimeError(f"the device did not answer: {self.node.refusal}")
        topic = wire.topic(SITE, self.identity.name, "data")
        return post.unpack_report(frame, self.identity.mac_key, topic, self.identity.name)


def message(
    round: Any, number: int, site: str = SITE, site_key: bytes = SITE_KEY
) -> tuple[Any, bytes]:
    """Return the Round under another number, and the site's signed message of it."""
    asked = round._replace(number=number)
    return asked, post.pack_round(asked, site_key, wire.round_topic(site, round.mechanism))


def releases(
    release: Callable[[Any, Any, Any], Any],
    devices: Sequence[Device],
    round: Any,
    numbers: Sequence[int],
    readings: Whole,
    rng: Any,
) -> Whole:
    """Return what is released of so many Rounds, (rounds, sensors), by the whole way there.

    Args:
        release: the mechanism's.
        devices: who answer, each for its own sensors.
        numbers: of the Rounds, rising.
        readings: what all sensors see each time, in grains, (sensors,).
        rng: what `release` is given; it must draw nothing.
    """
    rows, seen = [], tuple(readings.tolist())
    for number in numbers:
        asked, signed = message(round, number)
        payloads = []
        for device in devices:
            own = slice(device.identity.sensor, device.identity.sensor + device.identity.sensors)
            payloads.append(device.opened(device.answer(signed, seen[own])).payload)
        rows.append(release(asked, payloads, rng).values)
    return np.array(rows, dtype=np.int64)

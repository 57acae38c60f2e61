"""Real devices on a bench: what the audit's layers ask, boot and listen to.

Nothing of a device is imitated here. A device is enrolled as any other, keeps its budget in two
slots, gets Rounds as signed messages and answers with signed frames, which are opened with the
gateway's half of its keys and folded by the mechanism's own release.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge import tightening, wire
from edge.budget import Budget
from edge.host import post, rootkeys
from edge.host.enrol import provision
from edge.node import Node
from edge.slots import Ram

from ..mechanisms import named

SITE, SITE_KEY = "audit", bytes(range(64, 96))
Whole = NDArray[np.int64]


class Device:
    """One device, from its enrolment on.

    Args:
        round: what it will be asked; its limits let just this through, and no less noise.
        root: its 32-byte root key.
        name: in its topics and its noise.
        sensors, first: how many sensors it reads, and the first of them.
        slots: where its budget is kept; in memory if None.
        budget: nano-rho for its life; so much that it does not end, if none is given.
        tables: whether it may draw noise from tables.
        mode: sealed or keyholder; that which the Round is for if not given.
        held: its first limits, where they are not to be those.
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
        mode: str = "",
        held: Any = None,
    ) -> None:
        self.round, self.tables, self.asked = round, tables, asked_of(round)
        self.mode = mode or self.asked.mode(round)
        self.identity = rootkeys.identity(SITE, name, root, SITE_KEY, first, self.mode, sensors)
        self.limits = self.asked.limits(round, budget) if held is None else held
        self.slots = Ram() if slots is None else slots
        provision(self.slots, self.identity.state_key, rootkeys.first_chain(root), self.limits)
        self.boot()

    def boot(self, nap: Any = None) -> None:
        """Start it anew: what was in its memory is gone, what was in its slots is not.

        Args:
            nap: its `board.nap.Nap`, if it sleeps deeply.
        """
        self.budget = Budget(self.slots, self.identity.state_key)
        self.budget.boot(nap)
        self.node = Node(
            self.identity, self.budget, tables=self.tables, mechanism=self.round.mechanism
        )

    def answer(self, message: bytes, values: Any) -> bytes | None:
        """Return the frame that answers a Round's message, or None: see `node.refusal`."""
        self.node.prepare()
        frame: bytes | None = self.node.answer(message, lambda asked: values)
        return frame

    def seen(self, number: int) -> tuple[int, ...]:
        """Return what its sensors may hold, something else for every number."""
        found: tuple[int, ...] = self.asked.seen(self.round, number, self.identity.sensors)
        return found

    def said(self) -> str:
        """Return all that it says of itself."""
        return str((self.node.refusal, self.node.state(), self.node.meta()))

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


def asked_of(round: Any) -> Any:
    """Return what the audit knows of asking such Rounds, by the mechanism that they name."""
    subject: Any = named(round.mechanism).subject
    return subject.asked


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

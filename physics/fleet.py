"""A fleet of virtual devices: edge's own nodes, which look at a world made here.

Everything between the reading and the frame is the code that runs on a board. Only what a
sensor sees is virtual: the truth that `show` sets, the sensor's noise and its converter.
The world's generator serves physics alone; keys and the veil's noise never come from it.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from edge import thermal
from edge.entropy import Tape
from edge.node import Node

from .sensors import PointSensors, grains

# edge.keys.Identity, and the edge.budget.Budget of this device, which has booted
Device: TypeAlias = tuple[Any, Any]


class Fleet:
    """Virtual devices by name, all in one world.

    Args:
        devices: who they are and what they may spend; `gateway.budgets` starts them.
        sensors: all the sensors of the room, of which each device reads its own.
        world: makes the sensors' noise.

    Raises:
        ValueError: a device of a sensor that is not there, or two devices of one name.
    """

    def __init__(
        self, devices: Iterable[Device], sensors: PointSensors, world: np.random.Generator
    ) -> None:
        self._sensors = sensors
        self._world = world
        self._truth = np.zeros(len(sensors.places_m))
        self._nodes: dict[str, Node] = {}
        step = None if sensors.step is None else sensors.step.as_integer_ratio()
        for who, budget in devices:
            last = who.sensor + who.sensors - 1
            if who.name in self._nodes or not 0 <= who.sensor <= last < len(self._truth):
                raise ValueError(
                    f"device {who.name!r} with sensors {who.sensor} to {last} is there twice or "
                    f"reads one that is not, for the room has 0 to {len(self._truth) - 1}; every "
                    "reading needs one place and one name. Enrol the fleet again."
                )
            self._nodes[who.name] = Node(who, budget, step)

    @property
    def names(self) -> tuple[str, ...]:
        """Who is in the fleet, in the order in which they came."""
        return tuple(self._nodes)

    def node(self, name: str) -> Any:
        """Return the device itself, an `edge.node.Node`."""
        return self._nodes[name]

    def show(self, temperatures: ArrayLike) -> None:
        """Set what there is to see, (sensors,), in kelvin above the baseline.

        Raises:
            ValueError: a wrong number of temperatures, or one negative or not finite.
        """
        self._truth = self._sensors.truth(temperatures)

    def answer(self, name: str, message: bytes) -> bytes | None:
        """Return a device's frame for the message of a Round, or None: see `refusal`."""
        node = self._nodes[name]
        return node.answer(message, lambda params: self.read(name, params))

    def refusal(self, name: str) -> str:
        """Return why a device did not answer the last Round; empty when it did."""
        return str(self._nodes[name].refusal)

    def read(self, name: str, params: thermal.Params) -> tuple[int, ...]:
        """Return what a device's sensors see now, in the Round's grains. Private."""
        who = self._nodes[name].identity
        own = slice(who.sensor, who.sensor + who.sensors)
        sensors = replace(self._sensors, places_m=self._sensors.places_m[own])
        return grains(sensors.see(self._truth[own], self._world), params.exponent, sensors.step)


def seeded_keys(seed: bytes) -> Callable[[int], bytes]:
    """Return a maker of key bytes that anyone with the seed repeats: for experiments only.

    Enrol the devices as keyholder with it: a sealed one mixes the system's entropy in, and
    its noise is another in each run.

    >>> seeded_keys(b"seven")(4) == seeded_keys(b"seven")(4)
    True
    """
    tape = Tape(seed)
    return lambda count: bytes(tape.below(256) for _ in range(count))

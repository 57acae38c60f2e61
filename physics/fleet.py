"""A fleet of virtual devices: edge's own nodes, which look at a world made here.

Everything between the reading and the frame is the code that runs on a board. Only what a
sensor sees is virtual: the truth that `show` sets, the sensor's noise and its converter.
The world's generator serves physics alone; keys and the veil's noise never come from it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from edge import thermal
from edge.entropy import Tape
from edge.node import Node

from .sensors import PointSensors, grains

# name, (first sensor, how many), mode "sealed" or "keyholder", 32-byte root key
Device: TypeAlias = tuple[str, tuple[int, int], str, bytes]
# site, 32-byte site key, epoch (raised and stored before each start), devices
Secrets: TypeAlias = tuple[str, bytes, int, Sequence[Device]]


class Fleet:
    """Virtual devices by name, all in one world.

    Args:
        secrets: who they are, with their keys; `gateway.enrol` makes and keeps them.
        sensors: all the sensors of the room, of which each device reads its own.
        world: makes the sensors' noise.
        floor: the least variance of noise that a device answers with, in kelvin squared.

    Raises:
        ValueError: a device of a sensor that is not there, or two devices of one name.
    """

    def __init__(
        self,
        secrets: Secrets,
        sensors: PointSensors,
        world: np.random.Generator,
        floor: tuple[int, int] = (1, 10**9),
    ) -> None:
        site, site_key, epoch, devices = secrets
        self._sensors = sensors
        self._world = world
        self._truth = np.zeros(len(sensors.places_m))
        self._nodes: dict[str, Node] = {}
        for name, (first, count), mode, root in devices:
            if name in self._nodes or not 0 <= first < first + count <= len(self._truth):
                raise ValueError(
                    f"device {name!r} with sensors {first} to {first + count - 1} is there twice "
                    f"or reads one that is not, for the room has 0 to {len(self._truth) - 1}; "
                    "every reading needs one place and one name. Enrol the fleet again."
                )
            self._nodes[name] = Node(
                site, name, root, site_key, first, floor, mode, epoch, sensors=count
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Who is in the fleet, in the order of the secrets."""
        return tuple(self._nodes)

    def show(self, temperatures: ArrayLike) -> None:
        """Set what there is to see, (sensors,), in kelvin above the baseline.

        Raises:
            ValueError: a wrong number of temperatures, or one negative or not finite.
        """
        self._truth = self._sensors.truth(temperatures)

    def answer(self, name: str, message: bytes) -> bytes | None:
        """Return a device's frame for the message of a Round, or None: see `refusal`."""
        node = self._nodes[name]
        try:
            frame: bytes | None = node.answer(message, lambda params: self._read(node, params))
        except _ConverterFault as fault:
            node.refusal, frame = str(fault), None
        return frame

    def refusal(self, name: str) -> str:
        """Return why a device did not answer the last Round; empty when it did."""
        return str(self._nodes[name].refusal)

    def meta(self, name: str) -> dict[str, object]:
        """Return what a device says of itself on its retained `meta` topic."""
        return dict(self._nodes[name].meta())

    def _read(self, node: Node, params: thermal.Params) -> tuple[int, ...]:
        """Return what the node's sensors see now, in the Round's grains."""
        step = self._sensors.step
        if step is not None and not _planned(step, params):
            raise _ConverterFault(
                f"its noise is planned for converter steps of {params.step} grains of "
                f"2**{-params.exponent} K, which {step} K does not divide: a step flips on all "
                "sensors at once. Plan the round with the converter that the devices have"
            )
        own = slice(node.sensor, node.sensor + node.sensors)
        sensors = replace(self._sensors, places_m=self._sensors.places_m[own])
        return grains(sensors.see(self._truth[own], self._world), params.exponent, step)


class _ConverterFault(Exception):
    """A Round is calibrated for another converter than the device's."""


def seeded_keys(seed: bytes) -> Callable[[int], bytes]:
    """Return a maker of key bytes that anyone with the seed repeats: for experiments only.

    Enrol the devices as keyholder with it: a sealed one mixes the system's entropy in, and
    its noise is another in each run.

    >>> seeded_keys(b"seven")(4) == seeded_keys(b"seven")(4)
    True
    """
    tape = Tape(seed)
    return lambda count: bytes(tape.below(256) for _ in range(count))


def _planned(step: Fraction, params: thermal.Params) -> bool:
    """Return whether readings of this step move no further than the Round's noise is for.

    A step that divides the planned one does not; the planned one is rounded up to grains.
    """
    size = step * Fraction(2) ** int(params.exponent)
    return (params.step / size).denominator == 1 or math.ceil(size) == params.step

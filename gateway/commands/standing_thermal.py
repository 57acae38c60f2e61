"""What virtual thermometers stand in: a still scene, or a room that lives."""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from physics.fleet import Fleet
from recovery.thermal import Query
from recovery.thermal.noise import follower

from ..faults import OperatorFault
from .act import Seen, Stand
from .simulated import Room, scene_of

_SPEED = 60.0  # an hour a minute


@dataclass(frozen=True)
class Still:
    """A scene in which nothing moves, once everybody has come."""

    room: Room

    def fleet(self, devices: Iterable[Any]) -> Fleet:
        """Return devices that stand in the scene.

        Raises:
            OperatorFault: they do not fit the room.
        """
        return fleet_in(self.room, devices)

    def living(self, fleet: Fleet) -> AbstractContextManager[str]:
        """Let nothing pass, and say where nobody is there yet."""
        first = self.room.query.empty_readings
        if not first:
            return nullcontext("")
        return nullcontext(
            f"nobody is there yet in the first {first} readings of each device, which the "
            "deployment says are of an empty room; each start of this fleet begins with them"
        )


def fleet_in(room: Room, devices: Iterable[Any]) -> Fleet:
    """Return devices, each an identity and its budget, that stand in the room.

    Raises:
        OperatorFault: they do not fit the room.
    """
    try:
        fleet = Fleet(
            devices,
            room.sensors,
            room.world,
            follower=lambda: follower(room.query),
            alone=room.query.empty_readings,
            tables=room.query.sampler == "table",
        )
        fleet.show(room.temperatures)
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault
    return fleet


def warmth(query: Query, seen: Seen, sensors: int, world: np.random.Generator) -> Stand:
    """Return what thermometers stand in: two random sources where nothing was said.

    Raises:
        OperatorFault: a flag or a file is wrong, or the room does not fit the query.
    """
    if seen.points is not None:
        raise OperatorFault(
            f"--points {seen.points} came and the deployment measures warmth, which no point "
            "has; it would do nothing unnoticed. Give --sources FILE.csv or --sources-random 2"
        )
    sources, random = seen.sources, seen.sources_random
    if seen.scene is not None:
        if sources is not None or random is not None:
            raise OperatorFault(
                "--scene came with --sources or --sources-random but one of them says what is "
                "warm; two rooms cannot both be read. Leave one out"
            )
        # Loaded here alone: only who names a room file has a use for the simulator.
        from ..simulate.scene import Scene

        return Scene(query, seen.scene, seen.speed or _SPEED, seen.since, world)
    if seen.speed is not None or seen.since is not None:
        raise OperatorFault(
            "--speed or --from came without --scene; only a room that lives has a time, and it "
            "would do nothing unnoticed. Add --scene room.toml"
        )
    if sources is None and random is None:
        random = 2
    return Still(Room(query, scene_of(query, sources, random, world), world))

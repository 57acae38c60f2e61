"""A room that lives while virtual devices read it: `heatveil fleet --scene room.toml`."""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from physics.fleet import Fleet
from physics.instruments.chain import complete_levels
from physics.rooms.day import draw_day
from physics.rooms.records import Room
from recovery.noise.worst import find_least_shown
from recovery.thermal import Query
from recovery.thermal.noise import make_follower

from ...faults import OperatorFault
from ...mechanisms.summary import format_place
from ...mechanisms.worlds import TRUTH
from .day import LivingRoom, Thermometers
from .rooms import find_views, format_clock, load_room, parse_clock

# Between two looks at the clock.
_SHORTEST_S, _LONGEST_S = 0.02, 1.0


class Scene:
    """The room of a file, which goes through its day at a speed of its own.

    Args:
        query: of the deployment whose devices read the room.
        speed: seconds of the room in a second of the clock.
        since: the time of day at which it begins; None for the start of the file's day.
        world: makes visitors, and the noise of the thermometers.

    Raises:
        OperatorFault: the file is wrong, or its thermometers are not those of the deployment.
    """

    def __init__(
        self,
        query: Query,
        path: Path,
        speed: float,
        since: str | None,
        world: np.random.Generator,
    ) -> None:
        self.room, self._query, self._speed, self._world = load_room(path), query, speed, world
        self._thermometers = Thermometers(self.room, world)
        _check(query, path, self._thermometers)
        begins_s = _parse_start_s(self.room, path, since)
        _, views = find_views(self.room)
        self._living = LivingRoom(self.room, draw_day(self.room, world), views)
        self._living.advance(begins_s)

    @property
    def at_s(self) -> float:
        """The time in the room, in seconds since midnight."""
        return self._living.at_s

    def make_fleet(self, devices: Iterable[Any]) -> Fleet:
        """Return devices that stand in the room, and have recorded it while it was empty.

        Raises:
            OperatorFault: they do not fit the room.
        """
        there_k, empty_k = self._living.seen_k
        query, kinds = self._query, self._thermometers.kinds
        try:
            recorded = complete_levels(self._thermometers.measure_level(empty_k, self.at_s))
            own, tables = lambda: make_follower(query), query.sampler == "table"
            fleet = Fleet(devices, kinds, self._world, recorded, own, tables=tables)
        except ValueError as fault:
            raise OperatorFault(str(fault)) from fault
        fleet.set_temperatures(there_k, self.at_s)
        return fleet

    @contextmanager
    def run_scene(self, fleet: Fleet) -> Iterator[str]:
        """Let the room live on a thread of its own, which ends here."""
        # Its time begins now, with the level that was recorded just before.
        fleet.recorded_ms = int(1000 * time.time())
        over = threading.Event()
        thread = threading.Thread(target=self._live, args=(fleet, over), name="scene")
        thread.start()
        try:
            yield (
                f"the room {self.room.name} lives from {format_clock(self.at_s)} to "
                f"{format_clock(self.room.day.until_s)}, {self._speed:g} times as fast as the "
                "clock, and then stays as it is; its devices have recorded it empty; "
                f"{TRUTH}: {self._tell_people()}"
            )
        finally:
            over.set()
            thread.join()

    def _tell_people(self) -> str:
        """Return who is there from now on, from when to when, and where for longest."""
        told = []
        for track in self._living.day.tracks:
            if track.at_s[-1] > self.at_s:
                start = int(np.diff(track.at_s).argmax()) if len(track.at_s) > 1 else 0
                place = format_place(track.places_m[start], self._query.grid)
                span = f"{format_clock(track.at_s[0])} to {format_clock(track.at_s[-1])}"
                told.append(f"{track.name} {span}, longest at {place}")
        return "; ".join(told) or "nobody comes"

    def _live(self, fleet: Fleet, over: threading.Event) -> None:
        """Follow the clock, step by step, and show the fleet what there is."""
        day, from_s, began_s = self.room.day, self.at_s, time.monotonic()
        pause_s = min(max(day.step_s / self._speed / 2, _SHORTEST_S), _LONGEST_S)
        while self.at_s < day.until_s and not over.wait(pause_s):
            gone_s = self._speed * (time.monotonic() - began_s)
            due_s = min(from_s + gone_s // day.step_s * day.step_s, day.until_s)
            # One step after the other, so that who has fallen behind can be ended.
            while self.at_s < due_s and not over.is_set():
                self._living.advance(self.at_s + day.step_s)
                fleet.set_temperatures(self._living.seen_k[0], self.at_s)


def _check(query: Query, path: Path, thermometers: Thermometers) -> None:
    count, asked = len(thermometers.step_k), prod(query.sensors)
    if count != asked:
        raise OperatorFault(
            f"the room file {path} has {count} thermometers but the deployment has {asked} "
            "devices, and each of them reads one. Change [thermometers] of the room or [sensors] "
            f"count, or write [room] plan = {path.name!r} in the deployment"
        )
    for kind in thermometers.kinds:
        own, behind = kind.preset.step, kind.preset.behind
        if own is not None and (
            query.step is None
            or query.behind != behind
            or (find_least_shown(query.step, behind) / find_least_shown(own, behind)).denominator
            > 1
        ):
            steps = "/".join(map(str, own.as_integer_ratio()))
            planned = str(query.step or "endlessly fine ones")
            if query.behind:
                planned += f" of what others show in counts of {query.behind} K"
            raise OperatorFault(
                f"{kind.preset.name} in the room file {path} counts in steps of {steps} K but the "
                f"deployment's noise is for {planned}: its devices would refuse every round. "
                f'Write adc_step = "{steps}" in [sensors]'
                + (f' and adc_behind = "{behind}"' if behind else " and no adc_behind")
                * (query.behind != behind)
            )


def _parse_start_s(room: Room, path: Path, since: str | None) -> float:
    """Return when the scene begins, on a step of the room."""
    start_s, step_s = room.day.start_s, room.day.step_s
    if since is None:
        return start_s
    asked_s = parse_clock(since)
    if not start_s <= asked_s < room.day.until_s:
        raise OperatorFault(
            f"--from is {since}, but the day of {path} begins at {format_clock(start_s)} and "
            f"lasts {room.day.duration_h:g} h. Give a time within it"
        )
    return start_s + (asked_s - start_s) // step_s * step_s

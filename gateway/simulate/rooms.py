"""A room from its file, with the query that its [privacy] asks and what its thermometers feel."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from physics.instruments.presets import named
from physics.rooms import model, plan
from physics.rooms.read import read
from physics.rooms.records import Privacy, Room
from physics.rooms.respond import respond_day
from recovery.thermal import Query

from ..faults import OperatorFault
from ..mechanisms.flags import refused
from .background import empty_rounds, rounds_s

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Modelled:
    """A room, and how it is asked; not at all without [privacy] or without thermometers."""

    room: Room
    views: Floats  # (sensors, heat cells)
    places_m: Floats  # (sensors, 2)
    query: Query | None = None
    every_min: float = 0.0
    hold_s: float = 0.0  # how long the map takes a source to have stood where it is


def room_of(path: Path) -> Room:
    """Return the room of a file.

    Raises:
        OperatorFault: the file is wrong; it says in which line.
    """
    try:
        return read(path)
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault


def modelled(room: Room, estimator: str = "auto") -> Modelled:
    """Return a room with the query of its [privacy], as far as that is known before the day.

    What the empty room does over the day, which the clamp must hold, comes later: see
    `background.fitted`.

    Raises:
        OperatorFault: it asks what cannot be had.
    """
    places, views = seen_by(room)
    if room.privacy is None or not len(places):
        return Modelled(room, views, places)
    return _asked(room, room.privacy, views, places, estimator)


def seen_by(room: Room) -> tuple[Floats, Floats]:
    """Return where thermometers are, (sensors, 2), and what each sees, (sensors, heat cells)."""
    told = [place for group in room.thermometers for place in group.places_m]
    places = np.array(told, dtype=float).reshape(-1, 2)
    return places, plan.views(room, places) if told else np.zeros((0, 0))


def _asked(
    room: Room, privacy: Privacy, views: Floats, places: Floats, estimator: str
) -> Modelled:
    kinds = [named(group.kind) for group in room.thermometers]
    steps = {kind.step for kind in kinds}
    if len(steps) > 1:
        raise OperatorFault(
            f"the room {room.name} has thermometers with {len(steps)} different steps but all "
            "must have one, for noise is laid out in whole steps of one converter. Keep one "
            "kind, or leave [privacy] out"
        )
    follows, gateway = (privacy.background == way for way in ("following", "gateway"))
    with refused():
        # What arrays see is bounded by nothing here; they are simulated, and not asked.
        response = respond_day(
            replace(room, arrays=()),
            privacy.protect_distance_m,
            rounds_s(room, privacy.readings, privacy.every_min),
            through_walls=privacy.through_walls,
        )
        query = Query(
            grid=model.grid(room),
            sensors=(len(places),),
            spread_m2=math.inf,
            epsilon=privacy.epsilon,
            delta=privacy.delta,
            protect_distance_m=privacy.protect_distance_m,
            intensity_max=privacy.power_max_w,
            sources_max=privacy.people_max,
            step=next(iter(steps)),
            readings=privacy.readings,
            estimator=estimator,
            sensor_noise=max(kind.noise_sd_k for kind in kinds),
            response=response,
            background=privacy.background,  # type: ignore[arg-type]  # the room file is checked
            background_k=1.0,
            slew=Fraction(1, 1000) if follows else None,
            empty_readings=empty_rounds(room) if gateway else 0,
        )
    return Modelled(room, views, places, query, privacy.every_min, response.hold_s)

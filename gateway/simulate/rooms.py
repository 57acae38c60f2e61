"""A room from its file, with the query that its [privacy] asks and what its thermometers feel."""

import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from physics.instruments.presets import named
from physics.instruments.views import point_views
from physics.rooms import model
from physics.rooms.read import read
from physics.rooms.records import Privacy, Room
from physics.rooms.respond import respond
from recovery.thermal import Query

from ..commands.choices import refused
from ..faults import OperatorFault

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Modelled:
    """A room, and how it is asked."""

    room: Room
    privacy: Privacy
    query: Query
    views: Floats  # (sensors, cells)
    places_m: Floats  # (sensors, 2)
    hold_s: float  # how long the map takes a source to have stood where it is


def room_of(path: Path) -> Room:
    """Return the room of a file.

    Raises:
        OperatorFault: the file is wrong; it says in which line.
    """
    try:
        return read(path)
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault


def modelled(room: Room, swing_k: float = 0.0, estimator: str = "auto") -> Modelled:
    """Return what a room's [privacy] asks of its thermometers.

    Args:
        swing_k: how far the empty room goes from what it was at the start of the day.

    Raises:
        OperatorFault: it asks nothing, or what cannot be had.
    """
    privacy = room.privacy
    if privacy is None:
        raise OperatorFault(
            f"the room {room.name} has no [privacy] but a promise is needed, for nothing leaves "
            'a device without one. Add [privacy] with epsilon = "8/1", protect_distance_m = 0.5'
        )
    with refused():
        response = respond(room, privacy.protect_distance_m)
        kinds = [named(group.kind) for group in room.thermometers]
        steps = {kind.step for kind in kinds if kind.step is not None}
        query = Query(
            grid=model.grid(room),
            sensors=(len(response.places_m),),
            spread_m2=math.inf,
            epsilon=privacy.epsilon,
            delta=privacy.delta,
            protect_distance_m=privacy.protect_distance_m,
            intensity_max=privacy.power_max_w,
            sources_max=privacy.people_max,
            step=max(steps, default=None, key=lambda step: step or Fraction(0)),
            readings=privacy.readings,
            estimator=estimator,
            sensor_noise=max(kind.noise_sd_k for kind in kinds),
            response=response,
            background_k=swing_k,
        )
    places = response.places_m
    views = point_views(places, query.grid)
    return Modelled(room, privacy, query, views, places, response.hold_s)

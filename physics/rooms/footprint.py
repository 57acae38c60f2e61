"""Where the heat of people and of heaters goes: which cells, and how much over one step."""

from functools import lru_cache
from itertools import pairwise

import numpy as np
from scipy.special import ndtr

from .raster import cell_of, covered, layout, shape
from .records import Floats, Rect, Room
from .tracks import Track

# A person is a column of warm air, of this standard deviation each way: a disc of 0.6 m across
# has the same. The body itself is 0.4 m across; the plume widens as it rises.
FOOTPRINT_M = 0.15


def trod(track: Track, from_s: float, to_s: float) -> tuple[Floats, Floats]:
    """Return where a track is between two moments, (k, 2), and the joules given off there, (k,).

    A leg is cut into pieces of half a footprint at most, each put where its middle is: the mean
    place is exact, and the shape as good as the footprint is smooth.
    """
    since = max(from_s, float(track.at_s[0]))
    until = min(to_s, float(track.at_s[-1]))
    if until <= since:
        return np.zeros((0, 2)), np.zeros(0)
    corners = track.at_s[(track.at_s > since) & (track.at_s < until)]
    places, joules = [], []
    instants = np.concatenate(([since], np.unique(corners), [until]))
    for start, end in pairwise(instants.tolist()):
        leg = int(np.searchsorted(track.at_s, start, side="right")) - 1
        ends = [_on(track, leg, moment) for moment in (start, end)]
        pieces = max(1, int(np.ceil(2 * np.hypot(*(ends[1] - ends[0])) / FOOTPRINT_M)))
        middles = (np.arange(pieces) + 0.5)[:, None] / pieces
        places.append(ends[0] + middles * (ends[1] - ends[0]))
        joules.append(np.full(pieces, (end - start) * track.power_w[leg] / pieces))
    return np.concatenate(places), np.concatenate(joules)


def spread(room: Room, places_m: Floats, joules: Floats) -> Floats:
    """Return the joules in each cell, (rows, columns), of heat given off at places.

    Each place is spread as a Gaussian of FOOTPRINT_M over the air of its own part of the room,
    and the doors of it: none goes into a wall, or to a part that walls and doors shut off, and
    all of it stays in the room. A wall with a free end shuts nothing off, so beside it some goes
    through: a tenth for somebody 0.15 m from the middle of one of 0.1 m. A closed door is
    warmed like an open one.
    """
    rows, columns = shape(room)
    cell_m = room.cell_mm / 1000
    heat = np.zeros((rows, columns))
    if not len(places_m):
        return heat
    zones = np.array([_zone(room, (x, y)) for x, y in places_m.tolist()])
    across, down = (
        np.diff(ndtr((np.arange(count + 1) * cell_m - axis[:, None]) / FOOTPRINT_M), axis=1)
        for count, axis in ((columns, places_m[:, 0]), (rows, places_m[:, 1]))
    )
    for zone in np.unique(zones):
        here = zones == zone
        air = _air(room, int(zone))
        total = ((down[here] @ air) * across[here]).sum(axis=1)
        heat += air * ((down[here] * (joules[here] / total)[:, None]).T @ across[here])
    return heat


def covering(room: Room, rect: Rect) -> Floats:
    """Return the share of its heat that a heater gives to each cell, (rows, columns), in all 1."""
    share = covered(room, rect) * ~layout(room).walls
    return np.asarray(share / share.sum())


@lru_cache(maxsize=64)
def _air(room: Room, zone: int) -> Floats:
    # 1 in the cells that somebody in a zone warms; whoever stands in a door warms both sides.
    plan = layout(room)
    return ((plan.zone == zone) | plan.doors if zone else ~plan.walls).astype(float)


def _zone(room: Room, place: tuple[float, float]) -> int:
    plan = layout(room)
    row, column = plan.nearest[:, *cell_of(room, place)]
    return int(plan.zone[row, column])


def _on(track: Track, leg: int, moment: float) -> Floats:
    start, end = track.at_s[leg : leg + 2]
    share = (moment - start) / (end - start)
    return np.asarray((1 - share) * track.places_m[leg] + share * track.places_m[leg + 1])

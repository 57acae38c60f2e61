"""One recorded frame seen through the veil, and what is made of it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edge import thermal
from edge.records import Release
from edge.thermal import params_of
from recovery.maps.heatmap import Heatmap, Unresolved
from recovery.thermal import Query, plan
from recovery.thermal.frames import people, recover

from ..mechanisms.flags import undrawn
from .recorded import Recorded

Floats = NDArray[np.float64]


class Drawn(NamedTuple):
    """What was sent, and the map and the people that were made of it."""

    sent: Floats  # (side, side), in kelvin
    found: Heatmap | Unresolved
    people: Floats  # (side, side)

    @property
    def somewhere(self) -> bool:
        """Whether any heat was found, so that the map says where."""
        return isinstance(self.found, Heatmap) and self.found.total > 0

    @property
    def mass(self) -> Floats:
        """The map; uniform where there is none, for then nothing is known."""
        if isinstance(self.found, Heatmap):
            return self.found.mass
        return np.full(self.people.shape, 1 / self.people.size)


def drawn(recorded: Recorded, query: Query, frame: int, rng: Any = None) -> Drawn:
    """Return what is made of one frame under a promise of its own.

    Args:
        query: its epsilon is that of this frame.
        frame: its number among those recorded.
        rng: where the noise comes from; None for no veil at all, to compare with.

    Raises:
        ValueError: the query cannot be planned.
    """
    round: Any = plan(replace(query, readings=1), [])  # the first of one is never None
    reading = recorded.reading(round, frame)
    if rng is not None:
        payload = thermal.report(round, reading, rng)
    else:
        bare = params_of(round)._replace(variance=0)
        round, payload = round._replace(params=tuple(bare)), [0, *reading.values]
    return seen(recorded, query, [thermal.release(round, [payload], rng)])


def seen(recorded: Recorded, query: Query, releases: Sequence[Release]) -> Drawn:
    """Return what is made of frames that were released: their mean, its map, its people."""
    counted = people(query, releases, recorded.blur.heat)
    grains = np.mean([release.values for release in releases], axis=0)
    sent = np.ldexp(grains, -params_of(releases[0].round).exponent)
    with undrawn():
        found = recover(query, releases)
    return Drawn(sent.reshape(counted.shape), found, counted)

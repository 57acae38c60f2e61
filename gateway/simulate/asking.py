"""The rounds of a simulated day: read, veiled on the device, and mapped as a gateway would."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge.records import Reading
from edge.thermal import Params
from physics.instruments.chain import Counts, Instruments
from physics.instruments.presets import named
from physics.instruments.stage import grains
from physics.rooms.records import Room
from recovery.heatmap import Heatmap

from ..commands.stages import Stage
from ..mechanisms import Mechanism
from .records import Lived

Floats = NDArray[np.float64]


class Thermometers:
    """Every thermometer of a room, kind by kind, in the order of its file."""

    def __init__(self, room: Room, world: np.random.Generator) -> None:
        self._kinds = [
            Instruments(named(group.kind), len(group.places_m), world, room.air.baseline_c)
            for group in room.thermometers
        ]

    def see(self, temperatures_k: Floats, at_s: float) -> list[Counts]:
        """Return the counts of each kind at a moment, for all temperatures, (sensors,)."""
        ends = np.cumsum([kind.count for kind in self._kinds])[:-1]
        parts = np.split(temperatures_k, ends)
        return [kind.see(part, at_s) for kind, part in zip(self._kinds, parts, strict=True)]

    def grains(
        self, counts: Sequence[Counts], empty: Sequence[Counts], exponent: int
    ) -> list[int | None]:
        """Return readings less the empty room's, in grains; None where none came. Private."""
        found: list[int | None] = []
        for kind, now, before in zip(self._kinds, counts, empty, strict=True):
            for one, level in zip(now, before, strict=True):
                if one is None or level is None:
                    found.append(None)
                else:
                    found += grains([one], [level], exponent, kind.step)
        return found


@dataclass(frozen=True, eq=False)
class Asked:
    """One round of a day: when, what was read, what was sent, what came of it."""

    at_s: float
    read: tuple[int | None, ...]
    release: Any
    found: Any  # Heatmap | Unresolved


def ask(
    mechanism: Mechanism,
    query: Any,
    lived: Lived,
    thermometers: Thermometers,
    moments_s: Sequence[float],
    rng: Any,
    stage: Stage,
) -> list[Asked]:
    """Return the rounds of a lived day, each with its own map.

    The level that a device takes off is what it counted at the start of the day, in the empty
    room. What the empty room has done since, heaters and weather, the gateway takes off after
    the veil: it follows from the room's file alone.
    """
    rounds: list[Asked] = []
    level = thermometers.see(lived.empty_k[0], float(lived.times_s[0]))
    due = list(moments_s)
    for step in range(1, len(lived.times_s)):
        at_s = float(lived.times_s[step])
        counts = thermometers.see(lived.seen_k[step], at_s)
        if not due or at_s < due[0] - 1e-6:
            continue
        due.pop(0)
        round = mechanism.plan(query, [asked.release for asked in rounds])
        if round is None:
            break
        exponent = Params(*round.params).exponent
        readings = thermometers.grains(counts, level, exponent)
        payloads = [
            mechanism.report(round, Reading(sensor, (value,)), rng)
            for sensor, value in enumerate(readings)
            if value is not None
        ]
        release = mechanism.release(round, payloads, rng)
        known = np.rint(np.ldexp(lived.empty_k[step] - lived.empty_k[0], exponent))
        stage(f"drawing the maps, {len(rounds) + 1} of {len(moments_s)}")
        found = mechanism.recover(query, [less(release, known)])
        heard = tuple(count for kind in counts for count in kind)
        rounds.append(Asked(at_s, heard, release, found))
    return rounds


def less(release: Any, grains_k: Floats) -> Any:
    """Return a release with a public number of grains taken off each sensor."""
    values = [
        None if value is None else value - int(known)
        for value, known in zip(release.values, grains_k, strict=True)
    ]
    return release._replace(values=values)


def mass_of(found: Any) -> Floats | None:
    """Return the map, or None where there is none or it is no estimate."""
    return found.mass if isinstance(found, Heatmap) and found.total > 0 else None

"""Layer `deployment`: an operator's own deployment, and what its devices are enrolled with."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from edge.core.entropy import Tape

from ...mechanisms import Mechanism
from ..arithmetic import accountant
from ..bench import Device
from ..claim import Claim, Effort, claim_at_most, claim_fact

TRIES = 24  # backgrounds for each move that is kept
CELLS = 6  # across and down, of those that a finite mechanism's answers are enumerated for


class Own(NamedTuple):
    """One deployment, audited in place of the audit's rooms: what it asks, what its devices hold.

    held: the different limits of its devices; of those that would be enrolled, if none are.
    plan: the file of its room, if it has one.
    """

    name: str
    mechanism: str
    query: Any
    held: tuple[Any, ...]
    plan: Path | None

    def replace_rooms(self, mechanism: Mechanism) -> Mechanism:
        """Return the mechanism with this deployment for its only room."""
        return replace(mechanism, subject=_Room(mechanism.subject, self))

    def has_values(self, **values: str) -> bool:
        """Say whether the query has these values."""
        return all(getattr(self.query, name, "") == value for name, value in values.items())


class _Room:
    """What the audit knows of a mechanism, for one room."""

    def __init__(self, subject: Any, own: Own) -> None:
        self._subject, self._own = subject, own

    def __getattr__(self, name: str) -> Any:
        return getattr(self._subject, name)

    def list_queries(self) -> list[tuple[str, Any]]:
        """Return the one room; its levels and its tables have layers of their own."""
        query = self._own.query
        if self._own.has_values(background="following"):
            query = replace(query, background="recorded", slew=None)
        if self._own.has_values(sampler="table"):
            query = replace(query, sampler="exact")
        return [(self._own.name, query)]

    def list_sweeps(self, full: bool) -> list[Any]:
        """Return no other rounds."""
        return []

    def search_neighbours(self, query: Any, round: Any, rng: Any, tries: int) -> Any:
        """Return what the mechanism's own search finds, on ways that one can walk if need be."""
        more = (
            () if self._own.plan is None else (_find_walkable_steps(self._own.plan, query.grid),)
        )
        return self._subject.search_neighbours(query, round, rng, tries, *more)

    def find_neighbours(self, query: Any, round: Any) -> tuple[Any, Any]:
        """Return the neighbours that the search finds, as whole-number readings."""
        found = self.search_neighbours(query, round, Tape(b"neighbours"), TRIES)
        return np.array(found.before, dtype=np.int64), np.array(found.after, dtype=np.int64)

    def list_readings(self, round: Any) -> list[Any]:
        """Return readings that a device may hold; of many cells the corners and some between."""
        found = list(self._subject.list_readings(round))
        if self._subject.KIND != "finite":
            return found
        columns, rows = round.grid.shape
        across, down = (
            {i * (side - 1) // (CELLS - 1) for i in range(CELLS)} for side in (columns, rows)
        )
        return [
            one
            for place, one in enumerate(found)
            if place >= columns * rows or (place % columns in across and place // columns in down)
        ]


def _find_walkable_steps(plan: Path, grid: Any) -> tuple[Any, ...]:
    """Return from which cell's middle one can walk straight to the next one's, right and down."""
    from physics.rooms.plan import make_lattice  # seldom needed, and much
    from physics.rooms.read import read_room

    room, (columns, rows) = read_room(plan), grid.shape
    floor = make_lattice(room, (False,) * len(room.doors))
    middles = (np.indices((rows, columns))[::-1] + 0.5) * grid.cell_mm / 1000
    found = []
    for apart in ((grid.cell_mm / 1000, 0.0), (0.0, grid.cell_mm / 1000)):
        starts = middles.reshape(2, -1).T
        found.append(floor.are_ways_free(starts, starts + apart).reshape(rows, columns))
    return tuple(found)


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what devices of this deployment can give away in all.

    What its devices were enrolled with keeps the promise: real devices answer under those very
    limits until they are silent for good, and what they answered is held against epsilon. What it
    cannot see: whether the room, the sensors and the people are as the file says.
    """
    ((name, query),), subject = mechanism.subject.list_queries(), mechanism.subject
    round, times = mechanism.plan(query, ()), query.readings
    for place, limits in enumerate(effort.own.held):
        of = f"{name}, limits {place + 1}"
        root = effort.root("deployment", place)
        device, answers = Device(round, root, held=limits), 0
        for number in range(1, times + 3):
            values = (
                subject.list_readings(round)[0].values[:1] if subject.KIND == "noise" else (0, 0)
            )
            answers += device.ask(number, values) is not None
        sentence = f"{of}: no device answers more often than was promised"
        yield claim_at_most(sentence, times, answers, unit="answers", samples=times + 2)
        yield claim_fact(
            f"{of}: what is asked is answered",
            answers > 0,
            samples=times + 2,
            detail=device.node.refusal if not answers else f"{answers} of {times}",
        )
        if subject.KIND == "noise":  # at the least noise that these limits let through
            square, variance = Fraction(limits.square), Fraction(limits.variance)
            yield next(accountant.claim_variance(of, round.guarantee, square, variance, times))
        else:
            yield claim_at_most(
                f"{of}: the epsilons of all answers add up to no more than is promised",
                Fraction(*round.guarantee.epsilon),
                answers * subject.price_answer(round),
                unit="epsilon",
                samples=times + 2,
            )

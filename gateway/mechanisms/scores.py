"""What a play is measured by: how long each verb took, how near its map came to the truth."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge.core import wire
from edge.core.records import Report
from edge.mechanisms import central
from recovery.distance import earth_movers, kl, mse, pearson, similarity, wasserstein2
from recovery.maps.sentence import Wording

from ..output import Stage
from .flags import convert_plan_faults, convert_recovery_faults
from .record import Verbs

# How near a map came to the truth, in the numbers that `play` writes and the demo prints.
#
# Only a simulation has these: in a real room nobody knows the truth.

Floats = NDArray[np.float64]
Scores = dict[str, float | None]

# Straight ways between more pairs of cells than this take longer than a play.
_PAIRS_MAX = 2**27

_SCORES: dict[str, Callable[[Floats, Floats], float]] = {
    "emd_l1": lambda truth, mass: earth_movers(truth, mass, "l1"),
    "emd_l2": lambda truth, mass: _compute_straight_distance(truth, mass),
    "w2": wasserstein2,
    "similarity": similarity,
    "pearson": pearson,
    "kl": kl,
    "mse": mse,
}


def compute_scores(truth: Floats, mass: Floats | None) -> Scores:
    """Return every score of a map against the truth; None where it was not computed.

    Args:
        truth: (rows, columns), the heat that there is, of any total above 0.
        mass: (rows, columns), the map, which adds to one; None where there is no map.

    Distances are in units of the map's longer side, the interval; `w2_cells` is in cells.
    """
    if mass is None:
        return dict.fromkeys((*_SCORES, "w2_cells"))
    true_mass = truth / truth.sum()
    found = {name: _compute_score(score, true_mass, mass) for name, score in _SCORES.items()}
    w2 = found["w2"]
    return {**found, "w2_cells": None if w2 is None else w2 * max(truth.shape)}


WORTHLESS = "Such a map says next to nothing"


def is_hardly_better_than_blind(off: float, blind: float) -> bool:
    """Return whether a map that is so far off is hardly nearer than a guess without data."""
    return off > 0.8 * blind


def score_blind_guess(truth: Floats, name: str = "emd_l1") -> float | None:
    """Return a score of a guess that has seen nothing: as much in every cell.

    What a map must beat to be worth anything.

    >>> score_blind_guess(np.array([[0.0, 1.0, 0.0, 0.0]]))
    0.25
    """
    uniform = np.full(truth.shape, 1 / truth.size)
    return _compute_score(_SCORES[name], truth / truth.sum(), uniform)


def _compute_straight_distance(truth: Floats, mass: Floats) -> float:
    pairs = int(np.count_nonzero(truth)) * int(np.count_nonzero(mass))
    if min(truth.shape) > 1 and pairs > _PAIRS_MAX:
        raise ValueError(f"{pairs} pairs of cells are too many to wait for")
    return earth_movers(truth, mass, "l2")


def _compute_score(
    score: Callable[[Floats, Floats], float], truth: Floats, mass: Floats
) -> float | None:
    """Return the score, or None where it does not apply: too large a plane, a flat map."""
    try:
        value = float(score(truth, mass))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def count_frame_bytes(mechanism: Any, round: Any, numbers: int | None = None) -> int:
    """Return how long the frame of one report is on the wire, sealed and signed as it goes out.

    Of a secure sum, whose numbers go out in pieces and among other messages, as if they were one.

    Args:
        numbers: in a report; None for as many as the mechanism says.
    """
    count, bits = 1 + (numbers or mechanism.vector_length(round)), mechanism.bits(round)
    payload: Any = [0] * count
    if mechanism.trust == "central":
        payload, bits = bytes(central.count_sealed_bytes(count)), 0
    report = Report(wire.name_of(round), "node-00", 1, 1, payload)
    topic = wire.topic("lab", report.sender, "data")
    return len(wire.pack_report(report, bytes(32), topic, bits))


# Looks on while a mechanism is played: how long each verb took, and what was released.

_DOING = {
    "plan": "working out the noise",
    "report": "blurring the readings",
    "release": "gathering the reports",
    "recover": "drawing the map",
}
VERBS = tuple(_DOING)
# So many reports are a crowd: whoever waits for them hears how many there are, and how fast.
_CROWD = 2_000
SEEDED = Wording(
    "guarantee.trust.seeded",
    "in everybody, for this is not private: it was an experiment with --seed, and whoever knows "
    "the seed can repeat the noise and take it off",
)()


@dataclass
class Watch:
    """What was seen of one protocol."""

    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(VERBS, 0.0))
    releases: list[Any] = field(default_factory=list)
    reports: int = 0
    stage: Stage = lambda verb: None  # hears which verb begins

    def watch_mechanism(
        self,
        mechanism: Verbs,
        seeded: bool = False,
        reporter: Callable[[Any], Callable[[Any, Any], list[int]]] | None = None,
    ) -> Verbs:
        """Return the same mechanism, watched.

        Args:
            seeded: the noise can be repeated; then every Round's guarantee says so.
            reporter: makes of a Round what reports to it, (reading, rng) -> payload, for a
                mechanism whose devices keep something ready; None for its own report.

        Raises:
            OperatorFault: from the new plan, where the query cannot be served, and from the
                new recover, where its estimator cannot draw such a map.
        """

        made = reporter or (lambda round: partial(mechanism.report, round))
        ready: dict[str, Any] = {}  # for the round at hand

        def plan(query: Any, releases: Sequence[Any]) -> Any:
            with self._time_verb("plan"), convert_plan_faults():
                round = mechanism.plan(query, releases)
            if round is None or not seeded:
                return round
            return round._replace(guarantee=round.guarantee._replace(trust=SEEDED))

        def report(round: Any, reading: Any, rng: Any) -> list[int]:
            if self.reports < _CROWD:  # then the last word says more
                self.stage(_DOING["report"])
            if ready.get("round") is not round:
                ready.update(round=round, report=made(round))
            began_s = time.perf_counter()
            payload: list[int] = ready["report"](reading, rng)
            self.seconds["report"] += time.perf_counter() - began_s
            self.reports += 1
            if self.reports % _CROWD == 0:
                self.stage(f"{_DOING['report']}, {self.reports:,} so far{self.describe_rate()}")
            return payload

        def release(round: Any, payloads: Any, rng: Any) -> Any:
            with self._time_verb("release"):
                self.releases.append(mechanism.release(round, payloads, rng))
            return self.releases[-1]

        def recover(query: Any, releases: Any) -> Any:
            with self._time_verb("recover"), convert_recovery_faults():
                return mechanism.recover(query, releases)

        return Verbs(mechanism.name, plan, report, release, recover)

    def describe_rate(self) -> str:
        """Return in words how many reports a second were made; empty where there are few."""
        if self.reports < _CROWD:
            return ""
        return f" ({self.reports / max(self.seconds['report'], 1e-9):,.0f} reports a second)"

    @contextmanager
    def _time_verb(self, verb: str) -> Iterator[None]:
        self.stage(_DOING[verb])
        began_s = time.perf_counter()
        yield
        self.seconds[verb] += time.perf_counter() - began_s

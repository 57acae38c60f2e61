"""A map says how many sensors made it; too few make none, and that is a result with a reason."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from edge.core.records import Release
from gateway.service.drawing import Turnout, draw
from recovery.maps.heatmap import Heatmap, Unresolved


class Solver:
    """Draws the same map of whatever comes, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def recover(self, mechanism: str, query: Any, releases: Sequence[Any]) -> Heatmap | Unresolved:
        self.asked += 1
        last = releases[-1].round
        return Heatmap(last.grid, np.full((1, 10), 0.1), last.guarantee, 1.0, "optimal")

    def stop(self) -> None: ...


@pytest.mark.parametrize(("used", "quorum"), [(0, 1), (2, 3), (3, 4)])
def test_below_the_quorum_there_is_no_map_and_the_reason_is_published(
    home: Any, used: int, quorum: int
) -> None:
    """A map of three sensors where twelve were meant looks like one of twelve."""
    plan, solver = home.round(), Solver()
    found = draw(solver, "lab", plan, [Release(plan, [1] * 4, 4)], Turnout(used, 4, 1, quorum))

    assert found is not None
    assert solver.asked == 0
    said = json.loads(found.letter.payload)
    assert (said["status"], said["mass"]) == ("unresolved", None)
    assert f"of 4 answered and [rounds] quorum asks for {quorum}" in said["why"]
    assert (said["sensors_used"], said["sensors_enrolled"], said["late"]) == (used, 4, 1)


def test_as_many_as_the_quorum_make_a_map_that_says_of_how_many(home: Any) -> None:
    """Not one more is asked for than the operator wants."""
    plan, solver = home.round(), Solver()
    found = draw(solver, "lab", plan, [Release(plan, [1] * 4, 4)], Turnout(3, 4, 0, 3))

    assert found is not None
    said = json.loads(found.letter.payload)
    assert said["status"] == "solved"
    assert sum(map(sum, said["mass"])) == pytest.approx(1.0)
    assert (said["sensors_used"], said["quorum"]) == (3, 3)
    assert found.letter.retain
    assert found.body.encode() == found.letter.payload

"""People in several places each, as `heatveil play pyramid --points` reads them."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edge.core.entropy import Tape
from edge.core.records import Grid
from gateway.faults import OperatorFault
from gateway.mechanisms import find
from gateway.mechanisms.pyramid.crowd import crowd_of
from gateway.mechanisms.worlds import Inputs
from recovery.pyramid import Query, plan

MECHANISM = find("pyramid")
WORLD = np.random.default_rng(0)


def a_file(folder: Path, rows: str, head: str = "user,x,y,weight") -> Inputs:
    path = folder / "points.csv"
    path.write_text(f"{head}\n{rows}\n")
    return Inputs(points=str(path))


def test_several_rows_of_a_user_are_one_mass(tmp_path: Path) -> None:
    """Two of weight 3 share one mass; one of weight a quarter has no more than that."""
    inputs = a_file(tmp_path, "a,0.1,0.1,3\nb,0.6,0.6,0.25\na,0.9,0.1,3")

    crowd = crowd_of(Query(Grid((2, 2), 0), (1, 1)), inputs, WORLD)

    np.testing.assert_allclose(crowd.truth, [[0.5, 0.5], [0, 0.25]])
    assert (crowd.query.users, crowd.query.places) == (2, 2)
    assert "more than one mass, a row without a weight being one: 1;" in crowd.beyond()
    assert "all of them at once, 2 places a report" in crowd.beyond()
    round = plan(crowd.query, ())
    payloads = [MECHANISM.report(round, one, None) for one in crowd.readings(round)]
    assert [sum(payload[2::2]) for payload in payloads] == [1024, 256]


@pytest.mark.parametrize(
    ("name", "more"), [("pyramid", {}), ("ranks", {}), ("ranks", {"points": 2})]
)
def test_points_beyond_the_grid_count_or_are_refused_and_never_dropped(
    tmp_path: Path, name: str, more: Any
) -> None:
    """Whichever was chosen is said."""
    inputs = a_file(tmp_path, "a,0.1,0.1\nb,1.6,0.6", "user,x,y")
    mechanism = find(name)
    query = mechanism.query(Grid((4, 4), 0), (1, 1), **more)

    crowd = mechanism.world(query, inputs, WORLD)

    assert crowd.truth.sum() == 2
    assert "1 of the points stands beyond the grid" in crowd.beyond()
    with pytest.raises(OperatorFault, match=r"1 of 2 points beyond the grid, the first at 1\.6"):
        mechanism.world(replace(query, outside="refuse"), inputs, WORLD)


def test_points_over_time_are_told_one_after_the_other(tmp_path: Path) -> None:
    """Two points at a time: the first two, then the third; who has no more is said to repeat."""
    rows = "a,0.1,0.1\na,0.9,0.1\na,0.1,0.9\na,0.1,0.9\nb,0.9,0.9"
    ranks = find("ranks")
    query = ranks.query(Grid((2, 2), 0), (1, 1), points=2, readings=2)

    crowd = ranks.world(query, a_file(tmp_path, rows, "user,x,y"), WORLD)

    np.testing.assert_allclose(crowd.truth, [[0.5, 0.5], [1, 2]])
    assert "told before: 1;" in crowd.beyond()


SIX = "\n".join(f"{user},0.{row},0.{row}" for user in "ab" for row in range(1, 7))


def test_rows_that_a_report_has_no_room_for_are_told_of(tmp_path: Path) -> None:
    """Four of six rows are left out for each of two users, or the play is refused."""
    inputs, ranks = a_file(tmp_path, SIX, "user,x,y"), find("ranks")
    query = ranks.query(Grid((4, 4), 0), (1, 1), points=2)

    found = [ranks.world(replace(query, points=many), inputs, WORLD).beyond() for many in (2, 6)]
    assert ["holds 2: 8;" in found[0], "points=6" in found[0], found[1]] == [True, True, ""]
    with pytest.raises(OperatorFault, match=r"readings=6,.*points=6"):
        ranks.world(replace(query, points=1), inputs, WORLD)
    for places in (1, 2):
        with pytest.raises(OperatorFault, match="places=6"):
            crowd_of(Query(Grid((4, 4), 0), (1, 1), places=places), inputs, WORLD)


@pytest.mark.parametrize(
    ("name", "more", "rows", "why"),
    [
        ("quadtree", {"adjacency": "zero-out", "readings": 3}, "a,0.1,0.1,1\na,0.9,0.9,1", "2. t"),
        ("ranks", {"points": 2}, "a,0.1,0.1,1\na,0.9,0.9,2", "line 3: the weight is 2"),
        ("ranks", {}, "a,0.1,0.1,3", "line 2: the weight is 3"),
    ],
)
def test_what_a_play_would_leave_out_of_a_file_is_refused(
    tmp_path: Path, name: str, more: Any, rows: str, why: str
) -> None:
    """Rows of who moves, where all rounds ask the same crowd; weights, where a row counts one."""
    mechanism = find(name)

    with pytest.raises(OperatorFault, match=why):
        mechanism.world(
            mechanism.query(Grid((4, 4), 0), (1, 1), **more), a_file(tmp_path, rows), WORLD
        )


@pytest.mark.parametrize("rows", ["", "a,nan,0.2"])
def test_a_file_without_places_is_refused_in_a_line(tmp_path: Path, rows: str) -> None:
    """Empty input must not become a map."""
    with pytest.raises(OperatorFault, match=r"points\.csv"):
        crowd_of(Query(Grid((4, 4), 0), (1, 1)), a_file(tmp_path, rows, "user,x,y"), WORLD)


def test_a_map_says_first_who_is_trusted(tmp_path: Path) -> None:
    """A reader must not take it for a promise against the gateway; one user is enough."""
    crowd = crowd_of(Query(Grid((4, 4), 0), (1, 1)), a_file(tmp_path, "a,0.1,0.1,1"), WORLD)
    round = plan(crowd.query, ())
    payloads = [MECHANISM.report(round, one, None) for one in crowd.readings(round)]

    released = MECHANISM.release(round, payloads, Tape(b"one"))
    found = MECHANISM.recover(crowd.query, [released])
    assert MECHANISM.lines(found)[0].startswith("Trusted: the gateway")
    with pytest.raises(OperatorFault, match="whole number for every square"):
        MECHANISM.check_possible(released._replace(values=released.values[1:]), tmp_path)


def test_what_a_level_is_off_by_can_be_asked_before() -> None:
    """sqrt(2) / epsilon_i users, and the shares of epsilon add up."""
    query: Any = Query(Grid((256, 256), 0), (1, 2), estimator="sparse")
    given = {"every_s": None, "plot": None, "inputs": (), "stage": print}

    (line,) = MECHANISM.calibrate(query, as_json=True, **given).lines
    levels = json.loads(line)["levels"]

    assert sum(Fraction(*one["epsilon"]) for one in levels) == Fraction(1, 2)
    assert levels[0]["noise_sd_users"] == pytest.approx(
        2**0.5 / float(Fraction(*levels[0]["epsilon"]))
    )

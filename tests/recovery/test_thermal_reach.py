"""Whether a spread is too short or too long, and whether what is offered instead would do."""

import re
from dataclasses import replace

import pytest

from edge.records import Grid
from recovery.thermal_noise import calibration, room
from recovery.thermal_query import Query
from recovery.thermal_reach import spread_fault, too_long

LINE = Query(Grid((48, 1), 250), (50,), 4.0, (8, 1), walls="insulated")
ROOMS = [
    LINE,
    replace(LINE, walls="none", grid=Grid((100, 1), 0)),
    replace(LINE, sensors=(3,)),
    replace(LINE, sensors=(2,), grid=Grid((9, 1), 0)),
    replace(LINE, grid=Grid((12, 8), 500), sensors=(6, 4)),
]


@pytest.mark.parametrize("query", ROOMS)
@pytest.mark.parametrize(("spread_m2", "said"), [(1e-12, "stand"), (1e9, "evened out")])
def test_the_spread_that_is_offered_would_do(query: Query, spread_m2: float, said: str) -> None:
    """Too short and too long are opposite faults; both ends of the range mend either."""
    bad = room(replace(query, spread_m2=spread_m2))
    fault = spread_fault(bad)
    offered = re.search(r"spread_m2 from ([\d.e-]+) to ([\d.e-]+)", fault)

    assert said in fault
    assert f"spread_m2 is {spread_m2:g}" in fault
    assert too_long(bad) == (said == "evened out")
    assert offered
    for spread in map(float, offered.groups()):
        made = calibration(replace(query, spread_m2=spread))
        assert made.sensitivity > 1e-3
        assert not too_long(room(replace(query, spread_m2=spread)))


@pytest.mark.parametrize("calibration_name", ["exact", "paper"])
def test_a_room_that_has_evened_out_is_refused_as_such(calibration_name: str) -> None:
    """A longer wait or nearer sensors would be the opposite of what helps."""
    query = replace(LINE, spread_m2=4000.0, calibration=calibration_name, epsilon=(1, 1))
    with pytest.raises(ValueError, match="the room is 12 m long: the heat has evened out"):
        calibration(query)

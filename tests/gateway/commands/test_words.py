"""What a terminal says of a map is of what is mapped: warmth, or people."""

from typing import Any

import pytest

from edge.records import Grid, Guarantee
from gateway.commands import once, showing
from gateway.serves.table import SERVES
from recovery.maps.heatmap import Unresolved

PROMISE = Guarantee((1, 1), None, None, "any two cells", "local", "one report", "presence")


@pytest.mark.parametrize(
    ("mechanism", "mapped", "who"),
    [("thermal", "the warmth is", "Sensors"), ("disk", "the people are", "Devices")],
)
@pytest.mark.parametrize("sd", [None, [[0.1, 0.1]]])
def test_a_map_is_of_what_its_mechanism_maps(
    mechanism: str, mapped: str, who: str, sd: Any
) -> None:
    """Whether somebody knows how sure it is says nothing of what it is of."""
    body = {"status": "solved", "mass": [[0.25, 0.75]], "sd": sd, "total": 1.0, "number": 3}
    used = {"number": 3, "sensors_used": 5, "sensors_enrolled": 6}
    found = Unresolved(Grid((2, 1), 0), PROMISE, 1.0, 1.0, "too few")

    assert f"darkest where most of {mapped}" in once.drawn(body, SERVES[mechanism].most_of)
    assert f"{who} used: 5 of 6." in showing._told(used, found, None, mechanism)

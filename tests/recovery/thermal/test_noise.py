"""Whether a spread is too short or too long, and whether what is offered instead would do."""

import math
import re
from dataclasses import replace
from fractions import Fraction

import pytest

from edge.core.records import Grid
from physics.response import Response
from recovery.thermal import plan
from recovery.thermal.curve import bound_presence_square, compute_curve
from recovery.thermal.noise import (
    calibrate_query,
    describe_spread_fault,
    make_room,
    spreads_beyond_room,
)
from recovery.thermal.query import Query, count_protected_cells
from recovery.thermal.search import make_corridor_response

# What a query says beside a room's own response, and who comes or goes in such a room.


def asking(made: Response, **others: object) -> Query:
    asked = {
        "grid": made.grid,
        "sensors": (len(made.places_m),),
        "spread_m2": math.inf,
        "epsilon": (1, 1),
        "protect_distance_m": 0.5,
        "intensity_max": 80.0,
        "response": made,
    }
    return Query(**(asked | others))  # type: ignore[arg-type]


def test_nothing_but_the_noise_that_is_stated_makes_it_narrower() -> None:
    """Every field that has to do with noise, and the sigma that each comes to."""
    query = asking(make_corridor_response(), readings=3)
    plain = calibrate_query(query)
    for change in (
        {"keyholder": True},
        {"sources_max": 40},
        {"sensor_noise": 0.5},
        {"background_k": 9.0},
        {"sources": 1, "intensity_min": 1.0},
        {"background": "gateway", "background_k": 1.0, "empty_readings": 1},
        {"failure": 0.5},
    ):
        assert calibrate_query(replace(query, **change)) == plain  # type: ignore[arg-type]
    loud = calibrate_query(replace(query, sigma=(1, 1000)))
    assert loud.epsilon > 100
    assert loud.sensitivity_squared * 4.0**-loud.exponent >= 0.99 * plain.sensitivity**2


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
    bad = make_room(replace(query, spread_m2=spread_m2))
    fault = describe_spread_fault(bad)
    offered = re.search(r"spread_m2 from ([\d.e-]+) to ([\d.e-]+)", fault)

    assert said in fault
    assert f"spread_m2 is {spread_m2:g}" in fault
    assert spreads_beyond_room(bad) == (said == "evened out")
    assert offered
    for spread in map(float, offered.groups()):
        made = calibrate_query(replace(query, spread_m2=spread))
        assert made.sensitivity > 1e-3
        assert not spreads_beyond_room(make_room(replace(query, spread_m2=spread)))


# A converter behind the one that is seen, whose counts flip on all sensors at once too.

FAINT = 1e-6  # of a source's strength: what it moves is nothing, but for the counts that flip


@pytest.mark.parametrize(
    "query",
    [
        replace(LINE, sensors=(3,), intensity_max=FAINT),
        replace(LINE, intensity_max=FAINT, grid=Grid((12, 8), 500), sensors=(6, 4)),
        asking(make_corridor_response(), intensity_max=FAINT),
    ],
)
def test_a_converter_behind_flips_every_sensor_by_its_count_as_well(query: Query) -> None:
    """A move of nearly nothing shows as a fifth and a hundredth of a kelvin on each of them."""
    step, behind = Fraction(1, 100), Fraction(1, 5)
    lone, both = replace(query, step=step), replace(query, step=step, behind=behind)
    made = calibrate_query(both)
    flipped = math.prod(query.sensors) * math.ceil((step + behind) * 2**made.exponent) ** 2

    assert made.sensitivity_squared == flipped == bound_presence_square(both, made)
    assert made.step == math.ceil((step + behind) * 2**made.exponent)
    little = calibrate_query(replace(lone, behind=Fraction(1, 250)))
    assert little.step == math.ceil(step * 2**little.exponent)  # in whole steps no move shows more
    alone = calibrate_query(lone)
    assert alone.sensitivity_squared < flipped * 4.0 ** (alone.exponent - made.exponent) / 100
    (moved,) = compute_curve(both, [count_protected_cells(both)])
    assert moved.epsilon == pytest.approx(made.epsilon, rel=0.01)


def test_the_printed_formula_is_held_to_a_converter_behind_too() -> None:
    """Where it is private at all: what it really gives has what all sensors may flip by in it."""
    printed = replace(LINE, calibration="paper", epsilon=(1, 2), intensity_max=500.0)
    lone = replace(printed, step=Fraction(1, 100))
    both = replace(lone, behind=Fraction(1, 5))
    one, two = calibrate_query(lone), calibrate_query(both)

    assert one.exponent == two.exponent
    assert two.sensitivity_squared > one.sensitivity_squared
    assert bound_presence_square(both, two) > bound_presence_square(lone, one)
    cells = [count_protected_cells(both)]
    assert compute_curve(both, cells)[0].epsilon > compute_curve(lone, cells)[0].epsilon
    # The promise names both, and one alone by itself: databases hold charges of one promise.
    said = [plan(query, ()).guarantee.neighbours for query in (lone, both)]
    assert "whole steps of 1/100 K, " in said[0]
    assert "whole steps of 1/100 K of what others show in counts of at most 1/5 K, " in said[1]


# Noise that is enough for the shortest spread of a range is enough for the whole of it.


@pytest.mark.parametrize(
    ("name", "value"), [("grid", Grid((6, 4), 400)), ("drift_slope", 0.1), ("sensors", (2,))]
)
def test_another_room_than_that_of_the_response_is_refused(name: str, value: object) -> None:
    """Cells of another size would be further apart, or nearer, than what is promised."""
    with pytest.raises(ValueError, match=f"{name} is .* beside the response of a room"):
        asking(make_corridor_response(), **{name: value})

"""What a query says beside a room's own response, and who comes or goes in such a room."""

import math
from dataclasses import replace

import numpy as np
import pytest

from edge.records import Grid
from physics.response import Response
from recovery.responses import coming, displacement
from recovery.thermal import Query, calibration
from recovery.thermal_curve import presence, presence_square
from recovery.thermal_parted import parted


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


@pytest.mark.parametrize(
    ("name", "value"), [("grid", Grid((6, 4), 400)), ("drift_slope", 0.1), ("sensors", (2,))]
)
def test_another_room_than_that_of_the_response_is_refused(name: str, value: object) -> None:
    """Cells of another size would be further apart, or nearer, than what is promised."""
    with pytest.raises(ValueError, match=f"{name} is .* beside the response of a room"):
        asking(parted(), **{name: value})


def test_a_room_whose_sensors_feel_nobody_has_no_noise() -> None:
    """A hair of slack is not felt: noise for it would be next to none, and a map of nothing."""
    made = parted()
    unfelt = made.changes._replace(joint=np.zeros_like(made.changes.joint))
    with pytest.raises(ValueError, match="no sensor feels it .* Place sensors"):
        calibration(asking(replace(made, changes=unfelt)))


def test_who_goes_elsewhere_changes_no_more_than_who_leaves_and_another_who_comes() -> None:
    """By the triangle: so the presence of somebody shows at least half as much as any path."""
    made = parted()
    query = asking(made)
    whole = displacement(query, made.far_cells[-1])

    assert whole.joint <= 2 * coming(query).joint
    assert (whole.each <= 2 * coming(query).each).all()
    # And no less than who came and stayed in the one place that is felt the most.
    assert coming(query).joint >= 80 * np.linalg.norm(made.operator, axis=0).max()
    planned = calibration(query)
    assert 4 * presence_square(query, planned) > (whole.joint * 2.0**planned.exponent) ** 2
    assert presence(query) > planned.epsilon


def test_nothing_but_the_noise_that_is_stated_makes_it_narrower() -> None:
    """Every field that has to do with noise, and the sigma that each comes to."""
    query = asking(parted(), readings=3)
    plain = calibration(query)
    for change in (
        {"keyholder": True},
        {"sources_max": 40},
        {"sensor_noise": 0.5},
        {"background_k": 9.0},
        {"sources": 1, "intensity_min": 1.0},
        {"background": "gateway", "background_k": 1.0, "empty_readings": 1},
        {"failure": 0.5},
    ):
        assert calibration(replace(query, **change)) == plain  # type: ignore[arg-type]
    loud = calibration(replace(query, sigma=(1, 1000)))
    assert loud.epsilon > 100
    assert loud.sensitivity_squared * 4.0**-loud.exponent >= 0.99 * plain.sensitivity**2

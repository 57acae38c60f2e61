"""Air in numbers, against the handbook."""

import pytest

from physics.air import ACTIVITIES


def test_what_people_give_off_adds_up_as_in_the_handbook() -> None:
    """Sensible and latent are the table's totals, adjusted for men and women together."""
    totals = {"seated": 105, "standing": 130, "walking": 295, "heavy": 425, "athletics": 525}

    for name, total in totals.items():
        assert ACTIVITIES[name].sensible_w + ACTIVITIES[name].latent_w == total
    radiant = {"office": (60, 27), "standing": (58, 38), "walking": (49, 35), "heavy": (54, 19)}
    for name, (still, moving) in radiant.items():
        assert ACTIVITIES[name].convective == pytest.approx(1 - still / 100)
        assert ACTIVITIES[name].convective_moving == pytest.approx(1 - moving / 100)
    for activity in ACTIVITIES.values():
        assert 0.38 <= activity.convective < activity.convective_moving <= 0.81
        assert activity.air_w == activity.sensible_w * activity.convective

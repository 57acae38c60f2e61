"""Air in numbers, against the handbook and against measured rooms."""

import math

import pytest

from physics.air import (
    ACTIVITIES,
    AIR_J_PER_M3K,
    STILL_AIR_M2_PER_S,
    loss_per_s,
    mixing_m2_per_s,
    remaining,
    warmth,
)


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


def test_a_person_warms_bare_air_far_more_than_rooms_really_warm() -> None:
    """75 W in 47 m3 is 4.7 K/h of air; a factor of 10 to 15 makes it what offices show."""
    bare = warmth(75 * 3600, beyond=47.0)

    assert bare == pytest.approx(75 * 3600 / (AIR_J_PER_M3K * 47))
    assert bare == pytest.approx(4.76, abs=0.01)
    assert 0.3 < warmth(75 * 3600, 47.0, capacity_factor=13) < 0.41


def test_rooms_mix_as_fast_as_was_measured() -> None:
    """0.001 to 0.013 m2/s from a fifth to five changes an hour: never as slow as still air."""
    for changes, volume in ((0.2, 30.0), (1.0, 47.0), (5.0, 60.0)):
        assert 0.001 <= mixing_m2_per_s(changes, volume) <= 0.013
    assert mixing_m2_per_s(0.0, 30.0) > 30 * STILL_AIR_M2_PER_S


def test_one_change_an_hour_leaves_one_in_e_after_an_hour() -> None:
    """A well-mixed room is emptied by shares, never all at once."""
    assert remaining(loss_per_s(1.0), 3600) == pytest.approx(math.exp(-1))
    assert remaining(loss_per_s(0.0), 1e9) == 1


@pytest.mark.parametrize(
    ("call", "given", "said"),
    [
        (warmth, (math.nan,), "joules is nan but must be finite"),
        (warmth, (1.0, 0.0), "beyond is 0 but must be finite and positive"),
        (warmth, (1.0, 1.0, -2.0), "capacity_factor is -2"),
        (loss_per_s, (-1.0,), "air_changes_per_h is -1"),
        (mixing_m2_per_s, (1.0, 0.0), "volume_m3 is 0"),
        (remaining, (0.1, -1.0), "elapsed_s -1"),
    ],
)
def test_numbers_that_no_room_has_are_refused(call, given: tuple[float, ...], said: str) -> None:
    """Each is a division by nought or heat from nowhere."""
    with pytest.raises(ValueError, match=said):
        call(*given)

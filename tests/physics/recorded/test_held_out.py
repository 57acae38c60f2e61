"""Three real offices: days that the fit has not seen, beside guesses without physics.

What is asserted is what the intervals support, room by room. What they do not support is in the
bench and said in the documents: in office C the forecast is no surer thing than the last value
held.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from physics.recorded.experiments import Experiment, room_climate
from physics.recorded.fitting import Fitted, against, alternate_days, fit, forecast_errors

Rooms = dict[str, tuple[Fitted, list[Experiment]]]


@pytest.fixture(scope="module")
def rooms(data: Path) -> Rooms:
    """Return each office as fitted to every other day, and the days that were held out."""
    found = {}
    for room, experiments in room_climate(data / "thermal").items():
        first, second = alternate_days(experiments)
        assert not {one.day for one in first} & {one.day for one in second}
        found[room] = (fit(first), second)
    return found


@pytest.mark.long
def test_the_forecast_beats_the_last_value_and_the_slope(rooms: Rooms) -> None:
    errors = {room: forecast_errors(*pair) for room, pair in rooms.items()}
    days = [room + one.day for room, (_, held) in rooms.items() for one in held]
    joined = {name: np.concatenate([row[name] for row in errors.values()]) for name in errors["A"]}

    for peer, most in (("last", 0.70), ("slope", 0.55)):
        for groups in (None, days):
            assert against(joined, peer, groups).high < most
    for room in ("A", "B"):
        assert against(errors[room], "last").high < 0.9
    assert against(errors["C"], "last").ratio < 0.8  # its interval ends at 1.00


@pytest.mark.long
def test_it_is_people_who_warm_the_model(rooms: Rooms) -> None:
    """A room so heavy that nobody warms it forecasts no better than the last value."""
    for fitted, held in rooms.values():
        heavy = replace(fitted, warming=replace(fitted.warming, capacity_factor=1e6))
        assert against(forecast_errors(heavy, held), "last").ratio > 0.95


def test_rooms_store_what_real_rooms_store(rooms: Rooms) -> None:
    """Air and what follows it at once: twice or thrice the bare air, surely more than once."""
    for fitted, _ in rooms.values():
        low, high = fitted.intervals["capacity_factor"]
        assert 1 < low < high < 5
        low, high = fitted.intervals["mixing_m2_per_s"]
        assert 0.001 < low < high < 0.2  # of still air it is 0.00002

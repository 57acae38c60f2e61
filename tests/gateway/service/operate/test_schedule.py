"""Hours of the day: over midnight, at their edges, and through a clock that is set."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from gateway.service.operate.schedule import LOOK_S, parsed, wait_s

DAY = datetime(2026, 11, 22, tzinfo=UTC)


def _at(text: str, day: datetime = DAY) -> datetime:
    return datetime.combine(day.date(), time.fromisoformat(text), UTC)


@pytest.mark.parametrize(
    ("hours", "inside", "outside"),
    [
        ("08:00-18:00", ["08:00", "12:00", "17:59:59.999999"], ["07:59:59", "18:00", "00:00"]),
        ("22:00-06:00", ["22:00", "23:59:59", "00:00", "05:59:59"], ["06:00", "12:00", "21:59"]),
        ("00:00-00:01", ["00:00", "00:00:59"], ["00:01", "23:59:59"]),
        ("23:59-00:00", ["23:59", "23:59:59.9"], ["00:00", "23:58:59"]),
    ],
)
def test_hours_have_their_first_minute_and_not_their_last(
    hours: str, inside: list[str], outside: list[str]
) -> None:
    """From 22 to 6 is the night; two spans that share an edge share no moment."""
    assert [at for at in inside if not parsed(hours).has(_at(at))] == []
    assert [at for at in outside if parsed(hours).has(_at(at))] == []


def test_the_pause_comes_first_and_then_the_hours() -> None:
    """What is left of the pause is waited for as it is; hours are looked at when it is over."""
    night = _at("03:00")
    assert wait_s(1234.5, "08:00-18:00", night) == 1234.5
    assert wait_s(0, "08:00-18:00", night) == LOOK_S  # not five hours: the clock may be set
    assert wait_s(0, "08:00-18:00", _at("07:59:30")) == 30
    assert wait_s(-5, "08:00-18:00", _at("08:00")) == 0
    assert wait_s(0, "08:00-18:00", _at("18:00")) == LOOK_S  # it opened before, today
    assert wait_s(0, None, night) == 0


@pytest.mark.parametrize("start", ["2026-03-29T00:30+01:00", "2026-10-25T00:30+02:00"])
def test_a_change_of_summer_time_is_waited_through(start: str) -> None:
    """The hour that is left out, or comes twice: the wall is believed, a look at a time."""
    zone, now = ZoneInfo("Europe/Berlin"), datetime.fromisoformat(start)
    opened = None
    for _ in range(6 * 60 * 2):
        left_s = wait_s(0, "03:00-04:00", now.astimezone(zone))
        if left_s == 0:
            opened = now.astimezone(zone)
            break
        assert left_s > 0
        now += timedelta(seconds=left_s)

    assert opened is not None
    assert (opened.hour, opened.minute, opened.second) == (3, 0, 0)

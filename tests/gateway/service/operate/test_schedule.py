"""When a round opens: the pause since the last one, and the hours of the day."""

import time
from datetime import UTC, datetime, timedelta
from datetime import time as hour
from zoneinfo import ZoneInfo

import pytest

from gateway.service import campaign
from gateway.service.campaign import GLANCE_S, Pause
from gateway.service.operate.schedule import LOOK_S, parse, wait_s
from gateway.settings.deployment import Rounds

# Hours of the day: over midnight, at their edges, and through a clock that is set.

DAY = datetime(2026, 11, 22, tzinfo=UTC)


def _at(text: str, day: datetime = DAY) -> datetime:
    return datetime.combine(day.date(), hour.fromisoformat(text), UTC)


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
    assert [at for at in inside if not parse(hours).has(_at(at))] == []
    assert [at for at in outside if parse(hours).has(_at(at))] == []


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


# The pause between rounds goes by a clock that nobody sets; the hours go by the wall's.

NOON, NIGHT = (datetime(2026, 11, 22, hour, tzinfo=UTC) for hour in (12, 23))


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> list[datetime]:
    """Set the clock on the wall; its one entry is what it shows."""
    shown = [NOON]
    monkeypatch.setattr(campaign, "_wall", lambda: shown[0])
    return shown


@pytest.mark.usefixtures("wall")
def test_the_pause_counts_from_when_the_broker_had_the_round() -> None:
    """A round that waited an hour for its broker was heard an hour later than it was written."""
    waits = Pause(None)
    waits.begin(time.monotonic() - 10)

    assert waits.wait_s(Rounds(every_s=9.9)) == 0
    assert 0 < waits.wait_s(Rounds(every_s=10.2)) <= 0.2
    assert waits.wait_s(Rounds(every_s=3600)) == GLANCE_S  # looked at again, for it may change


@pytest.mark.usefixtures("wall")
@pytest.mark.parametrize(("ago_s", "free"), [(61, True), (59, False), (-86_400, False)])
def test_over_a_start_the_wall_counts_and_never_shortens(ago_s: float, free: bool) -> None:
    """A clock that was set back by a day costs one whole pause, and not a day."""
    waits = Pause(time.time() - ago_s)

    assert (waits.wait_s(Rounds(every_s=60)) == 0) is free
    if ago_s < 0:
        assert waits._opened_s is not None
        assert waits._opened_s + 60 - time.monotonic() <= 60


def test_out_of_hours_no_round_opens_and_the_reason_is_told(wall: list[datetime]) -> None:
    """With or without a pause left; and as soon as the hour has come, it may."""
    rounds, waits = Rounds(every_s=0, hours="08:00-18:00"), Pause(None)
    assert (waits.wait_s(rounds), waits.why(rounds)) == (0, "")
    wall[0] = NIGHT

    assert waits.wait_s(rounds) == GLANCE_S
    assert waits.why(rounds) == "rounds open from 08:00 to 18:00, and it is 23:00"

"""The pause between rounds goes by a clock that nobody sets; the hours go by the wall's."""

import time
from datetime import UTC, datetime

import pytest

from gateway.service import campaign
from gateway.service.campaign import GLANCE_S, Pause
from gateway.settings.deployment import Rounds

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


def test_a_step_of_the_wall_while_we_run_moves_no_round(
    wall: list[datetime], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the monotonic clock is asked; the wall's jump of a year changes nothing."""
    waits = Pause(None)
    waits.begin(time.monotonic())
    wall[0] = datetime(2027, 11, 22, 12, tzinfo=UTC)
    monkeypatch.setattr(time, "time", lambda: 0.0)

    assert waits.wait_s(Rounds(every_s=60)) > 0


def test_out_of_hours_no_round_opens_and_the_reason_is_told(wall: list[datetime]) -> None:
    """With or without a pause left; and as soon as the hour has come, it may."""
    rounds, waits = Rounds(every_s=0, hours="08:00-18:00"), Pause(None)
    assert (waits.wait_s(rounds), waits.why(rounds)) == (0, "")
    wall[0] = NIGHT

    assert waits.wait_s(rounds) == GLANCE_S
    assert waits.why(rounds) == "rounds open from 08:00 to 18:00, and it is 23:00"

"""One timer for all who wait: nobody is woken early, forgotten, or kept from ending.

What the devices of one process share, and what each still does by itself.
"""

import asyncio
import time

import pytest

from edge.core import wire
from edge.core.records import Grid, Guarantee, Round
from edge.host import post
from edge.net.link import within
from gateway.devices.fleet.member import Alarm, Clockwork, Hall


def alarms(count: int) -> list[Alarm]:
    """Return alarms of one clockwork, in the loop that runs."""
    clockwork = Clockwork(asyncio.get_running_loop())
    return [Alarm(lambda: clockwork) for _ in range(count)]


def test_each_wait_ends_at_its_own_time_and_never_before() -> None:
    """A frame that leaves before its tick tells that it was there."""

    async def one(alarm: Alarm, ms: int) -> tuple[bool, float]:
        begun_s = time.monotonic()
        came = await within(ms, alarm)
        return came, 1000 * (time.monotonic() - begun_s) - ms

    async def whole() -> None:
        waits_ms = [120, 5, 60, 5, 90, 30, 60]  # out of order, and some alike
        pairs = zip(alarms(7), waits_ms, strict=True)
        found = await asyncio.gather(*[one(alarm, ms) for alarm, ms in pairs])
        assert not any(came for came, _ in found)
        assert min(late for _, late in found) >= -0.01

    asyncio.run(whole())


def test_a_limit_that_was_moved_counts_as_it_is_now() -> None:
    """What is listed for an earlier wait must neither end the next one nor be its only look."""

    async def whole() -> list[float]:
        (alarm,) = alarms(1)
        took = []
        for first_ms, then_ms in ((40, 150), (150, 40), (40, 41)):
            asyncio.get_running_loop().call_later(0.01, alarm.set)
            assert await within(first_ms, alarm)
            alarm.clear()
            begun_s = time.monotonic()
            assert not await within(then_ms, alarm)
            took.append(1000 * (time.monotonic() - begun_s) - then_ms)
        return took

    late = asyncio.run(whole())

    assert min(late) >= -0.01
    assert len(late) == 3


def test_a_cancellation_is_heeded_even_when_the_event_comes_with_it() -> None:
    """Else a device that is told to end goes on."""

    async def whole() -> None:
        (alarm,) = alarms(1)
        for both in (False, True):
            alarm.clear()
            task = asyncio.create_task(within(60_000, alarm))
            await asyncio.sleep(0)
            if both:
                alarm.set()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert not alarm.waited

    asyncio.run(whole())


KEY, OTHER = bytes(range(32)), bytes(range(1, 33))
WHERE = wire.round_topic("lab", "thermal")
PROMISE = Guarantee((1, 1), (1, 10**5), (1, 50), "a move", "local", "a day", "presence")


def message(number: int, key: bytes = KEY) -> bytes:
    """Return a signed Round."""
    asked = Round(number, "thermal", Grid((9, 1), 0), (9, 8, 0, 4096, 10_000, 1, 0), PROMISE)
    return bytes(post.pack_round(asked, key, WHERE))


def test_a_hall_opens_a_round_as_a_device_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is saved is to do the same again on the same bytes."""
    hall, opened = Hall(), []
    real = wire.unpack_round
    monkeypatch.setattr(wire, "unpack_round", lambda *words: opened.append(words) or real(*words))
    for number in (1, 1, 1, 2, 1):
        round = real(message(number), KEY, WHERE)
        assert hall.opened(KEY, message(number), WHERE) == (round, wire.name_of(round))

    assert len(opened) == 3


def test_what_was_opened_for_one_opens_nothing_for_another() -> None:
    """Neither another key, nor another topic, nor other bytes may live off what was verified."""
    hall = Hall()
    hall.opened(KEY, message(1), WHERE)
    forged = bytearray(message(1))
    forged[5] ^= 1
    for key, said, where in (
        (OTHER, message(1), WHERE),
        (KEY, message(1, OTHER), WHERE),
        (KEY, message(1), wire.round_topic("attic", "thermal")),
        (KEY, bytes(forged), WHERE),
        (KEY, forged, WHERE),
    ):
        with pytest.raises(wire.Fault):
            hall.opened(key, said, where)


def test_bytes_that_change_afterwards_are_opened_anew() -> None:
    """A buffer that is used again must not stand for what was in it."""
    hall, held = Hall(), bytearray(message(1))
    hall.opened(KEY, held, WHERE)
    held[-1] ^= 1

    with pytest.raises(wire.Fault):
        hall.opened(KEY, held, WHERE)

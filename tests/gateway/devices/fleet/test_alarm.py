"""One timer for all who wait: nobody is woken early, forgotten, or kept from ending."""

import asyncio
import time

import pytest

from edge.pause import within
from gateway.devices.fleet.alarm import Alarm, Clockwork


class Counting(asyncio.SelectorEventLoop):
    """Counts the timers that are made of it."""

    made = 0

    def call_at(self, *words, **more):  # type: ignore[no-untyped-def]
        self.made += 1
        return super().call_at(*words, **more)


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


def test_a_thousand_that_wait_again_and_again_take_few_timers() -> None:
    """It is what this is for; asyncio's own take one for each wait."""

    async def whole() -> None:
        many = alarms(100)
        for _ in range(20):
            waits = [asyncio.create_task(within(60_000, alarm)) for alarm in many]
            await asyncio.sleep(0)
            for alarm in many:
                alarm.set()
            assert all(await asyncio.gather(*waits))
            for alarm in many:
                alarm.clear()

    async def asyncio_s_own() -> None:
        for _ in range(20):
            event = asyncio.Event()
            asyncio.get_running_loop().call_soon(event.set)
            await within(60_000, event)

    made = []
    for work in (whole(), asyncio_s_own()):
        loop = Counting()
        loop.run_until_complete(work)
        loop.close()
        made.append(loop.made)

    assert made[0] <= 2
    assert made[1] == 20


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

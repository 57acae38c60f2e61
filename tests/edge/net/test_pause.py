"""Waits that end: by their event, by their time, and always when they are told to."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

import pytest

from edge.core.compat import Uptime
from edge.net.link import wait_for_event, wait_until, within_ms
from edge.net.mqtt import Client
from edge.net.tls import Clock, set_clock
from tests.edge import timeless


def ended(wait: Callable[[asyncio.Event], Awaitable[Any]]) -> int:
    """Return how many of 200 tasks are over that are cancelled as what they wait for comes."""

    async def whole() -> int:
        over = 0
        for _ in range(200):
            event = asyncio.Event()

            async def forever(event: asyncio.Event = event) -> None:
                await wait(event)
                await asyncio.sleep(60)

            task = asyncio.ensure_future(forever())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            event.set()
            for _ in range(2):  # the event's own steps: now its result is there, and unread
                await asyncio.sleep(0)
            task.cancel()
            done, _ = await asyncio.wait([task], timeout=0.05)
            over += len(done)
            if not done:
                task.cancel()
                await asyncio.wait([task])
        return over

    return asyncio.run(whole())


def test_a_cancellation_that_comes_with_the_event_is_heeded() -> None:
    """Else a device that is told to end goes on."""
    assert ended(lambda event: wait_for_event(1000, event)) == 200
    assert ended(lambda event: within_ms(1000, event.wait())) == 200


@pytest.mark.long
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="wait_for was mended in 3.12")
def test_what_the_library_waited_with_forgets_it() -> None:
    """Negative control: the same moment, and `asyncio.wait_for`."""
    assert ended(lambda event: asyncio.wait_for(event.wait(), 1)) < 200


def test_a_wait_says_what_ended_it() -> None:
    """The event, or the time; a fault comes through as it is."""

    async def fails() -> None:
        raise KeyError

    async def whole() -> None:
        event = asyncio.Event()
        assert not await wait_for_event(5, event)
        event.set()
        assert await wait_for_event(5, event)
        with pytest.raises(asyncio.TimeoutError):
            await within_ms(5, asyncio.sleep(1))
        with pytest.raises(KeyError):
            await within_ms(1000, fails())
        assert await within_ms(1000, asyncio.sleep(0, "told")) == "told"

    asyncio.run(whole())


def test_until_is_never_early_and_the_past_is_at_once() -> None:
    """A frame that leaves before its tick tells that it was there."""

    async def whole() -> list[int]:
        clock, late_ms = Uptime(), []
        for wait_ms in (0, 1, 3, 20, -1000):
            now_ms = clock.now_ms()
            await wait_until(clock, now_ms + wait_ms)
            late_ms.append(clock.now_ms() - now_ms - max(wait_ms, 0))
        return late_ms

    assert min(asyncio.run(whole())) >= 0  # by the system's clock, whose waits end when they like
    assert timeless.run(whole()) == [0] * 5


# The time of day is asked for until it is known, and a silent server stops nothing else.


def test_it_is_asked_for_until_it_is_known() -> None:
    """No network, then a server that is silent, then one that answers."""
    clock, looks, asked, slept = Clock(), count(), [], []

    def settime() -> None:
        asked.append(1)
        if len(asked) < 3:
            raise OSError(110)

    async def sleep_ms(ms: int) -> None:
        slept.append(ms)

    asyncio.run(set_clock(clock, lambda: next(looks) > 1, settime, sleep_ms))

    assert (clock.by, len(asked), len(slept)) == ("ntp", 3, 4)
    assert min(slept) >= 4000  # a server throws out who asks more often


# What is on its way to the broker is waited for, and holds nothing up for ever.


class Way:
    """A link to a broker that takes everything and acknowledges nothing."""

    up, wait_ms = True, 5

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.trouble = ""

    async def send(self, packet: Any) -> bool:
        self.sent.append(bytes(packet))
        return True

    def end(self, why: str) -> None:
        self.trouble = why
        self.up = False


def test_a_message_that_was_given_up_does_not_keep_the_next_ones_out_for_ever() -> None:
    """A receipt may come where the broker owes its PUBACK: then nobody asks for that one again."""

    async def life() -> Way:
        way = Way()
        client = Client("broker", 1883, "n")
        client.link = way
        assert not await client.publish("data", b"a frame", 1)
        for word in (b"ready", b"alert"):
            assert not await client.publish("state", word, 1, True)
        return way

    way = asyncio.run(life())

    assert len(way.sent) == 1
    assert way.trouble == "no PUBACK came in 5 ms"

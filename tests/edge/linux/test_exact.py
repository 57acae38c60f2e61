"""When a program wakes up must not tell how far a millisecond had gone when it fell asleep."""

import asyncio
import cmath
import time
from collections.abc import Callable

import pytest

from edge.core.compat import Uptime
from edge.linux.exact import Exact
from edge.net.link import until

TRIES = 60
OFFSETS_NS = (100_000, 600_000)  # into a millisecond, at which the work before is over


def woken_ns(clock: Uptime) -> list[float]:
    """Return how far into a millisecond a wake-up is, on the circle's mean, for each offset."""

    async def waits(offset_ns: int) -> float:
        at = []
        for _ in range(TRIES):
            while time.monotonic_ns() % 1_000_000 < 950_000:  # to the end of a millisecond,
                pass
            while not offset_ns <= time.monotonic_ns() % 1_000_000 < offset_ns + 50_000:
                pass  # and that far into the next
            await until(clock, clock.now_ms() + 5)
            at.append(cmath.rect(1, 2 * cmath.pi * (time.monotonic_ns() % 1_000_000) / 1e6))
        return cmath.phase(sum(at)) / (2 * cmath.pi) * 1e6

    return [asyncio.run(waits(offset_ns)) for offset_ns in OFFSETS_NS]


def apart_ns(clock: Callable[[], Uptime]) -> list[float]:
    """Return how far apart the two are, three times: other programs want the processor."""
    found = [woken_ns(clock()) for _ in range(3)]
    return [min((late - early) % 1e6, (early - late) % 1e6) for early, late in found]


@pytest.mark.long
def test_a_wake_up_says_nothing_of_when_the_sleep_began() -> None:
    """Half a millisecond of work more, and the same moment."""
    assert min(apart_ns(Exact)) < 75_000


@pytest.mark.long
def test_asyncio_alone_would_tell() -> None:
    """Negative control: the usual uptime, on which boards are exact by themselves."""
    assert max(apart_ns(Uptime)) > 100_000


def test_what_has_begun_is_not_waited_for() -> None:
    """A moment of the past is now."""
    clock = Exact()
    begun_ns = time.monotonic_ns()
    clock.stay(clock.now_ms())
    clock.stay(clock.now_ms() - 1000)

    assert time.monotonic_ns() - begun_ns < 50_000_000
    clock.stay(clock.now_ms() + 3)
    assert time.monotonic_ns() - begun_ns >= 2_000_000

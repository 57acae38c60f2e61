"""The guard: nobody honest is shut out, nobody else is listened to for long."""

import tracemalloc

import pytest

from gateway.service.operate.quarantine import FLOOD, FORGED, Guard, Verdict
from gateway.settings.deployment import Guard as Settings

LIMITS = Settings(messages_per_s=20, burst=50, forged=5)


@pytest.fixture
def guard() -> Guard:
    """Return a guard of two devices."""
    return Guard(LIMITS, ["a", "b"])


def sent(guard: Guard, device: str, times: int, at_s: float, size: int = 100) -> int:
    """Return how many of that many messages at one moment pass."""
    return sum(guard.passes(device, size, at_s) for _ in range(times))


def test_a_device_may_send_its_spool_and_its_rate_for_ever(guard: Guard) -> None:
    """A full spool, and then twenty messages a second, all pass."""
    assert sent(guard, "a", 50, 10.0) == 50
    assert all(guard.passes("a", 100, 10 + tick / 19) for tick in range(1, 2000))
    assert guard.verdicts() == []


def test_a_flood_is_found_with_the_first_message_too_many(guard: Guard) -> None:
    """Of a thousand messages at once the burst passes; one verdict, and the other is unharmed."""
    called: list[int] = []
    guard.wake = lambda: called.append(1)
    assert sent(guard, "a", 1000, 10.0) == 50
    assert guard.verdicts() == [Verdict("a", FLOOD)]
    assert guard.verdicts() == []
    assert called == [1]
    assert not guard.passes("a", 100, 1e9), "it comes back by itself"
    assert sent(guard, "b", 50, 10.0) == 50


def test_frames_that_are_not_its_own_make_a_device_guilty_within_a_minute(guard: Guard) -> None:
    """Five in a minute are an accident, however many minutes; the sixth in one is not."""
    for minute in range(10):
        for _ in range(5):
            guard.forged("a", 100.0 + 60 * minute)
    assert guard.verdicts() == []
    guard.forged("a", 100.0 + 60 * 9 + 1)
    assert guard.verdicts() == [Verdict("a", FORGED)]
    assert guard.blocked("a") == FORGED
    assert not guard.blocked("b")


def test_strangers_share_one_bucket_and_no_memory(guard: Guard) -> None:
    """A hundred thousand names that nobody enrolled leave nothing behind and blame nobody."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    passed = sum(guard.passes(f"x{i}", 10, 1.0) for i in range(100_000))
    for i in range(1000):
        guard.forged(f"x{i}", 1.0)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert passed == 50
    assert guard.verdicts() == []
    assert grown < 100_000  # less than a byte a name
    guard.shut("x1", "a name that is not ours")
    assert guard.passes("a", 10, 1.0)


def test_who_cannot_be_told_apart_is_not_blamed() -> None:
    """Where anybody may write under any name, floods do not pass and nobody is shut out."""
    guard = Guard(LIMITS, ["a"], attributable=False)
    assert sent(guard, "a", 1000, 1.0) == 50
    for _ in range(100):
        guard.forged("a", 1.0)
    assert guard.verdicts() == []
    assert guard.passes("a", 10, 100.0)


def test_what_waited_at_the_broker_is_not_a_flood(guard: Guard) -> None:
    """An hour of copies, sent every five seconds, comes at once and passes; a flood does not."""
    control = Guard(LIMITS, ["a"])
    assert sent(control, "a", 720, 1.0) == 50
    assert control.verdicts()
    guard.away(3600)
    assert sent(guard, "a", 720, 1.0) == 720
    assert guard.verdicts() == []
    assert sent(guard, "a", 200_000, 2.0) <= 3600 * 20 + 50 + 20
    assert guard.verdicts() == [Verdict("a", FLOOD)]


def test_freed_devices_begin_anew_and_a_new_fleet_keeps_who_is_shut(guard: Guard) -> None:
    """Free gives a full bucket and a new verdict; another list of devices frees nobody."""
    sent(guard, "a", 60, 1.0)
    guard.renew(LIMITS, ["a", "c"])
    assert guard.blocked("a")
    assert len(guard.verdicts()) == 1
    guard.free("a")
    assert sent(guard, "a", 60, 1.0) == 50
    assert guard.verdicts() == [Verdict("a", FLOOD)]
    guard.shut("c", "by hand")
    assert guard.blocked("c") == "by hand"
    assert not guard.passes("c", 10, 1.0)
    assert guard.verdicts() == [], "who is shut by hand is no news"

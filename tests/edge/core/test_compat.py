"""The few primitives that this package brings itself agree with the standard library's."""

import hashlib
import hmac
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.core.compat import Uptime, hmac_sha256, same_bytes


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_hmac_is_the_standard_library_s(key: bytes, data: bytes) -> None:
    """Also for keys longer than a block, which are hashed first."""
    assert hmac_sha256(key, data) == hmac.new(key, data, hashlib.sha256).digest()


@given(st.binary(max_size=8), st.binary(max_size=8))
def test_same_bytes_is_equality(a: bytes, b: bytes) -> None:
    """It decides whether a frame is forged."""
    assert same_bytes(a, b) == (a == b)


def test_a_board_s_counter_may_wrap_and_time_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """It starts again after 12 days; a frame that waits for its tick must not wait as long."""
    period, ticks = 1 << 30, [0]
    monkeypatch.setattr(time, "ticks_ms", lambda: ticks[0] % period, raising=False)
    half = period // 2
    between = lambda a, b: (a - b + half) % period - half  # noqa: E731
    monkeypatch.setattr(time, "ticks_diff", between, raising=False)
    ticks[0] = period - 50
    clock = Uptime()
    found = []
    for passed in (10, 30, 60, half - 1, 5):
        ticks[0] += passed
        found.append(clock.now_ms())

    assert found == [10, 40, 100, 100 + half - 1, 100 + half + 4]


def test_the_clock_goes_forward_in_milliseconds() -> None:
    """Of the system's monotonic clock here: nobody sets that, not even the network."""
    clock, began_ms = Uptime(), time.monotonic_ns() // 1_000_000
    time.sleep(0.03)

    assert abs(clock.now_ms() - (time.monotonic_ns() // 1_000_000 - began_ms)) <= 1

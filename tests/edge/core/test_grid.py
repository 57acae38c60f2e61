"""What a device makes of places, counts and times before anything else."""

import hashlib
import hmac
import time
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.core import grid
from edge.core.compat import Uptime, hmac_sha256, same_bytes
from edge.core.pixels import find_baseline, subtract_baseline
from edge.core.records import Grid
from physics.sensors import to_grains


def test_outsiders_are_moved_in() -> None:
    """Dropping them would tell that there was somebody."""
    field = Grid((5, 3), 100)

    assert grid.clamp_cell(field, (-2, 9)) == (0, 2)
    assert grid.clamp_cell(field, (4, 1)) == (4, 1)


# Counts of a thermal array, less the empty room, in grains.

EMPTY = [84, 80, 91, 88]


@pytest.mark.parametrize("step", [Fraction(1, 4), Fraction(1, 16), Fraction(1, 10), Fraction(3)])
@pytest.mark.parametrize("exponent", [-2, 0, 2, 9])
def test_a_device_and_the_simulator_make_the_same_grains(step: Fraction, exponent: int) -> None:
    """The promise is proved for the simulator's order of rounding, and the device keeps it."""
    counts = [84, 113, 76, 89]
    warmth = [float((c - e) * step) for c, e in zip(counts, EMPTY, strict=True)]

    assert subtract_baseline(counts, EMPTY, exponent, step.as_integer_ratio()) == to_grains(
        warmth, exponent, step
    )


def test_one_wild_frame_does_not_move_the_empty_room() -> None:
    """Arrays send a broken frame now and then; a mean would carry it for ever."""
    frames = [[84, 80], [85, 80], [84, 81], [0, 255]]

    assert find_baseline(frames) == [84, 81]


@pytest.mark.parametrize("frames", [[], [[]]])
def test_a_room_that_was_never_recorded_is_refused(frames: list[list[int]]) -> None:
    """Without it every warm wall would be a person."""
    with pytest.raises(ValueError, match="Record some while nobody is there"):
        find_baseline(frames)


def test_a_frame_of_another_array_is_refused() -> None:
    """zip would quietly drop the pixels that the shorter one has not."""
    with pytest.raises(ValueError, match="not give 4 whole numbers"):
        subtract_baseline([84, 113, 76, 89, 90], EMPTY, 2, (1, 4))


# The few primitives that this package brings itself agree with the standard library's.


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_hmac_is_the_standard_library_s(key: bytes, data: bytes) -> None:
    """Also for keys longer than a block, which are hashed first."""
    assert hmac_sha256(key, data) == hmac.new(key, data, hashlib.sha256).digest()


@given(st.binary(max_size=8), st.binary(max_size=8))
def test_same_bytes_is_equality(a: bytes, b: bytes) -> None:
    """It decides whether a frame is forged."""
    assert same_bytes(a, b) == (a == b)


@pytest.mark.parametrize("at", [0, 7, 15, None])
def test_how_long_a_comparison_takes_does_not_show_where_bytes_differ(at: int | None) -> None:
    """Who forges a MAC byte by byte would learn how far it is right."""
    looks: list[int] = []

    class Watched(bytes):
        def __getitem__(self, i: Any) -> Any:
            looks.append(i)
            return super().__getitem__(i)

    right = bytes(range(16))
    forged = right if at is None else right[:at] + b"\xff" + right[at + 1 :]

    assert same_bytes(Watched(forged), right) == (at is None)
    assert looks == list(range(16))


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

    def now_ms() -> int:
        return time.monotonic_ns() // 1_000_000

    before_ms, clock, after_ms = now_ms(), Uptime(), now_ms()
    time.sleep(0.03)
    least_ms = now_ms() - after_ms

    assert least_ms <= clock.now_ms() <= now_ms() - before_ms

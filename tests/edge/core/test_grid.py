"""Orders on a grid: row by row, squares within squares, the Hilbert curve."""

import hashlib
import hmac
import time
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.core import grid
from edge.core.compat import Uptime, hmac_sha256, same_bytes
from edge.core.pixels import baseline, subtract_baseline
from edge.core.records import Grid
from physics.sensors import grains

SIDES = [1, 2, 4, 16, 32]


@pytest.mark.parametrize("side", SIDES)
def test_the_hilbert_curve_visits_every_cell_by_single_steps(side: int) -> None:
    """That is the whole of what makes it that curve."""
    square = Grid((side, side), 0)
    curve = [grid.hilbert_cell(square, place) for place in range(side * side)]
    steps = [abs(a - c) + abs(b - d) for (a, b), (c, d) in pairwise(curve)]

    assert sorted(curve) == sorted((x, y) for x in range(side) for y in range(side))
    assert set(steps) <= {1}
    assert [grid.hilbert(square, cell) for cell in curve] == list(range(side * side))


@pytest.mark.parametrize("side", SIDES)
def test_a_square_of_the_hilbert_curve_is_a_square_of_the_grid(side: int) -> None:
    """Every quarter of the curve fills one quadrant, at every level."""
    square = Grid((side, side), 0)
    for level in range(grid.levels(square) + 1):
        size = 4 ** (grid.levels(square) - level)
        for start in range(0, side * side, size):
            places = range(start, start + size)
            held = {grid.square(square, grid.hilbert_cell(square, p), level) for p in places}

            assert len(held) == 1


def test_a_path_leads_to_its_cell() -> None:
    """Halving by each quadrant in turn ends on the cell."""
    square = Grid((8, 8), 0)
    for number in range(64):
        cell = number % square.shape[0], number // square.shape[0]
        x = y = 0
        for quadrant in grid.path(square, cell):
            x, y = 2 * x + quadrant % 2, 2 * y + quadrant // 2

        assert (x, y) == cell
        assert grid.index(square, cell) == number


def test_outsiders_are_moved_in() -> None:
    """Dropping them would tell that there was somebody."""
    field = Grid((5, 3), 100)

    assert grid.nearest(field, (-2, 9)) == (0, 2)
    assert grid.nearest(field, (4, 1)) == (4, 1)
    assert grid.cells(field) == 15


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (6, 6)])
def test_squares_within_squares_need_a_power_of_two(shape: tuple[int, int]) -> None:
    """Else a square of a level would stick out of the grid."""
    with pytest.raises(ValueError, match="power of two"):
        grid.levels(Grid(shape, 0))


def test_a_level_that_is_not_there_is_refused() -> None:
    """A shift by a negative number is no square."""
    with pytest.raises(ValueError, match="level 4"):
        grid.square(Grid((8, 8), 0), (0, 0), 4)


# Counts of a thermal array, less the empty room, in grains.

EMPTY = [84, 80, 91, 88]


@pytest.mark.parametrize("step", [Fraction(1, 4), Fraction(1, 16), Fraction(1, 10), Fraction(3)])
@pytest.mark.parametrize("exponent", [-2, 0, 2, 9])
def test_a_device_and_the_simulator_make_the_same_grains(step: Fraction, exponent: int) -> None:
    """The promise is proved for the simulator's order of rounding, and the device keeps it."""
    counts = [84, 113, 76, 89]
    warmth = [float((c - e) * step) for c, e in zip(counts, EMPTY, strict=True)]

    assert subtract_baseline(counts, EMPTY, exponent, step.as_integer_ratio()) == grains(
        warmth, exponent, step
    )


def test_one_wild_frame_does_not_move_the_empty_room() -> None:
    """Arrays send a broken frame now and then; a mean would carry it for ever."""
    frames = [[84, 80], [85, 80], [84, 81], [0, 255]]

    assert baseline(frames) == [84, 81]


@pytest.mark.parametrize("frames", [[], [[]]])
def test_a_room_that_was_never_recorded_is_refused(frames: list[list[int]]) -> None:
    """Without it every warm wall would be a person."""
    with pytest.raises(ValueError, match="Record some while nobody is there"):
        baseline(frames)


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

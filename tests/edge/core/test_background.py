"""A level that follows: what it can give away is enumerated, and who may move it is counted."""

import copy
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import pytest

from edge.core.background import Follower
from recovery.thermal.noise import bound_drift


def furthest(slew: Fraction, apart: int, exponent: int, answers: int, reach: int) -> list[int]:
    """Return the most that answer 1, 2, ... of two histories differ by: all are tried.

    Histories that have led to the same two levels go on alike, so one of them is followed.
    """
    pairs = [
        ((x,), (y,)) for x, y in product(range(-reach, reach + 1), repeat=2) if abs(x - y) <= apart
    ]
    new = Follower(slew.as_integer_ratio(), answers)
    states, worst = {(): (new, new)}, []
    for _ in range(answers):
        onward, most = {}, 0
        for states_of_two, (x, y) in product(states.values(), pairs):
            one, other = copy.copy(states_of_two[0]), copy.copy(states_of_two[1])
            most = max(most, abs(one.subtract(x, exponent)[0] - other.subtract(y, exponent)[0]))
            one.follow()
            other.follow()
            onward[one._levels[0], other._levels[0]] = one, other
        states = onward
        worst.append(most)
    return worst


@pytest.mark.parametrize(
    ("slew", "apart", "exponent"),
    [
        (Fraction(1, 4), 1, 0),  # a quarter of a grain
        (Fraction(1, 3), 2, 0),
        (Fraction(3, 16), 2, 2),  # three quarters
        (Fraction(1), 3, 0),
        (Fraction(2), 1, -1),  # a grain, of 2 K
        (Fraction(5), 2, 0),  # more than the readings ever differ by
    ],
)
def test_two_histories_part_by_exactly_what_the_noise_is_made_for(
    slew: Fraction, apart: int, exponent: int
) -> None:
    """Less and the promise is false, more and the noise is wasted."""
    found = furthest(slew, apart, exponent, answers=4, reach=4)
    ways = [nth * slew * Fraction(2) ** exponent for nth in range(4)]

    assert found == [apart + bound_drift(apart, way) for way in ways]


def test_a_sensor_that_reads_the_same_in_both_worlds_tells_nothing() -> None:
    """Each level is made of its own sensor's readings, so a far one does not carry the news."""
    one, other = Follower((1, 2), 9), Follower((1, 2), 9)
    seen = []
    for near, far in [(5, 3), (9, -2), (0, 8), (4, 4)]:
        seen.append((one.subtract((near, far), 0)[1], other.subtract((-near, far), 0)[1]))
        one.follow()
        other.follow()

    assert all(a == b for a, b in seen)


def test_it_follows_a_room_that_warms_and_hardly_somebody_who_passes() -> None:
    """A median of the past: drift below the slew is gone, a passer-by is not learnt."""
    level = Follower((1, 2), 1000)
    drift = [nth // 4 for nth in range(400)]  # a quarter of a grain each
    left = []
    for nth, room in enumerate(drift):
        left.append(level.subtract((room + (200 if nth in (300, 301) else 0),), 0)[0])
        level.follow()

    assert max(left[:300]) <= 1
    assert left[300] >= 199
    assert max(map(abs, left[302:])) <= 2


def test_it_begins_again_where_everybody_knows_that_it_does() -> None:
    """With the window, and with another grain: else last week would show in what is sent today."""
    level = Follower((1, 1), 2)
    told = []
    for _ in range(5):
        told.append(level.subtract((10,), 0)[0])
        level.follow()

    assert told == [10, 9, 10, 9, 10]
    assert level.subtract((10,), 1) == (10,)  # of half the size, so from the start again


def test_what_was_not_answered_leaves_no_trace() -> None:
    """Half a frame, or a Round of another grain where the sensor fails, puts nothing back."""
    level = Follower((1, 1), 3)
    for _ in range(2):
        level.subtract((10, -10), 0)
        level.follow()
    level.subtract((10,), 0)
    level.subtract((10, -10), 5)

    assert level.subtract((10, -10), 0) == (8, -8)


@pytest.mark.parametrize(
    "bad", [((0, 1), 3), ((1, 0), 3), ((-1, 2), 3), ((1, 2), 0), ((1, 2), 2.5), ((True, 2), 3)]
)
def test_a_level_that_cannot_move_is_refused(bad: tuple[tuple[int, int], Any]) -> None:
    """It would be the recorded one, at the price of one that follows; or not be counted whole."""
    with pytest.raises(ValueError, match="never moves needs no follower"):
        Follower(*bad)


SCRIPT = """
from edge.core.background import Follower

level, x = Follower((3, 1000), 40), 12345
for nth in range(100):
    seen = []
    for _ in range(8):
        x = (x * 1103515245 + 12345) % 2147483648
        seen.append(x // 65536 % 4001 - 2000)
    print(level.subtract(tuple(seen), 9 if nth < 70 else -3))
    if nth % 7:
        level.follow()
"""


def test_every_interpreter_sends_the_same(interpreter, capsys: pytest.CaptureFixture[str]) -> None:
    """A board that rounds down where a PC rounds up has another sensitivity."""
    exec(SCRIPT, {})

    assert interpreter.run(SCRIPT) == capsys.readouterr().out


def test_levels_are_counted_in_parts_of_a_grain_without_loss() -> None:
    """Slews far below a grain add up: after three of a third the level is a grain higher."""
    level = Follower((1, 3), 100)
    told = []
    for _ in range(10):
        told.append(10 - level.subtract((10,), 0)[0])
        level.follow()

    assert told == [0, 0, 1, 1, 1, 2, 2, 2, 3, 3]
    assert all(b - a in (0, 1) for a, b in pairwise(told))


def test_a_level_takes_whole_numbers_alone() -> None:
    """A part of a count would live on in the level, and so in every answer after it."""
    follower = Follower((1, 8), 9)
    with pytest.raises(ValueError, match="whole numbers"):
        follower.subtract((5.5,), 8)
    follower.follow()

    assert follower.subtract((5,), 8) == (5,)

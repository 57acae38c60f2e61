"""When a frame goes out tells nothing of the noise in it.

The clock here is moved by the draws themselves: each look into the stream takes so many
milliseconds, so large noise takes long, as on a slow board. Nothing else takes any time.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from edge.core import entropy, wire
from edge.core.budget import Budget, Limits
from edge.core.node import Node
from edge.core.records import Grid, Guarantee, Round
from edge.host import post, rootkeys
from edge.host.enrol import Ram, provision
from edge.mechanisms import thermal
from edge.net.ticker import Ticker

SITE_KEY = bytes(range(32, 64))
TOPIC = wire.round_topic("lab", "thermal")
LIMITS = Limits(1, 8, 500, 250000, 10**9, 500)
TICK_MS = 1000
ARRIVALS = [3000, 7010, 11500, 15999, 20001, 26000]


class Clock:
    """Milliseconds that pass while noise is drawn, and while a loop waits."""

    def __init__(self) -> None:
        self.ms = 0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return a clock that every look into a stream moves by three milliseconds."""
    clock, below = Clock(), entropy.Stream.below

    def slow(stream: Any, n: int) -> int:
        clock.ms += 3
        return int(below(stream, n))

    monkeypatch.setattr(entropy.Stream, "below", slow)
    return clock


class AtOnce:
    """The negative control: a frame goes out as soon as it is there."""

    def __init__(self, node: Node, tick_ms: int) -> None:
        self._node, self._frame = node, None

    def take(self, message: bytes, read: Callable[..., Any], now_ms: int) -> None:
        self._frame = self._node.answer(message, read)

    def poll(self, now_ms: int) -> bytes | None:
        frame, self._frame = self._frame, None
        return frame


class Undrawn(Ticker):
    """Another negative control: the next noise is drawn before the frame is sent."""

    def poll(self, now_ms: int) -> bytes | None:
        frame = super().poll(now_ms)
        if frame is not None:
            self.node.prepare()
        return frame


def device(seed: int, limits: Limits = LIMITS) -> Node:
    """Return a device; each seed is another key and so other noise."""
    root, slots = bytes([seed] * 32), Ram()
    provision(slots, rootkeys.state_key(root), rootkeys.first_chain(root), limits)
    budget = Budget(slots, rootkeys.state_key(root))
    budget.boot()
    return Node(rootkeys.identity("lab", "n", root, SITE_KEY, 3, "keyholder"), budget)


def message(number: int, variance: int = 250000) -> bytes:
    params = tuple(thermal.Params(50, 8, 0, 4000, variance, 1, 1))
    promise = Guarantee((1, 1), (1, 100000), (1, 1), "n", "local", "u", "p")
    round = Round(number, "thermal", Grid((100, 1), 0), params, promise)
    return bytes(post.pack_round(round, SITE_KEY, TOPIC))


def read(params: object) -> tuple[int, ...]:
    return (2000,)


def published(
    clock: Clock,
    seed: int,
    kind: Callable[..., Any] = Ticker,
    *,
    tick_ms: int = TICK_MS,
    variances: Sequence[int] = (250000,),
) -> tuple[list[int], list[int]]:
    """Return when frames went out after their Rounds came, and the noise in them."""
    clock.ms = 0
    node = device(seed)
    ticker, sent, noise = kind(node, tick_ms), [], []
    for number, at_ms in enumerate(ARRIVALS, 1):
        while clock.ms < at_ms:
            ticker.poll(clock.ms)
            clock.ms += 1
        ticker.take(message(number, variances[number % len(variances)]), read, at_ms)
        while (frame := ticker.poll(clock.ms)) is None:
            clock.ms += 1
        sent.append(clock.ms - at_ms)
        key = rootkeys.mac_key(bytes([seed] * 32))
        report = post.unpack_report(frame, key, wire.topic("lab", "n", "data"), "n")
        noise.append(report.payload[1] - 2000)
    return sent, noise


def many(clock: Clock, kind: Callable[..., Any] = Ticker, **more: Any) -> tuple[set[Any], Any]:
    """Return the different times of many devices, and how long they go with the noise's size."""
    runs = [published(clock, seed, kind, **more) for seed in range(40)]
    late = np.array([sent for sent, _ in runs], float).ravel()
    size = np.abs([noise for _, noise in runs]).ravel()
    together = 0.0 if np.ptp(late) == 0 else np.corrcoef(late, size)[0, 1]
    return {tuple(sent) for sent, _ in runs}, together


@pytest.mark.long
def test_frames_go_out_a_tick_after_their_round_whatever_their_noise(clock: Clock) -> None:
    """Forty devices, two hundred and forty draws: one list of times."""
    times, together = many(clock)

    assert times == {(TICK_MS,) * len(ARRIVALS)}
    assert together == 0


@pytest.mark.long
def test_noise_that_could_not_be_drawn_ahead_does_not_show_either(clock: Clock) -> None:
    """Rounds that change the variance each time make the device draw when they come."""
    times, _ = many(clock, variances=(360000, 490000))

    assert times == {(TICK_MS,) * len(ARRIVALS)}


@pytest.mark.long
@pytest.mark.parametrize("kind", [AtOnce, Undrawn])
def test_sending_at_once_would_show_the_noise(clock: Clock, kind: Callable[..., Any]) -> None:
    """The negative controls: the same run sees many times where there should be one."""
    times, together = many(clock, kind)

    assert len(times) == 40
    assert kind is Undrawn or together > 0.2  # Undrawn shows how large the next noise is


@pytest.mark.long
def test_a_frame_that_is_late_waits_for_a_whole_tick(clock: Clock) -> None:
    """With a tick shorter than a draw nothing finer than ticks is left to be seen."""
    times, _ = many(clock, tick_ms=40, variances=(360000, 490000))
    late = {ms for run in times for ms in run}

    assert len(late) > 1
    assert {ms % 40 for ms in late} == {0}


def test_a_frame_that_was_not_there_by_its_first_tick_is_counted() -> None:
    """Nobody would learn else that the tick is too short, and that its number tells of a draw."""
    ticker = Ticker(device(1), 100)
    for number, done_ms in ((1, 1100), (2, 2101), (3, 3350)):
        ticker.take(message(number), read, 1000 * number)
        ticker.poll(done_ms)
        ticker.poll(1000 * number + 400)

    assert ticker.missed == 2


def test_the_next_noise_is_drawn_after_the_frame_has_gone(clock: Clock) -> None:
    """Not in the call that returns the frame, or the frame would wait for it."""
    ticker = Ticker(device(1), TICK_MS)
    ticker.poll(0)
    ticker.take(message(1), read, 5000)
    clock.ms = 6000
    ticker.poll(5000)
    frame, moved = ticker.poll(6000), clock.ms
    ticker.poll(6001)

    assert frame is not None
    assert moved == 6000
    assert clock.ms > 6000


def test_the_same_round_again_goes_out_again_at_a_tick_with_the_same_bytes() -> None:
    """While its frame waits, another copy moves nothing."""
    ticker = Ticker(device(1), 100)
    ticker.take(message(1), read, 0)
    ticker.poll(1)
    ticker.take(message(1), read, 50)
    waiting = [ticker.poll(now_ms) for now_ms in (51, 99, 100)]
    ticker.take(message(1), read, 170)
    again = [ticker.poll(now_ms) for now_ms in (171, 269, 270, 400)]

    assert waiting[:2] == [None, None]
    assert again == [None, None, waiting[2], None]


def test_a_refused_round_does_not_disturb_the_frame_that_waits() -> None:
    """Anybody may send rubbish in between."""
    ticker = Ticker(device(1), 100)
    ticker.take(message(1), read, 0)
    ticker.poll(0)
    ticker.take(b"rubbish", read, 30)

    assert ticker.poll(99) is None
    assert ticker.poll(100) is not None


def test_no_tick_is_no_protection() -> None:
    """A tick of nothing would be sending at once."""
    with pytest.raises(ValueError, match="a tick of 0 ms is none"):
        Ticker(device(1), 0)


def test_a_round_that_overtakes_a_waiting_frame_has_a_tick_of_its_own() -> None:
    """Sent on the older one's, it would leave at a moment that its draw can have moved."""
    ticker = Ticker(device(1, LIMITS._replace(pace_ms=0)), 100)
    ticker.take(message(1), read, 0)
    ticker.poll(1)
    ticker.take(message(2), read, 90)
    before = [ticker.poll(now_ms) for now_ms in (91, 100, 189)]
    held = ticker.waits
    frame = ticker.poll(190)

    assert before == [None, None, None]
    assert held
    assert frame is not None
    assert (ticker.waits, ticker.due_ms) == (False, None)

"""Noise from a table: its thresholds, its law, and that every sample takes the same work."""

import gc
import math
import sys
from array import array
from collections.abc import Callable, Iterator
from types import FrameType

import mpmath
import pytest

from edge.core import noise, table
from edge.core.entropy import Tape
from edge.core.table import MOST, NARROW, WIDEST, Sampler, Table

VARIANCES = [(1, 1), (9, 2), (2500, 1), (16000, 1)]


def exact(num: int, den: int, count: int) -> list[mpmath.mpf]:
    """Return P(|z| <= k) for k below count, in 80 digits, by the definition."""
    mpmath.mp.dps = 80
    last = 14 * int(mpmath.sqrt(mpmath.mpf(num) / den)) + 20
    weights = [mpmath.exp(-mpmath.mpf(k * k * den) / (2 * num)) for k in range(last)]
    whole = 2 * mpmath.fsum(weights) - 1
    upto, summed = [], mpmath.mpf(0)
    for k in range(count):
        summed += weights[k] * (2 if k else 1)
        upto.append(summed / whole)
    return upto


class Given:
    """A stream whose next numbers are given, of so many bits each."""

    def __init__(self, values: Iterator[int], width: int) -> None:
        self.values, self.width = values, width
        self.asked: list[int] = []

    def bits(self, count: int) -> int:
        self.asked.append(count)
        value = 0
        for _ in range(count // self.width):
            value = value << self.width | next(self.values)
        return value


@pytest.mark.parametrize("bits", [56, 84])
@pytest.mark.parametrize(("num", "den"), VARIANCES)
def test_thresholds_are_the_law_to_their_last_digit(num: int, den: int, bits: int) -> None:
    """Each threshold is the nearest there is; the guard bits leave nothing else to be wrong."""
    made = Table(num, den, bits)
    law = exact(num, den, len(made))
    off = [abs(made.threshold(k) - upto * 2**bits) for k, upto in enumerate(law)]

    assert max(off) < 1.5  # half a digit of rounding, less than one that is left out beyond


def counted(made: Table, value: int) -> int:
    """Return how many thresholds a drawn number is not below, one after the other."""
    return sum(value >= made.threshold(k) for k in range(len(made)))


@pytest.mark.parametrize("accelerated", [False, True])
@pytest.mark.parametrize(("num", "bits"), [(1, 56), (100, 56), (100, 84), (2500, 56)])
def test_the_search_finds_what_counting_finds(num: int, bits: int, accelerated: bool) -> None:
    """At every threshold, one below and one above it, and at both ends, with both signs."""
    made = Table(num, 1, bits)
    if not accelerated:
        made._look_up, made._split = table.look_up_noise, table.split
    edges = [made.threshold(k) + by for k in range(len(made)) for by in (-1, 0, 1)]
    drawn = [value for value in [0, *edges, 2**bits - 1] if 0 <= value < 2**bits]
    for sign in (0, 1):
        kept = iter([value + (sign << bits) for value in drawn])
        out = [0] * len(drawn)
        made.fill(out, Given(kept, bits + 1))

        assert out == [(-1) ** sign * counted(made, value) for value in drawn]


def test_a_sample_asks_for_the_same_bits_whatever_it_is() -> None:
    """A rejected number would show in the time, and shift the stream by what was drawn."""
    made = Table(2500)
    low, high = Given(iter([0] * 20), 57), Given(iter([2**57 - 1] * 20), 57)
    made.fill([0] * 20, low)
    made.fill([0] * 20, high)

    assert low.asked == high.asked == [57 * 16, 57 * 4]


def opcodes(run: Callable[[], object], code: object) -> int:
    """Return how many instructions of one function are executed, or of all."""
    seen = 0

    def local(frame: FrameType, event: str, arg: object) -> object:
        nonlocal seen
        frame.f_trace_opcodes = True
        seen += event == "opcode"
        return local

    def entered(frame: FrameType, event: str, arg: object) -> object:
        if code is None or frame.f_code is code:
            return local(frame, event, arg)
        return None

    before = sys.gettrace()
    gc.disable()  # what it has others do at their end is no work of the sampler's
    sys.settrace(entered)  # type: ignore[arg-type]
    try:
        run()
    finally:
        sys.settrace(before)
        gc.enable()
    return seen


class Looks(array):
    """An array that counts what is read from it."""

    reads = 0

    def __getitem__(self, at: int) -> int:  # type: ignore[override]
        Looks.reads += 1
        return super().__getitem__(at)


def test_every_sample_takes_the_same_instructions() -> None:
    """Whatever is drawn: as many instructions, and as many looks at the table."""
    made = Table(2500)
    thresholds, sizes = Looks("I", made.thresholds), array("I", (1, len(made), 2))
    rng, work = Tape(b"work"), set()
    for _ in range(300):
        drawn, out = array("I", (rng.bits(28), rng.bits(29))), array("i", (0,))
        Looks.reads = 0
        ran = opcodes(
            lambda o=out, d=drawn: table.look_up_noise(o, d, thresholds, sizes),
            table.look_up_noise.__code__,
        )
        work.add((ran, Looks.reads))

    assert len(work) == 1
    assert work.pop()[0] > 100


def test_the_exact_sampler_takes_what_it_draws() -> None:
    """The count above must be able to differ: the exact sampler's does."""
    rng = Tape(b"work")
    work = {opcodes(lambda: noise.dgauss(2500, 1, rng), None) for _ in range(20)}

    assert len(work) > 10


def test_how_samples_are_batched_changes_nothing() -> None:
    """A device with 64 sensors and one with 63 and 1 draw the same from one stream."""
    made = Table(2500)
    whole, parts, rng = [0] * 64, [], Tape(b"batch")
    made.fill(whole, Tape(b"batch"))
    for count in (1, 15, 0, 31, 17):
        part = array("i", range(count))
        made.fill(part, rng)
        parts += list(part)

    assert parts == whole


def test_nothing_drawn_stays_behind() -> None:
    """Noise that lies in memory when the frame is out gives the reading to whoever looks."""
    made = Table(2500)
    made.fill([0] * 40, Tape(b"left"))

    assert not any(made._drawn)
    assert not any(made._found)


@pytest.mark.parametrize("args", [(1, 2), (0, 1), (5, 0), (100, 1, 28), (100, 1, 57), (100, 1, 0)])
def test_what_cannot_be_a_table_is_refused(args: tuple[int, ...]) -> None:
    """A variance below one, and thresholds that are no whole limbs."""
    with pytest.raises(ValueError, match="was asked for|were asked for"):
        Table(*args)


def test_a_variance_too_wide_is_refused_with_the_way_out() -> None:
    """A board has no room for it, and the proof of the slack would not hold."""
    wide = (MOST * MOST) // 70
    with pytest.raises(ValueError, match=r"noise\.dgauss"):
        Table(wide)


# Samples of wide Gaussians from two small tables.


def drawn(num: int, den: int, count: int, seed: bytes) -> list[int]:
    out = [0] * count
    Sampler(num, den).fill(out, Tape(seed))
    return out


@pytest.mark.parametrize("variance", [NARROW + 1, 16000, 1618796, WIDEST])
def test_the_variance_and_shape_are_those_asked_for(variance: int) -> None:
    """The variances of plans; a factor that is one off shows in either."""
    from scipy.stats import kstest

    out = drawn(variance, 1, 20000, b"wide")
    mean_square = math.fsum(z * z for z in out) / len(out)

    assert abs(mean_square / variance - 1) < 5 * math.sqrt(2 / len(out))
    assert kstest(out, "norm", args=(0, math.sqrt(variance))).pvalue > 1e-6
    assert kstest(out, "norm", args=(0, 1.1 * math.sqrt(variance))).pvalue < 1e-4


@pytest.mark.parametrize("variance", [NARROW, NARROW + 1, 16000, 1618796, WIDEST])
def test_parts_add_to_the_variance_and_stay_small(variance: int) -> None:
    """No table is longer than a board has room for in one piece, and they are few."""
    made = Sampler(variance)
    lengths = [len(table) for _, table in made.parts]

    assert max(lengths) < 230
    assert len(lengths) <= 1 + math.log(variance, 100)
    assert sum(f * f * t.variance[0] * variance // t.variance[1] for f, t in made.parts) == (
        pytest.approx(variance * variance, abs=2 * variance)
    )


def test_the_kind_of_the_batch_changes_nothing() -> None:
    """A list, an array, and a slice of one: the same samples."""
    made, plain, packed = Sampler(16000), [0] * 37, array("i", range(40))
    made.fill(plain, Tape(b"kind"))
    made.fill(memoryview(packed)[:37], Tape(b"kind"))

    assert list(packed) == [*plain, 37, 38, 39]
    assert not any(made._half)


@pytest.mark.parametrize("args", [(WIDEST + 1, 1), (1, 2), (5, 0), (3000, 1, 57)])
def test_what_does_not_fit_is_refused(args: tuple[int, ...]) -> None:
    """Too wide, too narrow, no ratio, no whole limbs; and what to take instead."""
    with pytest.raises(ValueError, match="asked for but"):
        Sampler(*args)


@pytest.mark.long
def test_a_frame_of_noise_takes_the_same_instructions() -> None:
    """From the stream to the last sum, whatever is drawn."""
    made = Sampler(16000)
    tapes = [Tape(bytes([seed])) for seed in range(12)]
    work = {opcodes(lambda tape=tape: made.fill([0] * 20, tape), None) for tape in tapes}

    assert len(work) == 1
    assert work.pop() > 20000

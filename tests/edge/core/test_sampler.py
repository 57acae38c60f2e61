"""Samples of wide Gaussians from two small tables."""

import gc
import math
import sys
from array import array
from types import FrameType

import pytest

from edge.core.entropy import Tape
from edge.core.sampler import NARROW, WIDEST, Sampler
from edge.core.table import Table


def drawn(num: int, den: int, count: int, seed: bytes) -> list[int]:
    out = [0] * count
    Sampler(num, den).fill(out, Tape(seed))
    return out


def test_a_narrow_one_is_a_table() -> None:
    """Nothing is added where one table does."""
    out = [0] * 50
    Table(NARROW).fill(out, Tape(b"one"))

    assert drawn(NARROW, 1, 50, b"one") == out
    assert len(Sampler(NARROW + 1).parts) == 2


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


def instructions(made: Sampler, seed: bytes) -> int:
    """Return how many instructions a frame's noise takes, the stream's and the hash's too."""
    seen, out, rng = 0, [0] * 20, Tape(seed)

    def count(frame: FrameType, event: str, arg: object) -> object:
        nonlocal seen
        frame.f_trace_opcodes = True
        seen += event == "opcode"
        return count

    before = sys.gettrace()
    gc.collect()
    gc.disable()  # what it has others do at their end is no work of the sampler's
    sys.settrace(count)
    try:
        made.fill(out, rng)
    finally:
        sys.settrace(before)
        gc.enable()
    return seen


@pytest.mark.long
def test_a_frame_of_noise_takes_the_same_instructions() -> None:
    """From the stream to the last sum, whatever is drawn."""
    made = Sampler(16000)
    work = {instructions(made, bytes([seed])) for seed in range(12)}

    assert len(work) == 1
    assert work.pop() > 20000

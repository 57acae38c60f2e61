"""The fixed sequence is the published one, and spread as evenly as chance would."""

import numpy as np
import pytest
from scipy import stats

from recovery import sequence
from recovery.sequence import uniforms


def test_the_words_are_those_of_splitmix64() -> None:
    """The first three for the seed 0, as the authors' and Java's own generator give them."""
    state = np.arange(1, 4, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)

    words = [int(word) for word in sequence._mix(state)]

    assert words == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


@pytest.mark.parametrize("stream", [0, 1, 2**63, -5])
def test_numbers_are_even_and_do_not_follow_each_other(stream: int) -> None:
    """Pairs of neighbours fill the unit square evenly."""
    pairs = uniforms(200_000, stream).reshape(-1, 2)
    counts, *_ = np.histogram2d(*pairs.T, bins=16, range=[[0, 1], [0, 1]])

    assert stats.chisquare(counts.ravel()).pvalue > 1e-4
    assert 0 < pairs.min() < pairs.max() < 1


def test_streams_are_the_same_again_and_not_each_other() -> None:
    """The same readings must give the same map, and two walkers must not walk in step."""
    assert (uniforms(1000, 7) == uniforms(1000, 7)).all()
    assert (uniforms(500, 7) == uniforms(1000, 7)[:500]).all()
    assert abs(np.corrcoef(uniforms(100_000, 7), uniforms(100_000, 8))[0, 1]) < 0.015

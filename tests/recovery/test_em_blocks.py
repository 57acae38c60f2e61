"""Chances in squares: the same as of every cell, one by one."""

import numpy as np
import pytest

from edge.records import Grid
from recovery.disk import Query, plan
from recovery.disk.channel import channel_of
from recovery.disk.crowded_map import block_chances, in_blocks


@pytest.mark.parametrize("shape", [(12, 9), (7, 7), (5, 1), (3, 11)])
@pytest.mark.parametrize(("step", "block"), [(1, 2), (2, 2), (3, 2), (4, 5), (20, 3)])
@pytest.mark.parametrize("radius", [0, 1, 4])
def test_it_is_the_law_of_a_square_summed(
    shape: tuple[int, int], step: int, block: int, radius: int
) -> None:
    """Against the channel's own law, square by square; the last ones are smaller than a step."""
    planned = plan(Query(Grid(shape, 0), (3, 2), radius=radius), [])
    assert planned is not None
    channel = channel_of(planned)
    tops, lefts = np.arange(0, channel.rows, step), np.arange(0, channel.columns, step)
    found = block_chances(channel, tops, lefts, step, block)
    kept = in_blocks(channel.support.astype(float), block).ravel() > 0

    assert found.sum(axis=0) == pytest.approx(1)
    for place, (y, x) in enumerate((y, x) for y in tops for x in lefts):
        mass = np.zeros((channel.rows, channel.columns))
        mass[y : y + step, x : x + step] = 1
        law = in_blocks(channel.forward(mass / mass.sum()), block).ravel()[kept]
        assert found[:, place] == pytest.approx(law, abs=1e-12)

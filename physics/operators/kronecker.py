"""The product of a Kronecker product of matrices with vectors, the large matrix never formed."""

import math
from collections.abc import Sequence

from ..places import Floats


def kronecker(chains: Sequence[Sequence[Floats]], given: Floats) -> Floats:
    """Return (last axis x ... x first axis) times each row of `given`, (k, out) or (out,).

    Args:
        chains: for each axis, first the one whose index runs fastest, the matrices that are
            applied along it, in order.
        given: (k, in) or (in,), its last index counting the places of all axes.

    Axes are made shorter before any is made longer, so the most numbers that there ever are
    is that of the input or of the output.

    >>> from numpy import array, kron, ones
    >>> wide, high = array([[1.0, 2.0]]), array([[1.0, 1.0], [0.0, 3.0]])
    >>> kronecker([[wide], [high]], ones(4)), kron(high, wide) @ ones(4)
    (array([6., 9.]), array([6., 9.]))
    """
    counts = [chain[0].shape[1] for chain in chains]
    turns = []
    for axis, chain in enumerate(chains):
        for turn, matrix in enumerate(chain):
            ratio = matrix.shape[0] / matrix.shape[1]
            # Along one axis the order is given: of two thin halves the second makes it long.
            later = turn > 0 or (len(chain) == 1 and ratio > 1)
            turns.append((later, turn, ratio, axis))
    tensor = given.reshape(-1, *reversed(counts))
    for _, turn, _, axis in sorted(turns):
        tensor = _along(chains[axis][turn], tensor, len(counts) - axis)
    return tensor.reshape(*given.shape[:-1], -1)


def _along(matrix: Floats, tensor: Floats, axis: int) -> Floats:
    before, after = tensor.shape[:axis], tensor.shape[axis + 1 :]
    if after:
        found = matrix @ tensor.reshape(math.prod(before), matrix.shape[1], math.prod(after))
    else:
        found = tensor.reshape(math.prod(before), matrix.shape[1]) @ matrix.T
    return found.reshape(*before, len(matrix), *after)

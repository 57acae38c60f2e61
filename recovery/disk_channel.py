"""The channel of a disk Round: from where people are to what is answered, as probabilities."""

import numpy as np

from edge.records import Round

from .channel import Channel
from .disk_round import domain_of, total_of, weights_of


def channel_of(round: Round) -> Channel:
    """Return the channel of a Round, from the whole numbers that devices draw with.

    Its kernel is what a cell of the footprint gets above the others, (weight - far) / total, and
    its base what every cell that can be answered gets, far / total.
    """
    columns, rows = round.grid.shape
    far, total = round.params[1], total_of(round)
    weights = weights_of(round)
    above = np.where(weights != 0, weights - far, 0)
    return Channel(
        rows=rows,
        columns=columns,
        kernel=np.asarray(above / total, dtype=np.float64),
        base=far / total,
        support=domain_of(round),
    )

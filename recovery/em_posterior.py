"""The posterior of a map's logarithm, under the kind of smoothness that the answers favour.

For each order of `em_prior` the map is found by `em_scoring`, with the strengths that have the
most evidence; and so is the order. A map on a lattice is at last fitted to the answers cell by
cell. No truth is looked at, no setting tuned.

Source: MacKay 1992, Section 5, for comparing kinds by their evidence.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import NDArray

from .channel import Channel
from .em import log_likelihood
from .em_prior import ORDERS, blocked, lattice, prior
from .em_scoring import ENOUGH, UNBENT, fitted
from .em_scoring import Posterior as Posterior
from .em_scoring import exponential as exponential

Floats = NDArray[np.float64]

_REFINED_MAX = 50
_HOPELESS = 1000.0  # nats: less than it, a kind is not even doubt


def posterior(
    channel: Channel, counts: Floats, hoped: Callable[[float], float] | None = None
) -> Posterior:
    """Return the posterior under the order that has the most evidence; there are answers.

    Args:
        channel: what gave the answers.
        counts: answers at each place of the outer array.
        hoped: returns the evidence of another map than these, given that of the first order. The
            orders after it that cannot come near that are not among the rivals.
    """
    places = lattice(channel)
    coarse = blocked(channel, counts, places.block)
    u, needed = np.zeros(places.chances.shape[1]), -math.inf
    fits: list[Posterior] = []
    for order in ORDERS:
        # Each order begins where the one before it ended: most of the way is the same.
        smooth = prior(places.shape, order)
        found = fitted(places, coarse, smooth, u, needed)
        if found.strength > UNBENT and fits:
            # The evidence has a second summit where nothing bends, and from there no way leads
            # to the first: from an even map it may.
            again = fitted(places, coarse, smooth, np.zeros_like(u), needed)
            found = max(found, again, key=lambda one: one.evidence)
        if found.overall < needed:
            continue
        u = found.u
        fits.append(found if places.block == 1 else _refined(channel, counts, found))
        if hoped and order == ORDERS[0]:
            # What the cells' answers add to the blocks' differs by order, but not by so much.
            added = fits[0].overall - found.overall
            needed = hoped(fits[0].overall) - added - _HOPELESS
    fits.sort(key=lambda found: found.evidence)
    return replace(fits[-1], rivals=tuple(fits[:-1]))


def _refined(channel: Channel, counts: Floats, found: Posterior) -> Posterior:
    """Return the posterior with u fitted to the answers cell by cell, not block by block.

    The blocks' precision stays: it differs from the cells' by what the answers cannot tell.
    """
    grid, reports = found.lattice, float(counts.sum())
    precision = prior(grid.shape, found.order).precision(found.strength, found.level)
    u, steps = found.u, found.steps
    mass = exponential(grid.spread(u))
    law = channel.forward(mass)
    height = log_likelihood(counts, law) - float(u @ precision @ u) / 2
    for _ in range(_REFINED_MAX):
        ratio = np.divide(counts, law, out=np.zeros_like(law), where=counts > 0)
        uphill = grid.gathered(mass * (channel.adjoint(ratio) - reports)) - precision @ u
        way = scipy.linalg.cho_solve((found.factor, True), uphill)
        share, gained = 1.0, -1.0
        while gained < 0 and share > 1e-3:
            tried = u + share * way
            mass = exponential(grid.spread(tried))
            law = channel.forward(mass)
            found_height = log_likelihood(counts, law) - float(tried @ precision @ tried) / 2
            gained = found_height - height
            share /= 2
        steps += 1
        if gained < 0:
            break
        u, height = tried, found_height
        if gained < ENOUGH:
            break
    # Of every order: the blocks' likelihood is no evidence beside the cells', which has another
    # constant and, between two places, another map.
    more = height - found.height
    return replace(
        found,
        u=u,
        steps=steps,
        evidence=found.evidence + more,
        overall=found.overall + more,
        height=height,
    )

"""The most probable map if its logarithm is smooth, and how smooth the answers themselves say.

`em_posterior` finds it. What comes out is a posterior: its spread holds both the noise of the
answers and what smoothing hides, which is why it covers on the average over the map (Nychka 1988),
where a variance alone does not.

The smooth map is of a population, and the users are a sample of it, as rough as so many draws are.
What their answers say of their own shares, given f, is one step of expectation maximisation more:
it is the mean of the users' shares given the answers. At small epsilon it changes nothing, at
great epsilon it ends near the answers themselves.

Source: Good and Gaskins 1971, for penalised likelihood; Silverman 1982, for logarithms.
"""

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import ArrayLike, NDArray

from .channel import Channel
from .convolve import by_transform
from .em import NOBODY, OPTIMAL, Fit, checked_counts, even, log_likelihood, stepped
from .em_posterior import Posterior, posterior

Floats = NDArray[np.float64]

_NO_CHANCE = 1e-4  # of an order: too little to be worth its inverse


def most_probable(channel: Channel, counts: ArrayLike) -> Fit:
    """Return the map of most probability, with its standard deviations.

    Args:
        counts: answers at each place of the outer array, (rows + 2 ry, columns + 2 rx).

    Raises:
        ValueError: counts that no answers give.
    """
    seen = checked_counts(channel, counts)
    if not seen.any():
        return Fit(even(channel), 0.0, 0, NOBODY)
    found = posterior(channel, seen)
    smooth = found.mass
    law = channel.forward(smooth)
    mass = stepped(channel, seen, smooth, law)
    spread = np.sqrt(variances(found) + scatter(channel, seen, smooth, law))
    why = (
        f"logarithm smooth of order {found.order}, strength {found.strength:.3g} by evidence; "
        f"the answers decide {found.decided:.1f} of {found.u.size - 1} directions"
    )
    worth = log_likelihood(seen, channel.forward(mass))
    return Fit(mass, worth, found.steps, OPTIMAL, why, spread)


def variances(found: Posterior) -> Floats:
    """Return the mean square by which each share of the population may be off, (rows, columns).

    Over all orders, each with the chance that its evidence gives it: where the answers do not
    tell one kind of smoothness from another, what they differ by is doubt, too.
    """
    orders = (found, *found.rivals)
    chances = np.exp([one.evidence - found.evidence for one in orders])
    total = np.zeros_like(found.mass)
    for one, chance in zip(orders, chances / chances.sum(), strict=True):
        if chance > _NO_CHANCE:
            total += chance * (np.square(deviations(one)) + np.square(one.mass - found.mass))
    return total


def deviations(found: Posterior) -> Floats:
    """Return the standard deviation of each cell's share under one order, (rows, columns).

    To first order a share changes by f (du - sum of f du). It is the population's share.
    """
    grid = found.lattice
    mass = found.mass
    root = scipy.linalg.solve_triangular(found.factor, np.eye(found.u.size), lower=True)
    total = np.zeros_like(mass)
    for row in root:
        change = grid.spread(row)
        total += (change - float(np.vdot(mass, change))) ** 2
    return mass * np.sqrt(total)


def scatter(channel: Channel, counts: Floats, mass: Floats, law: Floats) -> Floats:
    """Return the variance of each share of the users themselves, given the map and the answers.

    Each answer from o is of a user in cell i with chance w = f_i P_oi / g_o, so the variance is
    the sum of counts w (1 - w), over n**2.
    """
    reports, base = float(counts.sum()), channel.base
    once = np.divide(counts, law, out=np.zeros_like(law), where=counts > 0)
    twice = np.divide(once, law, out=np.zeros_like(law), where=counts > 0)
    # The square of a chance is that of its kernel, twice its product with the base, and base**2.
    squared = by_transform(mass.shape, channel.kernel * (channel.kernel + 2 * base))
    both = squared.adjoint(twice) + base**2 * float(twice.sum())
    found = mass * channel.adjoint(once) - np.square(mass) * both
    return np.maximum(found, 0.0) / reports**2

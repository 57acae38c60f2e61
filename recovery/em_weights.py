"""The likeliest weights of a few laws.

    -sum counts ln(laws w) + n sum w   is least over w >= 0 where the likelihood is over maps,

and its quadratic model at w, with b = laws' (counts / g) and H = laws' diag(counts / g**2) laws,
is v' H v / 2 - (2 b - n)' v: a least-squares problem without negative weights. A few such steps
end where expectation maximisation needs thousands, for laws that are nearly alike.

Source: Kim, Carbonetto, Stephens and Anitescu 2020, Section 3, equations 6 to 9.
"""

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NO_WEIGHT = 1e-9
_STEPS_MAX = 30
_ENOUGH = 1e-4  # nats


def fitted(laws: Floats, counts: Floats, weights: Floats) -> Floats:
    """Return the weights, not negative and adding to one, that are likeliest.

    Args:
        laws: (answers, weights), the chance of each answer under each law; positive.
        counts: (answers,), how often each was given; positive.
        weights: (weights,), to begin with; not all nought.
    """
    reports = float(counts.sum())

    def lost(weights: Floats) -> float:
        return reports * float(weights.sum()) - float(counts @ np.log(laws @ weights))

    height = lost(weights)
    for _ in range(_STEPS_MAX):
        once = laws / (laws @ weights)[:, None]
        bent = (once * counts[:, None]).T @ once
        # Two laws that are the same leave a direction free.
        bent += 1e-10 * np.trace(bent) / len(bent) * np.eye(len(bent))
        root = scipy.linalg.cholesky(bent)
        wanted = scipy.linalg.solve_triangular(root.T, 2 * (counts @ once) - reports, lower=True)
        aim = scipy.optimize.nnls(root, wanted)[0]
        share, gained = 2.0, -1.0
        while not gained >= 0 and share > 1e-6:
            share /= 2
            tried = weights + share * (aim - weights)
            gained = height - lost(tried) if tried.any() else -1.0
        if gained < 0:
            break
        weights, height = tried, height - gained
        if gained < _ENOUGH:
            break
    return np.asarray(weights / weights.sum())

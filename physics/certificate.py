"""What all lags before a reading change together, which is less than each at its worst.

Lags are felt by different sensors, so their worst changes do not point the same way. Let S_l be
what a displaced path can change in lag l. For positive definite E_g, one for each group g of
lags, and a_g > 0, and any unit vector u, by Cauchy and Schwarz

    u' sum over l of d_l <= sum over g of s_g sqrt(u' E_g u)
                         <= sqrt(sum of a_g) sqrt(u' Z u),

    s_g = sum over l in g of the greatest sqrt(d' E_g^-1 d) in S_l,    Z = sum of s_g^2 E_g / a_g,

so the change is at most b where b^2 - (sum of a_g) Z is positive definite. Only that is trusted,
with s_g looked for over all lags and places: a certificate from anywhere costs noise if it is a
poor one, and never privacy.

A good one is a saddle. For a density M over directions u, E_g is the ellipsoid about S_g of the
least tr(M E_g), by an optimal design that weighs what sticks out; and M moves to where Z is long.

Source: Boyd and Vandenberghe 2004, "Convex Optimization", sections 5.9 and 8.4, for the dual of a
minimal ellipsoid; Silvey, Titterington and Torsney 1978, "An algorithm for optimal designs on a
finite design space", for its weights; Tsuda, Ratsch and Warmuth 2005 for the steps of M.
"""

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .displaced import Knot, Past, bound_steepest, compute_edge_slopes
from .places import Floats

_GROUPS = 17  # of lags, with about as much of the change in each
_ROUNDS = 40
_LOOK = 20  # rounds until all places are looked at again
_LIKELY = 0.3  # of a lag's longest change: what is shorter is left to later looks
_NARROWEST = 1e-6  # of an ellipsoid's mean square axis: so that it can be inverted
_LEAST = 1e-6  # of the longest square axis: an ellipsoid thinner than that proves nothing
_SLACK = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """Ellipsoids that show what lags change together.

    Args:
        until: (groups,), the last lag of each, growing; later ones belong to the last group.
        shares: (groups,), a_g.
        ellipsoids: (groups, sensors, sensors), E_g.
    """

    until: Floats
    shares: Floats
    ellipsoids: Floats


def to_bytes(certificates: Sequence[Certificate]) -> bytes:
    """Return certificates as bytes, for a file."""
    held = io.BytesIO()
    for one in certificates:
        flat = one.ellipsoids.reshape(len(one.until), -1)
        np.save(held, np.concatenate([one.until[:, None], one.shares[:, None], flat], axis=1))
    return held.getvalue()


def from_bytes(raw: bytes) -> list[Certificate]:
    """Return the certificates of these bytes, one at least.

    Raises:
        ValueError: they are of none.
    """
    held = io.BytesIO(raw)
    found: list[Certificate] = []
    try:
        while held.tell() < len(raw) or not found:
            part = np.load(held, allow_pickle=False)
            groups, wide = part.shape
            sensors = math.isqrt(wide - 2)
            ellipsoids = part[:, 2:].reshape(groups, sensors, sensors)
            found.append(Certificate(part[:, 0], part[:, 1], ellipsoids))
    except (ValueError, EOFError, OSError) as fault:
        raise ValueError(
            f"{len(raw)} bytes were given for certificates but are none ({fault}), and less noise "
            "that nothing proves would hide too little. Remove the file, and others are made."
        ) from fault
    return found


def bound_changes(many: Past, certificate: Certificate) -> Floats:
    """Return what all lags change together, (distances,) in l2 norm, by those of `many`.

    Raises:
        ValueError: the certificate is not positive, not finite or of other sensors, or paths
            are displaced through walls, of which it proves nothing.
    """
    if any(knot.floor.across is not None for knot in many.knots):
        raise ValueError(
            "paths are displaced through walls, but a certificate bounds paths through air alone: "
            "it leaves out by how much the two sides of a wall differ. Bound each lag by itself "
            "instead, without a certificate."
        )
    until, shares, ellipsoids = certificate.until, certificate.shares, certificate.ellipsoids
    sensors = many.knots[0].felt.shape[1]
    good = (
        ellipsoids.shape == (len(until), sensors, sensors)
        and all(np.isfinite(part).all() for part in (until, shares, ellipsoids))
        and len(until) > 0
        and (shares > 0).all()
        and np.array_equal(ellipsoids, np.swapaxes(ellipsoids, 1, 2))
        and all(axes[0] > _LEAST * axes[-1] > 0 for axes in np.linalg.eigvalsh(ellipsoids))
    )
    if not good:
        raise ValueError(
            f"a certificate has ellipsoids of shape {ellipsoids.shape} but they must be finite "
            f"and positive, each of {sensors} sensors: only then does it prove what a path can "
            "change. Make it anew from the room."
        )
    metrics = _compute_metrics(ellipsoids)
    sums = np.zeros(len(until))
    for knot, weight in zip(many.knots, many.weights.tolist(), strict=True):
        group = min(int(np.searchsorted(until, knot.nth)), len(until) - 1)
        sums[group] += weight * _find_longest_changes(knot, metrics[group])[0]
    felt = sums > 0
    total = float(shares[felt].sum())
    shape = np.einsum("g,gij->ij", np.square(sums[felt]) / shares[felt], ellipsoids[felt])
    square = total * float(np.linalg.eigvalsh(shape)[-1]) * (1 + _SLACK)
    if square > 0:  # where this is not positive definite it raises, and nothing is proved
        np.linalg.cholesky(square * np.eye(sensors) - total * shape)
    together = np.array(many.far_m) * math.sqrt(square) + many.rest.joint
    return np.asarray(together * (1 + _SLACK))


def search_certificate(many: Past) -> Certificate:
    """Return a certificate of these lags, as good as is found."""
    sensors = many.knots[0].felt.shape[1]
    plain = np.eye(sensors)
    known = _Known(many)
    if not known.groups:  # nothing is felt of anybody
        return Certificate(np.zeros(1), np.ones(1), plain[None])
    spread = plain / sensors  # M
    for now in range(_ROUNDS):
        ellipsoids = known.around(0.97 * spread + 0.03 * plain / sensors)
        shares = known.sums * np.sqrt(np.einsum("ij,gji->g", spread, ellipsoids))
        shape = np.einsum("g,gij->ij", known.sums**2 / shares, ellipsoids)
        if now + 1 == _ROUNDS:
            break
        pull = 2 / np.sqrt(1 + now) * shape / np.einsum("ij,ji->", spread, shape)
        log = _map(spread + 1e-12 * plain, np.log) + pull
        log -= np.linalg.eigvalsh(log)[-1] * plain
        spread = _map(log, np.exp)
        spread /= np.trace(spread)
        if (now + 1) % _LOOK == 0:
            known.look(ellipsoids)
    return Certificate(known.until, shares, ellipsoids)


class _Known:
    """The changes that a certificate is made for: of each lag, those that stick out."""

    def __init__(self, many: Past) -> None:
        plain = np.eye(many.knots[0].felt.shape[1])
        found = [_find_longest_changes(knot, plain) for knot in many.knots]
        felt = [at for at, (longest, _) in enumerate(found) if longest > 0]
        self.knots = [many.knots[at] for at in felt]
        self.weights = many.weights[felt]
        self.longest = np.array([found[at][0] for at in felt])
        share = self.weights * self.longest
        middle = (np.cumsum(share) - share / 2) / share.sum()
        self.group = np.unique((middle * _GROUPS).astype(int), return_inverse=True)[1].ravel()
        self.groups = len(np.unique(self.group))
        nths = np.array([knot.nth for knot in self.knots])
        self.until = np.array([nths[self.group == it].max() for it in range(self.groups)], float)
        changes = []
        for at in felt:
            longest, some = found[at]
            changes.append(some[np.square(some).sum(axis=1) >= (_LIKELY * longest) ** 2])
        self.changes = np.concatenate([np.zeros((0, len(plain))), *changes])
        self.knot = np.repeat(np.arange(len(felt)), [len(some) for some in changes])
        self.odds = self._normalise_odds(np.ones(len(self.knot)))
        self.sums = np.bincount(self.group, weights=share)

    def around(self, spread: Floats) -> Floats:
        """Return an ellipsoid for each group, about its changes, short where M is large."""
        root = _map(spread, np.sqrt)
        inverse = np.linalg.inv(root)
        group = self.group[self.knot]
        sizes = np.sqrt(self.odds * (self.weights / self.longest)[self.knot])
        seen = (self.changes @ root) * sizes[:, None]
        inner = np.stack([seen[group == it].T @ seen[group == it] for it in range(self.groups)])
        width = np.trace(inner, axis1=1, axis2=2)[:, None, None]
        inner = _map(inner + _NARROWEST * width * np.eye(len(spread)) / len(spread), np.sqrt)
        ellipsoids = inverse @ inner @ inverse
        ellipsoids /= np.trace(ellipsoids, axis1=1, axis2=2)[:, None, None]
        ellipsoids = (ellipsoids + np.swapaxes(ellipsoids, 1, 2)) / 2
        metrics = _compute_metrics(ellipsoids)
        square = np.empty(len(self.knot))
        for it in range(self.groups):
            square[group == it] = np.square(self.changes[group == it] @ metrics[it]).sum(axis=1)
        most = np.zeros(len(self.knots))
        np.maximum.at(most, self.knot, square)
        self.longest = np.sqrt(most)
        self.sums = np.bincount(self.group, weights=self.weights * self.longest)
        self.odds = self._normalise_odds(self.odds * square)
        return ellipsoids

    def look(self, ellipsoids: Floats) -> None:
        """Take in what sticks out of these, of all places."""
        metrics = _compute_metrics(ellipsoids)
        for nth, knot in enumerate(self.knots):
            metric = metrics[self.group[nth]]
            found = _find_longest_changes(knot, metric)[1]
            out = np.square(found).sum(axis=1) > (1.003 * self.longest[nth]) ** 2
            count = int(np.count_nonzero(out))
            self.changes = np.concatenate([self.changes, found[out] @ np.linalg.inv(metric)])
            self.knot = np.concatenate([self.knot, np.full(count, nth)])
            self.odds = np.concatenate([self.odds, np.full(count, 0.02)])
        self.odds = self._normalise_odds(self.odds)

    def _normalise_odds(self, weights: Floats) -> Floats:
        """Return weights that add up to one in each lag."""
        return np.asarray(weights / np.bincount(self.knot, weights=weights)[self.knot])


def _find_longest_changes(knot: Knot, metric: Floats) -> tuple[float, Floats]:
    """Return the longest change by a metre in a lag, and the longest in each square.

    Both are measured by this metric: a change d counts as d @ metric.
    """
    nodes = knot.floor.table @ (knot.felt @ metric)
    square, changes = bound_steepest(knot.floor, compute_edge_slopes(knot.floor, nodes))
    return float(np.sqrt(square.max())), changes


def _compute_metrics(ellipsoids: Floats) -> Floats:
    """Return by what a change is multiplied for its length to be sqrt(d' E^-1 d)."""
    return np.swapaxes(np.linalg.inv(np.linalg.cholesky(ellipsoids)), 1, 2)


def _map(matrix: Floats, function: np.ufunc) -> Floats:
    """Return a function of symmetric matrices, by their eigenvalues."""
    values, vectors = np.linalg.eigh(matrix)
    # Round-off under nought is nought; a logarithm has its own sign.
    values = values if function is np.exp else np.maximum(values, 1e-300)
    mapped = function(values)[..., None, :]
    return np.asarray((vectors * mapped) @ np.swapaxes(vectors, -1, -2))

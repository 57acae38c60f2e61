"""How two sources of fixed joint heat can share it."""

import numpy as np
from numpy.typing import NDArray

from .bounded import at_share, log_mass, rough_mass
from .crowd import Crowd

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

# Of a power: sums of powers have lost no more digits than this.
_ROUNDING = 1e-9


class Share:
    """How two sources of fixed joint heat share it: w_1 = heat / 2 + d, w_2 = heat / 2 - d."""

    def __init__(self, crowd: Crowd, left: Floats, heat: Floats, cool: float) -> None:
        self._problem = crowd.problem
        self._left, self._heat, self._cool = left, heat, cool
        low, high = crowd.problem.low, crowd.problem.high
        even = np.minimum(heat / 2 - low, high - heat / 2)
        # The most that d can be; two sources on their bounds leave nothing, and not less.
        self._even = np.where(even > -_ROUNDING * high, np.maximum(even, 0.0), even)
        self._least = _ROUNDING * high
        self._known = low == high

    def rough(self, ones: Whole, twos: Whole) -> tuple[Floats, Floats]:
        """Return (scores, widths) of every pair, (scenes, ones, twos), about integrated over d."""
        base, slope, stiff = self._terms(ones, twos)
        if self._known:
            return base, np.ones_like(base)
        most = self._even[:, None, None]
        peak, width = rough_mass(slope, stiff, -most, np.maximum(most, 1e-300))
        width = width / (self._problem.high - self._problem.low)
        return np.where(most >= 0, base + peak, -np.inf), width

    def alone(self, ones: Whole) -> Floats:
        """Return the score of one source that has all the heat, (scenes, ones)."""
        heat = self._heat[:, None]
        columns = self._problem.columns[ones]
        slope = np.einsum("sar,sr->sa", columns, self._left)
        stiff = np.square(columns).sum(axis=2)
        scores = self._cool * heat * (slope - 0.5 * heat * stiff)
        low, high = self._problem.low - self._least, self._problem.high + self._least
        return np.where((low <= heat) & (heat <= high), scores, -np.inf)

    def excess(self, one: Whole, two: Whole) -> Floats:
        """Return log(exact / rough integral) of each scene's pair; 0 where one has it all."""
        if self._known:
            return np.zeros(len(one))
        _, slope, stiff = (term[:, 0, 0] for term in self._terms(one[:, None], two[:, None]))
        most = np.maximum(self._even, self._least)
        exact = log_mass(slope, stiff, -most, most)
        peak, width = rough_mass(slope, stiff, -most, most)
        return np.where(two < self._problem.cells, exact - peak - np.log(width), 0.0)

    def draw(self, one: Whole, two: Whole, share: Floats) -> Floats:
        """Return the first source's power."""
        if self._known:
            return self._heat / 2
        _, slope, stiff = (term[:, 0, 0] for term in self._terms(one[:, None], two[:, None]))
        most = np.maximum(self._even, self._least)
        drawn = self._heat / 2 + at_share(slope, stiff, -most, most, share)
        return np.where(two < self._problem.cells, drawn, self._heat)

    def _terms(self, ones: Whole, twos: Whole) -> tuple[Floats, Floats, Floats]:
        """Return log-likelihood at d = 0, its slope and its curvature, (scenes, ones, twos)."""
        first, second = self._problem.columns[ones], self._problem.columns[twos]
        cross = first @ second.transpose(0, 2, 1)
        half = self._heat[:, None, None] / 2
        felt_one = first @ self._left[:, :, None]
        felt_two = (second @ self._left[:, :, None]).transpose(0, 2, 1)
        square_one = np.square(first).sum(axis=2)[:, :, None]
        square_two = np.square(second).sum(axis=2)[:, None, :]
        both = square_one + square_two
        base = half * (felt_one + felt_two) - half**2 * (0.5 * both + cross)
        slope = felt_one - felt_two - half * (square_one - square_two)
        cool = self._cool
        return cool * base, cool * slope, cool * (both - 2 * cross)

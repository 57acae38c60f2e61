"""Sources that last, without walls, against quadrature of the kernel and against textbooks."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import k0

from physics.kernels import emitted as module
from physics.kernels.emitted import emitted

LOSSES = [0.0, 0.02, 0.6, 30.0]


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_closed_forms_are_the_integral_of_the_kernel(axes: int, loss: float) -> None:
    """By somebody else's adaptive rule, from near by and early to far off and late."""
    for distance, spread in itertools.product((1e-3, 0.3, 2.0), (0.02, 4.0)):

        def kernel(log: float, r: float = distance) -> float:
            at = math.exp(log)
            return math.exp(-r * r / (4 * at) - loss * at) * at / (4 * math.pi * at) ** (axes / 2)

        low, high = math.log(distance**2 / 3000), math.log(spread)
        expected, _ = quad(kernel, low, high, epsabs=1e-18, epsrel=1e-12, limit=300)

        assert emitted(np.array([distance]), spread, axes, loss)[0] == pytest.approx(
            expected, rel=1e-9, abs=1e-15
        )


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_a_slight_loss_hands_over_to_a_large_one(axes: int, monkeypatch) -> None:
    """Powers of the loss and the closed forms share nothing but the answer."""
    distance, spread = np.array([1e-6, 0.01, 0.5, 3.0]), 0.7
    loss = module._SLIGHT / spread
    powers = emitted(distance, spread, axes, loss)
    monkeypatch.setattr(module, "_SLIGHT", 0.0)

    assert powers == pytest.approx(emitted(distance, spread, axes, loss), rel=1e-12, abs=1e-15)


def test_what_has_lasted_for_ever_is_at_rest() -> None:
    """With a loss: exp(-k r) / 2 k along a line, K0 in a plane, exp(-k r) / 4 pi r in a room."""
    r, loss = np.array([0.05, 0.4, 2.0]), 1.7
    k = math.sqrt(loss)
    rest = (
        np.exp(-k * r) / (2 * k),
        k0(k * r) / (2 * math.pi),
        np.exp(-k * r) / (4 * math.pi * r),
    )

    for axes, expected in enumerate(rest, start=1):
        assert emitted(r, 400.0, axes, loss) == pytest.approx(expected, rel=1e-12)
        assert emitted(r, 0.4, axes, loss) != pytest.approx(expected, rel=0.05)

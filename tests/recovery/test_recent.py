"""What is held of earlier rooms is given out for the same room alone."""

from dataclasses import replace

import numpy as np
import pytest

from physics.kernel import forward
from recovery.estimators.record import Seen
from recovery.l1 import prepare
from recovery.recent import Recent

CELLS = np.arange(1, 41)[:, None] / 40
OPERATOR = forward(CELLS[:, 0], np.arange(1, 61) / 60, 0.05)


def test_what_was_asked_for_last_is_held_longest() -> None:
    """One that every second question is about is never let go of."""
    held = Recent[int](2)
    for number in range(6):
        one = held.find("stated", (OPERATOR,)) or held.keep("stated", (OPERATOR,), 7)
        held.keep(number, (None,), number)

        assert one == held.find("stated", (OPERATOR.copy(),)) == 7
    assert held.find("stated", (OPERATOR + 1e-12,)) is None
    assert held.find(4, (None,)) is None
    assert held.find(5, (None,)) == 5


@pytest.mark.parametrize("what", ["operator", "room"])
def test_arrays_that_are_changed_in_place_make_another(what: str) -> None:
    """And what was made before is that of the arrays as they were."""
    operator = OPERATOR.copy()
    seen = Seen(operator, np.zeros(60), 1.0, CELLS, (1, 40))

    def make() -> np.ndarray:
        if what == "room":
            return replace(seen, sigma=2.0).make_room().seen.operator
        ready = prepare(operator)
        return ready.basis.T @ ready.small

    first = make()
    assert make() is first or what == "operator"
    operator *= 2.0

    assert np.allclose(first, OPERATOR, atol=1e-12)
    assert np.allclose(make(), 2 * OPERATOR, atol=1e-12)
    operator /= 2.0
    assert np.allclose(make(), OPERATOR, atol=1e-12)

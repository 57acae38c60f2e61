"""The box of modes against the kernels, against an integrator, and at its two ends."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from physics.air import AIR_J_PER_M3K
from physics.kernel import forward
from physics.recorded.warming import (
    PERSON_SD_M,
    Warming,
    step_response,
)

SIZE_M = np.array([4.7, 3.4, 2.9])
PLACES_M = np.array([[4.0, 0.8, 0.9], [2.3, 1.7, 2.88], [2.4, 1.2, 1.2]])
ROOM = Warming(2.0, 20.0, 1 / 500, 1e-3, 0.02, (2.0, 1.0, 1.2))


@pytest.mark.long
@pytest.mark.parametrize("at_s", [60.0, 1500.0])
def test_an_endless_store_is_a_loss_from_the_kernels(at_s: float) -> None:
    """The kernels of a closed box, times exp(-exchange t), added up over time by quadrature."""
    room = replace(ROOM, store_factor=1e12)
    nodes, weights = np.polynomial.legendre.leggauss(300)
    root = (nodes + 1) / 2
    total = np.zeros(len(PLACES_M))
    for ago_s, weight in zip(root**2 * at_s, root * at_s * weights, strict=True):
        spread_m2 = room.mixing_m2_per_s * ago_s + PERSON_SD_M**2 / 2
        kernel = np.exp(-room.exchange_per_s * ago_s)
        for axis in range(3):
            here = [room.place_m[axis]]
            kernel = (
                kernel
                * forward(here, PLACES_M[:, axis], spread_m2, "insulated", SIZE_M[axis])[:, 0]
            )
        total += weight * kernel
    total /= room.capacity_factor * AIR_J_PER_M3K

    found = step_response(room, SIZE_M, PLACES_M, np.array([at_s]))[:, 0]

    assert found == pytest.approx(total, rel=2e-3)


@pytest.mark.parametrize("door_open", [False, True])
def test_the_even_part_obeys_its_two_equations(door_open: bool) -> None:
    """Mixed at once there is nothing but air and store: two equations, integrated."""
    at_s = np.array([100.0, 1000.0, 9000.0])
    leak = ROOM.open_loss_per_s if door_open else 0.0
    back = ROOM.exchange_per_s * ROOM.capacity_factor / ROOM.store_factor
    bare = AIR_J_PER_M3K * np.prod(SIZE_M)

    def rates(_: float, kelvin: np.ndarray) -> list[float]:
        passed = kelvin[0] - kelvin[1]
        heating = 1 / (ROOM.capacity_factor * bare)
        return [heating - ROOM.exchange_per_s * passed - leak * kelvin[0], back * passed]

    told = solve_ivp(rates, (0, 9000), [0, 0], t_eval=at_s, rtol=1e-10, atol=1e-14).y[0]

    mixed = replace(ROOM, mixing_m2_per_s=1e6)
    assert step_response(mixed, SIZE_M, PLACES_M[:1], at_s, door_open)[0] == pytest.approx(
        told, rel=1e-6
    )

"""When a step is too long, held against what the step then does."""

import numpy as np
import pytest

from physics.diffusion.assemble import step_fault
from physics.diffusion.medium import Drive, Medium, still
from physics.diffusion.run import Run, march
from physics.places import Floats

SHAPE = (20, 40)
CELL_M = 0.1


def air() -> Medium:
    """Return a plan of stirred air: a cell passes its heat on in 0.75 s."""
    capacity = np.full(SHAPE, 3618.0)
    return Medium(
        (CELL_M, CELL_M), np.full(SHAPE, 12.06), capacity, capacity / 7200, ((3.0, 3.0),) * 2, 2.5
    )


def walked(medium: Medium, step_s: float, always_damped: bool = False) -> Floats:
    """Return the field after a walker of 30 W went a metre in steps of that length."""

    def drives(from_s: float, to_s: float) -> Drive:
        power = np.zeros(SHAPE)
        for at_s in from_s + (to_s - from_s) * (np.arange(40) + 0.5) / 40:
            power[10, 15 + min(9, int(at_s / 240 * 10))] += 30 / 40
        return still(medium, power)

    run = Run(medium, always_damped=always_damped)
    for _ in march(run, drives, step_s, 240.0):
        pass
    return run.field_k


def test_a_step_that_is_allowed_does_not_ring_and_a_long_one_does() -> None:
    """Beside steps of half a second: within a tenth of the warmest where it says nothing.

    A step at which it speaks is off by more, and damping every step mends that one.
    """
    medium = air()
    exact = walked(medium, 0.5)
    off = {step_s: np.abs(walked(medium, step_s) - exact).max() for step_s in (5.0, 24.0)}
    damped = np.abs(walked(medium, 24.0, always_damped=True) - exact).max()

    assert step_fault(medium, 5.0) == ""
    assert off[5.0] < 0.02 * exact.max()
    assert step_fault(medium, 24.0).endswith("5 s would do")
    assert off[24.0] > 0.2 * exact.max()
    assert step_fault(medium, 24.0, always_damped=True) == ""
    assert damped < 0.1 * exact.max()


def test_a_walker_may_go_a_cell_or_its_own_width() -> None:
    """The sentence has the speed, the way, what is allowed and what would do."""
    medium = air()

    assert step_fault(medium, 1.0, speed_m_per_s=0.1) == ""
    assert step_fault(medium, 1.0, speed_m_per_s=0.5, width_m=0.5) == ""
    assert step_fault(medium, 5.0, speed_m_per_s=1.2, width_m=0.5) == (
        "a step of 5 s is too long: what moves at 1.2 m/s goes 6 m in it, and only 0.5 m of "
        "smear are allowed; 0.2 s would do"
    )
    assert "0.05 s would do" in step_fault(medium, 5.0, speed_m_per_s=1.2)


@pytest.mark.parametrize("speed", [0.0, 0.01, 0.3, 1.7])
@pytest.mark.parametrize("cell_m", [0.01, 0.13])
def test_the_step_that_would_do_does(speed: float, cell_m: float) -> None:
    """And is not much shorter than it must be."""
    medium = Medium((cell_m,), np.ones(9), np.full(9, 1e3), np.zeros(9), ((0.0, 5.0),))
    said = step_fault(medium, 1e4, speed)
    would = float(said.split(";")[1].split()[0])

    assert step_fault(medium, would, speed) == ""
    assert step_fault(medium, 2.6 * would, speed) != ""


def test_only_cells_with_a_source_count() -> None:
    """A metal strip where nobody stands needs no short steps."""
    capacity = np.full(SHAPE, 3618.0)
    conductivity = np.full(SHAPE, 12.06)
    conductivity[:, 0] = 4e3
    medium = Medium((CELL_M, CELL_M), conductivity, capacity, 0 * capacity, ((0.0, 0.0),) * 2)
    inside = np.ones(SHAPE, dtype=bool)
    inside[:, :2] = False

    assert step_fault(medium, 5.0) != ""
    assert step_fault(medium, 5.0, where=inside) == ""


def test_what_is_no_step_is_refused() -> None:
    """A time, a speed and a length."""
    with pytest.raises(ValueError, match="step_s is 0, speed_m_per_s 1"):
        step_fault(air(), 0.0, 1.0)
    with pytest.raises(ValueError, match="speed_m_per_s -1"):
        step_fault(air(), 1.0, -1.0)

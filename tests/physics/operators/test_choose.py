"""Which operator is chosen, and that what it says of itself is true."""

from dataclasses import replace

import numpy as np
import pytest

from physics.kernel import forward
from physics.operators import choose, direct
from physics.operators.choose import Axes, forward_operator, measured
from physics.operators.direct import Dense, Direct
from physics.operators.lowrank import LowRank
from physics.operators.uniform import Uniform

world = np.random.default_rng(3)


def middles(count: int) -> np.ndarray:
    return (np.arange(count) + 0.5) / count


EVEN = middles(3000)
SCATTERED = world.random(3000)
PLANE = world.random((4000, 2))


@pytest.mark.parametrize(
    ("sources", "sensors", "spread", "walls", "method"),
    [
        (EVEN, EVEN, 0.05, "none", "fft"),
        (EVEN, EVEN, 0.05, "insulated", "dct"),
        (EVEN, EVEN[::3], 0.05, "cold", "dst"),
        (SCATTERED, EVEN, 0.05, "insulated", "low rank"),
        (SCATTERED, EVEN, 2e-5, "insulated", "panels"),
        (SCATTERED, EVEN, 1e-9, "none", "near"),
        (SCATTERED[:40], EVEN[:30], 1e-4, "none", "dense"),
        (PLANE, PLANE, 0.05, "insulated", "low rank"),
        (PLANE, PLANE, 1e-6, "none", "near"),
        (PLANE[:20], PLANE[:30], 0.01, "cold", "dense"),
        (PLANE[:2000], PLANE[:300], 0.02, "none", "dense"),
        (PLANE[:2000], PLANE[:400], 0.02, "insulated", "low rank"),
        (Axes((SCATTERED[:99], middles(99))), Axes((EVEN[:99],) * 2), 0.02, "none", "separable"),
        (Axes((middles(200),) * 2), Axes((middles(200),) * 2), 1e-4, "insulated", "dct"),
    ],
)
def test_the_cheapest_way_is_taken_and_its_error_stated(
    sources, sensors, spread, walls, method
) -> None:
    """The way that anybody would take by hand, and sums as good as direct ones."""
    operator = forward_operator(sources, sensors, spread, walls)
    there = sources.flat() if isinstance(sources, Axes) else sources
    here = sensors.flat() if isinstance(sensors, Axes) else sensors
    some, heat = world.integers(0, len(here), 5), world.random(len(there))
    truth = forward(there, here[some], spread, walls) @ heat

    assert operator.method == method
    assert operator.error < 1e-12
    assert operator.matvec(heat)[some] == pytest.approx(truth, rel=1e-11)
    assert operator.why.startswith(f"{len(there)} sources, {len(here)} sensors: ")


@pytest.mark.long
def test_what_is_too_large_for_all_is_formed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scattered in a room, spread too little for factors and too far for near pairs."""
    monkeypatch.setattr(choose, "MOST_KEPT", 100_000)
    monkeypatch.setattr(direct, "_BLOCK", 700 * 3000)
    sources, sensors = world.random((3000, 3)), world.random((2000, 3))
    operator = forward_operator(sources, sensors, 1e-3)
    some = np.array([0, 999, 1999])
    heat = world.random(3000)
    truth = forward(sources, sensors[some], 1e-3) @ heat

    readings = np.zeros(2000)
    readings[[0, 999, 1999]] = 1.0, 2.0, 3.0
    back = forward(sources, sensors[some], 1e-3).T @ [1.0, 2.0, 3.0]

    assert operator.method == "direct"
    assert operator.rmatvec(readings) == pytest.approx(back, rel=1e-12)
    assert operator.matvec(heat)[some] == pytest.approx(truth, rel=1e-12)


@pytest.mark.parametrize("walls", ["none", "insulated", "cold"])
def test_all_ways_that_can_be_are_the_same_operator(walls: str) -> None:
    """A grid that was told place by place is recognised, x fastest."""
    sources, sensors = Axes((middles(9), middles(6))), Axes((middles(3), middles(8)))
    whole = forward(sources.flat(), sensors.flat(), 0.004, walls)
    heat, readings = world.random(54), world.random(24)
    for want in ("dense", "direct", "transform", "separable", "low rank", "near"):
        chosen = forward_operator(sources.flat(), sensors.flat(), 0.004, walls, want=want)

        assert chosen.method in (want, "fft", "dct", "dst")
        assert chosen.shape == (24, 54)
        assert np.abs(chosen.dense() - whole).max() < 1e-13 * whole.max()
        assert np.abs(chosen.columns([53, 2]) - whole[:, [53, 2]]).max() < 1e-13 * whole.max()
        assert chosen.matvec(heat) == pytest.approx(whole @ heat, rel=1e-11)
        assert chosen.rmatvec(readings) == pytest.approx(whole.T @ readings, rel=1e-11)


def test_a_shuffled_grid_is_scattered_places() -> None:
    """Or the cells would be counted in another order than they were given."""
    flat = Axes((middles(9), middles(6))).flat()
    shuffled = flat[world.permutation(54)]

    with pytest.raises(ValueError, match="these can only have"):
        forward_operator(shuffled, flat, 0.01, want="separable")
    assert forward_operator(shuffled, flat, 0.01).dense() == pytest.approx(
        forward(shuffled, flat, 0.01)
    )


def test_the_stated_error_shows_an_operator_that_is_wrong() -> None:
    """The negative control: kernels of another spread, and one sensor's row turned."""
    rows = Direct(Axes((EVEN,)), Axes((EVEN,)), 0.05, "none", (1.0,))
    right = forward_operator(EVEN, EVEN, 0.05).operator
    other = forward_operator(EVEN, EVEN, 0.0501).operator
    assert isinstance(right, Uniform)
    turned = Uniform((replace(right.axes[0], direct=right.axes[0].direct.conj()),))

    assert measured(right, rows) < 1e-14
    assert measured(other, rows) > 1e-4
    assert measured(turned, replace(rows, sensors_m=Axes((EVEN + 0.1,)))) > 1e-2
    assert measured(Dense(np.eye(2)), rows) == 0.0


@pytest.mark.long
def test_near_pairs_are_not_taken_where_what_they_leave_out_is_all_there_is() -> None:
    """All readings are below 1e-20 of a kernel's peak, and are right all the same."""
    sources, sensors = SCATTERED / 10, 0.2 + EVEN / 10
    operator = forward_operator(sources, sensors, 5e-6)

    assert operator.error < 1e-9
    with pytest.raises(ValueError, match="want is 'low rank' for"):
        forward_operator(sources, sensors, 1e-10, want="low rank")


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda: forward_operator(EVEN, EVEN, 0.05, want="magic"), "want is 'magic' but must"),
        (lambda: forward_operator(EVEN, EVEN, -1.0), "spread_m2 is -1 but must be positive"),
        (lambda: forward_operator(EVEN + 1, EVEN, 0.1, "insulated"), "between the walls"),
        (lambda: forward_operator(EVEN, PLANE, 0.1), "must share one"),
        (lambda: forward_operator(np.ones((3, 4)), PLANE, 0.1), r"shape \(3, 4\) but must be"),
        (lambda: forward_operator(Axes(()), EVEN, 0.1), "one to three are needed"),
        (lambda: forward_operator([0.1, np.nan], EVEN, 0.1), "not finite"),
        (lambda: forward_operator(SCATTERED, EVEN, 0.1, want="transform"), "need even places"),
        (lambda: forward_operator(PLANE, PLANE, 0.5, "cold", want="near"), "Leave `want` out"),
    ],
)
def test_what_cannot_be_is_refused(make, fault: str) -> None:
    """Each with what to do instead."""
    with pytest.raises(ValueError, match=fault):
        make()


def test_a_grid_is_recognised_whichever_way_its_axes_run() -> None:
    """Rows from the far wall to the near one are a grid too, and stay in their order."""
    cells, sensors = Axes((middles(9), middles(6)[::-1])), world.random((7, 2))
    operator = forward_operator(cells.flat(), sensors, 0.01)

    assert operator.cells == (9, 6)
    assert operator.dense() == pytest.approx(forward(cells.flat(), sensors, 0.01))


def test_of_many_sources_four_sensors_at_least_are_looked_at(monkeypatch) -> None:
    """The first alone would not show an operator that is wrong at the others."""
    monkeypatch.setattr(choose, "_PROBED", 1)
    rows = Direct(Axes((EVEN[:50],)), Axes((EVEN[:40],)), 0.05, "none", (1.0,))
    left = rows.dense()
    left[13] *= 2

    assert measured(LowRank(left, np.eye(50), 0.0), rows) > 0.1

"""What one move changes, from each operator's own parts, against columns and another program."""

import itertools

import numpy as np
import pytest

from physics.kernel import forward, sensitivity
from physics.operators.choose import Axes, forward_operator
from physics.operators.direct import Dense
from physics.operators.moved import (
    line_pair,
    moved,
    moved_within,
    pair,
    presence,
    steps,
    worst_step,
)
from physics.operators.separable import Separable

world = np.random.default_rng(17)


def ends(count: int) -> np.ndarray:
    return np.arange(1, count + 1) / count


def middles(count: int) -> np.ndarray:
    return (np.arange(count) + 0.5) / count


def printed(found: float, figure: str) -> bool:
    """Whether a number is the one that was printed, to within its last digit."""
    return abs(found - float(figure)) <= 0.6 * 10.0 ** -len(figure.partition(".")[2])


@pytest.mark.parametrize(
    ("spread", "free", "insulated", "cold"),
    [
        (0.005, ".839", "1.061", "1.185"),
        (0.05, ".136", ".193", ".211"),
        (0.1, ".064", ".117", ".118"),
        (0.25, ".0271", ".0266", ".0266"),
        (0.5, ".0122", ".00226", ".00226"),
    ],
)
def test_a_line_has_the_figures_that_were_tabled(spread, free, insulated, cold) -> None:
    """100 cells, 50 sensors, the paper's places; values of another program."""
    for walls, expected in (("none", free), ("insulated", insulated), ("cold", cold)):
        for want in ("transform", "low rank", "direct"):
            operator = forward_operator(ends(100), ends(50), spread, walls, want=want)
            assert printed(moved(operator), expected), (walls, want, moved(operator))


@pytest.mark.parametrize(
    ("cells", "sensors", "spread", "walls", "among", "expected"),
    [
        (100, 50, 0.05, "none", "sides", 0.896),
        (100, 50, 0.05, "none", "corners", 1.267),
        (100, 50, 0.05, "insulated", "sides", 1.851),
        (32, 24, 0.01, "none", "ring", 7.457),
        (20, 10, 0.05, "none", "sides", 0.895),
    ],
)
def test_a_plane_has_the_figures_that_were_tabled(
    cells, sensors, spread, walls, among, expected
) -> None:
    """To one of four neighbours, or of eight; from the axes alone."""
    for want in ("transform", "separable"):
        places = Axes((ends(cells),) * 2), Axes((ends(sensors),) * 2)
        operator = forward_operator(*places, spread, walls, want=want)
        assert moved(operator, 1, among) == pytest.approx(expected, abs=6e-4)


@pytest.mark.long
def test_fresh_heat_on_many_sensors_has_the_law() -> None:
    """(sqrt(m) / n) (sqrt(2 pi) / 16 pi)**(1/2) s**(-3/4), a million cells and sensors."""
    law = 1e-3 * np.sqrt(np.sqrt(2 * np.pi) / (16 * np.pi)) * 1e-4**-0.75
    places = middles(1_000_000)

    assert moved(forward_operator(places, places, 1e-4)) == pytest.approx(law, rel=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("walls", ["none", "insulated", "cold"])
@pytest.mark.parametrize(
    ("cells", "sensors"),
    [
        (middles(60), middles(60)),
        (middles(60), middles(30)),
        (middles(20), middles(60)),
        (middles(60), middles(60)[2::5]),
        (ends(60) * 0.9, ends(20)),
        (np.sort(world.random(60)), world.random(40)),
    ],
)
def test_a_line_has_the_sensitivity_of_its_columns(cells, sensors, walls) -> None:
    """Windows of the kernel, waves, thin factors and near pairs, near moves and far ones."""
    ways = 0
    for spread in (0.3, 0.02, 3e-5):
        whole = forward(cells, sensors, spread, walls)
        length = np.linalg.norm(whole, axis=0).max()
        for want in ("dense", "direct", "transform", "low rank", "near", "panels"):
            try:
                operator = forward_operator(cells, sensors, spread, walls, want=want)
            except ValueError:
                continue
            ways += 1
            if operator.error < 1e-13:
                assert presence(operator) == pytest.approx(length, rel=1e-11)
                for far in (1, 7, 19):
                    expected = sensitivity(whole, far)
                    assert moved(operator, far) == pytest.approx(expected, rel=1e-9)
    assert ways >= 9


@pytest.mark.parametrize("among", ["ring", "disc", "sides", "corners"])
@pytest.mark.parametrize("walls", ["none", "insulated", "cold"])
def test_planes_and_rooms_have_the_worst_pair_of_columns(walls: str, among: str) -> None:
    """All pairs, told apart by how the words define them."""
    held = {
        "ring": lambda gap, far: (far - 1) ** 2 < (gap**2).sum(-1) <= far**2,
        "disc": lambda gap, far: (gap**2).sum(-1) <= far**2,
        "sides": lambda gap, far: (
            sorted(abs(gap))[:-1] == [0] * (len(gap) - 1) and abs(gap).max() == far
        ),
        "corners": lambda gap, far: abs(gap).max() <= far,
    }[among]
    for counts, seen in (((5, 4), (5, 2)), ((4, 3, 3), (4, 2, 3))):
        cells = Axes(tuple(middles(count) for count in counts))
        sensors = Axes(tuple(middles(count) for count in seen))
        whole = forward(cells.flat(), sensors.flat(), 0.02, walls, (1.0,) * len(counts))
        at = np.stack(np.unravel_index(np.arange(whole.shape[1]), counts[::-1]))[::-1].T
        for far in (1, 2):
            expected = max(
                np.linalg.norm(whole[:, one] - whole[:, other])
                for one, other in itertools.combinations(range(len(at)), 2)
                if held(at[one] - at[other], far)
            )
            for want in ("dense", "transform", "separable", "low rank"):
                operator = forward_operator(cells, sensors, 0.02, walls, want=want)
                found = moved(operator, far, among, counts)
                assert found == pytest.approx(expected, rel=1e-10)


def test_four_and_eight_neighbours_and_six_and_twenty_six() -> None:
    """Half of them each, for a move and its reverse change the readings as much."""
    assert len(steps((9, 9), 1, "sides")) == 2
    assert len(steps((9, 9), 1, "corners")) == 4
    assert len(steps((9, 9, 9), 1, "sides")) == 3
    assert len(steps((9, 9, 9), 1, "corners")) == 13
    assert set(steps((9, 9), 2, "disc")) == {*steps((9, 9), 1), *steps((9, 9), 2)}


def test_scattered_sources_move_in_metres() -> None:
    """The worst of all pairs so near, from thin factors and near pairs; none, no change."""
    sources, sensors = world.random((80, 2)), world.random((30, 2))
    gaps = np.linalg.norm(sources[:, None] - sources, axis=2)
    for want, spread in (("low rank", 0.05), ("near", 1e-3), ("direct", 0.01)):
        whole = forward(sources, sensors, spread)
        apart = np.linalg.norm(whole[:, :, None] - whole[:, None], axis=0)
        operator = forward_operator(sources, sensors, spread, want=want)
        expected = apart[gaps <= 0.15].max()

        assert moved_within(operator, sources, 0.15) == pytest.approx(expected, rel=1e-10)
        assert moved_within(operator, sources, 1e-9) == 0.0


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda: moved(Dense(np.eye(3)), 3), "nothing to hide"),
        (lambda: moved(Dense(np.eye(3)), 1.5), "nothing to hide"),
        (lambda: moved(Dense(np.eye(3)), np.nan), "nothing to hide"),
        (lambda: moved_within(Dense(np.eye(3)), [0.1, 0.2, 0.3], np.nan), "distance_m is nan"),
        (lambda: moved(Dense(np.eye(3)), 1, "far"), "among is 'far' but must be one of"),
        (lambda: moved(Dense(np.eye(4)), 1, counts=(3, 1)), r"counts is \(3, 1\) but the"),
        (
            lambda: moved(
                forward_operator(middles(9), middles(9), 0.1, want="transform"), counts=(3, 3)
            ),
            r"9 sources on \(9,\)",
        ),
        (
            lambda: moved(
                forward_operator(middles(12000) / 2, middles(6000), 0.1, "cold", want="transform")
            ),
            "want='low rank'",
        ),
    ],
)
def test_moves_that_there_are_not_are_refused(make, fault: str) -> None:
    """Each with what to do instead."""
    with pytest.raises(ValueError, match=fault):
        make()


def test_a_chosen_operator_knows_its_grid_whatever_it_was_made_by() -> None:
    """Told as axes or place by place; a matrix forgets, and would take the plane for a line."""
    cells, sensors = Axes((middles(4), middles(7))), world.random((5, 2))
    whole = forward(cells.flat(), sensors, 0.02)
    expected = sensitivity(whole, 1, (4, 7))
    for places in (cells, cells.flat()):
        for want in ("dense", "direct", "low rank", "near"):
            operator = forward_operator(places, sensors, 0.02, want=want)
            assert operator.cells == (4, 7)
            assert moved(operator) == pytest.approx(expected, rel=1e-10)

    assert moved(Dense(whole)) != pytest.approx(expected, rel=1e-2)


def test_places_just_so_far_apart_are_within_that_distance() -> None:
    """0.8 is not 0.1 from 0.7 in floats, and at a far corner of a map still less."""
    for origin in (0.0, 1e6):
        places = np.array([0.7, 0.8]) + origin
        operator = forward_operator(places, places, 0.01)
        assert moved_within(operator, places, 0.1) == moved(operator) > 0


def test_a_move_beyond_the_grid_is_told_apart_at_once() -> None:
    """A box of a million cells a side would take for ever."""
    assert len(steps((3, 3), 10**6, "disc")) == 12
    with pytest.raises(ValueError, match="nothing to hide"):
        steps((3, 3), 10**6, "ring")


@pytest.mark.parametrize("seed", range(6))
def test_three_axes_of_any_factors_have_their_worst_pair(seed: int) -> None:
    """Kernels are so alike along their axes that they hide a wrong term; any numbers do not."""
    draw = np.random.default_rng(seed)
    factors = tuple(draw.normal(0.3, 1.0, shape) for shape in ((2, 2), (1, 2), (2, 3)))
    whole = Separable(factors).dense()
    at = np.stack(np.unravel_index(np.arange(12), (3, 2, 2)))[::-1].T
    for step in steps((2, 2, 3), 1, "corners"):
        expected = max(
            np.linalg.norm(whole[:, one] - whole[:, other])
            for one, other in itertools.permutations(range(12), 2)
            if (at[other] - at[one] == step).all()
        )
        assert worst_step([step], lambda axis, far: pair(factors[axis], far)) == pytest.approx(
            expected, rel=1e-12
        )


@pytest.mark.parametrize("walls", ["none", "insulated", "cold"])
def test_an_axis_knows_every_pair_of_its_columns(walls: str) -> None:
    """With their signs, which the greatest of a symmetrical room does not show."""
    operator = forward_operator(middles(12), middles(12), 0.01, walls, want="transform").operator
    for move in (-3, 0, 2):
        found = line_pair(operator.axes[0], move)
        expected = pair(operator.dense(), move)
        for part in ("apart", "middle", "cross"):
            assert getattr(found, part) == pytest.approx(getattr(expected, part), abs=1e-12)

"""Walls that lose heat, against laws of heat, closed forms and heat that flows by steps."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import expm
from scipy.optimize import brentq

from physics.kernel import forward, heat_kernel
from physics.kernels import robin
from physics.kernels.modes import mode_rates, modes
from physics.kernels.robin import forward_robin
from physics.places import Floats

PLACES = np.linspace(0, 1, 41)
SPREADS = [1e-4, 2e-3, 0.02, 0.3, 5.0]


def dirichlet(sources: Floats, sensors: Floats, spread: float, length: float) -> Floats:
    """Walls kept at the baseline, by mirror images of changing sign."""
    total = np.zeros((len(sensors), len(sources)))
    for image in range(-30, 31):
        shift = 2 * length * image
        total += heat_kernel(sensors[:, None] - sources - shift, spread)
        total -= heat_kernel(sensors[:, None] + sources - shift, spread)
    return total


@pytest.mark.parametrize("spread", SPREADS)
def test_a_wall_that_loses_nothing_is_insulated_and_one_that_loses_all_is_at_the_baseline(
    spread: float,
) -> None:
    """Both ends of the scale have their own closed forms."""
    insulated = forward(PLACES, PLACES, spread, "insulated")
    nothing = dirichlet(PLACES, PLACES, spread, 1.0)
    scale = insulated.max()

    assert np.abs(forward_robin(PLACES, PLACES, spread, 0) - insulated).max() < 1e-12 * scale
    assert np.abs(forward_robin(PLACES, PLACES, spread, 1e-9) - insulated).max() < 1e-7 * scale
    assert np.abs(forward_robin(PLACES, PLACES, spread, np.inf) - nothing).max() < 1e-12 * scale
    assert np.abs(forward_robin(PLACES, PLACES, spread, 1e9) - nothing).max() < 1e-6 * scale


@pytest.mark.parametrize("spread", SPREADS)
def test_one_wall_of_each_kind_is_half_of_an_insulated_line_twice_as_long(spread: float) -> None:
    """With as much cold as heat put beyond the middle, the middle stays at the baseline."""
    warm, cold = (
        forward(places, PLACES, spread, "insulated", 2.0) for places in (PLACES, 2 - PLACES)
    )
    mixed = forward_robin(PLACES, PLACES, spread, (0.0, np.inf))

    assert np.abs(mixed - (warm - cold)).max() < 1e-14 * max(40.0, 1 / math.sqrt(spread))
    assert np.abs(mixed.T - mixed).max() < 1e-14 * mixed.max()
    assert np.abs(mixed - forward_robin(PLACES, PLACES, spread, (np.inf, 0.0))).max() > 1e-3 * (
        mixed.max()
    )


def test_heat_that_has_met_no_wall_is_free() -> None:
    """Far from both walls and soon, nobody can tell what they are made of."""
    middle = np.linspace(0.4, 0.6, 9)

    for loss in (0.5, 20.0, np.inf):
        assert forward_robin(middle, middle, 1e-3, loss) == pytest.approx(
            forward(middle, middle, 1e-3), rel=1e-12
        )


@pytest.mark.parametrize("loss", [0.1, 1.0, 7.0, 300.0, np.inf, (0.0, 2.0), (5.0, 0.3)])
@pytest.mark.parametrize("length", [1.0, 4.0])
def test_walls_and_modes_agree_where_one_hands_over_to_the_other(
    loss: float | tuple[float, float], length: float
) -> None:
    """They share no formula, so agreement to rounding checks both."""
    near, far = np.broadcast_to(np.asarray(loss, dtype=float), 2) / length
    given = PLACES * length, PLACES * length, robin.SWITCH * length**2, near, far, length

    assert np.abs(robin._walls(*given) - modes(*given).kernel(given[2])).max() < 1e-13 * 40


def test_one_wall_sends_back_what_its_integral_says() -> None:
    """Bryan's integral of images that trail behind the first one, by quadrature."""
    spread, loss, source, sensor = 0.004, 6.0, 0.05, 0.11

    def trailing(behind: float) -> float:
        return math.exp(-loss * behind) * float(heat_kernel(source + sensor + behind, spread))

    back, _ = quad(trailing, 0, 2, epsabs=1e-13)
    expected = heat_kernel(sensor - source, spread) + heat_kernel(sensor + source, spread)

    assert forward_robin([source], [sensor], spread, loss)[0, 0] == pytest.approx(
        float(expected) - 2 * loss * back, rel=1e-9
    )


@pytest.mark.parametrize("losses", [(0.0, 2.0), (1.5, 1.5), (30.0, 4.0)])
def test_heat_that_flows_from_cell_to_cell_loses_as_much(losses: tuple[float, float]) -> None:
    """A finite-volume room knows nothing of modes; its error falls with the square of a cell."""
    spread, errors = 0.03, []
    for cells in (50, 100):
        flow = np.diag(np.full(cells - 1, 1.0), 1) + np.diag(np.full(cells - 1, 1.0), -1)
        flow -= np.diag(flow.sum(axis=1))
        for end, loss in ((0, losses[0]), (-1, losses[1])):
            # Half a cell of air and the wall's own resistance, one behind the other.
            flow[end, end] -= 1 / (0.5 + 1 / (loss / cells)) if loss else 0.0
        stepped = expm(spread * cells**2 * flow) * cells
        centres = (np.arange(cells) + 0.5) / cells
        exact = forward_robin(centres, centres, spread, losses)
        errors.append(np.abs(stepped - exact).max() / exact.max())

    assert errors[1] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)
    # The control: the same room with its walls exchanged.
    assert np.abs(stepped - forward_robin(centres, centres, spread, losses[::-1])).max() > (
        1e-2 * exact.max() if losses[0] != losses[1] else -1
    )


@pytest.mark.parametrize("spread", [0.003, 0.2])
def test_what_the_room_loses_has_passed_its_walls(spread: float) -> None:
    """The heat held falls by H times the warmth at each wall, per unit of spread."""
    losses = np.array([2.0, 9.0])
    nodes, weights = np.polynomial.legendre.leggauss(200)
    places, weights = (nodes + 1) / 2, weights / 2

    def held(at: float) -> float:
        return float(weights @ forward_robin([0.1], places, at, losses)[:, 0])

    step = 1e-3 * spread
    falls = (held(spread - step) - held(spread + step)) / (2 * step)
    lost = losses @ forward_robin([0.1], [0.0, 1.0], spread, losses)[:, 0]

    assert falls == pytest.approx(float(lost), rel=1e-4)


def test_to_wait_twice_is_to_wait_once_for_longer() -> None:
    """Heat forgets where it came from: K(s + t) = K(s) K(t), whichever form makes each."""
    nodes, weights = np.polynomial.legendre.leggauss(300)
    places, weights = (nodes + 1) / 2, weights / 2
    first = forward_robin(PLACES, places, 0.003, (3.0, 0.5))
    second = forward_robin(places, PLACES, 0.04, (3.0, 0.5))

    assert second @ (weights[:, None] * first) == pytest.approx(
        forward_robin(PLACES, PLACES, 0.043, (3.0, 0.5)), rel=1e-10, abs=1e-12
    )


@pytest.mark.parametrize("spread", SPREADS)
def test_the_more_walls_lose_the_colder_it_is_everywhere(spread: float) -> None:
    """What `recovery` takes for granted where it bounds a loss that is not known."""
    warmth = [forward_robin(PLACES, PLACES, spread, loss) for loss in (0, 0.1, 1, 8, 90, np.inf)]

    assert all(
        (more <= less + 1e-13 * less.max()).all() for less, more in itertools.pairwise(warmth)
    )


def test_a_room_is_the_product_of_its_two_lines() -> None:
    """Each pair of walls cools alone, and a pair may be given for each axis."""
    world = np.random.default_rng(5)
    sources, sensors = world.random((7, 2)) * [3, 2], world.random((5, 2)) * [3, 2]
    both = forward_robin(sources, sensors, 0.2, [[1.0, 2.0], [0.0, np.inf]], (3.0, 2.0))
    x = forward_robin(sources[:, 0], sensors[:, 0], 0.2, (1.0, 2.0), 3.0)
    y = forward_robin(sources[:, 1], sensors[:, 1], 0.2, (0.0, np.inf), 2.0)

    assert both == pytest.approx(x * y, rel=1e-9)


def test_walls_alike_lose_what_the_tangents_of_the_books_say() -> None:
    """Roots of b tan(b L/2) = H and of b cot(b L/2) = -H by brentq, modes normed by quadrature."""
    length, loss, spread, source, sensor = 2.0, 3.0, 0.08, 0.3, 1.1
    gap = 1e-9

    def even(rate: float) -> float:
        return rate * math.tan(rate * length / 2) - loss

    def odd(rate: float) -> float:
        return rate / math.tan(rate * length / 2) + loss

    total = 0.0
    for k in range(12):
        low, high = (2 * k * math.pi / length, (2 * k + 1) * math.pi / length)
        for equation, wave, start, end in (
            (even, math.cos, low, high),
            (odd, math.sin, high, high + math.pi / length),
        ):
            rate = brentq(equation, start + gap, end - gap, xtol=1e-14)
            norm, _ = quad(lambda x, b=rate, w=wave: w(b * x) ** 2, -length / 2, length / 2)
            there, here = wave(rate * (source - 1)), wave(rate * (sensor - 1))
            total += there * here / norm * math.exp(-spread * rate**2)

    assert forward_robin([source], [sensor], spread, loss, length)[0, 0] == pytest.approx(
        total, rel=1e-9
    )


def test_a_room_of_three_axes_takes_a_loss_for_each_of_its_six_walls() -> None:
    """A warm window, a floor that keeps all, a ceiling at the baseline: and waiting twice."""
    lengths, world = (3.0, 2.0, 2.5), np.random.default_rng(8)
    walls = [[0.4, 0.0], [0.0, 0.0], [0.0, np.inf]]
    sources, sensors = world.random((2, 5, 3)) * lengths
    expected = np.ones((5, 5))
    for axis, length in enumerate(lengths):
        places = sources[:, axis], sensors[:, axis]
        expected *= forward_robin(*places, 0.5, walls[axis], length)
    whole = forward_robin(sources, sensors, 0.5, walls, lengths)
    nodes, weights = np.polynomial.legendre.leggauss(20)
    places = np.stack(np.meshgrid(*[(nodes + 1) / 2 * length for length in lengths]), -1)
    volume = np.ravel(np.multiply.outer(np.multiply.outer(weights, weights), weights))
    first = forward_robin(sources, places.reshape(-1, 3), 0.25, walls, lengths)

    assert whole == pytest.approx(expected, rel=1e-12)
    assert first.T @ (
        volume[:, None]
        * forward_robin(sensors, places.reshape(-1, 3), 0.25, walls, lengths)
        * (math.prod(lengths) / 8)
    ) == pytest.approx(whole.T, rel=1e-8)
    # The control: with the ceiling and the floor exchanged.
    assert forward_robin(sources, sensors, 0.5, [*walls[:2], [np.inf, 0.0]], lengths) != (
        pytest.approx(whole, rel=0.1)
    )


def test_the_change_that_is_felt_is_bounded_by_no_other_wall() -> None:
    """Noise for insulated walls, for none, or for cold ones hides a losing wall's room too little.

    Half an hour later an insulated room is even wherever its source stood, but one that loses
    heat is warmer the further the source stood from the walls.
    """

    def felt(operator: Floats) -> float:
        return float(np.linalg.norm(np.diff(operator, axis=1), axis=0).max())

    places = np.arange(1, 101) / 100, np.arange(1, 51) / 50
    losing = felt(forward_robin(*places, 0.5, 1.0))

    assert losing > 10 * felt(forward(*places, 0.5, "insulated"))
    assert losing > 10 * felt(forward_robin(*places, 0.5, np.inf))
    assert losing > 2 * felt(forward(*places, 0.5))


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (-1.0, "is -1.0 but must be 0 or more"),
        (math.nan, "0 or more"),
        ([1.0, 2.0, 3.0], "has shape"),
        ([[1.0, 2.0], [1.0, 2.0]], "has shape"),
    ],
)
def test_walls_that_cannot_be_are_refused(loss: object, said: str) -> None:
    """A wall that makes heat would warm the room for ever."""
    with pytest.raises(ValueError, match=said):
        forward_robin([0.5], [0.5], 0.1, loss)  # type: ignore[arg-type]


def test_places_behind_a_wall_are_refused_as_between_insulated_ones() -> None:
    """The same words as for the room that keeps its heat."""
    with pytest.raises(ValueError, match="between the walls"):
        forward_robin([1.5], [0.5], 0.1, 1.0)


# The shapes of warmth between two walls, against the equation they come from.


@pytest.mark.parametrize("losses", [(0.0, 3.0), (2.0, 2.0), (40.0, 0.7)])
def test_the_rates_solve_the_equation_of_the_slab(losses: tuple[float, float]) -> None:
    """(b**2 - H0 HL) sin b L = b (H0 + HL) cos b L, with somebody else's root finder."""
    (near, far), length = losses, 2.5

    def equation(rate: float) -> float:
        swing = rate * length
        return (rate**2 - near * far) * math.sin(swing) - rate * (near + far) * math.cos(swing)

    for rate in mode_rates(8, near, far, length):
        assert brentq(equation, rate * 0.99, rate * 1.01, xtol=1e-14) == pytest.approx(rate)
        assert abs(equation(rate)) < 1e-9 * (1 + rate) * (near + 1) * (far + 1)


@pytest.mark.parametrize("losses", [(0.0, 0.0), (np.inf, np.inf), (0.0, np.inf), (3.0, 0.2)])
def test_no_two_modes_have_anything_in_common(losses: tuple[float, float]) -> None:
    """Their products add up to one over the line for a mode with itself, to nought for others."""
    nodes, weights = np.polynomial.legendre.leggauss(120)
    places = (nodes + 1) * 1.25
    shapes = modes(places, places, 0.05, *losses, 2.5).at_sensors

    assert (shapes * weights * 1.25) @ shapes.T == pytest.approx(np.eye(len(shapes)), abs=1e-12)
    assert len(shapes) == math.ceil(math.sqrt(46 / 0.05) * 2.5 / math.pi) + 1


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_walls_that_lose_next_to_nothing_are_insulated_and_the_reverse(share: float) -> None:
    """The slowest rate is sqrt((H0 + HL) / L), however small, and no square of a loss is lost."""
    places = np.array([0.1, 0.7, 1.3])
    for loss in (1e-14, 1e-30, 1e-200):
        slowest = mode_rates(3, loss, share * loss, 2.0)[0]
        nearly = modes(places, places, 1.0, loss, share * loss, 2.0).kernel(1.0)

        assert slowest == pytest.approx(math.sqrt((1 + share) * loss / 2.0), rel=1e-12)
        assert nearly == pytest.approx(modes(places, places, 1.0, 0, 0, 2.0).kernel(1.0))
    ice = modes(places, places, 1.0, np.inf, np.inf, 2.0).kernel(1.0)
    assert modes(places, places, 1.0, 1e200, 1e250, 2.0).kernel(1.0) == pytest.approx(ice)

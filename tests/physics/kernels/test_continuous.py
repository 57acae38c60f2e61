"""Sources that last, between walls and without, against the kernel added up over time."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import exp1, k0

from physics.kernel import sensitivity
from physics.kernels import continuous
from physics.kernels import continuous as module
from physics.kernels.continuous import (
    emitted,
    forward_continuous,
    young_from_images,
    young_from_kernels,
)
from physics.kernels.robin import SWITCH, forward_between

LENGTHS = (1.0, 1.7, 0.8)
WALLS = ["none", "insulated", "cold", 2.0, [[0.0, np.inf], [1.0, 3.0], [0.0, 0.0]]]
SOURCE, SENSOR = np.array([[0.31, 0.9, 0.2]]), np.array([[0.52, 1.4, 0.33]])


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("walls", WALLS, ids=["none", "insulated", "cold", "losing", "mixed"])
@pytest.mark.parametrize(
    ("duration", "off", "sd", "loss"),
    [(0.02, 0.0, 0.0, 0.0), (3.0, 0.0, 0.0, 0.4), (3.0, 0.0, 0.1, 0.4), (0.5, 0.2, 0.0, 0.0)],
)
def test_it_is_the_kernel_added_up_over_time(
    axes: int, walls, duration: float, off: float, sd: float, loss: float
) -> None:
    """By somebody else's adaptive rule over the age of the heat, to 1e-9."""
    walls = walls[:axes] if isinstance(walls, list) else walls
    places, lengths = (SOURCE[:, :axes], SENSOR[:, :axes]), LENGTHS[:axes]

    def kernel(log: float) -> float:
        age = math.exp(log)
        spread = 0.7 * age + sd**2 / 2
        felt = forward_between(*places, spread, walls, lengths)[0, 0]
        return float(felt) * age * math.exp(-loss * age)

    # A point's heat, so young, is nowhere near; of one with a size it is hardly any.
    first = math.log(off or (1e-14 if sd else 1e-4))
    expected, _ = quad(
        kernel, first, math.log(off + duration), epsabs=1e-12, epsrel=1e-10, limit=200
    )
    found = forward_continuous(
        *places, 0.7, duration, walls, lengths, off_s=off, source_sd_m=sd, loss_per_s=loss
    )

    assert found[0, 0] == pytest.approx(expected, rel=1e-9, abs=1e-11)


def test_without_walls_it_is_what_the_textbooks_print() -> None:
    """Carslaw and Jaeger: a root of time along a line, E1 in a plane, erfc over r in a room."""
    r, a, t = 0.4, 0.02, 7.0
    line = math.sqrt(t / (math.pi * a)) * math.exp(-(r**2) / (4 * a * t)) - r / (2 * a) * (
        math.erfc(r / math.sqrt(4 * a * t))
    )
    plane = exp1(r**2 / (4 * a * t)) / (4 * math.pi * a)
    whole = math.erfc(r / math.sqrt(4 * a * t)) / (4 * math.pi * a * r)

    for axes, expected in enumerate((line, plane, whole), start=1):
        sensor = np.full((1, axes), r / math.sqrt(axes))
        assert forward_continuous(np.zeros((1, axes)), sensor, a, t)[0, 0] == pytest.approx(
            expected, rel=1e-12
        )


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("loss", [0.0, 0.25])
def test_an_insulated_room_keeps_what_it_is_given(axes: int, loss: float) -> None:
    """Its mean is t over the volume, or what ventilation leaves of it; in the end all over it."""
    lengths, t = LENGTHS[:axes], 40.0
    centres = np.stack(
        np.meshgrid(*[(np.arange(6) + 0.5) / 6 * length for length in lengths]), -1
    ).reshape(-1, axes)
    given = -math.expm1(-loss * t) / loss if loss else t
    options = {"source_sd_m": 0.2, "loss_per_s": loss}
    # An even sample of a room is exact for the modes that a source of this size still has.
    held = forward_continuous(
        SOURCE[:, :axes], centres, 0.05, t, "insulated", lengths, **options
    ).mean()

    assert held * math.prod(lengths) == pytest.approx(given, rel=1e-4)
    late = [
        forward_continuous(SOURCE[:, :axes], SENSOR[:, :axes], 0.5, at, "insulated", lengths)
        for at in (90.0, 91.0)
    ]

    assert (late[1] - late[0])[0, 0] == pytest.approx(1 / math.prod(lengths), rel=1e-10)
    cold = [
        forward_continuous(SOURCE[:, :axes], SENSOR[:, :axes], 0.5, at, "cold", lengths)
        for at in (90.0, 91.0)
    ]

    assert (cold[1] - cold[0])[0, 0] == pytest.approx(0.0, abs=1e-12)


def test_on_and_off_is_a_difference_of_two_and_goes_both_ways() -> None:
    """Heat adds up, sources and sensors may be exchanged, and a move is felt as ever."""
    world = np.random.default_rng(6)
    sources, sensors = world.random((2, 5, 2))
    on = {at: forward_continuous(sources, sensors, 0.01, at, "insulated") for at in (10, 30, 40)}
    stopped = forward_continuous(sources, sensors, 0.01, 30, "insulated", off_s=10)

    assert stopped == pytest.approx(on[40] - on[10], rel=1e-11)
    assert stopped != pytest.approx(on[30], rel=0.1)
    assert forward_continuous(sensors, sources, 0.01, 30, "insulated").T == pytest.approx(on[30])
    assert sensitivity(on[30]) == pytest.approx(
        float(np.linalg.norm(np.diff(on[30], axis=1), axis=0).max())
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"duration_s": 0.0}, "duration_s is 0 but must be positive"),
        ({"duration_s": math.inf}, "duration_s is inf"),
        ({"diffusivity_m2_per_s": 0.0}, "diffusivity_m2_per_s is 0 but must be positive"),
        ({"off_s": -1.0}, "off_s is -1 but must be 0 or more"),
        ({"source_sd_m": math.nan}, "source_sd_m is nan"),
        ({"loss_per_s": -0.1}, "loss_per_s is -0.1"),
        ({"sensors_m": [[0.5, 0.5]]}, "infinitely warm. Give the source its size"),
        ({"walls": "insulated", "length_m": 0.4}, "must be between the walls"),
        ({"walls": "brick"}, "walls is 'brick'"),
        ({"walls": -1.0}, "must be 0 or more at every wall"),
    ],
)
def test_sources_that_cannot_be_are_refused(change: dict[str, object], said: str) -> None:
    """A point in a plane has no temperature where it is; a person has a size."""
    given = {
        "sources_m": [[0.5, 0.5]],
        "sensors_m": [[0.1, 0.5]],
        "diffusivity_m2_per_s": 0.1,
        "duration_s": 1.0,
    }

    with pytest.raises(ValueError, match=said):
        forward_continuous(**(given | change))
    if "sensors_m" in change:
        assert forward_continuous(**(given | change), source_sd_m=0.15)[0, 0] > 0
        assert forward_continuous(**(given | change), off_s=0.1)[0, 0] > 0


@pytest.mark.long
def test_a_sensor_on_its_source_feels_the_youngest_heat_too() -> None:
    """Walls told by what they lose add up ages, from the first that counts, as images do whole."""
    for walls, loss in (("insulated", 0.0), ("cold", np.inf)):
        whole = forward_continuous([0.4], [0.4, 0.6], 0.02, 1.5, walls)
        added = forward_continuous([0.4], [0.4, 0.6], 0.02, 1.5, loss)

        assert added == pytest.approx(whole, rel=1e-12)


# Sources that last, without walls, against quadrature of the kernel and against textbooks.

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


# Heat that was given off lately: three ways to add it up, which share no formula.


@pytest.mark.parametrize("walls", ["insulated", "cold"])
def test_images_modes_and_kernels_agree_where_one_hands_over_to_the_other(walls: str) -> None:
    """Of the second half of what is young, images, modes and quadrature say the same."""
    lengths = np.array([1.0, 1.7])
    world = np.random.default_rng(4)
    sources, sensors = world.random((2, 4, 2)) * lengths
    first, last = SWITCH * 0.5, SWITCH
    both = young_from_images(sources, sensors, last, 0.3, walls, lengths)
    early = young_from_images(sources, sensors, first, 0.3, walls, lengths)
    late = continuous._old(sources, sensors, first, last, walls, lengths, 0.0, 0.3)

    assert early + late == pytest.approx(both, rel=1e-10, abs=1e-13)
    given = sources, sensors, first, last, walls, tuple(lengths.tolist())

    assert young_from_kernels(*given, 0.0, 0.3) == pytest.approx(late, rel=1e-10, abs=1e-13)

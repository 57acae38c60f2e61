"""The greatest sensitivity over a range of spreads: closed forms, and never below the truth."""

import math

import numpy as np
import pytest

from physics.kernel import forward, sensitivity
from physics.operators import worst
from physics.operators.choose import Axes
from physics.operators.worst import (
    _BEND,
    free_between,
    search,
    walled_bend,
    walled_between,
    worst_moved,
)

world = np.random.default_rng(23)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_one_source_and_one_sensor_are_felt_most_at_a_known_spread(axes: int) -> None:
    """The kernel at r peaks at s = r**2 / 2 axes; the source moves out of reach."""
    peak = (axes / (2 * math.pi * math.e)) ** (axes / 2)
    sources = Axes(([0.0, 1e3], *[[0.0]] * (axes - 1)))
    found = worst_moved(sources, [[1.0] + [0.0] * (axes - 1)] if axes > 1 else [1.0], 0.02, 9.0)

    assert peak <= found.sensitivity <= peak * (1 + 1e-3)
    assert found.spread_m2 == pytest.approx(1 / (2 * axes), rel=0.06)
    # Outside the range it is felt less, most of all at the end that is nearer.
    late = worst_moved(sources, [[1.0] + [0.0] * (axes - 1)] if axes > 1 else [1.0], 3.0, 9.0)
    assert late.spread_m2 == pytest.approx(3.0)
    assert late.sensitivity == pytest.approx(
        (12 * math.pi) ** (-axes / 2) * math.exp(-1 / 12), rel=1e-8
    )


@pytest.mark.long
@pytest.mark.parametrize("walls", ["none", "insulated", "cold"])
def test_the_bound_between_two_spreads_is_never_below_what_is_there(walls: str) -> None:
    """Few sensors and sources anywhere, in one to three axes, over steps up to threefold."""
    beaten, tight = 0, []
    for _ in range(90):
        axes = int(world.integers(1, 4))
        places = world.random((2, axes)), world.random((int(world.integers(1, 5)), axes))
        low, step = 10 ** world.uniform(-2.5, -1.0), world.uniform(0.3, 1.1)

        def felt(spread, places=places, walls=walls, axes=axes):
            return sensitivity(forward(*places, spread, walls, (1.0,) * axes))

        ends = felt(low), felt(low * math.exp(step))
        truth = max(felt(spread) for spread in np.geomspace(low, low * math.exp(step), 20))
        if walls == "none":
            bound = free_between(*ends, step, axes)
        else:
            late = forward(*places, 2 * low * math.exp(step), "insulated", (1.0,) * axes)
            bend = walled_bend(np.linalg.norm(late, axis=0).max(), step, axes)
            bound = walled_between(*ends, step, bend)
        assert bound >= truth * (1 - 1e-12)
        tight.append(bound / truth)
        beaten += truth > max(ends) * (1 + 1e-6)

    assert beaten > 5  # the control: the ends alone are not enough
    assert min(tight) < 1.01


def test_the_constants_are_the_greatest_of_what_they_bound() -> None:
    """Over all p on a fine ladder, and no looser than the last digit."""
    p = np.linspace(0, 40, 400_001)
    for axes, constant in _BEND.items():
        greatest = (2 ** (axes / 2) * np.abs((p - axes / 2) ** 2 - p) * np.exp(-p / 2)).max()
        assert greatest <= constant <= greatest + 5e-4


@pytest.mark.parametrize("walls", ["none", "insulated", "cold"])
@pytest.mark.parametrize(
    ("sources", "sensors", "low"),
    [
        ((np.arange(20) + 0.5) / 20, (np.arange(4) + 0.5) / 4, 2e-4),
        (np.arange(1, 101) / 100, np.arange(1, 51) / 50, 0.05),
        (Axes(((np.arange(6) + 0.5) / 6, (np.arange(5) + 0.5) / 5)), world.random((3, 2)), 1e-3),
    ],
)
def test_a_range_is_bounded_closely(sources, sensors, low, walls) -> None:
    """Against a ladder of 300 spreads; sparse sensors are felt most long after the start."""
    counts = sources.counts if isinstance(sources, Axes) else (len(sources), 1)
    flat = sources.flat() if isinstance(sources, Axes) else sources
    truth = max(
        sensitivity(forward(flat, sensors, spread, walls), 1, counts)
        for spread in np.geomspace(low, 2.0, 300)
    )
    found = worst_moved(sources, sensors, low, 2.0, walls)

    assert truth <= found.sensitivity <= found.found * (1 + 1e-3 + 2e-9)
    assert found.sensitivity <= truth * (1 + 2e-3)
    assert found.looks < 100


def test_a_narrow_peak_between_the_rungs_is_not_missed() -> None:
    """With few looks the bound is loose, but is one; a search that only sampled would fail."""
    looked = []

    def felt(spread: float) -> float:
        looked.append(spread)
        return math.exp(-(math.log(spread / 0.033) ** 2)) ** 0.5

    found = search(felt, 0.001, 1.0, 3)
    assert found.sensitivity >= 1.0
    assert found.found >= 1 - 1e-3
    assert min(looked) == pytest.approx(0.001)
    assert max(looked) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("low", "high", "loose"),
    [(0.0, 1.0, 1e-3), (1.0, 0.5, 1e-3), (0.1, math.inf, 1e-3), (0.1, 1, 0)],
)
def test_what_is_no_range_is_refused(low: float, high: float, loose: float) -> None:
    """With what to give first."""
    with pytest.raises(ValueError, match="Give the shortest time"):
        worst_moved([0.1, 0.2], [0.3], low, high, loose=loose)
    with pytest.raises(ValueError, match="Look at more spreads between"):
        free_between(1.0, 1.0, 2.0, 1)


def test_two_spreads_that_are_next_to_each_other_are_a_range() -> None:
    """Their logarithms are one number, so nothing lies between."""
    places = np.arange(1, 21) / 20
    one = worst_moved(places, places, 0.05, 0.05)
    two = worst_moved(places, places, 0.05, math.nextafter(0.05, 1.0))

    assert two.sensitivity == pytest.approx(one.sensitivity, rel=1e-12)
    assert worst_moved(places, places, 0.05, 0.050001, loose=1e-17).looks < 400


@pytest.mark.parametrize("want", ["dense", "low rank", None])
def test_heat_that_is_everywhere_alike_is_not_said_to_hide_a_move(want) -> None:
    """Of the slowest wave so little is left that floats next to the mean do not hold it."""
    places, spread = np.arange(1, 21) / 20, 4.5
    waves = np.cos(np.pi * places)
    truth = 2 * math.exp(-spread * np.pi**2) * np.linalg.norm(waves) * np.abs(np.diff(waves)).max()
    found = worst_moved(places, places, spread, spread, "insulated", want=want)

    assert 0 < truth < found.sensitivity < 1e-11
    assert want is None or not 0.5 < found.found / truth < 2  # the control: rounding alone


def test_a_bound_scales_with_what_it_bounds() -> None:
    """However small that is: its square would be lost."""
    for axes in (1, 2, 3):
        assert free_between(1e-200, 3e-200, 0.3, axes) == pytest.approx(
            1e-200 * free_between(1.0, 3.0, 0.3, axes), rel=1e-14
        )
    assert free_between(0.0, 0.0, 0.3, 1) == 0.0


def test_scattered_sources_have_no_cells_to_move_by() -> None:
    """The next of the list may be at the other end of the room."""
    with pytest.raises(ValueError, match="Take moved_within"):
        worst_moved(world.random((9, 2)), world.random((4, 2)), 0.01, 0.1)


def test_late_heat_between_cold_walls_is_bounded_as_closely_as_fresh() -> None:
    """No mean drowns it: the slack for rounding is of what is left."""
    places, spread = np.arange(1, 20) / 20, 4.5
    waves = np.sin(np.pi * places)
    truth = 2 * math.exp(-spread * np.pi**2) * np.linalg.norm(waves) * np.abs(np.diff(waves)).max()
    found = worst_moved(places, places, spread, spread, "cold")

    assert truth * (1 - 1e-10) <= found.sensitivity <= truth * (1 + 1e-6)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_a_step_bends_most_at_its_fresh_end(axes: int) -> None:
    """Where a sensor stands on its source that end is felt exp(axes step / 2) times as much."""
    place, low, step = [[0.5] * axes], 1e-5, 0.7
    early, late = (
        float(forward(place, place, 2 * spread, "insulated", (1.0,) * axes)[0, 0])
        for spread in (low, low * math.exp(step))
    )

    assert walled_bend(late, step, axes) == pytest.approx(2 * _BEND[axes] * early, rel=1e-12)


def test_what_bends_is_taken_from_insulated_walls_at_twice_the_spread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of the upper end of every rung: under cold walls the images do not all add up."""
    kept = {}

    def caught(felt, low, high, axes, longest, loose):
        kept.update(longest=longest)
        return search(felt, low, high, axes, longest, loose)

    monkeypatch.setattr(worst, "search", caught)
    places = np.arange(1, 20) / 20
    worst_moved(places, places, 0.1, 0.2, "cold")
    whole = forward(places, places, 0.3, "insulated")
    assert kept["longest"](0.3) == pytest.approx(np.linalg.norm(whole, axis=0).max())

    felt_at, asked = [], []
    search(lambda s: felt_at.append(s) or 1.0, 0.1, 0.2, 1, lambda s: asked.append(s) or 0.0)
    assert asked == pytest.approx([2 * spread for spread in felt_at[1:]])
    assert len(asked) == 4

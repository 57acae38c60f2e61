"""Transforms against sums of kernels that are written out here, and against another physics."""

import numpy as np
import pytest

from physics.operators.uniform import folded_modes, forward_uniform

world = np.random.default_rng(11)


def middles(count: int, length: float = 1.0) -> np.ndarray:
    return (np.arange(count) + 0.5) / count * length


def ends(count: int) -> np.ndarray:
    return np.arange(1, count + 1) / count


def line(sources, sensors, spread: float, walls: str, length: float = 1.0) -> np.ndarray:
    """The operator by its mirror images, at x + 2 j L and -x + 2 j L."""

    def g(x):
        return np.exp(-(x**2) / (4 * spread)) / np.sqrt(4 * np.pi * spread)

    gaps, sums = sensors[:, None] - sources, sensors[:, None] + sources
    if walls == "none":
        return g(gaps)
    sign = 1 if walls == "insulated" else -1
    images = 2 * length * np.arange(-12, 13)
    return sum(g(gaps - image) + sign * g(sums - image) for image in images)


LAYOUTS = {
    "the same middles": (middles(30), middles(30)),
    "one middle in three": (middles(30), middles(30)[1::3]),
    "middles of coarser cells": (middles(30), middles(15)),
    "middles of finer cells": (middles(20), middles(30)),
    "the paper's": (ends(100), ends(50)),
    "anywhere": (ends(30) * 0.7 + 0.1, 0.23 + 0.35 * ends(15)),
    "one sensor": (middles(7), np.array([0.3])),
    "one source": (np.array([0.4]), middles(9)),
    "one cell": (middles(1), middles(1)),
}


@pytest.mark.parametrize("walls", ["none", "insulated", "cold"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_both_products_are_those_of_the_sum_of_kernels(layout: str, walls: str) -> None:
    """Wherever even places stand against each other, at old heat and at fresh."""
    sources, sensors = LAYOUTS[layout]
    for spread in (0.3, 0.05, 1e-3, 1e-4):
        whole = line(sources, sensors, spread, walls)
        operator = forward_uniform([sources], [sensors], spread, walls)
        readings = world.random(len(sensors))

        largest = whole.max()
        assert operator.shape == whole.shape
        assert np.abs(operator.dense() - whole).max() < 2e-13 * largest
        back = operator.rmatvec(readings) - whole.T @ readings
        assert np.abs(back).max() < 5e-13 * largest


@pytest.mark.parametrize(
    ("walls", "layout", "method"),
    [
        ("none", "the same middles", "fft"),
        ("insulated", "the same middles", "dct"),
        ("cold", "one middle in three", "dst"),
        ("insulated", "the paper's", "fft"),
    ],
)
def test_the_transform_is_the_one_of_the_walls(walls: str, layout: str, method: str) -> None:
    """Cosines and sines only where every source is the middle of a cell."""
    sources, sensors = LAYOUTS[layout]

    assert forward_uniform([sources], [sensors], 0.01, walls).method == method


def test_a_place_that_is_off_has_no_transform() -> None:
    """A millionth of a cell is too much, rounding is not; nor are steps that share no part."""
    off = middles(30).copy()
    off[7] += 1e-6 / 30

    assert forward_uniform([off], [middles(30)], 0.01) is None
    assert forward_uniform([middles(30)], [off], 0.01) is None
    assert forward_uniform([middles(30)], [middles(29)], 0.01) is None
    assert forward_uniform([middles(30)], [middles(30) * (1 + 4e-16)], 0.01) is not None


@pytest.mark.long
@pytest.mark.parametrize("walls", ["none", "insulated", "cold"])
@pytest.mark.parametrize("spread", [0.05, 1e-5])
def test_a_million_places_are_summed_to_rounding(spread: float, walls: str) -> None:
    """Against direct sums at the ends, in the middle, and between."""
    places, heat = middles(1_000_000), world.random(1_000_000)
    some = np.array([0, 271_828, 999_999])
    images = [0.0] if walls == "none" else [-2.0, 0.0, 2.0, 4.0]
    truth = np.zeros(len(some))
    for nth, at in enumerate(places[some]):
        for image in images:
            # At this spread no farther image is felt to one part in 1e16.
            kernel = np.exp(-((at - places - image) ** 2) / (4 * spread))
            if walls != "none":
                turned = np.exp(-((at + places - image) ** 2) / (4 * spread))
                kernel = kernel + (turned if walls == "insulated" else -turned)
            truth[nth] += kernel @ heat / np.sqrt(4 * np.pi * spread)
    readings = forward_uniform([places], [places], spread, walls).matvec(heat)[some]

    assert np.abs(readings - truth).max() < 1e-12 * truth.max()


def test_insulated_walls_keep_the_heat_and_cold_ones_take_it() -> None:
    """The midpoint rule sums a smooth kernel to rounding: one unit in, one unit left."""
    for walls, held in (("insulated", 1.0), ("cold", None)):
        operator = forward_uniform([middles(64, 3.0)], [middles(64, 3.0)], 0.2, walls, 3.0)
        total = operator.rmatvec(np.ones(64)) * 3 / 64
        if held:
            assert total == pytest.approx(np.ones(64), abs=2e-15)
        else:
            assert total.max() < 1 - 1e-3


def test_the_modes_are_those_of_the_continuous_room_folded() -> None:
    """Each is the sum of all that the cells cannot tell apart, at fresh heat and at old."""
    modes, turns = np.arange(12), np.arange(-200, 201)
    for spread in (1.0, 0.01, 1e-4):
        rates = np.pi * (modes[:, None] + 24 * turns) / 2.0
        truth = np.exp(-spread * rates**2).sum(axis=1) * 12 / 2.0
        values = folded_modes(12, spread, 2.0, cold=False)

        assert np.abs(values - truth).max() < 1e-14 * truth.max()

    # What is left of old heat between cold walls is little, and right to its own last digit.
    slowest = forward_uniform([middles(9)], [middles(9)], 3.0, "cold").dense()
    wave = np.sin(np.pi * middles(9))
    truth = 2 * np.exp(-3 * np.pi**2) * np.outer(wave, wave)
    assert slowest == pytest.approx(truth, rel=1e-12, abs=0)


def test_a_room_of_cells_that_pass_heat_on_is_another_physics() -> None:
    """The discrete Laplacian's rates are too slow; the gap closes at second order."""
    gaps = []
    for cells in (16, 32, 64):
        slow = (2 * cells * np.sin(np.pi * 4 / (2 * cells))) ** 2
        folded = folded_modes(cells, 0.01, 1.0, cold=False)[4] / cells
        assert folded == pytest.approx(np.exp(-0.01 * (4 * np.pi) ** 2), rel=1e-12)
        gaps.append(np.exp(-0.01 * slow) / folded - 1)

    assert gaps[0] > 0.04
    assert np.log2(gaps[0] / gaps[1]) == pytest.approx(2, abs=0.1)
    assert np.log2(gaps[1] / gaps[2]) == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize("walls", ["none", "insulated", "cold"])
def test_planes_and_rooms_are_products_of_their_axes(walls: str) -> None:
    """With numpy's own kron, the last axis outermost; more sensors than cells on one axis."""
    lengths = (2.0, 1.0, 0.7)
    sources = [middles(count, length) for count, length in zip((6, 5, 4), lengths, strict=True)]
    sensors = [sources[0][1::2], middles(10), middles(2, 0.7)]
    whole = np.ones((1, 1))
    for axis in range(3):
        one = line(sources[axis], sensors[axis], 0.03, walls, lengths[axis])
        whole = np.kron(one, whole)
        count = axis + 1
        operator = forward_uniform(sources[:count], sensors[:count], 0.03, walls, lengths[:count])
        heat, readings = world.random((whole.shape[1], 2)), world.random(len(whole))

        assert operator.shape == whole.shape
        assert operator.matvec(heat) == pytest.approx(whole @ heat, rel=1e-12)
        assert operator.rmatvec(readings) == pytest.approx(whole.T @ readings, rel=1e-12)
        assert operator.columns([3, 0]) == pytest.approx(whole[:, [3, 0]], abs=1e-13)


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda: forward_uniform([middles(3)], [middles(3)], 0.0), "spread_m2 is 0 but must"),
        (lambda: forward_uniform([middles(3)], [middles(3)], 0.1, "cold", 0.5), "the walls"),
        (lambda: forward_uniform([middles(3)], [middles(3)], 0.1).matvec([1.0]), r"\(3,\) or"),
        (lambda: forward_uniform([middles(3)], [middles(3)], 0.1).columns(3), None),
        (lambda: forward_uniform([middles(3)] * 2, [middles(3)], 0.1), "have 2, 1 and 1 axes"),
        (lambda: forward_uniform([middles(3)], [middles(3)], 0.1, "none", (1, 2)), "and 2 axes"),
    ],
)
def test_what_does_not_fit_is_refused(make, fault) -> None:
    """Each with what to do instead."""
    with pytest.raises(ValueError if fault else IndexError, match=fault or "0 to 2"):
        make()


@pytest.mark.parametrize("off", [3e-14, 1e-12, 1e-11, 1e-8])
def test_places_pass_for_even_where_no_entry_knows_the_difference(off: float) -> None:
    """To 1e-13 of the largest, in widths of the kernel; beyond that they are uneven."""
    spread = 1e4
    places = middles(40, 20.0)
    shaken = places + off * np.sqrt(spread) * np.where(np.arange(40) % 3, 1, -1)
    operator = forward_uniform([shaken], [places], spread)

    assert (operator is not None) == (off < 1e-13)

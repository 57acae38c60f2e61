"""Presets of real sensors and arrays: their sources, noise and limits."""

import math
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from edge.core.records import Grid
from physics.instruments.chain import Instruments
from physics.instruments.presets import PRESETS, Preset, find
from physics.instruments.views import (
    EMISSIVITY,
    SURFACE_K,
    array_axes,
    cover,
    footprints,
    people_seen,
)

# Named sensors: the numbers of their data sheets, and refusals that help.


@pytest.mark.parametrize(
    ("name", "step", "conversion_s", "pixels", "pixel_deg"),
    [
        ("tmp117", Fraction(78125, 10**7), 0.125, 1, 0),
        ("ds18b20", Fraction(625, 10**4), 0.75, 1, 0),
        ("mcp9808", Fraction(625, 10**4), 0.25, 1, 0),
        ("mlx90614", Fraction(2, 100), 0.1, 1, 0),
        ("grideye", Fraction(25, 100), 0.1, 64, 7.5),
        ("mlx90640-110", Fraction(1, 5), 1.0, 768, 110 / 32),
        ("mlx90640-55", Fraction(1, 5), 1.0, 768, 55 / 32),
    ],
)
def test_the_numbers_are_those_of_the_data_sheets(
    name: str, step: Fraction, conversion_s: float, pixels: int, pixel_deg: float
) -> None:
    """Written here as the sheets print them, not as the code derives them."""
    one = find(name)

    assert (one.step, one.conversion_s, one.pixels) == (step, conversion_s, pixels)
    assert one.view_deg[0] / one.shape[0] == pixel_deg


@pytest.mark.parametrize("one", PRESETS.values(), ids=PRESETS)
def test_every_number_says_where_it_is_from(one: Preset) -> None:
    """A number without a source is a guess that nobody can check."""
    plain = Preset("plain")
    set_here = {
        part.name for part in fields(one) if getattr(one, part.name) != getattr(plain, part.name)
    }
    told = set(one.sources) | ({"shape"} if "view_deg" in one.sources else set())

    assert set_here - {"name", "sources"} <= told


# Presets against what real sensors recorded: the noise of an empty room, frame by frame.


def counted(one: Preset, times: np.ndarray, sensors: int) -> np.ndarray:
    """What that many sensors count of an empty room, in kelvin, (times, sensors)."""
    eyes = Instruments(replace(one, drop_out=0.0), sensors, np.random.default_rng(21))
    seen = eyes.record(times.tolist(), np.zeros((len(times), sensors)))
    return np.array(seen, dtype=float) * float(eyes.step)


@pytest.fixture(scope="module")
def doorway(data: Path) -> list[np.ndarray]:
    """Two clips of nobody under a Grid-EYE over a doorway, (frames, 64), in degrees."""
    with np.load(data / "thermal" / "grideye8x8_doorway.npz") as kept:
        return [
            kept[name].reshape(len(kept[name]), 64) / 4 for name in ("background", "background_b")
        ]


@pytest.fixture(scope="module")
def simulated() -> np.ndarray:
    """The same of thirty-two arrays of the preset, ten frames a second, (500, 64 x 32)."""
    return counted(find("grideye"), np.arange(500) / 10, 64 * 32)


def test_a_pixel_of_an_empty_doorway_is_as_noisy_as_the_preset_says(
    doorway: list[np.ndarray], simulated: np.ndarray
) -> None:
    """The middle pixel within 10 %, in both clips; half or twice the noise would be refused."""
    real = [float(np.median(clip.std(axis=0))) for clip in doorway]
    made = float(np.median(simulated.std(axis=0)))

    assert real == pytest.approx([0.285, 0.271], abs=0.001)
    assert made == pytest.approx(real[0], rel=0.1)
    assert made == pytest.approx(real[1], rel=0.1)


def test_pixels_of_a_doorway_differ_among_each_other_as_in_the_preset(
    doorway: list[np.ndarray], simulated: np.ndarray
) -> None:
    """Each at its own level: what the empty room takes off. The doorway's own warmth is in it."""
    real = [float(clip.mean(axis=0).std()) for clip in doorway]
    made = simulated.mean(axis=0).reshape(32, 64).std(axis=1)

    assert made.mean() < min(real) < max(real) < 1.5 * made.mean()


def test_logged_frames_go_missing_at_the_preset_s_rate(data: Path) -> None:
    """3 of 1531 hold bytes of nought: between a half and twice the rate is what that can tell."""
    with np.load(data / "thermal" / "grideye8x8_ceiling.npz") as kept:
        frames = kept["log_frames"].reshape(-1, 64)
    share = float((frames == 0).any(axis=1).mean())

    assert share / 2 < find("grideye").drop_out < 2 * share


def test_a_node_in_an_empty_office_is_as_noisy_as_the_preset_says(data: Path) -> None:
    """From reading to reading, and about a parabola over a stretch that nobody was there."""
    with np.load(data / "thermal" / "room_climate.npz") as kept:
        room = {
            name: kept[name].astype(np.int64)
            for name in ("loc", "meas", "node", "occ", "t_ms", "temp_cC")
        }
    which = (room["loc"] * 256 + room["meas"]) * 256 + room["node"]
    order = np.lexsort((room["t_ms"], which))
    which, nobody = which[order], room["occ"][order] == 0
    at_s, warm = room["t_ms"][order] / 1000, room["temp_cC"][order] / 100
    ends = np.flatnonzero((np.diff(which) != 0) | (np.diff(nobody.astype(int)) != 0)) + 1
    quick, slow = [], []
    for part in np.split(np.arange(len(which)), ends):
        if nobody[part[0]] and len(part) >= 100:
            quick.append(np.diff(warm[part]).std() / 2**0.5)
            slow.append(_about_a_parabola(at_s[part], warm[part]))
    made = counted(find("climate-node"), np.arange(0, 1200.0, 4), 64)
    made_slow = [_about_a_parabola(np.arange(0, 1200.0, 4), column) for column in made.T]

    assert len(quick) == 880
    assert np.median(np.diff(made, axis=0).std(axis=0)) / 2**0.5 == pytest.approx(
        np.median(quick), rel=0.1
    )
    assert np.median(made_slow) == pytest.approx(np.median(slow), rel=0.2)


def _about_a_parabola(at_s: np.ndarray, warm: np.ndarray) -> float:
    hours = (at_s - at_s[0]) / 3600
    return float((warm - np.polyval(np.polyfit(hours, warm, 2), hours)).std())


# What a thermal array at the ceiling sees of the floor, and of people.

GRID = Grid((60, 40), 100)  # 6 x 4 m
EYE, WIDE = find("grideye"), find("mlx90640-110")
MIDDLE, CEILING_M = (3.0, 2.0), 2.7


def areas(name: str, distance_m: float) -> np.ndarray:
    """The floor that each pixel sees, (pixels,), in square metres."""
    x, y = footprints(find(name), MIDDLE, distance_m)
    return np.asarray(np.outer(np.diff(y), np.diff(x)).ravel())


@pytest.mark.parametrize(
    ("name", "across_m", "down_m", "inner_m"),
    [
        ("grideye", 2 * math.tan(math.pi / 6), 2 * math.tan(math.pi / 6), 0.131652),
        ("mlx90640-110", 2 * 1.428148, 2 * 0.767327, 0.060065),
        ("mlx90640-55", 2 * 0.520567, 2 * 0.315299, 0.030007),
    ],
)
def test_the_picture_is_as_large_as_the_angles_say(
    name: str, across_m: float, down_m: float, inner_m: float
) -> None:
    """A metre below: twice the tangent of half the view, by tables; inner pixels are smaller."""
    x, y = footprints(find(name), (0.0, 0.0), 1.0)

    assert (x[-1] - x[0], y[-1] - y[0]) == pytest.approx((across_m, down_m), rel=1e-5)
    assert np.diff(x).min() == pytest.approx(inner_m, rel=1e-4)
    assert np.diff(x).argmin() in (len(x) // 2 - 1, len(x) // 2)


def test_pixels_inside_the_room_add_up_to_one_and_tile_the_floor_once() -> None:
    """Every square centimetre of the picture is seen by one pixel: none twice, none lost."""
    views = array_axes(EYE, MIDDLE, CEILING_M, GRID).matrix()
    tiled = areas("grideye", CEILING_M) @ views / 0.01
    x, y = footprints(EYE, MIDDLE, CEILING_M)
    covers = np.outer(
        np.diff(np.clip(np.arange(41) / 10, y[0], y[-1])),
        np.diff(np.clip(np.arange(61) / 10, x[0], x[-1])),
    )

    assert views.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert tiled == pytest.approx(covers.ravel() / 0.01, abs=1e-9)


def test_pixels_that_look_at_a_wall_see_the_baseline_there() -> None:
    """110 degrees from 2.7 m reach 3.9 m each way: beyond the walls of 6 m there is nothing."""
    axes = array_axes(WIDE, MIDDLE, CEILING_M, GRID)
    seen = axes.matrix().sum(axis=1).reshape(24, 32)

    assert seen[12, 16] == pytest.approx(1)
    assert seen[12, 0] == 0
    assert ((seen > 0.01) & (seen < 0.99)).any()  # and some look at both


def test_a_row_runs_along_x_and_the_first_pixel_is_north_west() -> None:
    """A hot corner of the plan is in the corner of the frame where one looks for it."""
    field = np.zeros((40, 60))
    field[:8, :18] = 1.0  # towards x = 0, y = 0
    frame = array_axes(EYE, MIDDLE, CEILING_M, GRID).see(field).reshape(8, 8)

    assert frame[0, 0] > 0
    assert frame[0, 7] == frame[7, 0] == frame[7, 7] == 0


def test_a_person_covers_the_same_floor_wherever_they_stand() -> None:
    """Shares times footprints are the area of the person; half of it at the picture's border."""
    area = areas("grideye", CEILING_M - 1.6)
    x, _ = footprints(EYE, MIDDLE, CEILING_M - 1.6)
    inside = [cover([[a, b]], EYE, MIDDLE, CEILING_M) @ area for a, b in ((3, 2), (3.1, 1.93))]
    half = cover([[x[-1], 2.0]], EYE, MIDDLE, CEILING_M) @ area

    assert inside == pytest.approx([0.16, 0.16], rel=1e-12)
    assert half == pytest.approx(0.08)


def test_a_person_that_fills_a_pixel_shows_their_surface_and_no_more() -> None:
    """Two in one place are no warmer than one: the upper hides the lower."""
    one = people_seen([[3.0, 2.0]], EYE, MIDDLE, CEILING_M)
    two = people_seen([[3.0, 2.0]] * 2, EYE, MIDDLE, CEILING_M)
    nobody = people_seen(np.zeros((0, 2)), EYE, MIDDLE, CEILING_M, background_k=0.5)

    assert one.max() == two.max() == pytest.approx(EMISSIVITY * SURFACE_K)
    assert (nobody == 0.5).all()


def test_an_array_that_cannot_look_is_refused() -> None:
    """Below heads, on a line, a thermometer, and people who are nowhere."""
    with pytest.raises(ValueError, match=r"distance_m is -0\.1 but must be positive"):
        cover([[3, 2]], EYE, MIDDLE, 1.5)
    with pytest.raises(ValueError, match="the grid is a line"):
        array_axes(EYE, (0.5,), CEILING_M, Grid((10, 1), 100))
    with pytest.raises(ValueError, match="tmp117 has no field of view"):
        array_axes(find("tmp117"), MIDDLE, CEILING_M, GRID)
    with pytest.raises(ValueError, match="not finite"):
        cover([[3, math.nan]], EYE, MIDDLE, CEILING_M)

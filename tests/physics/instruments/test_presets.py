"""Presets of real sensors and arrays: their sources, noise and limits."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from physics.instruments.chain import Instruments
from physics.instruments.presets import Preset, find

# Named sensors: the numbers of their data sheets, and refusals that help.


@pytest.mark.parametrize(
    ("name", "step", "conversion_s", "pixels"),
    [
        ("tmp117", Fraction(78125, 10**7), 0.125, 1),
        ("ds18b20", Fraction(625, 10**4), 0.75, 1),
        ("mcp9808", Fraction(625, 10**4), 0.25, 1),
        ("mlx90614", Fraction(2, 100), 0.1, 1),
        ("grideye", Fraction(25, 100), 0.1, 64),
    ],
)
def test_the_numbers_are_those_of_the_data_sheets(
    name: str, step: Fraction, conversion_s: float, pixels: int
) -> None:
    """Written here as the sheets print them, not as the code derives them."""
    one = find(name)

    assert (one.step, one.conversion_s, one.pixels) == (step, conversion_s, pixels)


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

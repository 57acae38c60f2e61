"""A sensor's chain: its order, its laws, and that a day at once is a day reading by reading."""

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from edge.board import drivers
from physics.instruments.chain import (
    TIMES_S,
    Counts,
    Drift,
    Instruments,
    quantise,
    respond_to_ramp,
)
from physics.instruments.presets import PRESETS, Preset, find_preset

QUIET = Preset("quiet", step=Fraction(1, 16))


def instruments(one: Preset, count: int | None = None, seed: int = 1) -> Instruments:
    return Instruments(one, count or one.pixels, np.random.default_rng(seed))


def kelvin(seen: list[Counts], step: Fraction) -> np.ndarray:
    """Counts as kelvin above 20 degrees; none of them may be missing."""
    return np.array(seen, dtype=float) * float(step) - 20


@pytest.mark.parametrize("name", PRESETS)
def test_a_day_at_once_is_a_day_reading_by_reading(name: str) -> None:
    """Cut anywhere, the same bits: nothing depends on how many are asked for together."""
    one = find_preset(name)
    times = np.cumsum(np.random.default_rng(3).exponential(2.0, 40))
    shown = np.random.default_rng(4).normal(2, 1, (40, one.pixels))
    whole, parts = instruments(one), instruments(one)
    at_once = whole.record(times, shown)
    cut = [parts.measure(shown[0], times[0]), *parts.record(times[1:17], shown[1:17])]
    cut += parts.record(times[17:], shown[17:])

    assert at_once == cut
    assert instruments(one, seed=2).record(times, shown) != at_once or name == "perfect"
    assert all(type(count) is int for count in at_once[0] if count is not None)


def test_what_is_random_does_not_depend_on_what_is_seen() -> None:
    """Lag is linear and all else is added: two worlds differ by the lagged difference alone."""
    one = replace(find_preset("tmp117"), step=None, drop_out=0.0)
    times, world = np.arange(0, 300.0, 7), np.random.default_rng(8)
    cool, warm = world.random((2, len(times), 3))
    apart = kelvin(instruments(one, 3).record(times, warm), Fraction(1, 2**30)) - kelvin(
        instruments(one, 3).record(times, cool), Fraction(1, 2**30)
    )
    bare = replace(find_preset("perfect"), lag_s=one.lag_s)
    lagged = kelvin(instruments(bare, 3).record(times, warm - cool), Fraction(1, 2**30))

    assert apart == pytest.approx(lagged, abs=1e-8)
    assert np.abs(lagged - (warm - cool)).max() > 0.3  # the lag is really there


def test_noise_comes_before_the_converter() -> None:
    """Counts are whole, and of noise and step together: were noise added after, they were not."""
    one = replace(QUIET, step=Fraction(1, 4), noise_sd_k=0.3)
    seen = np.array(instruments(one, 20_000).measure(np.full(20_000, 1.1), 0.0), dtype=float) / 4

    assert seen.var() == pytest.approx(0.3**2 + 0.25**2 / 12, rel=0.03)
    assert seen.mean() == pytest.approx(21.1, abs=4 * 0.31 / 20_000**0.5)


def test_offsets_are_for_life_and_alike_for_the_pixels_of_one_device() -> None:
    """Accuracy moves a whole array, uniformity its pixels; neither is drawn anew."""
    one = replace(find_preset("perfect"), shape=(8, 8), accuracy_k=1.25, uniformity_k=0.4)
    eyes = instruments(one, 64 * 300)
    first, later = eyes.record([0.0, 1000.0], np.zeros((2, eyes.count)))
    devices = kelvin([first], eyes.step).reshape(300, 64)

    assert first == later
    assert devices.mean(axis=1).std() == pytest.approx(1.25, rel=0.15)
    assert devices.std(axis=1).mean() == pytest.approx(0.4, rel=0.02)


def test_drift_is_a_device_s_and_its_pixels_share_it() -> None:
    """Two arrays of four, with drift alone: alike within each, and not between them."""
    one = Preset("drifts", drift_k=1.0, shape=(2, 2))
    seen = instruments(one, 8).measure(np.zeros(8), 0.0)

    assert len(set(seen[:4])) == len(set(seen[4:])) == 1
    assert seen[0] != seen[4]


def test_drop_outs_come_at_their_rate_and_take_a_whole_frame() -> None:
    """Within four deviations of 5 %; of an array all pixels are missing, or none."""
    one = replace(find_preset("grideye"), drop_out=0.05)
    seen = instruments(one, 128).record(np.arange(4000.0), np.zeros((4000, 128)))
    missing = np.array([[c is None for c in row] for row in seen]).reshape(4000, 2, 64)

    assert (missing.all(axis=2) == missing.any(axis=2)).all()
    assert abs(missing.mean() - 0.05) < 4 * math.sqrt(0.05 * 0.95 / 8000)
    assert (missing[:, 0, 0] != missing[:, 1, 0]).any()  # each device for itself


def test_asked_before_a_conversion_is_over_the_register_still_holds_the_last() -> None:
    """Otherwise noise could be averaged away by asking faster than the sensor reads."""
    eye = instruments(replace(find_preset("ds18b20"), noise_sd_k=5.0, drop_out=0.0))
    seen = eye.record([0.0, 0.3, 0.74, 0.75, 1.0, 1.5], np.zeros((6, 1)))

    assert seen[0] == seen[1] == seen[2]
    assert seen[3] == seen[4]
    assert len(set(seen)) == 3
    assert eye.next_s == 2.25


def test_the_empty_room_takes_the_offsets_off() -> None:
    """To half a step and the noise of the middle of 31 looks; without it they stay."""
    one = replace(find_preset("ds18b20"), drop_out=0.2)
    eyes = instruments(one, 500)
    empty = eyes.record_empty_room()
    seen = eyes.measure(np.zeros(500), 60.0)
    left = np.array([c - e for c, e in zip(seen, empty, strict=True) if c is not None]) / 16
    offsets = np.array(empty) / 16 - 20

    assert np.abs(left).max() <= 3 / 16
    assert offsets.std() == pytest.approx(0.17, rel=0.15)


def test_an_empty_room_that_nobody_read_has_no_level() -> None:
    """Nought would be one, and a temperature."""
    silent = instruments(replace(QUIET, drop_out=1.0))

    with pytest.raises(ValueError, match="1 of 1 sensors gave no reading of the empty room"):
        silent.record_empty_room()


# The converter: exact whole steps, and an error that is spread evenly over one.

STEPS = [Fraction(1, 4), Fraction(1, 128), Fraction(1, 100), Fraction(175, 65535), Fraction(3)]


def exact(temperature: float, step: Fraction) -> int:
    return math.floor(Fraction(temperature) / step + Fraction(1, 2))


@pytest.mark.parametrize("step", STEPS)
def test_the_nearest_step_is_exact_and_a_tie_goes_up(step: Fraction) -> None:
    """Just below, at and just above every tie, and huge numbers too: floats alone are wrong."""
    ties = [float((n + Fraction(1, 2)) * step) for n in range(-300, 300)]
    near = [math.nextafter(t, way) for t in ties for way in (-math.inf, math.inf)]
    tried = [*ties, *near, 0.49999999999999994, 2.0**60 + 256, -(2.0**53) + 1, 1e-320]

    assert list(quantise(tried, step)) == [exact(t, step) for t in tried]


# 1/f drift: its law in numbers, and that what is drawn has it.

SD = 0.3


def drawn(times: list[float], count: int, seed: int) -> np.ndarray:
    drift = Drift(SD, count, np.random.default_rng(seed))
    return np.array([drift.advance(at_s) for at_s in times])


def test_what_is_drawn_has_the_covariance_at_uneven_times_from_the_first_on() -> None:
    """Stationary from the start, and exact at any gap: 20,000 sensors, within 4 deviations."""
    times = [0.0, 0.7, 12.0, 13.0, 400.0, 30_000.0]
    seen = drawn(times, 20_000, 1)
    found = seen @ seen.T / 20_000
    apart = np.abs(np.subtract.outer(times, times))
    law = SD**2 * np.exp(-apart[..., None] / TIMES_S).mean(axis=-1)
    spread = np.sqrt((law**2 + SD**4) / 20_000)

    assert (np.abs(found - law) < 4 * spread).all()
    assert (np.abs(found - SD**2 * np.eye(6)) > 4 * spread).any()  # white noise is refused


# A first-order lag, against its closed forms.

LAG_S = 20.0


def after(steps: int, over_s: float) -> float:
    """What a sensor shows of a ramp of 1 K a minute, looked at in so many steps."""
    shown, each = np.zeros(1), over_s / steps
    for step in range(steps):
        before, now = step * each / 60, (step + 1) * each / 60
        shown = respond_to_ramp(shown, np.array([before]), np.array([now]), each, LAG_S)
    return float(shown[0])


@pytest.mark.parametrize("over_s", [1e-9, 0.1, 20.0, 300.0, 1e6])
def test_a_step_is_followed_exponentially(over_s: float) -> None:
    """1 - exp(-t / lag), to the last digits, in one step of any length."""
    kept = np.array([1.0, -3.0])
    shown = respond_to_ramp(np.zeros(2), kept, kept, over_s, LAG_S)

    assert shown == pytest.approx(-math.expm1(-over_s / LAG_S) * np.array([1, -3]), rel=1e-12)


@pytest.mark.parametrize("steps", [1, 3, 100])
def test_a_ramp_is_followed_a_lag_behind_however_it_is_cut(steps: int) -> None:
    """slope (t - lag (1 - exp(-t / lag))): exact in one step as in a hundred."""
    expected = (90 - LAG_S * -math.expm1(-90 / LAG_S)) / 60

    assert after(steps, 90.0) == pytest.approx(expected, rel=1e-12)


# Named sensors: the numbers of their data sheets, and refusals that help.


@pytest.mark.parametrize(
    ("name", "step", "conversion_s", "pixels"),
    [
        ("tmp117", Fraction(78125, 10**7), 0.125, 1),
        ("ds18b20", Fraction(625, 10**4), 0.75, 1),
        ("mcp9808", Fraction(625, 10**4), 0.25, 1),
        ("bme280", Fraction(1, 100), 0.04, 1),
        ("mlx90614", Fraction(2, 100), 0.1, 1),
        ("mlx90640", Fraction(1, 100), 0.5, 768),
        ("mlx90641", Fraction(1, 100), 0.25, 192),
        ("grideye", Fraction(25, 100), 0.1, 64),
    ],
)
def test_the_numbers_are_those_of_the_data_sheets(
    name: str, step: Fraction, conversion_s: float, pixels: int
) -> None:
    """Written here as the sheets print them, not as the code derives them."""
    one = find_preset(name)

    assert (one.step, one.conversion_s, one.pixels) == (step, conversion_s, pixels)


@pytest.mark.parametrize("name", ["bme280", "mlx90640", "mlx90641"])
def test_a_preset_with_a_converter_behind_it_is_its_driver_s(name: str) -> None:
    """Both counts, and what is shown are steps of the counts behind them."""
    one, (step, behind) = find_preset(name), drivers.find_steps(name)
    assert (one.step, one.behind) == (Fraction(*step), Fraction(*behind))
    still = replace(
        one, behind=Fraction(1, 5), noise_sd_k=0.0, drift_k=0.0, drop_out=0.0, lag_s=0.0
    )
    eyes = Instruments(still, 768, np.random.default_rng(3))
    (counts,) = eyes.record([0.0], np.linspace(0, 3, 768)[None, :])

    assert {count % 20 for count in counts if count is not None} == {0}
    assert len(set(counts)) > 15


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
    return counted(find_preset("grideye"), np.arange(500) / 10, 64 * 32)


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

    assert share / 2 < find_preset("grideye").drop_out < 2 * share

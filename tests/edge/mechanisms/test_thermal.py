"""The device half of thermal: what leaves the device, what a key holder gets back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.core.entropy import Tape, keyed
from edge.core.records import Grid, Guarantee, Reading, Round
from edge.mechanisms import thermal, thermal_half

ROOT = bytes(range(32))
PROMISE = Guarantee((1, 1), (1, 100000), (1, 2), "n", "local", "u", "p")


def a_round(low: int = 0, high: int = 4000, variance: int = 250000, sensors: int = 50) -> Round:
    params = tuple(thermal.Params(sensors, 8, low, high, variance, 1, 1))
    return Round(1, "thermal", Grid((100, 1), 0), params, PROMISE)


@given(
    st.lists(st.integers(0, 4000), min_size=1, max_size=20),
    st.integers(0, 30),
    st.integers(1, 10**12),
)
def test_a_key_holder_gets_the_exact_readings_back(
    values: list[int], sensor: int, variance: int
) -> None:
    """Bit for bit, whatever the variance: the stream is rebuilt and subtracted."""
    round = a_round(variance=variance)
    reading = Reading(sensor, tuple(values))
    payload = thermal.report(round, reading, keyed(ROOT, "n", 1, 2, sensor))

    assert thermal.unveil(round, payload, keyed(ROOT, "n", 1, 2, sensor)) == reading
    if variance > 10**6:
        assert thermal.unveil(round, payload, keyed(ROOT, "n", 1, 3, sensor)) != reading


def test_readings_are_clamped_before_the_noise() -> None:
    """Outside the clamp the sensitivity would not hold; a clamp never raises it."""
    for wild in (-(10**9), 10**9):
        near = 0 if wild < 0 else 4000
        wild_payload = thermal.report(a_round(), Reading(0, (wild,)), Tape(b"x"))

        assert wild_payload == thermal.report(a_round(), Reading(0, (near,)), Tape(b"x"))


def test_every_reading_of_an_array_has_noise_of_its_own() -> None:
    """One draw for all pixels would cancel in their differences."""
    payload = thermal.report(a_round(), Reading(0, (1000,) * 40), Tape(b"array"))

    assert len(set(payload[1:])) > 30


@given(st.integers(0, 4000), st.integers(0, 4000))
def test_the_width_of_a_report_depends_on_the_round_alone(first: int, second: int) -> None:
    """And both readings fit it with 16 standard deviations to spare."""
    round = a_round()
    for value in (first, second):
        payload = thermal.report(round, Reading(0, (value,)), Tape(bytes([value % 256])))

        assert abs(payload[1]) < 1 << (thermal.bits(round) - 1)


@pytest.mark.parametrize(
    ("round", "bits"), [(a_round(), 16), (a_round(high=30000), 32), (a_round(variance=10**8), 32)]
)
def test_frames_are_as_narrow_as_the_noise_allows(round: Round, bits: int) -> None:
    """Two bytes a reading where they suffice: that is radio time."""
    assert thermal.bits(round) == bits


def test_noise_too_wide_for_any_frame_is_refused_at_once() -> None:
    """Cutting it would be found out only in the field."""
    with pytest.raises(ValueError, match="coarser grain"):
        thermal.bits(a_round(variance=10**18))


def test_a_release_lines_readings_up_by_sensor_and_marks_the_missing() -> None:
    """Frames come in any order, and not all of them."""
    release = thermal.release(a_round(sensors=5), [[3, 30], [0, 1, 2]], None)

    assert release.values == [1, 2, None, 30, None]
    assert release.reports == 2


def test_an_empty_release_is_well_formed() -> None:
    """A round that nobody answered is a round."""
    assert thermal.release(a_round(sensors=2), [], None).values == [None, None]


@pytest.mark.parametrize(
    ("payloads", "words"),
    [
        ([[5, 1]], "sensor 5 is not in round 1, which has sensors 0 to 4"),
        ([[3, 1, 1, 1]], "sensor 5 is not"),
        ([[-1, 1]], "sensor -1 is not"),
        ([[2, 1], [2, 9]], "sensor 2 answers round 1 twice"),
    ],
)
def test_payloads_that_do_not_fit_are_refused(payloads: list[list[int]], words: str) -> None:
    """A second answer would average the noise away."""
    with pytest.raises(ValueError, match=words):
        thermal.release(a_round(sensors=5), payloads, None)


def test_a_sensor_outside_the_round_does_not_report() -> None:
    """The sensitivity was computed over the round's sensors alone."""
    for sensor in (-1, 50, 49):
        with pytest.raises(ValueError, match="is not in round 1"):
            thermal.report(a_round(), Reading(sensor, (1, 2)), Tape(b""))


def test_noise_is_never_stretched_over_more_readings() -> None:
    """A reading without noise of its own would go out bare."""
    with pytest.raises(ValueError, match="not give 1 whole number"):
        thermal.veil(a_round(), Reading(0, (1, 2)), [7])


def test_a_sum_that_would_not_fit_its_frame_is_clipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception would tell that the noise was large; the clip looks at public numbers only."""
    monkeypatch.setattr(thermal_half, "dgauss", lambda num, den, rng: 10**6)
    payload = thermal.report(a_round(), Reading(0, (4000,)), Tape(b""))

    assert payload == [0, (1 << 15) - 1]

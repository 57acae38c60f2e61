"""A device that is asked by the audit: what it answers, and what an attacker learns."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import recovery.disk.cases as places
from edge.core import entropy
from edge.core.entropy import Tape
from edge.mechanisms import disk_limits
from gateway.audit.attacks import device, side_channels
from gateway.audit.attacks.device import (
    bound_hit_rate,
    bound_variance,
    compute_p_value,
    correlate_noise,
    estimate_separation,
)
from gateway.audit.bench import Blocks, Device, record_blocks, sign_round_as
from gateway.audit.claim import ALPHA, Effort
from gateway.audit.layers import LAYERS
from gateway.mechanisms import MECHANISMS, find_mechanism
from recovery.disk import plan

# What the end-to-end layer proves from samples: bounds that hold, and see a fault where one is.

SIGMA = 800.0


def scores(sigma: float, mu: float, samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two samples that are mu apart if sigma is 1."""
    chance = np.random.default_rng(seed)
    below, above = chance.normal(0, sigma, (2, samples))
    return below - mu / 2, above + mu / 2


def test_twenty_thousand_samples_a_side_catch_a_sigma_ten_per_cent_off() -> None:
    """The figure that is promised, measured: 200 noises of 0.9 sigma, all of them rejected."""
    caught = sum(
        estimate_separation(*scores(0.9, 2.5, 20_000, seed), 0.0, ALPHA).low > 2.5
        for seed in range(200)
    )
    wasteful = sum(
        estimate_separation(*scores(1.1, 2.5, 20_000, seed), 0.0, ALPHA).high < 2.5
        for seed in range(200)
    )

    assert caught >= 198
    assert wasteful >= 190


def test_noise_as_promised_is_never_rejected() -> None:
    """A chance of two in a thousand million is not met in a thousand tries, on either side."""
    found = [
        estimate_separation(*scores(1.0, 2.5, 20_000, seed), 0.0, ALPHA) for seed in range(500)
    ]

    assert all(one.low <= 2.5 <= one.high for one in found)


def test_the_bounds_of_a_rate_fail_as_seldom_as_they_say() -> None:
    """Counted over every outcome of 50 tries, from the binomial law itself."""
    for p in (0.02, 0.3, 0.5, 0.93):
        below = sum(binom.pmf(k, 50, p) for k in range(51) if bound_hit_rate(k, 50, 0.01).high < p)
        above = sum(binom.pmf(k, 50, p) for k in range(51) if bound_hit_rate(k, 50, 0.01).low > p)
        assert max(below, above) <= 0.01


@pytest.mark.parametrize("error", [0.95, 1.05])
def test_the_noise_itself_shows_five_per_cent(error: float) -> None:
    """Who knows the readings sees more than who does not: 40,000 draws are enough."""
    noise = np.random.default_rng(3).normal(0, error, 40_000)
    found = bound_variance(noise, ALPHA)

    assert not found.low <= 1 <= found.high
    assert (
        bound_variance(noise / error, ALPHA).low <= 1 <= bound_variance(noise / error, ALPHA).high
    )


def whole(values: np.ndarray) -> np.ndarray:
    return np.rint(values)


def test_noise_of_its_own_law_fits() -> None:
    """In a hundred samples of the right noise, none near the edge."""
    chances = [
        compute_p_value(whole(np.random.default_rng(seed).normal(0, SIGMA, 20_000)), SIGMA, 40)[0]
        for seed in range(100)
    ]

    assert min(chances) > 1e-5
    assert 0.3 < float(np.mean(chances)) < 0.7


def test_a_correlation_is_bounded_and_found() -> None:
    """None is found where there is none; the same noise twice is found with 150 draws."""
    one, other = np.random.default_rng(6).normal(0, 1, (2, 500, 400))
    bounds = [correlate_noise(a, b, 1e-4) for a, b in zip(one, other, strict=True)]
    same = correlate_noise(one[0, :150], one[0, :150], ALPHA)

    assert sum(not b.low <= 0 <= b.high for b in bounds) <= 2
    assert same.low > 0


def broken(fault: str) -> np.ndarray:
    """Unit noise (boots, tries, sensors) with one fault."""
    noise = np.random.default_rng(9).normal(0, 1, (2, 600, 20))
    if fault == "a tenth shared":
        shared = np.random.default_rng(1).normal(0, 1, (2, 600, 1))
        noise = np.sqrt(0.9) * noise + np.sqrt(0.1) * shared
    if fault == "two alike":
        noise[:, :, 7] = noise[:, :, 3]
    if fault == "opposite":
        noise[:, :, 7] = -noise[:, :, 3]
    if fault == "one bare":
        noise[:, :, 11] = 0
    if fault == "every second round alike":
        noise[:, 1::2] = noise[:, 0::2]
    if fault == "boots alike":
        noise[1] = noise[0]
    return noise * SIGMA


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("a tenth shared", "the sum over all sensors"),
        ("two alike", "no two sensors"),
        ("opposite", "no two sensors"),
        ("one bare", "every sensor has noise"),
        ("every second round alike", "no round's noise"),
        ("boots alike", "no boot's noise"),
    ],
)
def test_noise_that_is_shared_or_missing_is_seen(fault: str, words: str) -> None:
    """Each claim about noise has a fault that it alone is there for."""
    claims = [*device.noise_claims("room", broken(fault), SIGMA, ALPHA)]

    assert any(words in one.sentence for one in claims if not one.holds)
    assert all(c.holds for c in device.noise_claims("room", broken("none"), SIGMA, ALPHA))


# Blocks of noise are heard one by one, and one that serves two frames is counted.

KEY = bytes(32)


def test_a_block_that_two_frames_are_made_of_is_counted() -> None:
    """The same bytes again are one frame; other bytes from the same noise are two."""
    blocks = Blocks()
    for frame, drawn in ((b"one", b"\1"), (b"one", b""), (b"two", b"\2"), (b"three", b"\1")):
        if drawn:
            blocks.add_block(KEY, drawn)
        blocks.publish(frame)

    assert blocks.twice == 1


def test_a_frame_for_which_no_number_was_drawn_is_counted() -> None:
    """One block holds seven draws of a place; a draw that serves two Rounds opens no new block."""
    tape = entropy.Tape(b"own")
    with record_blocks(tape) as blocks:
        stream = entropy.keyed(KEY, "n", 1, 1, 0)
        for frame, draws in ((b"one", 1), (b"two", 2), (b"three", 0), (b"one", 0)):
            for _ in range(draws):
                stream.below(1000)
            tape.below(1000)
            blocks.publish(frame)

    assert (blocks.bare, blocks.twice) == (1, 0)
    assert blocks.faults == ["a frame was made without a draw of its own"]


# What devices are asked, honestly and not: reckoned anew, and not by their own arithmetic.

DEVICES = (
    *("crash", "keys", "holders", "streams", "moments"),
    *("wire", "limits", "rounds", "gateway", "words"),
)


@pytest.mark.long
@pytest.mark.parametrize("name", DEVICES)
def test_devices_that_tell_their_place_keep_to_what_was_promised(name: str) -> None:
    """Power cuts, thieves of keys and forgers get no more of them than of a thermometer."""
    (layer,) = (one for one in LAYERS if one.name == name)
    claims = list(layer.run(find_mechanism("disk"), Effort(first=True)))

    assert claims
    assert [f"{one.sentence}: {one.detail}" for one in claims if not one.holds] == []


@pytest.mark.parametrize(
    "mechanism",
    [one for one in MECHANISMS if one.serving and one.trust == "local"],
    ids=lambda one: one.name,
)
def test_every_mechanism_says_how_its_devices_are_asked(mechanism: Any) -> None:
    """An honest device answers an honest Round in every mode, pays for it, and not twice."""
    asked = mechanism.subject.asked
    _, query = next(iter(mechanism.subject.list_queries()))
    for mode, round in asked.list_modes(mechanism.plan(query, ())):
        device = Device(round, bytes(range(32)), sensors=asked.SENSORS)
        _, signed = sign_round_as(round, 1)
        frame = device.answer(signed, device.make_readings(1))

        assert (device.mode, asked.find_mode(round)) == (mode, mode)
        assert frame is not None, device.node.refusal
        assert asked.compute_cost(round, device.limits) <= device.budget.spent
        assert not list(asked.list_violations(round, device.limits, mode, 0, -1))
        assert asked.list_loosened(device.limits, device.limits) == ["version"]


def rounds() -> Iterator[Any]:
    for _, query in places.list_queries():
        made = plan(query, ())
        assert made is not None
        yield made


def test_what_is_bent_is_more_than_a_device_may_give() -> None:
    """Every Round that asks for too much is found by whoever reckons, or is none that can be."""
    for round in rounds():
        held = disk_limits.make_limits(*round.params[3:5], 3)
        for words, bent in places.list_bad_rounds(round):
            assert [*places.asked.list_violations(bent, held, "sealed", 0, -1)], words
        assert [*places.asked.list_violations(round, held, "keyholder", 0, -1)]
        assert [*places.asked.list_violations(round, held, "sealed", 0, round.number)]


def test_forged_rounds_are_good_ones_and_bad_ones() -> None:
    """A forger that is always refused, or never, would try nothing."""
    rng = Tape(b"forged")
    for round in rounds():
        held = disk_limits.make_limits(*round.params[3:5], 3)
        wrong = [
            [
                *places.asked.list_violations(
                    places.asked.forge_round(round, rng, 5), held, "sealed", 0, 5
                )
            ]
            for _ in range(400)
        ]

        assert 40 < sum(not one for one in wrong) < 360
        assert len({words for one in wrong for words in one}) >= 9


def test_an_answer_s_price_bounds_the_epsilon_that_it_tells() -> None:
    """10**9 epsilon squared over two where it is the largest, and in proportion below."""
    for round in rounds():
        num, den = round.params[3:5]
        one = Fraction(num, den)
        for more in (1, 3):
            held = disk_limits.make_limits(more * num, den, 5)

            assert places.asked.compute_cost(round, held) == 10**9 * one * more * one / 2


def test_a_device_enrolled_for_more_than_was_promised_is_found() -> None:
    """One answer more than epsilon is for: what it says beside its answers is heard."""

    def generous(round: Any, budget: int) -> Any:
        one = places.asked.make_limits(round, budget)
        return one._replace(budget=budget + int(places.asked.compute_cost(round, one)))

    def alter(module: Any, **others: Any) -> Any:
        return SimpleNamespace(**{name: getattr(module, name) for name in dir(module)} | others)

    line = dict(places.list_queries())["line"]
    asked = alter(places.asked, make_limits=generous)
    subject = alter(places, list_queries=lambda: [("line", line)], asked=asked)
    found = side_channels.words_claims(replace(find_mechanism("disk"), subject=subject), Effort())

    assert any("adds up to epsilon" in one.sentence for one in found if not one.holds)

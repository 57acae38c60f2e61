"""What devices are asked, honestly and not: reckoned anew, and not by their own arithmetic.

The layers that ask real devices run here over places, each by itself: `tests/mutants/safety` has
the mistakes that they must see.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

import recovery.disk.cases as places
from edge.core.entropy import Tape
from edge.mechanisms import disk_limits
from gateway.audit.bench import Device, message
from gateway.audit.claim import Effort
from gateway.audit.layers import LAYERS
from gateway.mechanisms import MECHANISMS, find
from recovery.disk import plan

DEVICES = (
    *("crash", "keys", "holders", "streams", "moments"),
    *("wire", "limits", "rounds", "gateway", "words"),
)


@pytest.mark.long
@pytest.mark.parametrize("name", DEVICES)
def test_devices_that_tell_their_place_keep_to_what_was_promised(name: str) -> None:
    """Power cuts, thieves of keys and forgers get no more of them than of a thermometer."""
    (layer,) = (one for one in LAYERS if one.name == name)
    claims = list(layer.run(find("disk"), Effort()))

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
    _, query = next(iter(mechanism.subject.rooms()))
    for mode, round in asked.modes(mechanism.plan(query, ())):
        device = Device(round, bytes(range(32)), sensors=asked.SENSORS)
        _, signed = message(round, 1)
        frame = device.answer(signed, device.seen(1))

        assert (device.mode, asked.mode(round)) == (mode, mode)
        assert frame is not None, device.node.refusal
        assert asked.cost(round, device.limits) <= device.budget.spent
        assert not list(asked.too_much(round, device.limits, mode, 0, -1))
        assert asked.looser(device.limits, device.limits) == ["version"]


def rounds() -> Iterator[Any]:
    for _, query in places.rooms():
        made = plan(query, ())
        assert made is not None
        yield made


def test_what_is_bent_is_more_than_a_device_may_give() -> None:
    """Every Round that asks for too much is found by whoever reckons, or is none that can be."""
    for round in rounds():
        held = places.limits(round, 3)
        for words, bent in places.bent(round):
            assert [*places.asked.too_much(bent, held, "sealed", 0, -1)], words
        assert [*places.asked.too_much(round, held, "keyholder", 0, -1)]
        assert [*places.asked.too_much(round, held, "sealed", 0, round.number)]


def test_forged_rounds_are_good_ones_and_bad_ones() -> None:
    """A forger that is always refused, or never, would try nothing."""
    rng = Tape(b"forged")
    for round in rounds():
        held = places.limits(round, 3)
        wrong = [
            [*places.asked.too_much(places.asked.forged(round, rng, 5), held, "sealed", 0, 5)]
            for _ in range(400)
        ]

        assert 40 < sum(not one for one in wrong) < 360
        assert len({words for one in wrong for words in one}) >= 9


def test_limits_that_are_called_tighter_never_let_epsilons_add_up_to_more() -> None:
    """Counted with the device's own prices: answers of the largest epsilon, and of small ones."""
    rng, held, tighter = Tape(b"near"), disk_limits.make_limits(7, 5, 40), 0

    def whole(limits: Any, epsilon: Fraction) -> Fraction:
        price = disk_limits.price(limits, epsilon.numerator, epsilon.denominator)
        return limits.budget // price * epsilon

    for _ in range(3000):
        new = places.asked.near(held, rng)
        if places.asked.looser(held, new):
            continue
        tighter += 1
        for epsilon in (Fraction(7, 5), Fraction(1, 3), Fraction(1, 50)):
            if not disk_limits.exceeds(new, epsilon.numerator, epsilon.denominator):
                # A price is whole nano-rho: so much may be rounded in favour of either.
                most = whole(held, epsilon) + epsilon + Fraction(held.budget, 10**12)
                assert whole(new, epsilon) <= most
    assert tighter > 300


def test_an_answer_s_price_bounds_the_epsilon_that_it_tells() -> None:
    """10**9 epsilon squared over two where it is the largest, and in proportion below."""
    for round in rounds():
        num, den = round.params[3:5]
        one = Fraction(num, den)
        for more in (1, 3):
            held = disk_limits.make_limits(more * num, den, 5)

            assert places.asked.cost(round, held) == 10**9 * one * more * one / 2


def test_payloads_that_no_device_gives_are_none_of_its_answers() -> None:
    """They are what the gateway is tried with: a true one among them would be a false alarm."""
    for round in rounds():
        law = places.stated(round)
        answers = {answer for cell in places.inputs(round) for answer in law(cell)}
        forged = {tuple(one) for one in places.asked.impossible(round, 0)}

        assert not forged & answers
        assert len(forged) >= 5

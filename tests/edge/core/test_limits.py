"""Limits: what an answer costs is exact, and over the air everything only becomes tighter."""

from fractions import Fraction
from math import ceil

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.core import limits, tightening, wire
from edge.core.limits import LEAST, MOST, NAMES, Limits, price
from edge.core.tightening import looser, unpack_limits
from edge.host.post import pack_limits

KEY = bytes(range(32))
TOPIC = tightening.topic("lab", "n007")
GIVEN = Limits(3, 8, 4000, 200_000, 10**9, 60_000)
anything = st.builds(Limits, *[st.integers(a, b) for a, b in zip(LEAST, MOST, strict=True)])


def square_kelvin(number: int, exponent: int) -> Fraction:
    """Return grains squared in kelvin squared, by rationals instead of shifts."""
    return Fraction(number) * Fraction(2) ** (-2 * exponent)


@given(anything, st.integers(-64, 64), st.integers(1, 1 << 63))
def test_the_price_is_the_zcdp_of_one_answer_rounded_up(
    held: Limits, exponent: int, variance: int
) -> None:
    """Rounded down, or with an overflow on the way, the ledger would promise too much."""
    move = square_kelvin(held.square, held.exponent)
    noise = square_kelvin(variance, exponent)

    assert price(held, exponent, variance) == ceil(10**9 * move / (2 * noise))


def test_the_price_of_a_known_answer() -> None:
    """Sensitivity 20 grains and sigma 100 grains: rho is 0.02, whatever the grain's size."""
    held = Limits(1, 8, 400, 10_000, 10**9, 0)

    assert price(held, 8, 10_000) == 20_000_000
    assert price(held, 10, 160_000) == 20_000_000  # the same noise in grains a quarter as wide
    assert price(held, 8, 20_000) == 10_000_000


def test_an_answer_without_noise_has_no_price() -> None:
    """Division by nothing must not stop a device, nor let it answer for free."""
    with pytest.raises(ValueError, match="no noise"):
        price(GIVEN, 8, 0)


@given(anything, anything)
def test_looser_is_what_rationals_say(old: Limits, new: Limits) -> None:
    """The comparison across grains is done in shifts; here it is done in kelvin."""
    tight = (
        new.version > old.version
        and new.exponent >= old.exponent
        and square_kelvin(new.square, new.exponent) >= square_kelvin(old.square, old.exponent)
        and square_kelvin(new.variance, new.exponent) >= square_kelvin(old.variance, old.exponent)
        and new.budget <= old.budget
        and new.pace_ms >= old.pace_ms
    )

    assert (looser(old, new) == "") is tight


@given(st.integers(0, 20), st.integers(0, 1 << 40), st.integers(0, 10**9), st.integers(0, 1 << 30))
def test_whatever_is_taken_makes_no_answer_cheaper(
    finer: int, more: int, less: int, slower: int
) -> None:
    """What the promise rests on: after any accepted change a reading costs at least as much."""
    new = Limits(
        4,
        8 + finer,
        4000 << (2 * finer),
        (200_000 << (2 * finer)) + more,
        10**9 - less,
        60_000 + slower,
    )

    assert looser(GIVEN, new) == ""
    assert price(new, 20, 1 << 40) >= price(GIVEN, 20, 1 << 40)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"version": 3}, "version 3"),
        ({"version": 2}, "version 2"),
        ({"exponent": 7, "square": 4000, "variance": 200_000}, "coarser"),
        ({"square": 3999}, "sensitivity"),
        ({"exponent": 9}, "sensitivity"),  # the same number of smaller grains is less
        ({"exponent": 9, "square": 16_000}, "noise"),
        ({"variance": 199_999}, "noise"),
        ({"budget": 10**9 + 1}, "budget"),
        ({"pace_ms": 59_999}, "pace"),
        ({"variance": 0}, "variance"),
        ({"budget": -1}, "budget"),
        ({"pace_ms": 1 << 32}, "pace_ms"),
    ],
)
def test_each_way_to_protect_less_is_refused_by_name(change: dict[str, int], why: str) -> None:
    """One direction left open is the one that a thief of the key would take."""
    new = GIVEN._replace(**{"version": 4, **change})

    assert why in looser(GIVEN, new)


def test_a_budget_of_nothing_is_tighter() -> None:
    """The owner must be able to silence a device for good."""
    assert looser(GIVEN, GIVEN._replace(version=4, budget=0)) == ""


@given(anything)
def test_limits_come_back_from_a_message_and_from_a_slot(held: Limits) -> None:
    """At the ends of every range too, the negative exponents among them."""
    assert unpack_limits(pack_limits(held, KEY, TOPIC), KEY, TOPIC) == held
    assert limits.from_bytes(limits.to_bytes(held)) == held
    assert len(limits.to_bytes(held)) == limits.BYTES


def test_the_message_is_the_documented_map() -> None:
    """Other languages write it too; an independent reader must find the same numbers."""
    message = pack_limits(GIVEN, KEY, TOPIC)

    assert cbor2.loads(message[: -wire.MAC_BYTES]) == dict(enumerate([1, *GIVEN]))
    assert len(message) <= tightening.LONGEST
    assert NAMES == GIVEN._fields


@pytest.mark.parametrize("index", range(6))
@pytest.mark.parametrize("value", ["low", "high", None, b"9", [1]])
def test_what_is_out_of_bounds_is_refused_though_signed(index: int, value: object) -> None:
    """A signature says who sent it, not that it makes sense; no number in it may stop a device."""
    numbers: list[object] = list(GIVEN)
    bounds = {"low": LEAST[index] - 1, "high": MOST[index] + 1}
    numbers[index] = bounds[value] if isinstance(value, str) else value
    message = wire.sign(cbor2.dumps(dict(enumerate([1, *numbers]))), KEY, TOPIC)

    with pytest.raises(wire.Fault, match=NAMES[index]):
        unpack_limits(message, KEY, TOPIC)
    with pytest.raises(ValueError, match=NAMES[index]):
        pack_limits(Limits(*numbers), KEY, TOPIC)


def test_a_field_that_is_missing_is_refused() -> None:
    """None must not pass for "as before"."""
    short = wire.sign(cbor2.dumps({0: 1, 1: 4, 2: 8}), KEY, TOPIC)

    with pytest.raises(wire.Fault, match="square"):
        unpack_limits(short, KEY, TOPIC)


def test_only_the_config_key_and_the_device_s_own_topic_count() -> None:
    """Limits for a cellar must not be copied to a bedroom, nor made up by anybody."""
    message = pack_limits(GIVEN, KEY, TOPIC)
    flipped = bytes([message[0] ^ 1]) + message[1:]
    for bad, key, topic in (
        (message, bytes(32), TOPIC),
        (message, KEY, tightening.topic("lab", "n008")),
        (flipped, KEY, TOPIC),
        (message[:-1], KEY, TOPIC),
        (b"", KEY, TOPIC),
        (message + bytes(200), KEY, TOPIC),
    ):
        with pytest.raises(wire.Fault):
            unpack_limits(bad, key, topic)


@pytest.mark.parametrize(("name", "least"), [("square", 1), ("variance", 1), ("version", 1)])
def test_limits_that_would_make_answers_free_are_none(name: str, least: int) -> None:
    """Stated here once more: the bounds that are tested above are the module's own."""
    assert limits.objection(GIVEN._replace(**{name: least})) == ""
    assert name in limits.objection(GIVEN._replace(**{name: least - 1}))


def test_a_message_too_long_for_a_board_is_not_even_looked_at() -> None:
    """Signed or not: a field that nobody knows must not fill its memory."""
    body = {0: 1, **dict(enumerate(GIVEN, 1))}
    for more, taken in ((8, True), (200, False)):
        message = wire.sign(cbor2.dumps({**body, 9: bytes(more)}), KEY, TOPIC)
        if taken:
            assert unpack_limits(message, KEY, TOPIC) == GIVEN
        else:
            with pytest.raises(wire.Fault, match="bytes"):
                unpack_limits(message, KEY, TOPIC)

"""What a device holds itself to: its limits, and the slots that keep what it spent."""

import importlib.util
import os
import stat
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.core import compat, tightening, wire
from edge.core.budget import (
    BYTES,
    COUNT,
    LEAST,
    MOST,
    NAMES,
    PAGE,
    Files,
    Limits,
    from_bytes,
    price,
    to_bytes,
)
from edge.core.tightening import explain_loosening, unpack_limits
from edge.host.enrol import Ram
from edge.host.post import pack_limits

# Limits: what an answer costs is exact, and over the air everything only becomes tighter.

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

    assert (explain_loosening(old, new) == "") is tight


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

    assert explain_loosening(GIVEN, new) == ""
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

    assert why in explain_loosening(GIVEN, new)


@given(anything)
def test_limits_come_back_from_a_message_and_from_a_slot(held: Limits) -> None:
    """At the ends of every range too, the negative exponents among them."""
    assert unpack_limits(pack_limits(held, KEY, TOPIC), KEY, TOPIC) == held
    assert from_bytes(to_bytes(held)) == held
    assert len(to_bytes(held)) == BYTES


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
    body = {key: number for key, number in enumerate([1, *numbers]) if number is not None}
    message = wire.sign(cbor2.dumps(body), KEY, TOPIC)

    with pytest.raises(wire.Fault, match=NAMES[index]):
        unpack_limits(message, KEY, TOPIC)
    with pytest.raises(ValueError, match=NAMES[index]):
        pack_limits(Limits(*numbers), KEY, TOPIC)


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


# Where a budget is kept: what was written comes back, and a write has ended when it returns.


@pytest.fixture(params=["files", "ram"])
def slots(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return Ram() if request.param == "ram" else Files(str(tmp_path), "n007")


def test_slots_start_empty_and_give_back_what_was_written(slots: Any) -> None:
    """The one that was not written stays as it was, also when a shorter record follows."""
    assert [slots.read(i) for i in range(COUNT)] == [b""] * COUNT

    slots.write(0, b"a" * 117)
    slots.write(1, b"b" * 117)
    slots.write(0, b"c" * 50)

    assert (slots.read(0), slots.read(1)) == (b"c" * 50, b"b" * 117)


def test_files_are_read_by_the_next_process(tmp_path: Path) -> None:
    """Otherwise each start would be a device that never answered anything."""
    Files(str(tmp_path), "n007").write(1, b"kept")

    assert Files(str(tmp_path), "n007").read(1) == b"kept"
    assert Files(str(tmp_path), "n008").read(1) == b""


def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    """They hold the chain key: who reads it can take the noise off a key holder's device."""
    Files(str(tmp_path), "n007").write(0, b"secret")

    assert stat.S_IMODE((tmp_path / "n007.0").stat().st_mode) == 0o600


def test_a_file_is_on_the_medium_when_the_write_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flushed to the system is not enough: the file is synced, and a new one's folder too."""
    synced: list[str] = []

    def fsync(number: int) -> None:
        synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{number}")))
        if synced[-1] != tmp_path.name:
            assert (tmp_path / synced[-1]).read_bytes() == b"all of it"  # no buffer holds it back

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("which file was synced is asked of /proc, which is not here")
    monkeypatch.setattr(os, "fsync", fsync)
    slots = Files(str(tmp_path), "n007")
    slots.write(0, b"all of it")
    slots.write(0, b"all of it")

    assert synced == ["n007.0", tmp_path.name, "n007.0"]


def test_a_file_that_cannot_be_read_is_no_empty_slot(tmp_path: Path) -> None:
    """Nothing there means a device never enrolled; unreadable means ask no further."""
    (tmp_path / "n007.0").mkdir()

    with pytest.raises(OSError, match="directory"):
        Files(str(tmp_path), "n007").read(0)


def test_a_huge_file_is_not_read_whole(tmp_path: Path) -> None:
    """A board has little memory, and no record is longer than a page."""
    (tmp_path / "n007.0").write_bytes(bytes(100_000))

    assert len(Files(str(tmp_path), "n007").read(0)) == PAGE


def test_a_port_with_sync_alone_is_asked_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Boards have no fsync; where there is a cache below the file system, sync empties it."""
    asked: list[bool] = []
    monkeypatch.delattr(os, "fsync")
    monkeypatch.setattr(os, "sync", lambda: asked.append(True))
    spec: Any = importlib.util.spec_from_file_location("edge.core.of_a_board", compat.__file__)
    board: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(board)
    board.write_durably(str(tmp_path / "x"), b"1")
    board.add_durably(str(tmp_path / "x"), b"2")

    assert (asked, (tmp_path / "x").read_bytes()) == ([True, True], b"12")

    monkeypatch.delattr(os, "sync")
    board.write_durably(str(tmp_path / "x"), b"3")

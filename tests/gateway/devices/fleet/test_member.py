"""What the devices of one process share, and what each still does by itself."""

import pytest

from edge import wire
from edge.host import post
from edge.records import Grid, Guarantee, Round
from gateway.devices.fleet.member import Hall

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))
WHERE = wire.round_topic("lab", "thermal")
PROMISE = Guarantee((1, 1), (1, 10**5), (1, 50), "a move", "local", "a day", "presence")


def message(number: int, key: bytes = KEY) -> bytes:
    """Return a signed Round."""
    asked = Round(number, "thermal", Grid((9, 1), 0), (9, 8, 0, 4096, 10_000, 1, 0), PROMISE)
    return bytes(post.pack_round(asked, key, WHERE))


def test_a_hall_opens_a_round_as_a_device_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is saved is to do the same again on the same bytes."""
    hall, opened = Hall(), []
    real = wire.unpack_round
    monkeypatch.setattr(wire, "unpack_round", lambda *words: opened.append(words) or real(*words))
    for number in (1, 1, 1, 2, 1):
        round = real(message(number), KEY, WHERE)
        assert hall.opened(KEY, message(number), WHERE) == (round, wire.name_of(round))

    assert len(opened) == 3


def test_what_was_opened_for_one_opens_nothing_for_another() -> None:
    """Neither another key, nor another topic, nor other bytes may live off what was verified."""
    hall = Hall()
    hall.opened(KEY, message(1), WHERE)
    forged = bytearray(message(1))
    forged[5] ^= 1
    for key, said, where in (
        (OTHER, message(1), WHERE),
        (KEY, message(1, OTHER), WHERE),
        (KEY, message(1), wire.round_topic("attic", "thermal")),
        (KEY, bytes(forged), WHERE),
        (KEY, forged, WHERE),
    ):
        with pytest.raises(wire.Fault):
            hall.opened(key, said, where)


def test_bytes_that_change_afterwards_are_opened_anew() -> None:
    """A buffer that is used again must not stand for what was in it."""
    hall, held = Hall(), bytearray(message(1))
    hall.opened(KEY, held, WHERE)
    held[-1] ^= 1

    with pytest.raises(wire.Fault):
        hall.opened(KEY, held, WHERE)

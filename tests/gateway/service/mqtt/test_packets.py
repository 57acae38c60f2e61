"""Packets by the standard's own examples, and by a client that others wrote."""

import pytest

from gateway.service.mqtt import framing

# MQTT 3.1.1, section 2.2.3, table 2.4: the first and last number of each size of a length.
LENGTHS = [
    (0, "00"),
    (127, "7f"),
    (128, "8001"),
    (16_383, "ff7f"),
    (16_384, "808001"),
    (2_097_151, "ffff7f"),
    (2_097_152, "80808001"),
    (268_435_455, "ffffff7f"),
]


@pytest.mark.parametrize(("number", "written"), LENGTHS)
def test_lengths_are_those_of_the_standards_table(number: int, written: str) -> None:
    """Read and, as far as anybody sends so much, written."""
    data = bytes.fromhex(written)

    assert framing.read_length(b"\x30" + data + b"rest", 1) == (number, 1 + len(data))
    if number < 1 << 21:
        body = 2 + 1 + max(number - 3, 0)
        if body == number:
            said = framing.publishes([("t", bytes(number - 3))], five=False)
            assert said[1 : 1 + len(data)] == data


@pytest.mark.parametrize("data", ["", "80", "8080", "808080", "ffffffff", "8080808001"])
def test_a_length_that_is_cut_short_or_too_long_is_none(data: str) -> None:
    """A fifth byte is malformed; it must not be waited for, nor read as a huge message."""
    assert framing.read_length(b"\x30" + bytes.fromhex(data), 1) == (0, 0)


@pytest.mark.parametrize("five", [True, False])
@pytest.mark.parametrize("size", [0, 1, 100, 127, 128, 16_370, 16_384])
def test_a_publish_comes_back_as_it_went_out(five: bool, size: int) -> None:
    """QoS 0, not retained; a topic of two-byte letters counts its bytes and not its letters."""
    topic, payload = "heatveil/1/büro/node-1/receipt", bytes(range(256)) * (size // 256 + 1)
    said = framing.publishes([(topic, payload[:size])], five=five)
    length, body = framing.read_length(said, 1)

    assert said[0] == 0x30
    assert body + length == len(said)
    assert framing.published(said, said[0], body, len(said), five)[:3] == (
        topic,
        payload[:size],
        0,
    )


@pytest.mark.parametrize("flags", [0x32, 0x3A, 0x33, 0x3B])
def test_duplicates_and_what_was_retained_are_messages_like_others(flags: int) -> None:
    """The flags say how it came; whether its bytes came before, the store knows."""
    data = bytes((flags,)) + b"\x08\x00\x01t\x01\x02abc"

    wanted = ("t", b"abc", 0x102, bool(flags & 1))
    assert framing.published(data, flags, 2, len(data), False) == wanted


def test_a_payload_is_kept_as_far_as_a_report_could_go() -> None:
    """What is behind that is not looked at: it is refused for its length."""
    data = b"\x30\x00\x00\x01t" + bytes(100_000)

    found = framing.published(data, 0x30, 2, len(data), False)

    assert found is not None
    assert len(found.payload) == framing.KEPT


@pytest.mark.parametrize("five", [True, False])
def test_a_publish_cut_anywhere_raises_nothing(five: bool) -> None:
    """Lengths that lie: of the topic, of the properties, of the whole."""
    whole = b"\x32\x0c\x00\x03a/b\x00\x07\x02\x01\x01xyz"
    for stop in range(len(whole) + 1):
        for topic in (0, 3, 200, 65_535):
            data = bytearray(whole[:stop])
            data[2:4] = topic.to_bytes(2, "big")[: max(0, stop - 2)]
            found = framing.published(bytes(data), 0x32, 2, len(data), five)
            assert found is None or len(found.payload) <= stop

"""Messages come back as they went, are plain CBOR to others, and cannot be tampered with."""

import contextlib

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.core import wire
from edge.core.entropy import Tape
from edge.core.records import Grid, Guarantee, Reading, Report, Round
from edge.host import post
from edge.net.device import unpack_receipt

KEY = bytes(range(32))
TOPIC = "heatveil/1/lab/n001/data"
PROMISE = Guarantee((1, 1), (1, 100000), None, "neighbours", "local", "a day", "presence")
ROUND = Round(7, "thermal", Grid((100, 1), 50), (50, 12, 0, 41000, 4000000, 1, 0), PROMISE)

values = st.recursive(
    st.integers(-(2**64), 2**64 - 1) | st.binary(max_size=300) | st.text(max_size=30) | st.none(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.integers(0, 99), inner),
    max_leaves=8,
)


def report(readings: list[int], seq: int = 65535, epoch: int = 255, sensor: int = 255) -> Report:
    return Report(b"name", "n001", epoch, seq, [sensor, *readings])


def depth(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(depth, inner), default=0) if isinstance(value, list | dict) else 0


@pytest.mark.long
@given(values)
def test_encoding_is_deterministic_cbor_to_an_independent_reader(value: object) -> None:
    """Anybody's CBOR library reads our messages, and ours reads theirs."""
    packed = wire.encode(value)

    assert cbor2.loads(packed) == value
    if depth(value) <= wire.DEPTH:
        assert wire.decode(cbor2.dumps(value)) == value


@given(st.lists(st.integers(-32768, 32767), max_size=40), st.sampled_from([16, 32]))
def test_typed_arrays_are_those_of_rfc_8746(numbers: list[int], bits: int) -> None:
    """Tags 77 and 78: signed, little-endian; numpy reads them as they stand."""
    import numpy as np

    body = wire.pack_report(report(numbers), KEY, TOPIC, bits)[: -wire.MAC_BYTES]
    tag = cbor2.loads(body)[4]

    assert tag.tag == {16: 77, 32: 78}[bits]
    assert np.frombuffer(tag.value, f"<i{bits // 8}").tolist() == numbers
    assert wire.decode(body)[4] == numbers


@pytest.mark.parametrize("number", [1 << 15, -(1 << 15) - 1, 70000])
def test_a_number_too_wide_is_refused_not_wrapped(number: int) -> None:
    """A wrapped number would be read as another temperature, in silence."""
    with pytest.raises(ValueError, match="16 bits"):
        wire.pack_report(report([number]), KEY, TOPIC, 16)


def test_one_reading_takes_27_bytes_and_an_array_under_two_and_a_half_a_reading() -> None:
    """Radio time is the energy budget; the topic and MQTT add 30 bytes, the MAC 16."""
    one = wire.pack_report(report([-(2**31)]), KEY, TOPIC, 32)
    array = wire.pack_report(report([12345] * 64), KEY, TOPIC, 16)

    assert len(one) - wire.MAC_BYTES <= 27
    assert (len(array) - wire.MAC_BYTES) / 64 <= 2.5


@given(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**31), 2**31 - 1))
def test_the_length_of_a_frame_tells_nothing_of_the_reading(first: int, second: int) -> None:
    """Small numbers in fewer bytes would show a listener which readings are small."""
    frames = [wire.pack_report(report([value]), KEY, TOPIC, 32) for value in (first, second)]

    assert len(frames[0]) == len(frames[1])


@given(
    st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=70),
    st.integers(0, 2**48 - 1),
    st.integers(0, 2**48 - 1),
    st.integers(0, 2**48 - 1),
)
def test_a_report_comes_back(readings: list[int], seq: int, epoch: int, sensor: int) -> None:
    """Nothing is lost or changed on the way."""
    sent = report(readings, seq, epoch, sensor)

    assert post.unpack_report(wire.pack_report(sent, KEY, TOPIC, 32), KEY, TOPIC, "n001") == sent


def test_a_round_comes_back_with_every_number() -> None:
    """A device answers with exactly the noise that was planned."""
    where = wire.round_topic("lab", "thermal")

    assert wire.unpack_round(post.pack_round(ROUND, KEY, where), KEY, where) == ROUND


def test_every_flipped_bit_and_every_cut_is_noticed() -> None:
    """Sixteen bytes of MAC over topic and map leave nothing open."""
    frame = wire.pack_report(report([5]), KEY, TOPIC, 16)
    flipped = [
        frame[:i] + bytes([frame[i] ^ 1 << bit]) + frame[i + 1 :]
        for i in range(len(frame))
        for bit in range(8)
    ]
    cut = [frame[:i] for i in range(len(frame))]

    for wrong in flipped + cut:
        with pytest.raises(wire.Fault):
            post.unpack_report(wrong, KEY, TOPIC, "n001")


def test_a_frame_is_bound_to_its_topic_and_key() -> None:
    """Copied to another device's topic, or signed with another key, it is worth nothing."""
    frame = wire.pack_report(report([5]), KEY, TOPIC, 16)

    for key, topic in [(KEY, TOPIC.replace("n001", "n002")), (bytes(32), TOPIC)]:
        with pytest.raises(wire.Fault, match="MAC"):
            post.unpack_report(frame, key, topic, "n001")


@given(st.integers(0, 2**48 - 1), st.integers(0, 2**48 - 1), st.booleans())
def test_a_receipt_comes_back_and_is_bound_to_its_device(
    epoch: int, seq: int, taken: bool
) -> None:
    """Nobody without the device's key can make it forget a report, nor use another's receipt."""
    where = wire.topic("lab", "n001", "receipt")
    message = post.pack_receipt(epoch, seq, taken, KEY, where)

    assert unpack_receipt(message, KEY, where) == (epoch, seq, taken)
    assert cbor2.loads(message[:-16]) == {0: 1, 1: seq, 2: epoch, 3: int(taken)}
    for key, topic in ((b"x" * 32, where), (KEY, TOPIC), (KEY, where.replace("1", "2"))):
        with pytest.raises(wire.Fault):
            unpack_receipt(message, key, topic)
    with pytest.raises(wire.Fault):
        unpack_receipt(message[:3] + bytes([message[3] ^ 1]) + message[4:], KEY, where)


@pytest.mark.parametrize("body", [{0: 1}, {0: 1, 1: 1, 2: 1}, {0: 1, 1: -1, 2: 1, 3: 1}, {0: 2}])
def test_a_signed_receipt_that_misses_something_is_a_fault(body: dict[int, int]) -> None:
    """Not a receipt for another message, and no crash."""
    with pytest.raises(wire.Fault):
        unpack_receipt(wire.sign(wire.encode(body), KEY, TOPIC), KEY, TOPIC)


def test_signed_rubbish_is_a_fault_and_never_anything_else() -> None:
    """A faulty sender with a good key must not bring a gateway or a device down."""
    rng = Tape(b"rubbish")
    good = wire.pack_report(report([5, 6]), KEY, TOPIC, 16)[: -wire.MAC_BYTES]
    bodies = [bytes(rng.below(256) for _ in range(rng.below(40))) for _ in range(3000)]
    for _ in range(3000):
        at = rng.below(len(good))
        bodies.append(good[:at] + bytes([rng.below(256)]) + good[at + 1 :])
    bodies.append(cbor2.dumps({0: 1, 1: 1.5}))
    bodies.append(b"\x9f\xff")
    bodies.append(b"\x81" * 200 + b"\x00")
    bodies.append(b"\x9b" + b"\xff" * 8)
    bodies.append(cbor2.dumps({0: 2}))

    for body in bodies:
        message = wire.sign(body, KEY, TOPIC)
        for read in (
            lambda m: post.unpack_report(m, KEY, TOPIC, "n001"),
            lambda m: wire.unpack_round(m, KEY, TOPIC),
        ):
            with contextlib.suppress(wire.Fault):
                read(message)


def test_unknown_keys_are_ignored() -> None:
    """A later minor version may say more."""
    body = {0: 1, 1: 4, 2: 9, 3: b"name", 4: cbor2.CBORTag(77, b"\x05\x00"), 5: 3, 99: ["new"]}
    read = post.unpack_report(wire.sign(cbor2.dumps(body), KEY, TOPIC), KEY, TOPIC, "n001")

    assert read == Report(b"name", "n001", 9, 4, [3, 5])


@pytest.mark.parametrize(("change", "words"), [({0: 2}, "version 1"), ({4: [1 << 31]}, "32 bits")])
def test_what_no_device_of_this_version_sends_is_refused(
    change: dict[int, object], words: str
) -> None:
    """Another version cannot be read safely; plain numbers could carry 64 bits."""
    body = {0: 1, 1: 4, 2: 9, 3: b"name", 4: cbor2.CBORTag(77, b"\x05\x00"), 5: 3, **change}

    with pytest.raises(wire.Fault, match=words):
        post.unpack_report(wire.sign(cbor2.dumps(body), KEY, TOPIC), KEY, TOPIC, "n001")


def test_a_reading_cannot_be_packed() -> None:
    """What a sensor saw has no way onto the wire."""
    reading = Reading(3, (2100,))

    with pytest.raises(AttributeError):
        wire.pack_report(reading, KEY, TOPIC, 16)
    with pytest.raises(AttributeError):
        post.pack_round(reading, KEY, TOPIC)


def test_the_name_of_a_round_changes_with_every_number_in_it() -> None:
    """It is what ties a reading to the noise it was given."""
    names = {wire.name_of(ROUND), wire.name_of(ROUND._replace(number=8))}
    for place in range(len(ROUND.params)):
        params = list(ROUND.params)
        params[place] += 1
        names.add(wire.name_of(ROUND._replace(params=tuple(params))))

    assert len(names) == 2 + len(ROUND.params)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"\x81" * 5 + b"\x00", "nested deeper"),
        (b"\xbb" + (1 << 60).to_bytes(8, "big") + b"\x00\x00", "promises"),
        (b"\xd8\x4d\xd8\x4d\x40", "without all its bytes"),
        (b"\xd8\x4d\x44\x00\x00", "cut short"),
        (b"\xa2\x00\x01\x00\x01", "twice"),
        (b"\xfa\x00\x00\x00\x00", "float"),
        (b"\x01\x01", "too many at the end"),
    ],
)
def test_what_no_message_of_ours_has_is_refused_at_once(body: bytes, words: str) -> None:
    """Before memory is taken for what a few bytes promise."""
    with pytest.raises(ValueError, match=words):
        wire.decode(body)


def test_a_message_longer_than_any_of_ours_is_not_read() -> None:
    """A board has no room for it, and checks the length before anything else."""
    where = wire.round_topic("lab", "thermal")
    long = ROUND._replace(guarantee=PROMISE._replace(unprotected="x" * wire.ROUND_BYTES))

    with pytest.raises(wire.Fault, match="17 to 1024 bytes"):
        wire.unpack_round(post.pack_round(long, KEY, where), KEY, where)


def test_no_record_slips_in_as_a_tuple() -> None:
    """A Reading is a tuple with names; lists alone are packed."""
    with pytest.raises(ValueError, match="Reading has no place"):
        wire.encode(Reading(3, (2100,)))
    with pytest.raises(ValueError, match="tuple has no place"):
        post.pack_round(ROUND._replace(params=Reading(3, (2100,))), KEY, TOPIC)


@pytest.mark.parametrize(
    "spoil",
    [
        {"mechanism": 5},
        {"number": 1 << 48},
        {"number": -1},
        {"guarantee": PROMISE._replace(unit=["a", "list"])},
        {"guarantee": PROMISE._replace(epsilon=("1", "1"))},
        {"grid": Grid(("100", 1), 50)},
        {"params": ("50",)},
    ],
)
def test_a_round_of_other_kinds_of_values_is_refused(spoil: dict[str, object]) -> None:
    """A promise made of lists would be shown to people as it came."""
    where = wire.round_topic("lab", "thermal")

    with pytest.raises(wire.Fault):
        wire.unpack_round(post.pack_round(ROUND._replace(**spoil), KEY, where), KEY, where)

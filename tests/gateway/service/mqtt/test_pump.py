"""The pump of the MQTT link, and the access that a broker's rights leave it."""

import itertools
import random
import select
import socket
import ssl
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import structlog.testing

from gateway.service.mqtt import access, framing
from gateway.service.mqtt import pump as module
from gateway.service.mqtt.framing import ReceivedMessage, Stream
from gateway.service.mqtt.pump import FIRST_WAIT_S, LONGEST_WAIT_S, Pump, Rider
from gateway.settings.deployment import Mqtt
from tests.waiting import eventually

# One thread for all: no client's trouble is another's, and none comes back in step.


ANSWER = b"\xd0\x00"  # to a sign of life


class Client:
    """A client whose broker is away, or that fails at whatever it does."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.fault, self.attempts_s = fault, list[float]()
        self.looked, self.silent = 0, list[bool]()

    def socket(self) -> socket.socket | None:
        return None

    def reconnect(self) -> None:
        self.attempts_s.append(time.monotonic())
        raise self.fault or ConnectionRefusedError("nobody there")

    def loop_read(self) -> None:
        self.looked += 1

    def loop_misc(self) -> None:
        self.silent.append(len(self.silent) == self.looked)

    def want_write(self) -> bool:
        return False


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pump]:
    """Return a pump that looks after its riders often."""
    monkeypatch.setattr(module, "TICK_S", 0.005)
    with Pump() as pump:
        yield pump


def test_who_finds_nobody_asks_less_and_less_often_up_to_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a clock of its own: each wait is twice the one before, times 0.5 to 1.5, to 5 s."""
    client, now_s = Client(), [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now_s[0])
    rider, pump, at_s = Rider(client, lambda _: None), object.__new__(Pump), list[float]()
    while len(at_s) < 12:
        pump._connect(rider)
        if len(client.attempts_s) > len(at_s):
            at_s.append(now_s[0])
        now_s[0] += 0.01
    waits_s = [two - one for one, two in itertools.pairwise(at_s)]
    plain_s = [min(FIRST_WAIT_S * 2**n, LONGEST_WAIT_S) for n in range(len(waits_s))]

    for found_s, right_s in zip(waits_s, plain_s, strict=True):
        assert 0.5 * right_s - 0.02 <= found_s <= 1.5 * right_s + 0.02
    rider.forget_failures()
    assert rider.wait_s == FIRST_WAIT_S


def test_a_client_that_raises_does_not_stop_the_others(quick: Pump) -> None:
    """It is said, and the thread goes on."""
    broken, sound = Client(RuntimeError("a client gone mad")), Client()
    with structlog.testing.capture_logs() as logged:
        quick.add(Rider(broken, lambda _: None))
        quick.add(Rider(sound, lambda _: None))
        assert eventually(lambda: len(sound.attempts_s) >= 2 and broken.attempts_s)

    assert any("an MQTT client failed" in entry["event"] for entry in logged)
    assert quick.moving


def test_what_has_come_is_read_before_silence_is_held_against_a_broker(quick: Pump) -> None:
    """A gateway that was frozen finds the answer to its last sign of life unread."""
    client = Client()
    quick.add(Rider(client, lambda _: None))
    assert eventually(lambda: len(client.silent) > 3)

    assert not any(client.silent)


def test_what_is_left_unread_after_a_long_freeze_is_no_silence_either() -> None:
    """A reading takes 64 KiB: the answer may stand behind more messages than that."""
    ours, theirs = socket.socketpair()
    messages = list[ReceivedMessage]()
    with ours, theirs:
        ours.setblocking(False)
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        stream = Stream(ours, messages.extend)
        theirs.sendall(framing.pack_publishes([("a", bytes(2000))] * 60, five=False) + ANSWER)
        left = list[bool]()
        while True:
            try:
                assert stream.recv(9) == ANSWER
                break
            except BlockingIOError:
                left.append(stream.unread)

        assert len(messages) == 60
        assert set(left) == {True}
        assert not stream.unread


class Talker(Client):
    """A client of whose broker more has come than was read, for three readings."""

    @property
    def unread(self) -> bool:
        return self.looked < 3

    def socket(self) -> Any:
        return self

    def fileno(self) -> int:
        return -1


def test_who_has_more_to_read_is_not_asked_for_silence() -> None:
    """Nor after it has once been read: each move reads first."""
    talker, pump = Talker(), object.__new__(Pump)
    pump._riders = set()
    pump._watch = lambda *_: None  # type: ignore[method-assign]
    for _ in range(5):
        pump._move(Rider(talker, lambda _: None))

    assert (talker.looked, len(talker.silent)) == (5, 3)


def test_who_may_not_connect_does_not(quick: Pump) -> None:
    """A standby must not take the name of the gateway that works."""
    may, client = [False], Client()
    quick.add(Rider(client, lambda _: None, lambda: may[0]))
    assert eventually(lambda: client.looked > 3)
    assert client.attempts_s == []
    may[0] = True

    assert eventually(lambda: client.attempts_s)


# What stands between the gateway and a stranger: a verified broker, a page on loopback only.

# A certificate that signs itself; its key was never kept.
AUTHORITY = """\
-----BEGIN CERTIFICATE-----
MIIBjjCCATOgAwIBAgIUW9zOw5VtRWEnj7RCe7Qo6upNTpcwCgYIKoZIzj0EAwIw
GzEZMBcGA1UEAwwQYSB0ZXN0IGF1dGhvcml0eTAgFw0yNjExMjExMDMzNTlaGA8y
MTI2MTAyODEwMzM1OVowGzEZMBcGA1UEAwwQYSB0ZXN0IGF1dGhvcml0eTBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABFy2XpQF81MMGXkxjAZdUBjGkp4xRFZCS5gr
PkEfEoQ3JzZU9ZfIvnQhmJG2Ja9Cs9YtqrKn1VlSI4BQk7YUK0ejUzBRMB0GA1Ud
DgQWBBSgj55+lhyuezmCMqrDF1g7OWPB/zAfBgNVHSMEGDAWgBSgj55+lhyuezmC
MqrDF1g7OWPB/zAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0kAMEYCIQDa
FPETbm3jBCSql0rds0ZPYp0Rm5iwONurF0T7HIxKSgIhAKa1WJMilNdfB0Djh7Q8
kBpumUlwvRkmkcqdV7WWCqDS
-----END CERTIFICATE-----
"""


def test_a_broker_is_verified_by_certificate_and_by_name_over_no_old_tls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever this machine allows; without all three, whoever sits on the line is the broker."""
    ca_file, create = tmp_path / "ca.pem", ssl.create_default_context
    ca_file.write_text(AUTHORITY)

    def lax(**words: Any) -> ssl.SSLContext:
        context = create(**words)
        context.minimum_version = ssl.TLSVersion.TLSv1
        return context

    monkeypatch.setattr(ssl, "create_default_context", lax)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context = access.make_tls_context(Mqtt(ca_file=ca_file))

    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


def test_a_session_is_marked_by_the_password_where_there_is_one(tmp_path: Path) -> None:
    """A name that can be guessed lets a stranger end the session and take what waits for it."""
    (tmp_path / "password").write_text("secret")
    with_one = Mqtt(username="gateway", password_file=tmp_path / "password", insecure=True)
    marked = access.make_client_id(with_one, "heatveil-lab")

    assert access.make_client_id(Mqtt(insecure=True), "heatveil-lab") == "heatveil-lab"
    assert (
        marked
        == access.mark_session("heatveil-lab", "secret")
        != access.mark_session("heatveil-lab", "other")
    )


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (ssl.SSLEOFError(8, "EOF occurred in violation of protocol"), True),
        (ConnectionResetError(104, "Connection reset by peer"), True),
        (BrokenPipeError(32, "Broken pipe"), True),  # it let go before our last word was out
        (ConnectionRefusedError(111, "Connection refused"), False),  # nobody is there at all
        (TimeoutError(110, "timed out"), False),
    ],
)
def test_who_speaks_no_tls_is_told_apart_from_who_is_not_there(fault: OSError, said: bool) -> None:
    """By chance one of three faults shows: each must say what TLS is for, and the two ways."""
    found = access.explain_distrust(Mqtt(), fault)

    assert ("ca_file" in found and "insecure = true" in found) == said


# The bytes of a broker, cut into messages and the rest, however they arrive.


class Wire:
    """Stands for a socket: gives out what it has in pieces, and keeps what is sent."""

    def __init__(self, pieces: list[bytes], *, takes: int = 1 << 30) -> None:
        self.pieces, self.sent, self.takes = pieces, bytearray(), takes
        self.closed = False

    def recv(self, size: int) -> bytes:
        if not self.pieces:
            raise BlockingIOError
        piece, self.pieces[0] = self.pieces[0][:size], self.pieces[0][size:]
        if not self.pieces[0]:
            del self.pieces[0]
        return piece

    def send(self, data: bytes) -> int:
        if not self.takes:
            raise BlockingIOError
        self.sent += data[: self.takes]
        return min(len(data), self.takes)

    def close(self) -> None:
        self.closed = True


def length(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + length(number >> 7)


def packet(kind: int, body: bytes) -> bytes:
    return bytes([kind]) + length(len(body)) + body


def publish(topic: bytes, payload: bytes, mid: int, *, five: bool, more: bytes = b"") -> bytes:
    flags = 0x32 if mid else 0x30
    body = len(topic).to_bytes(2, "big") + topic + (mid.to_bytes(2, "big") if mid else b"")
    return packet(flags, body + (length(len(more)) + more if five else b"") + payload)


def read(data: list[bytes], *, five: bool) -> tuple[list[ReceivedMessage], bytes]:
    """Return the messages in these pieces, and what is left for the client."""
    came: list[ReceivedMessage] = []
    through = Stream(Wire(data), came.extend)
    through.version5, rest = five, b""
    for _ in range(1 << 20):
        try:
            rest += through.recv(1)
        except BlockingIOError:
            if not through._socket.pieces:
                break
    return came, rest


@pytest.mark.parametrize("five", [True, False])
def test_however_the_bytes_are_cut_the_messages_are_the_same(five: bool) -> None:
    """TCP has no packets: a length may be split, and ten messages may come at once."""
    world = random.Random(11)
    for _ in range(100):
        whole, wanted, rest = b"", [], b""
        for _ in range(world.randrange(1, 12)):
            if world.random() < 0.3:
                other = packet(world.choice((0x20, 0x40, 0x90, 0xD0)), world.randbytes(3))
                whole, rest = whole + other, rest + other
                continue
            topic = world.choice((b"a", b"heatveil/1/x/node/data", "ö/ä".encode()))
            payload, mid = world.randbytes(world.choice((0, 1, 130, 20_000))), world.randrange(3)
            more = world.randbytes(world.choice((0, 5, 200)))
            whole += publish(topic, payload, mid, five=five, more=more)
            wanted.append(ReceivedMessage(topic.decode(), payload, mid, False))
        cuts = sorted(world.randrange(len(whole) + 1) for _ in range(world.randrange(6)))
        pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]

        assert read([piece for piece in pieces if piece], five=five) == (wanted, rest)


def test_a_wire_that_ends_behind_messages_loses_none_of_them() -> None:
    """They are handed over, and the client is told that the connection has ended."""
    came: list[ReceivedMessage] = []
    wire = Wire([publish(b"a/b", b"x", 1, five=False)])
    ended = Stream(wire, came.extend)
    wire.recv = lambda size, taken=wire.recv: taken(size) if wire.pieces else b""  # type: ignore[method-assign,misc]

    assert ended.recv(1) == b""
    assert len(came) == 1


@pytest.mark.parametrize("five", [True, False])
def test_of_a_message_that_is_too_long_the_beginning_is_kept(five: bool) -> None:
    """Whatever a broker hands on must not fill the memory, nor hide what follows."""
    before = publish(b"a", b"one", 1, five=five)
    monster = publish(b"b", bytes(5_000_000), 2, five=five)
    after = publish(b"c", b"three", 3, five=five)
    whole = before + monster + after
    pieces = [whole[at : at + 70_000] for at in range(0, len(whole), 70_000)]

    came, rest = read(pieces, five=five)

    assert [(one.topic, one.packet) for one in came] == [("a", 1), ("b", 2), ("c", 3)]
    assert came[1].payload == bytes(framing.KEPT)
    assert (came[0].payload, came[2].payload, rest) == (b"one", b"three", b"")


def test_random_bytes_stop_nothing() -> None:
    """A broker gone mad: every byte is either a message's or the client's, and none raises."""
    world = random.Random(12)
    for _ in range(2000):
        read([world.randbytes(world.randrange(1, 200))], five=world.random() < 0.5)


def test_packets_leave_whole_and_in_order_whoever_wrote_them() -> None:
    """A receipt in the middle of another packet would end the connection."""
    wire = Wire([], takes=5)
    through = Stream(wire, lambda _: None)
    first, second = packet(0x30, b"first packet"), framing.pack_acknowledgements([1, 2])
    assert through.send(first) == len(first)
    wire.takes = 5
    through.push_packets(second)
    through.flush()

    assert not through.has_unsent
    assert wire.sent == first + second


def test_no_more_is_let_in_than_there_is_room_for() -> None:
    """Nothing is read meanwhile; what has come waits, in its order, until there is room again."""
    came: list[ReceivedMessage] = []
    whole = b"".join(publish(b"a", b"%d" % mid, mid, five=False) for mid in range(1, 11))
    rest = packet(0xD0, b"")
    wire = Wire([whole[:40], whole[40:] + rest, rest])
    through = Stream(wire, came.extend)
    through.room, heard = 3, b""
    for room in (0, 2, 0, 4, 0, 5):
        through.make_room(room)
        for _ in range(4):
            with suppress(BlockingIOError):
                heard += through.recv(100)
        assert through.paused == (len(came) < 10)

    assert [int(one.payload) for one in came] == list(range(1, 11))
    assert heard == rest + rest
    assert through.room == 4


def test_what_nobody_waits_for_takes_room_too() -> None:
    """A flood at QoS 0, while the disk will not, would else fill the memory."""
    came: list[ReceivedMessage] = []
    whole = b"".join(publish(b"a", b"%d" % number, 0, five=True) for number in range(10))
    through = Stream(Wire([whole]), came.extend)
    through.version5, through.room = True, 3
    for room in (0, 2, 0):
        through.make_room(room)
        with suppress(BlockingIOError):
            through.recv(100)

    assert [int(one.payload) for one in came] == [0, 1, 2, 3, 4]
    assert through.paused


def test_a_goodbye_arrives_though_something_is_left_unread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A broker that is about to write meets a reset before it reads, and tells the last will."""
    monkeypatch.setattr(framing, "GOODBYE_S", 60.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        far, _ = server.accept()
    far.sendall(publish(b"t", b"unread", 1, five=False))
    select.select([near], [], [])  # it is here, and nobody reads it
    heard: list[bytes] = []

    def broker() -> None:
        time.sleep(0.1)  # it is busy
        with far, suppress(OSError):
            far.sendall(publish(b"t", b"on its way", 2, five=False))
            heard.append(far.recv(64))

    thread = threading.Thread(target=broker)
    thread.start()
    stream = Stream(near, lambda _: None)
    stream.send(b"\xe0\x00")
    stream.close()
    thread.join()

    assert heard == [b"\xe0\x00"]


def test_a_broker_that_never_stops_talking_holds_no_goodbye_up() -> None:
    """One thread closes the links of all devices; it must not hear one broker out for ever."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        far, _ = server.accept()

    def broker() -> None:
        with far, suppress(OSError):
            while True:
                far.sendall(publish(b"t", b"more", 1, five=False))

    stream = Stream(near, lambda _: None)
    stream.send(b"\xe0\x00")
    talks = threading.Thread(target=broker, daemon=True)
    closes = threading.Thread(target=stream.close, daemon=True)
    talks.start()
    closes.start()
    ended = eventually(lambda: not closes.is_alive())
    with suppress(OSError):
        far.shutdown(socket.SHUT_RDWR)  # whatever came of it, nothing of this goes on
    closes.join()
    talks.join()

    assert ended

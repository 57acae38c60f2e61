"""The bytes of a broker, cut into messages and the rest, however they arrive."""

import random
import select
import socket
import threading
import time
from contextlib import suppress

import pytest

from gateway.service.mqtt import framing
from gateway.service.mqtt.framing import ReceivedMessage, Stream


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


def test_what_came_in_many_records_is_taken_at_once() -> None:
    """TLS gives one at a time, and the thread rests after each look: 200 a second, at most."""
    came: list[ReceivedMessage] = []
    pieces = [publish(b"a/b", bytes([number]), number, five=False) for number in range(1, 200)]
    through = Stream(Wire(pieces), came.extend)
    with pytest.raises(BlockingIOError):
        through.recv(1)

    assert len(came) == 199


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
    first, second = packet(0x30, b"first packet"), framing.acknowledgements([1, 2])
    assert through.send(first) == len(first)
    wire.takes = 5
    through.push(second)
    through.flush()

    assert not through.unsent
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


def test_a_goodbye_arrives_though_something_is_left_unread() -> None:
    """A broker that is about to write meets a reset before it reads, and tells the last will."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        far, _ = server.accept()
    far.sendall(publish(b"t", b"unread", 1, five=False))
    select.select([near], [], [], 5)  # it is here, and nobody reads it
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

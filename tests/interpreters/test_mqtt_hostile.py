"""The bytes of MQTT as the standard and paho have them, and a broker that has gone mad."""

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import paho.mqtt.client as mqtt
import pytest

# The bytes of MQTT: as the standard prints them, as paho sends them, and no others believed.

# {0} is what the case adds; it must print one line for each packet.
PACKETS = """
from edge.net import mqtt as p
from edge.net.mqtt import Fault, Parser, read_publish

def show(data):
    print("".join(["%02x" % b for b in data]))

def feed(parser, data):
    try:
        return [(kind, flags, bytes(body)) for kind, flags, body in parser.feed(data)]
    except Fault as why:
        return "Fault"

{0}
"""

# MQTT 3.1.1: figures 3.6 and 3.11 (with the topic of table 3.3), 3.20 to 3.22, 3.4.2, 3.12, 3.14.
PRINTED = {
    'p.pack_publish("a/b", b"", 1, False, 10, False)': "32070003612f62000a",
    'p.pack_publish("a/b", b"", 1, True, 10, True)': "3b070003612f62000a",
    'p.pack_publish("a/b", b"x", 0, False, 10, False)': "30060003612f6278",
    'p.pack_subscribe(10, ["a/b", "c/d"])': "820e000a0003612f62010003632f6401",
    "p.pack_puback(258)": "40020102",
    "p.PINGREQ": "c000",
    "p.DISCONNECT": "e000",
    'p.pack_connect("", None, None, None, 10, True)': "100c00044d515454" + "0402000a0000",
    # Table 2.4: the least and the most of each size of a length; 2 + 1 of them are the topic.
    'p.pack_publish("t", bytes(124), 0, False, 0, False)[:2]': "307f",
    'p.pack_publish("t", bytes(125), 0, False, 0, False)[:3]': "308001",
    'p.pack_publish("t", bytes(16380), 0, False, 0, False)[:3]': "30ff7f",
    'p.pack_publish("t", bytes(16381), 0, False, 0, False)[:4]': "30808001",
}


def test_packets_are_as_the_standard_prints_them(interpreter) -> None:
    """Its figures, and both ends of each length of a length."""
    case = "\n".join(f"show({call})" for call in PRINTED)

    assert interpreter.run(PACKETS.format(case)).split() == [*PRINTED.values()]


def heard(speak: Callable[[mqtt.Client], object], answers: dict[int, bytes]) -> bytes:
    """Return what paho sends to a listener, which answers each kind of packet so."""
    said = bytearray()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen() -> None:
            link = server.accept()[0]
            with link:
                while data := link.recv(4096):
                    said.extend(data)
                    link.sendall(answers.get(data[0] >> 4, b""))

        thread = threading.Thread(target=listen)
        thread.start()
        client = mqtt.Client(
            mqtt.CallbackAPIVersion.VERSION2, "n-1\u00e9", clean_session=False, protocol=4
        )
        client.username_pw_set("attic", "pass word")
        client.will_set("heatveil/1/lab/n/state", b"lost", qos=1, retain=True)
        client.connect("127.0.0.1", server.getsockname()[1], keepalive=300)
        for _ in range(5):
            client.loop(0.05)
        speak(client)
        for _ in range(5):
            client.loop(0.05)
        client.disconnect()
        thread.join()
    return bytes(said)


def test_packets_are_as_paho_sends_them(interpreter) -> None:
    """A whole conversation: CONNECT with all it can have, SUBSCRIBE, PUBLISH twice, goodbye."""

    def speak(client: mqtt.Client) -> None:
        client.subscribe([("heatveil/1/lab/round/thermal", 1), ("receipt", 1)])
        client.loop(0.05)
        client.publish("data", bytes(range(200)), qos=1)
        client.loop(0.05)
        client.publish("diag", b"{}", qos=0, retain=True)
        client.loop(0.05)

    paho = heard(speak, {1: b"\x20\x02\0\0", 8: b"\x90\x04\0\x01\x01\x01", 3: b"\x40\x02\0\x02"})
    case = """
will = ("heatveil/1/lab/n/state", b"lost", 1, True)
show(p.pack_connect("n-1\\u00e9", "attic", "pass word", will, 300, False)
    + p.pack_subscribe(1, ["heatveil/1/lab/round/thermal", "receipt"])
    + p.pack_publish("data", bytes(range(200)), 1, False, 2, False)
    + p.pack_publish("diag", b"{}", 0, True, 3, False)
    + p.DISCONNECT)
"""
    assert interpreter.run(PACKETS.replace("{0}", case)).strip() == paho.hex()


def test_what_comes_in_pieces_is_put_together(interpreter) -> None:
    """However the network cuts it, the packets are those that were sent."""
    case = """
said = (b"\\x20\\x02\\x01\\x00\\x90\\x03\\x00\\x01\\x01\\xd0\\x00\\x40\\x02\\x00\\x09"
    + p.pack_publish("a/b", b"one", 1, True, 7, True)
    + p.pack_publish("c", bytes(150), 0, False, 0, False))
whole = feed(Parser(200), said)
for size in range(1, len(said)):
    parser, got = Parser(200), []
    for at in range(0, len(said), size):
        got += feed(parser, said[at : at + size])
    if got != whole:
        print("wrong", size)
print([(kind, flags) for kind, flags, body in whole])
print(read_publish(whole[4][1], whole[4][2]), read_publish(0, whole[5][2])[2])
"""
    assert interpreter.run(PACKETS.replace("{0}", case)).splitlines() == [
        "[(2, 0), (9, 0), (13, 0), (4, 0), (3, 11), (3, 0)]",
        "('a/b', b'one', 7) None",
    ]


# What no broker says: a kind or flags that are not for us, a length that is not its, too much.
GARBAGE = """
00 10 30ffffffff7f 50020001 f000 21020000 200100 2003000000 d00100 4000 9002000a 34050003612f6200
36050003612f6200 38050003612f6200 30c901 9041 30ffff7f 3001 485454502f312e31 1603010200
"""


def test_garbage_is_refused_and_never_held(interpreter) -> None:
    """At the first byte that shows it, so before there is a place for the rest."""
    case = f"""
for word in {GARBAGE.split()!r}:
    data = bytes([int(word[i : i + 2], 16) for i in range(0, len(word), 2)])
    print(word, feed(Parser(200), data))
"""
    assert interpreter.run(PACKETS.replace("{0}", case)).splitlines() == [
        f"{word} Fault" for word in GARBAGE.split()
    ]


def test_a_message_without_a_topic_is_refused(interpreter) -> None:
    """Lengths within the packet are the sender's word too."""
    case = """
for flags, body in ((2, b"\\0\\0"), (0, b"\\0\\2\\0"), (2, b"\\0\\1a\\7"),
        (0, b"\\0\\2\\xff\\xfeaa"), (2, b"\\0\\1a\\0\\0x"),
        (0, b"\\0\\0x"), (0, b"\\xff\\xff"), (2, b""), (0, b"\\0\\1a")):
    try:
        print(read_publish(flags, memoryview(body)))
    except Fault:
        print("Fault")
"""
    said = interpreter.run(PACKETS.replace("{0}", case)).splitlines()

    assert said == ["Fault"] * 8 + ["('a', b'', None)"]


def test_random_bytes_never_do_more_than_a_fault(interpreter) -> None:
    """40 thousand bytes of a broker gone mad: packets or Faults, and the buffer stays its size."""
    case = """
from edge.core.compat import sha256
seed, faults, parser = b"mad", 0, Parser(64)
for turn in range(1250):
    seed = sha256(seed)
    packet = seed if turn % 2 else b"\\x30\\x1e" + seed[:30]
    got = feed(parser, packet)
    if got == "Fault":
        faults += 1
        parser.reset()
        continue
    for kind, flags, body in got:
        try:
            kind == 3 and read_publish(flags, body)
        except Fault:
            pass
print(faults > 300, len(parser._held))
"""
    assert interpreter.run(PACKETS.replace("{0}", case)) == "True 64\n"


def test_what_does_not_fit_is_refused(interpreter) -> None:
    """Cut short without a word it would be another number, or somebody else's topic."""
    case = """
for number in (65535, 65536):
    try:
        p.pack_connect("n", None, None, None, number, False)
        print("taken")
    except ValueError:
        print("refused")
"""
    assert interpreter.run(PACKETS.replace("{0}", case)) == "taken\nrefused\n"


# A broker that means ill, is ill or is not there: the device says why, and tries again.

GREETING = b"\x20\x02\0\0"
PONG = b"\xd0\0"

# What is said to a device at once, and whether the listener then answers its pings.
PARTS = {
    "garbage": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "huge": GREETING + b"\x30\xff\xff\xff\x7f" + bytes(5000),
    "endless length": GREETING + b"\x30" + b"\xff" * 5000,
    "endless CONNACK": GREETING * 3000,
    "refused": b"\x20\x02\0\x05",
    "a message before CONNACK": b"\x30\x03\0\x01a",
    "QoS 2": GREETING + b"\x34\x06\0\x01a\0\x07x",
    "no topic": GREETING + b"\x32\x04\0\0\0\x07",
    "not UTF-8": GREETING + b"\x30\x06\0\x02\xff\xfeab",
    "number 0": GREETING + b"\x40\x02\0\0",
    "silence": b"",
    "silent afterwards": GREETING,
    "answers pings and nothing else": GREETING + PONG,
    "hung up": None,
}

# A device that notes why each connection ended, at the pause that follows it.
SCRIPT = """
import asyncio
from edge.net.mqtt import Client

class Noting:
    def __init__(self, client):
        self.client = client
        self.troubles = []
    async def wait(self, event, anew):
        self.troubles.append(self.client.trouble)

async def main():
    client = Client("127.0.0.1", {port}, "n", keepalive_s=3, wait_s=1)
    client.pauses = noting = Noting(client)
    client.topics = ["t"]
    task = asyncio.create_task(client.run())
    for _ in range(40):
        if await client.publish("up", b"the same frame", 1):
            print("taken", client.connected)
            break
    for trouble in noting.troubles:
        print(trouble)
    await client.stop()
    await task

asyncio.run(main())
"""


class Listener:
    """Plays each part to one connection; then takes what is published."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        parts = list(PARTS.values())
        with suppress(OSError):
            while True:
                link = self._server.accept()[0]
                with link, suppress(OSError):
                    if parts:
                        self._play(link, parts.pop(0))
                    else:
                        self._serve_well(link)

    def _play(self, link: socket.socket, part: bytes | None) -> None:
        if part is None:
            return
        link.settimeout(60)
        link.sendall(part)
        said = b""
        while data := link.recv(4096):
            said += data
            if part.endswith(PONG) and data.endswith(b"\xc0\0"):
                link.sendall(PONG)
        self.heard.append(said)

    def _serve_well(self, link: socket.socket) -> None:
        link.recv(4096)
        link.sendall(GREETING)
        said = b""
        while data := link.recv(4096):
            said += data
            at = data.find(b"the same frame")
            if at > 1:
                link.sendall(b"\x40\x02" + data[at - 2 : at])
        self.heard.append(said)

    def close(self) -> None:
        """Let nobody in any more."""
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join(5)


@pytest.fixture
def listener() -> Iterator[Listener]:
    """Give a broker that means ill."""
    made = Listener()
    yield made
    made.close()


TROUBLES = """
kind 4 with flags 8
a packet of 268435455 bytes
a length of more than four bytes
a CONNACK is the first packet
the broker refuses us with code 5
a CONNACK is the first packet
kind 3 with flags 4
a message without a topic
a message whose topic is not UTF-8
a packet with number 0
the broker does not greet us
the broker is silent|no PUBACK came in 1000 ms
no PUBACK came in 1000 ms
hung up|104|reset
""".strip().splitlines()


@pytest.mark.long
def test_a_device_outlives_every_kind_of_broker(interpreter, listener: Listener) -> None:
    """14 of them; each is given up with its reason, within bounded time, and the frame arrives."""
    said = interpreter.run(SCRIPT.format(port=listener.port)).splitlines()

    assert said[0] == "taken True"
    assert len(said[1:]) == len(TROUBLES), said
    assert [
        words for words, why in zip(TROUBLES, said[1:], strict=True) if not re.search(words, why)
    ] == []


def test_a_closed_port_is_tried_again(interpreter) -> None:
    """MicroPython's open_connection does not say so; the first write does, and nothing raises."""
    script = """
import asyncio
from edge.net.mqtt import Client
from edge.net.link import Pauses, sleep_ms

async def main():
    client = Client("127.0.0.1", 9, "n", wait_s=1)
    client.pauses = Pauses(1, 1)
    task = asyncio.create_task(client.run())
    print(await client.publish("t", b"x"), await client.publish("t", b"x", 1))
    print(len(client.trouble) > 2, client.connected, client.reconnects)
    await client.stop()
    await task

asyncio.run(main())
"""
    assert interpreter.run(script) == "False False\nTrue False 0\n"


# asyncio's stream by hand: what is written, write by write.
ONE_WRITE = """
import asyncio
from edge.net.link import Link
from edge.net import mqtt

class Stream:
    def __init__(self):
        self.written = []
        self.out_buf = b""
        self.transport = self  # as CPython's streams have one
    def get_write_buffer_size(self):
        return 0
    def write(self, data):
        self.written.append(bytes(data))
    async def drain(self):
        pass

async def main():
    link = Link("h", 1, None, 5)
    link._writer = stream = Stream()
    for packet in (mqtt.pack_connect("n", "u", "p", ("w", b"x", 1, True), 60, False),
            mqtt.pack_publish("t", bytes(300), 1, False, 1, False),
            mqtt.pack_subscribe(2, ["a", "b"])):
        print(await link.send(packet), stream.written[-1] == bytes(packet))
    print(len(stream.written))

asyncio.run(main())
"""


def test_a_packet_is_one_write(interpreter) -> None:
    """In pieces, the second waits for a delayed acknowledgement of the first: 40 ms."""
    assert interpreter.run(ONE_WRITE) == "True True\n" * 3 + "3\n"


def test_who_stops_while_it_still_connects_is_not_held_up(interpreter, listener: Listener) -> None:
    """A goodbye before the greeting; nobody is waited for who will not greet."""
    script = """
import asyncio
from edge.net.mqtt import Client
from edge.net.link import sleep_ms

async def main():
    client = Client("127.0.0.1", {port}, "n", wait_s=3600)
    task = asyncio.create_task(client.run())
    await sleep_ms(0)
    await client.stop()
    await task
    print(client.connected)

asyncio.run(main())
"""
    assert interpreter.run(script.format(port=listener.port)) == "False\n"

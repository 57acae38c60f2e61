"""A broker that means ill, is ill or is not there: the device says why, and tries again.

The broker here is a listener that plays one part to each connection, and at last a good one.
"""

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

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
        link.settimeout(5)
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
    for packet in (mqtt.connect("n", "u", "p", ("w", b"x", 1, True), 60, False),
            mqtt.publish("t", bytes(300), 1, False, 1, False),
            mqtt.subscribe(2, ["a", "b"])):
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
from edge.core.compat import Uptime
from edge.net.mqtt import Client
from edge.net.link import sleep_ms

async def main():
    clock = Uptime()
    client = Client("127.0.0.1", {port}, "n", wait_s=8)
    task = asyncio.create_task(client.run())
    await sleep_ms(0)
    await client.stop()
    await task
    print(clock.now_ms() < 5000, client.connected)

asyncio.run(main())
"""
    assert interpreter.run(script.format(port=listener.port)) == "True False\n"

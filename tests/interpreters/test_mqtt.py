"""One device's link, the same on every Python with sockets: mosquitto, with TLS too, and amqtt.

What the broker got is asked of paho, which had no part in sending it. Between device and broker
stands, where it is said, a proxy that cuts the connection wherever its budget of bytes ends.
"""

import getpass
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import paho.mqtt.client as mqtt
import pytest

from gateway.devices.broker import certificates
from tests import processes
from tests.processes import find_free_port
from tests.waiting import eventually

DEVICE = """
import asyncio
import sys
from edge.net import tls
from edge.net.mqtt import Client
from edge.net.link import Pauses, sleep_ms

def read(path):
    with open(path, "rb") as file:
        return file.read()

ca, port, came = {ca!r}, {port}, []
door = tls.context("localhost", read(ca)) if ca else None

def make(name, **how):
    client = Client("127.0.0.1", port, name, door=door, **how)
    client.pauses = Pauses(10, 40)
    return client

async def until(done):
    for _ in range(1000):
        if done():
            return True
        await sleep_ms(10)
    return False

async def main():
{case}

asyncio.run(main())
"""

PLAIN = "listener {port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\nuser {user}\n"
AMQTT = """
import sys
from gateway.devices.broker.embedded import run_amqtt
with run_amqtt("127.0.0.1", {port}):
    sys.stdin.read()
"""
TLS = "certfile {folder}/server.pem\nkeyfile {folder}/server.key\n"


class Broker(NamedTuple):
    """A broker that runs: where, and the authority's file where it speaks TLS."""

    port: int
    authority: str
    keeps: bool = True  # what comes for a device while it is away

    def device(self, case: str, port: int = 0) -> str:
        """Return the script of a device that does this."""
        lines = "".join(f"    {line}\n" for line in case.strip().splitlines())
        return DEVICE.format(ca=self.authority, port=port or self.port, case=lines)


@contextmanager
def mosquitto(
    program: str, folder: Path, answers: Callable[[int], None], tls: bool, days: int = 0
) -> Any:
    """Run mosquitto on a free port, with a certificate for this machine or in the clear.

    days: how far from today the certificates were made.
    """
    port, text = find_free_port(), PLAIN
    if tls:
        now, text = datetime.now(UTC) + timedelta(days), PLAIN + TLS
        signer = certificates.make_authority("a test", now)
        made = certificates.make_server(["localhost", "127.0.0.1"], signer, now)
        (folder / "ca.pem").write_bytes(signer.certificate)
        (folder / "server.pem").write_bytes(made.certificate)
        (folder / "server.key").write_bytes(made.key)
    (folder / "conf").write_text(text.format(port=port, folder=folder, user=getpass.getuser()))
    child = processes.Child([program, "-c", folder / "conf"], stderr=subprocess.DEVNULL)
    try:
        answers(port)
        yield Broker(port, str(folder / "ca.pem") if tls else "")
    finally:
        child.terminate()
        child.wait()


@pytest.fixture(scope="module", params=["mosquitto", "mosquitto TLS", "amqtt"])
def broker(
    request: pytest.FixtureRequest,
    need: Callable[[str], str],
    answers: Callable[[int], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Broker]:
    """Run each of the brokers that a device may meet."""
    with ExitStack() as stack:
        if request.param == "amqtt":
            pytest.importorskip("amqtt", reason="pip install -e '.[demo]' brings amqtt")
            port = find_free_port()
            # A process of its own: what is cut off leaves unclosed sockets in it, and warnings.
            child = processes.Child(
                [sys.executable, "-W", "ignore", "-c", AMQTT.format(port=port)],
                stdin=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            stack.callback(child.wait)
            stack.callback(child.kill)
            stack.callback(child.stdin.close)
            answers(port)
            yield Broker(port, "", keeps=False)  # a message under way when it is cut is lost
        else:
            folder = tmp_path_factory.mktemp("broker")
            way = mosquitto(need("mosquitto"), folder, answers, "TLS" in request.param)
            yield stack.enter_context(way)


@pytest.fixture
def networked(interpreter: Any, broker: Broker) -> Any:
    """Return each interpreter; the WebAssembly port has sockets here, but no TLS."""
    if interpreter.name == "wasm" and broker.authority:
        pytest.skip("the WebAssembly port has no TLS, so it speaks to no broker that asks for it")
    return interpreter


@contextmanager
def observed(broker: Broker, *topics: str) -> Iterator[tuple[mqtt.Client, list[Any]]]:
    """Give a paho client that is subscribed to these, and the list of what comes to it."""
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, f"paho-{time.monotonic_ns()}")
    heard: list[Any] = []
    ready = threading.Event()

    def came(_client: object, _data: object, message: mqtt.MQTTMessage) -> None:
        # amqtt sends a new client what is retained on other people's topics too.
        if any(mqtt.topic_matches_sub(topic, message.topic) for topic in topics):
            heard.append(message)

    client.on_message = came
    client.on_subscribe = lambda *_: ready.set()
    if broker.authority:
        client.tls_set(broker.authority)
    client.connect("127.0.0.1", broker.port)
    client.subscribe([(topic, 1) for topic in topics])
    client.loop_start()
    try:
        assert ready.wait(60)
        yield client, heard
    finally:
        client.disconnect()
        client.loop_stop()


class Proxy:
    """Stands before a broker and cuts each connection after a number of bytes, both ways."""

    def __init__(self, port: int, rng: random.Random, cuts: int, least: int, most: int) -> None:
        self.said: list[bytearray] = []  # what the device said, by connection
        self._to, self._budgets = port, [rng.randrange(least, most) for _ in range(cuts)]
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self._threads = [threading.Thread(target=self._serve, daemon=True)]
        self._threads[0].start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                near = self._server.accept()[0]
                far = socket.create_connection(("127.0.0.1", self._to))
                left = [self._budgets.pop() if self._budgets else 1 << 60]
                self.said.append(bytearray())
                for a, b, said in ((near, far, self.said[-1]), (far, near, bytearray())):
                    thread = threading.Thread(
                        target=self._pump, args=(a, b, said, left), daemon=True
                    )
                    self._threads.append(thread)
                    thread.start()

    def _pump(self, a: socket.socket, b: socket.socket, said: bytearray, left: list[int]) -> None:
        with suppress(OSError):
            while data := a.recv(4096):
                said.extend(data)
                piece = data[: max(left[0], 0)]
                left[0] -= len(piece)
                b.sendall(piece)
                if left[0] <= 0:
                    break
        for end in (a, b):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        b.close()

    def close(self) -> None:
        """Let nobody in any more."""
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for thread in self._threads:
            thread.join(2)


def split(said: bytes) -> list[bytes]:
    """Return the whole packets of a stream, by the lengths they state (2.2.3)."""
    packets, at = [], 0
    while at + 2 <= len(said):
        size, stop, shift = 0, at + 1, 0
        while stop < len(said):
            size |= (said[stop] & 127) << shift
            shift, stop = shift + 7, stop + 1
            if not said[stop - 1] & 128:
                break
        if stop + size > len(said):
            break
        packets.append(bytes(said[at : stop + size]))
        at = stop + size
    return packets


@pytest.mark.long
def test_messages_go_both_ways(networked, broker: Broker) -> None:
    """QoS 0 and 1, retained or not, and what another retained before the device was there."""
    room = f"both/{networked.name}"
    case = f"""
client = make("both-{networked.name}", user="n", password="p")
client.on_message = lambda t, p: came.append((t, p))
client.topics = ["{room}/cmd", "{room}/round"]
task = asyncio.create_task(client.run())
print(await client.publish("{room}/early", b"made before there was a connection", 1))
print(await client.publish("{room}/diag", b"zero"))
print(await client.publish("{room}/meta", b"kept", 1, True))
print(await client.publish("{room}/long", bytes(1500), 1))
print(await client.publish("{room}/cmd", b"go", 1))
mine = ["{room}/cmd", "{room}/round"]
print(await until(lambda: len(set([t for t, p in came if t in mine])) == 2))
there = sorted(set([pair for pair in came if pair[0] in mine]))
print(there, client.reconnects, client.connected)
await client.stop()
await task
print(client.connected)
"""
    with observed(broker, f"{room}/#") as (paho, heard):
        paho.publish(f"{room}/round", b"asked", 1, retain=True).wait_for_publish(10)
        said = networked.run(broker.device(case))
        assert eventually(lambda: len(heard) == 6)

    assert said.splitlines() == [
        *["True"] * 6,
        f"[('{room}/cmd', b'go'), ('{room}/round', b'asked')] 0 True",
        "False",
    ]
    got = {message.topic.removeprefix(room): bytes(message.payload) for message in heard}
    assert got["/early"] == b"made before there was a connection"
    assert (got["/diag"], got["/meta"], got["/long"]) == (b"zero", b"kept", bytes(1500))
    with observed(broker, f"{room}/meta") as (_, kept):
        assert eventually(lambda: len(kept) > 0)  # amqtt says it twice to a new client
        assert kept[0].retain


@pytest.mark.parametrize("ending", ["await client.stop(); await task", "sys.exit()"])
def test_the_will_is_told_of_who_does_not_say_goodbye(networked, broker: Broker, ending) -> None:
    """A device that dies is `lost`, retained; one that leaves is what it said last."""
    if not broker.keeps:
        pytest.skip("amqtt tells the will of one that said goodbye, now and then")
    topic = f"will/{networked.name}/{len(ending)}"
    case = f"""
client = make("{networked.name}{len(ending)}", will=("{topic}", b"lost", 1, True))
task = asyncio.create_task(client.run())
print(await client.publish("{topic}", b"ready", 1, True))
{ending}
"""
    with observed(broker, topic) as (_, heard):
        said = networked.run(broker.device(case))
        eventually(lambda: len(heard) == (2 if "exit" in ending else 1))
        time.sleep(0.2)
        words = [bytes(message.payload) for message in heard]

    assert said == "True\n"
    assert set(words) == ({b"ready", b"lost"} if "exit" in ending else {b"ready"})


@pytest.mark.long
def test_a_broker_that_is_not_ours_hears_nothing(networked, broker: Broker, tmp_path) -> None:
    """Its certificate is another's: asyncio shakes hands late, and still nothing is said."""
    if not broker.authority:
        pytest.skip("this broker speaks in the clear, so there is no certificate to mistrust")
    stranger = certificates.make_authority("a stranger", datetime.now(UTC)).certificate
    (tmp_path / "ca.pem").write_bytes(stranger)
    case = """
client = make("n", wait_s=2)
task = asyncio.create_task(client.run())
print(await client.publish("t", b"x", 1), client.connected, client.trouble)
await client.stop()
await task
"""
    other = Broker(broker.port, str(tmp_path / "ca.pem"))
    proxy = Proxy(broker.port, random.Random(1), 0, 1, 2)
    try:
        said = networked.run(other.device(case, proxy.port))
    finally:
        proxy.close()

    assert said.startswith("False False the broker localhost shows a certificate that is not acc")
    assert proxy.said
    assert not any(b"MQTT" in stream for stream in proxy.said)


@pytest.mark.long
@pytest.mark.parametrize("days", [30, -4000])
def test_a_clock_that_lies_lets_nobody_in(interpreter, need, answers, tmp_path, days: int) -> None:
    """Seen from a clock that is wrong, a certificate is of the future or has run out."""
    if interpreter.name == "wasm":
        pytest.skip("the WebAssembly port has no TLS, so no certificate whose dates could count")
    case = """
client = make("n", wait_s=2)
task = asyncio.create_task(client.run())
print(await client.publish("t", b"x", 1), client.connected, client.trouble)
await client.stop()
await task
"""
    with mosquitto(need("mosquitto"), tmp_path, answers, True, days) as broker:
        proxy = Proxy(broker.port, random.Random(1), 0, 1, 2)
        try:
            said = interpreter.run(broker.device(case, proxy.port))
        finally:
            proxy.close()

    assert said.startswith("False False the broker localhost shows a certificate that is not acc")
    assert "set the clock" in said
    assert proxy.said
    assert not any(b"MQTT" in stream for stream in proxy.said)


CUT = """
client = make("cut-{name}", wait_s=10, on_message=lambda t, p: came.append(p))
client.topics = ["{room}/down"]
task = asyncio.create_task(client.run())
async def send(first, step):
    for n in range(first, 60, step):
        while not await client.publish("{room}/up", b"%04d" % n + bytes(40), 1):
            pass
await asyncio.gather(*[send(first, {senders}) for first in range({senders})])
print(client.reconnects > 5)
print({keeps} is False or await until(lambda: b"last" in came))
print(await client.publish("{room}/count", b"%d" % len(came), 1))
print({keeps} is False or len(set(came)) == 21)
await client.stop()
await task
"""


@pytest.mark.parametrize("senders", [1, pytest.param(4, marks=pytest.mark.long)])
def test_what_is_cut_is_sent_again_and_nothing_is_lost(networked, broker, senders: int) -> None:
    """60 frames up and 20 commands down through 25 cuts: all there, and repeated ones the same."""
    room = f"cut/{networked.name}/{senders}/{len(broker.authority) > 0}"
    rng = random.Random(senders)
    least = 2500 if broker.authority else 60  # a handshake in TLS takes more than a conversation
    proxy = Proxy(broker.port, rng, 25, least, 2 * least if broker.authority else 900)
    name = f"{networked.name}{senders}"
    case = CUT.format(name=name, senders=senders, room=room, keeps=broker.keeps)
    with observed(broker, f"{room}/up") as (paho, heard):

        def down() -> None:  # the session is there as soon as the first frames are
            eventually(lambda: len(heard) > 3)
            for n in range(20):
                paho.publish(f"{room}/down", b"%04d" % n, 1).wait_for_publish(10)
                time.sleep(0.01)
            paho.publish(f"{room}/down", b"last", 1).wait_for_publish(10)

        thread = threading.Thread(target=down)
        thread.start()
        try:
            said = networked.run(broker.device(case, proxy.port))
        finally:
            thread.join()
            proxy.close()
        assert said.splitlines() == ["True"] * 4
        # The broker has all of them; the last may still be on its way to who listens.
        assert eventually(lambda: len({message.payload for message in heard}) >= 60)
        numbers = [int(bytes(message.payload)[:4]) for message in heard]

    assert set(numbers) == set(range(60))
    first_seen = list(dict.fromkeys(numbers))
    if senders == 1:
        assert first_seen == list(range(60))
    if not broker.authority:
        again(proxy.said)


def again(said: list[bytearray]) -> None:
    """Hold that a frame is the same bytes each time, and bears DUP from its second time on."""
    seen: dict[bytes, bytes] = {}
    repeated = 0
    for stream in said:
        packets = split(stream)
        assert packets[0][0] == 0x10
        assert not packets[0][9] & 2  # clean session is off (3.1.2.4)
        for packet in packets:
            if packet[0] >> 4 != 3:
                continue
            payload = packet[-44:]
            if payload in seen:
                assert packet[0] & 8
                assert packet[1:] == seen[payload]
                repeated += 1
            seen.setdefault(payload, packet[1:])
    assert repeated > 3

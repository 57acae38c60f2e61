"""How long noise took must not show in when anything goes out: not in a PUBACK, nor in a ping.

The broker here publishes to a device every few milliseconds and notes when that acknowledges, as
one would that wants to know. The draw is slow, and the longest silence must not say how slow.
"""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest

from edge.board.assemble import say_goodbye
from edge.core.budget import Budget, Limits
from edge.core.records import Grid, Guarantee, Round
from edge.core.wire import round_topic, topic
from edge.host import post, rootkeys
from edge.host.enrol import Ram, provision
from edge.mechanisms import thermal_half
from edge.net import mqtt
from edge.net.device import Device
from edge.net.link import Link
from edge.net.mqtt import Client
from edge.net.ring import Ring

TICK_MS = 120
ROOT, KEY = bytes(range(32)), bytes(range(32, 64))
LIMITS = Limits(1, 8, 500, 250000, 10**9, 0)
WHO = rootkeys.identity("lab", "n", ROOT, KEY, 2)
ROUNDS = round_topic("lab", "thermal")
BABBLE = b"\x32\x05\x00\x01x\x00\x07"  # QoS 1, on the topic x


def asked(number: int, variance: int) -> bytes:
    """Return the message of a Round that asks for this noise."""
    promise = Guarantee((1, 1), (1, 100000), (1, 50), "a move", "local", "a day", "presence")
    params = (9, 8, 0, 10000, variance, 1, 0)
    plan = Round(number, "thermal", Grid((9, 1), 0), params, promise)
    return bytes(mqtt.pack_publish(ROUNDS, post.pack_round(plan, KEY, ROUNDS), 1, False, 8, False))


def receipt(seq: int) -> bytes:
    """Return the message that frees this frame."""
    where = topic("lab", "n", "receipt")
    message = post.pack_receipt(1, seq, True, WHO.config_key, where)
    return bytes(mqtt.pack_publish(where, message, 1, False, 9, False))


def taken(held: bytearray) -> Iterator[bytes]:
    """Take the whole packets out of what came."""
    while len(held) > 1:
        size, at = 0, 1
        while at < len(held) and (at == 1 or held[at - 1] & 128):
            size |= (held[at] & 127) << 7 * (at - 1)
            at += 1
        if held[at - 1] & 128 or len(held) < at + size:
            return
        yield bytes(held[:1] + held[at : at + size])
        del held[: at + size]


class Curious(threading.Thread):
    """A broker that publishes all the time; it notes when it is acknowledged, and when asked."""

    def __init__(self, variances: tuple[int, ...], after_s: float | None = None) -> None:
        """after_s: how long after a frame the next Round comes; None for long after it."""
        super().__init__(daemon=True)
        self._after_s = after_s
        self.acked: list[float] = []
        self.framed: list[float] = []
        self.asked_at: list[float] = []
        self.left: list[float] = []
        self._rounds = [asked(n, variance) for n, variance in enumerate(variances, 1)]
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]

    def run(self) -> None:
        """Serve one device till it goes."""
        link, held, heard_s = self._server.accept()[0], bytearray(), time.perf_counter()
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link.settimeout(0.002)
        with link, self._server, suppress(ConnectionError):
            while True:
                try:
                    if not (data := link.recv(4096)):
                        return
                    held += data
                except TimeoutError:
                    pass
                now_s = time.perf_counter()
                for packet in taken(held):
                    self._answer(link, packet, now_s)
                since_s = now_s - heard_s
                if self._after_s is not None and self.framed:
                    answered = len(self.framed) == len(self.asked_at)
                    since_s = now_s - self.framed[-1] + 0.4 - self._after_s if answered else 0
                if self.acked and self._rounds and since_s > 0.4:
                    heard_s = now_s
                    self.asked_at.append(now_s)
                    link.sendall(self._rounds.pop(0))
                link.sendall(BABBLE if self._greeted else b"")

    _greeted = False

    def _answer(self, link: socket.socket, packet: bytes, now_s: float) -> None:
        kind = packet[0] >> 4
        if kind == 1:
            link.sendall(b"\x20\x02\0\0")
            self._greeted = True
        elif kind == 8:
            link.sendall(b"\x90\x05" + packet[1:3] + b"\x01\x01\x01")
        elif kind == 4:
            self.acked.append(now_s)
        elif kind == 3 and packet[0] & 2:
            at = 3 + int.from_bytes(packet[1:3], "big")
            if packet.endswith(b"sleeping"):
                self.left.append(now_s)
            if packet[3:at].endswith(b"/data"):
                self.framed.append(now_s)
                link.sendall(receipt(len(self.framed)))
            link.sendall(b"\x40\x02" + packet[at : at + 2])


def silences_ms(
    monkeypatch: pytest.MonkeyPatch, draw_s: float, variances: tuple[int, ...]
) -> tuple[Any, Any]:
    """Return the longest silence after each Round till its frame, and after each frame."""
    broker = lived(monkeypatch, draw_s, Curious(variances), len(variances))
    between, after = [], []
    for asked_s, framed_s in zip(broker.asked_at, broker.framed, strict=False):
        between.append(longest_ms(broker.acked, asked_s, framed_s))
        after.append(longest_ms(broker.acked, framed_s, framed_s + 0.3))
    return between, after


def lived(
    monkeypatch: pytest.MonkeyPatch,
    draw_s: float,
    broker: Curious,
    rounds: int,
    leaves: bool = False,
) -> Curious:
    """Return the broker after a device has answered it, whose noise takes so long.

    leaves: says goodbye as soon as it can, while its last frame waits.
    """
    drawn = thermal_half.draw

    def slow(*given: Any) -> Any:
        time.sleep(draw_s)
        return drawn(*given)

    monkeypatch.setattr(thermal_half, "draw", slow)
    kept = Ram()
    provision(kept, WHO.state_key, rootkeys.first_chain(ROOT), LIMITS)
    budget = Budget(kept, WHO.state_key)
    budget.boot()
    broker.start()

    async def live() -> None:
        client = Client("127.0.0.1", broker.port, "n")
        device = Device(WHO, budget, lambda params: [5000], client, Ring(1024), tick_ms=TICK_MS)
        tasks = [asyncio.ensure_future(job) for job in (client.run(), device.run())]
        if leaves:
            while len(broker.asked_at) < rounds or not device._ticker.waits:
                await asyncio.sleep(0)
            await say_goodbye(client, WHO, b"sleeping")
        else:
            await asyncio.sleep(0.4 * rounds + 1)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    asyncio.run(live())
    broker.join(5)
    assert len(broker.framed) >= rounds - leaves
    return broker


def longest_ms(times_s: list[float], start_s: float, stop_s: float) -> float:
    """Return the longest time without an acknowledgement between two moments."""
    inside = [start_s, *(t for t in times_s if start_s < t < stop_s), stop_s]
    return 1000 * max(b - a for a, b in pairwise(inside))


def alike(ticks: int, short_ms: list[float], long_ms: list[float]) -> bool:
    """Say whether both took so many ticks; the least of each, for a busy machine only delays."""
    least = (min(short_ms), min(long_ms))
    return min(least) >= ticks * TICK_MS - 8 and max(least) - min(least) < 30


@pytest.mark.long
def test_a_draw_ahead_is_one_tick_of_silence_however_long_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Noise that takes 10 ms and noise that takes 90: the broker cannot tell them apart."""
    _, short = silences_ms(monkeypatch, 0.01, (250000,) * 4)
    monkeypatch.undo()
    _, long = silences_ms(monkeypatch, 0.09, (250000,) * 4)

    assert alike(1, short, long), (short, long)


@pytest.mark.long
def test_a_draw_between_a_round_and_its_answer_shows_neither(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rounds that ask for other noise each time, so that none lies ready."""
    others = (250000, 300000, 260000, 310000)
    short, _ = silences_ms(monkeypatch, 0.01, others)
    monkeypatch.undo()
    long, _ = silences_ms(monkeypatch, 0.09, others)

    assert alike(1, short[1:], long[1:]), (short, long)


@pytest.mark.long
def test_a_round_that_comes_while_noise_is_drawn_tells_as_little(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is read when the draw is over; its frame must not leave so long after that moment."""
    apart = []
    for draw_s in (0.06, 0.09):
        broker = lived(monkeypatch, draw_s, Curious((250000,) * 6, 0.005), 6)
        monkeypatch.undo()
        left_ms = [1000 * (b - a) for a, b in pairwise(broker.framed[:6])]
        apart.append([ms for ms in left_ms if ms > 1.5 * TICK_MS])  # else it came before the draw

    assert alike(2, *apart), apart


@pytest.mark.long
def test_who_leaves_between_a_round_and_its_answer_leaves_at_the_tick(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A goodbye that comes as soon as it is called for would tell when the loop was free."""
    left_ms: list[list[float]] = []
    for draw_s in (0.01, 0.09):
        left_ms.append([])
        for _ in range(3):
            broker = lived(monkeypatch, draw_s, Curious((250000, 300000)), 2, leaves=True)
            monkeypatch.undo()
            left_ms[-1].append(1000 * (broker.left[0] - broker.asked_at[1]))

    assert alike(1, *left_ms), left_ms


@pytest.mark.long
def test_without_the_hush_the_broker_hears_how_long_it_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Negative control: the same broker, and a link that lets everything out at once."""
    monkeypatch.setattr(Link, "hush", lambda *_: None)
    _, short = silences_ms(monkeypatch, 0.01, (250000,) * 4)
    monkeypatch.undo()
    monkeypatch.setattr(Link, "hush", lambda *_: None)
    _, long = silences_ms(monkeypatch, 0.09, (250000,) * 4)

    assert not alike(1, short, long)
    assert min(long) - min(short) > 40

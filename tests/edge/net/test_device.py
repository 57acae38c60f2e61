"""A device on its link: what it hears, keeps and sends, and over which TLS."""

import asyncio
import json
import ssl
import time
from collections.abc import Callable
from typing import Any

import pytest

from edge.core.budget import Budget, Limits
from edge.core.compat import Uptime
from edge.core.records import Grid, Guarantee, Round
from edge.core.wire import round_topic, topic
from edge.host import post, rootkeys
from edge.host.enrol import Ram, provision
from edge.mechanisms import thermal_half
from edge.net import device as devices
from edge.net.device import Device
from edge.net.ring import Ring
from edge.net.tls import Door, context
from tests.edge import timeless

# The running device over a client that only remembers: what goes out, when, and what never.

ROOT, KEY = bytes(range(32)), bytes(range(32, 64))
LIMITS = Limits(1, 8, 500, 250000, 10**9, 0)
WHO = rootkeys.identity("lab", "n", ROOT, KEY, 2)
ROUNDS, DATA = round_topic("lab", "thermal"), topic("lab", "n", "data")


class Way:
    """A link on which nothing is half way out, unless a test says so; it knows its hushes."""

    busy = False

    def __init__(self) -> None:
        self.hushes: list[int] = []

    def hush(self, clock: Any, due_ms: int) -> None:
        self.hushes.append(due_ms)


class Broker:
    """A client whose broker takes everything, or nothing; `said` is (when, leaf, payload)."""

    def __init__(self) -> None:
        self.link = Way()
        self.topics: list[str] = []
        self.connected, self.reconnects, self.takes = True, 0, True
        self.on_message: Callable[[str, bytes], None] = lambda topic, payload: None
        self.on_state: Callable[[bool], None] = lambda connected: None
        self.said: list[tuple[float, str, bytes]] = []

    async def publish(
        self, topic: str, payload: bytes, qos: int = 0, retain: bool = False
    ) -> bool:
        loop = asyncio.get_running_loop()
        self.said.append((loop.time(), topic.rsplit("/", 1)[1], bytes(payload)))
        await asyncio.sleep(0)
        return self.takes

    async def swap_topics(self, topic: str, before: str | None) -> bool:
        self.said.append((asyncio.get_running_loop().time(), topic, b""))
        return await asyncio.sleep(0, True)

    def leaf(self, name: str) -> list[bytes]:
        return [payload for _, leaf, payload in self.said if leaf == name]


def asked(number: int) -> bytes:
    promise = Guarantee((1, 1), (1, 100000), (1, 50), "a move", "local", "a day", "presence")
    plan = Round(number, "thermal", Grid((9, 1), 0), (9, 8, 0, 10000, 250000, 1, 0), promise)
    return bytes(post.pack_round(plan, KEY, ROUNDS))


def receipt(seq: int, epoch: int = 1) -> bytes:
    where = topic("lab", "n", "receipt")
    return bytes(post.pack_receipt(epoch, seq, True, WHO.config_key, where))


def lived(
    play: Callable[[Broker, Any], Any],
    read: Callable[[Any], Any] = lambda params: [5000],
    limits: Limits = LIMITS,
    **parts: Any,
) -> Broker:
    """Return the broker after a play with a running device."""
    kept = Ram()
    provision(kept, WHO.state_key, rootkeys.first_chain(ROOT), limits)
    budget = Budget(kept, WHO.state_key)
    budget.boot()

    async def whole() -> Broker:
        broker = Broker()
        ring = Ring(1024)
        device = Device(WHO, budget, read, broker, ring, tick_ms=60, **parts)
        task = asyncio.ensure_future(device.run())
        await asyncio.sleep(0.03)
        await play(broker, ring)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return broker

    return timeless.run(whole())


def test_it_says_who_and_how_it_is_and_hears_what_is_its_own() -> None:
    """Whoever comes later must find the device as it is; nothing private is in it."""

    async def play(broker: Broker, ring: Any) -> None:
        await asyncio.sleep(0.05)

    broker = lived(play)

    assert [leaf for _, leaf, _ in broker.said] == ["meta", "state", "diag"]
    assert broker.leaf("state") == [b"ready"]
    assert json.loads(broker.leaf("meta")[0])["boot"] == 1
    assert broker.topics == [ROUNDS, topic("lab", "n", "receipt"), topic("lab", "n", "cmd/limits")]
    for key in (*WHO[5:9], ROOT):
        assert not any(
            key in payload or key.hex().encode() in payload for _, _, payload in broker.said
        )


def test_a_frame_goes_out_at_its_tick_and_again_with_the_same_bytes(monkeypatch) -> None:
    """Sooner would tell how long the noise took; other bytes could be averaged."""
    monkeypatch.setattr(devices, "AGAIN_MS", 200)
    came: list[float] = []

    async def play(broker: Broker, ring: Any) -> None:
        came.append(asyncio.get_running_loop().time())
        broker.on_message(ROUNDS, asked(1))
        await asyncio.sleep(0.02)
        assert len(ring) == 1
        assert not broker.leaf("data")
        for _ in range(20):
            await asyncio.sleep(0.05)
            broker.on_message("noise", b"wake")

    broker = lived(play)
    frames = broker.leaf("data")

    assert len(frames) >= 2
    assert len(set(frames)) == 1
    assert next(at for at, leaf, _ in broker.said if leaf == "data") - came[0] >= 0.058


def test_a_tick_that_was_missed_is_told_at_a_later_diag() -> None:
    """Not before its frame is out; nobody would learn else that the tick is too short."""

    async def play(broker: Broker, ring: Any) -> None:
        broker.on_message(ROUNDS, asked(1))
        await asyncio.sleep(0.5)

    def read(params: Any) -> list[int]:
        time.sleep(0.15)  # more than two of its ticks
        return [5000]

    said = lived(play, read, diag_s=0).said
    told = [json.loads(text)["missed"] if leaf == "diag" else leaf for _, leaf, text in said]

    assert {0, 1} <= {*told}
    assert told.index("data") < told.index(1)


def test_nothing_is_said_while_a_frame_is_held_back() -> None:
    """An ack that leaves as soon as the frame is made tells when that was."""

    async def play(broker: Broker, ring: Any) -> None:
        where = topic("lab", "n", "cmd/limits")
        tighter = LIMITS._replace(version=2, pace_ms=1)
        broker.on_message(ROUNDS, asked(1))
        broker.on_message(where, bytes(post.pack_limits(tighter, WHO.config_key, where)))
        await asyncio.sleep(0.2)

    leaves = [leaf for _, leaf, _ in lived(play).said]

    assert leaves.index("ack") > leaves.index("data")
    assert leaves[-2:] == ["meta", "state"]


def test_a_release_is_asked_for_only_while_nothing_is_held_back() -> None:
    """A block that is asked for as soon as the noise is there tells how long it took."""
    came: list[float] = []

    class Updates:
        topic, last_ms, busy = "cmd/update", 0, False

        def poll(self, now_ms: int) -> tuple[str, None, None] | None:
            if now_ms < self.last_ms + 5:
                return None
            self.last_ms = now_ms
            return "block", None, None

        def describe(self) -> dict[str, int]:
            return {"release": 7}

        def take(self, topic: str, payload: bytes) -> None:
            pass

    async def play(broker: Broker, ring: Any) -> None:
        came.append(asyncio.get_running_loop().time())
        broker.on_message(ROUNDS, asked(1))
        await asyncio.sleep(0.15)

    broker = lived(play, updates=Updates())
    sent = next(at for at, leaf, _ in broker.said if leaf == "data")
    asks = [at for at, leaf, _ in broker.said if leaf == "block"]

    assert json.loads(broker.leaf("meta")[0])["release"] == 7
    assert "cmd/update" in broker.topics
    assert max(asks) > sent
    assert not [at for at in asks if came[0] + 0.01 < at < sent]


class Slow:
    """What takes a release: each message keeps it busy for more than a tick."""

    topic, takes_s, busy = "cmd/update", 0.1, False

    def __init__(self, uptime: Uptime) -> None:
        self.uptime = uptime
        self.took: list[tuple[float, int]] = []  # when each began, by two clocks

    def take(self, topic: str, payload: bytes) -> dict[str, Any]:
        self.took.append((asyncio.get_running_loop().time(), self.uptime.now_ms()))
        time.sleep(self.takes_s)
        return {"verb": "update", "version": None, "taken": False, "why": "forged"}

    def poll(self, now_ms: int) -> None:
        pass

    def describe(self) -> dict[str, int]:
        return {}


@pytest.mark.parametrize("busy", [False, True])
def test_while_a_release_comes_noise_is_drawn_ahead_in_every_second_gap(busy: bool) -> None:
    """Asked every two ticks a device needs a gap to fetch it; some send one without an end."""
    uptime = Uptime()
    updates = Slow(uptime)
    updates.busy, ahead = busy, []

    async def play(broker: Broker, ring: Any) -> None:
        for number in range(1, 5):
            broker.on_message(ROUNDS, asked(number))
            while len({*broker.leaf("data")}) < number:
                await asyncio.sleep(0.001)
            at_ms = uptime.now_ms()
            await asyncio.sleep(0.15)
            broker.on_message(topic("lab", "n", "receipt"), receipt(number))
            ahead.append(max(broker.link.hushes) - at_ms > 20)

    lived(play, limits=LIMITS._replace(pace_ms=1), updates=updates, uptime=uptime)

    assert ahead == [not busy, True] * 2


@pytest.mark.parametrize("order", [("round", "block"), ("block", "round")], ids="-".join)
def test_work_on_a_release_moves_no_tick(order: tuple[str, str]) -> None:
    """As long as the sender likes, it would show by a missed tick how long a draw took."""
    came: list[float] = []
    uptime = Uptime()
    updates = Slow(uptime)

    async def play(broker: Broker, ring: Any) -> None:
        came.append(asyncio.get_running_loop().time())
        for what in order:
            broker.on_message(*{"round": (ROUNDS, asked(1)), "block": ("block", b"0")}[what])
        await asyncio.sleep(0.02)
        broker.on_message("block", b"1")
        await asyncio.sleep(0.5)

    broker = lived(play, updates=updates, uptime=uptime)
    sent = next(at for at, leaf, _ in broker.said if leaf == "data")

    assert 0.058 <= sent - came[0] < 0.1
    assert min(at for at, _ in updates.took) >= sent
    assert json.loads(broker.leaf("ack")[0])["why"] == "forged"


def test_work_on_a_release_waits_for_the_tick_after_a_draw(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Begun as soon as the noise is there, or a while later, it would tell when that was."""
    drawn = thermal_half.draw
    uptime = Uptime()
    updates, quiet_ms, waits = Slow(uptime), [], []
    updates.takes_s = 0.0

    def draw(*given: Any) -> Any:
        time.sleep(0.02)
        return drawn(*given)

    async def play(broker: Broker, ring: Any) -> None:
        broker.on_message(ROUNDS, asked(1))
        while not broker.leaf("data"):
            await asyncio.sleep(0.001)
        before = len(broker.link.hushes)
        while max(broker.link.hushes[before:], default=0) <= uptime.now_ms():
            await asyncio.sleep(0.001)
        quiet_ms.append(max(broker.link.hushes))
        device: Any = broker.on_message.__self__  # type: ignore[attr-defined]
        waits.append(device.waits or uptime.now_ms() >= quiet_ms[0])
        broker.on_message("block", b"0")
        await asyncio.sleep(0.3)
        waits.append(device.waits)

    monkeypatch.setattr(thermal_half, "draw", draw)
    lived(play, updates=updates, uptime=uptime)
    assert waits == [True, False], "or its board writes frames, and ends a trial, meanwhile"

    ((_, begun_ms),) = updates.took
    assert 0 <= begun_ms - quiet_ms[0] < 25


def test_what_is_said_after_a_draw_keeps_step_with_its_tick(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A `diag` so many seconds after the end of a draw tells when that was."""
    monkeypatch.setattr(devices, "IDLE_MS", 200)
    drawn, uptime, quiet_ms = thermal_half.draw, Uptime(), []
    said_ms: list[int] = []

    def draw(*given: Any) -> Any:
        time.sleep(0.005)
        return drawn(*given)

    async def play(broker: Broker, ring: Any) -> None:
        broker.on_message(ROUNDS, asked(1))
        await asyncio.sleep(0.18)
        quiet_ms.append(max(broker.link.hushes))
        publish = broker.publish

        async def note(topic: str, *rest: Any) -> bool:
            said_ms.append(uptime.now_ms())
            return await publish(topic, *rest)

        broker.publish = note  # type: ignore[method-assign]
        await asyncio.sleep(0.5)

    monkeypatch.setattr(thermal_half, "draw", draw)
    lived(play, updates=None, uptime=uptime, diag_s=0)

    assert said_ms
    assert all((ms - quiet_ms[0]) % 200 < 30 for ms in said_ms), (quiet_ms, said_ms)


def test_no_older_frame_is_said_while_one_is_held_back(monkeypatch) -> None:
    """One that has no receipt yet is sent again at a moment that tells as much as an ack's."""
    monkeypatch.setattr(devices, "AGAIN_MS", 1)
    monkeypatch.setattr(devices, "IDLE_MS", 1)
    came: list[float] = []

    async def play(broker: Broker, ring: Any) -> None:
        broker.on_message(ROUNDS, asked(1))
        await asyncio.sleep(0.3)
        assert len(broker.leaf("data")) > 2, "it is not sent again and again"
        came.append(asyncio.get_running_loop().time())
        broker.on_message(ROUNDS, asked(2))
        await asyncio.sleep(0.3)

    after = [at - came[0] for at, leaf, _ in lived(play).said if at > came[0] + 0.01]

    assert min(after) >= 0.058
    assert len(after) > 2


def test_only_its_own_receipt_frees_a_frame_and_the_next_has_its_turn() -> None:
    """One that anybody writes would make reports vanish; the gateway wants them in order."""

    async def play(broker: Broker, ring: Any) -> None:
        for number in (1, 2):
            broker.on_message(ROUNDS, asked(number))
            await asyncio.sleep(0.1)
        broker.on_message(topic("lab", "n", "receipt"), receipt(1)[:-1] + b"\0")
        broker.on_message(topic("lab", "n", "receipt"), receipt(2))
        broker.on_message(topic("lab", "n", "receipt"), receipt(1, epoch=2))  # of another start
        await asyncio.sleep(0.05)
        assert len(ring) == 2
        assert len(set(broker.leaf("data"))) == 1
        broker.on_message(topic("lab", "n", "receipt"), receipt(1))
        await asyncio.sleep(0.05)
        assert len(ring) == 1
        assert len(set(broker.leaf("data"))) == 2

    lived(play)


def test_a_lost_broker_loses_nothing() -> None:
    """What has no Receipt goes out at the next connection, with the state."""

    async def play(broker: Broker, ring: Any) -> None:
        broker.on_message(ROUNDS, asked(1))
        await asyncio.sleep(0)
        broker.connected = False
        broker.on_state(False)
        await asyncio.sleep(0.15)
        assert not broker.leaf("data")
        broker.connected = True
        for _ in range(2):  # the first of these may have broken before the frame was through
            broker.on_state(True)
            await asyncio.sleep(0.05)

    shown: list[str] = []
    broker = lived(play, led=shown.append)
    frames = broker.leaf("data")

    assert frames == [frames[0]] * 2
    assert broker.leaf("state") == [b"ready"] * 3
    assert "disconnected" in shown
    assert shown[-1] == "ready"


def test_a_fault_of_the_sensor_is_silent_till_the_tick_like_an_answer() -> None:
    """How long it took to fail is the driver's own; here no noise is drawn after it."""
    one, begun = LIMITS._replace(budget=1_000_000), []

    async def play(broker: Broker, ring: Any) -> None:
        begun.append(max(broker.link.hushes))
        broker.on_message(ROUNDS, asked(1))
        await asyncio.sleep(0.05)
        begun.append(max(broker.link.hushes))

    lived(play, lambda params: [5000.5], one)

    assert begun[1] - begun[0] > 0


# What the door to a broker does without one; `tests/interpreters` shows it real brokers.

REFUSED = ssl.SSLCertVerificationError(1, "self-signed certificate")


class Socket:
    """Knows whether it was closed."""

    closed = False

    def close(self) -> None:
        self.closed = True


class Inner:
    """An SSLContext whose other end fails in one way."""

    def __init__(self, fault: Exception) -> None:
        self.fault = fault
        self.names: list[str] = []

    def wrap_socket(self, sock: object, server_hostname: str, **_: object) -> None:
        self.names.append(server_hostname)
        raise self.fault


@pytest.mark.parametrize(
    ("fault", "raised"), [(REFUSED, ValueError), (OSError(104, "reset"), OSError)]
)
def test_a_socket_that_did_not_come_to_tls_is_closed(
    fault: Exception, raised: type[Exception]
) -> None:
    """Left open, whoever holds it might speak in the clear; and no other name is believed."""
    sock, inner = Socket(), Inner(fault)
    with pytest.raises(raised) as caught:
        Door("broker.example", inner).wrap_socket(sock, server_hostname="evil.example")

    assert sock.closed
    assert inner.names == ["broker.example"]
    assert isinstance(caught.value, OSError) == (raised is OSError)


@pytest.mark.parametrize("insecure", [False, 0, None, 1, "false", "True"])
def test_without_an_authority_there_is_no_door(insecure: object) -> None:
    """Nothing but a true `insecure` opens one that verifies nothing."""
    with pytest.raises(ValueError, match="no authority"):
        context("broker.example", b"", insecure)

"""What others on the broker try: other people's names, and everybody's time."""

import os
import resource
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from statistics import median, quantiles

import pytest
from harness import sized, takes_long
from harness.brokers import LIMITS, OPEN, Broker
from harness.radio import Radio, connecting, publishing
from harness.stage import Stage, locked, secrets
from harness.truth import Forge, ask

from edge.net.device import unpack_receipt
from tests.conftest import plugin
from tests.waiting import eventually

Staged = Callable[..., Stage]


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """Return what ends everything else that a test starts."""
    with ExitStack() as stack:
        yield stack


def refused(site: Stage) -> list[tuple[str, str]]:
    """Return the topic and kind of everything that was refused."""
    return ask(site.database, "SELECT topic, kind FROM refused")


@pytest.mark.long
@pytest.mark.parametrize("checked", [True, False], ids=["", "control"])
def test_forged_device_with_another_key(stage: Staged, checked: bool) -> None:
    """Where the broker lets everybody write everything, the MAC alone keeps a stranger out."""
    site = stage(gather_s=3)
    site.gateway(*([] if checked else ["unverified"]))
    assert site.asked()
    forge = Forge(site.folder, site.database)
    mine, other = forge.names[:2]
    own_key = forge.known.by_name[mine].mac_key
    with Radio(site.broker.port, "mallory") as radio:
        radio.publish(forge.topic(other), forge.frame(other, forge.plan(), 1, 1, key=own_key))
    assert eventually(lambda: refused(site) or site.stored())

    assert site.stored() == (0 if checked else 1)


class Honest(threading.Thread):
    """A device that says something new every tenth of a second, and waits for its receipt."""

    def __init__(self, site: Stage, forge: Forge, name: str) -> None:
        super().__init__(daemon=True)
        self._site, self._forge, self._name = site, forge, name
        self.took_s: list[float] = []
        self.waits_since_s: float | None = None
        self.over = False

    def run(self) -> None:
        forge, name = self._forge, self._name
        plan, key = forge.plan(), forge.known.by_name[name].config_key
        where = forge.topic(name, "receipt")
        with Radio(self._site.broker.port, name, name, secrets(self._site)[name]) as radio:
            radio.subscribe(where)
            seq = 0
            while not self.over:
                seq += 1
                self.waits_since_s = time.monotonic()
                radio.send(forge.topic(name), forge.frame(name, plan, 1, seq, seq))
                while not self.over:
                    said = [unpack_receipt(one, key, where)[1] for _, one in radio.next()]
                    if seq in said:
                        break
                self.took_s.append(time.monotonic() - self.waits_since_s)
                time.sleep(0.1)


def flooded(site: Stage, flood_s: float) -> tuple[list[float], int, bool]:
    """Let one device flood; return honest receipts' times, messages sent, and who was cut off."""
    forge, passwords = Forge(site.folder, site.database), secrets(site)
    poison, honest = forge.names[0], Honest(site, forge, forge.names[1])
    honest.start()
    assert eventually(lambda: len(honest.took_s) > 3)
    before = len(honest.took_s)
    sent, cut, until_s = 0, False, time.monotonic() + flood_s
    with Radio(site.broker.port, poison, poison, passwords[poison]) as radio:
        message = forge.topic(poison), os.urandom(200)
        while time.monotonic() < until_s:
            try:
                radio.blurt([message] * 500)
                sent += 500
            except OSError:
                cut = True
                time.sleep(0.05)
    waits_s = time.monotonic() - (honest.waits_since_s or 0)
    took_s = honest.took_s[before:] + ([waits_s] if waits_s > 0.5 else [])
    honest.over = True
    honest.join(5)
    return took_s, sent, cut


def flooding(stage: Staged, stack: ExitStack, quarantine: bool) -> tuple[Stage, list[float], bool]:
    """Put a site on stage in which one device floods."""
    security = plugin()
    site = stage(gather_s=600)
    if not quarantine:
        site.more = "[guard]\nquarantine = false\nmessages_per_s = 1e6\nburst = 1000000\n"
        site.more += "forged = 1000000\n"
    locked(site, stack, security)
    site.gateway()
    assert site.asked()
    took_s, sent, cut = flooded(site, sized(3, 10))
    tail = quantiles(took_s, n=100)[98] if len(took_s) > 1 else took_s[0]
    print(
        f"{sent} messages of poison, {'cut off' if cut else 'never cut off'}; honest receipts: "
        f"{len(took_s)}, median {1000 * median(took_s):.0f} ms, p99 {1000 * tail:.0f} ms"
    )
    return site, took_s, cut


@pytest.mark.long
def test_poison_device_floods(stage: Staged, stack: ExitStack) -> None:
    """The broker shuts it out, and honest devices hardly notice.

    Beside other tests, for want of a machine of its own, they may notice, and are heard.
    """
    site, took_s, cut = flooding(stage, stack, True)

    assert cut
    assert median(took_s) < sized(3.0, 0.5)
    assert len(ask(site.database, "SELECT device FROM quarantine")) == 1


@takes_long
def test_poison_device_floods_control(stage: Staged, stack: ExitStack) -> None:
    """With nobody to shut it out, it takes everybody's time."""
    _, took_s, cut = flooding(stage, stack, False)

    assert not cut
    assert max(took_s) > 1


# Very many devices at once, each with a link, a name and a last will of its own.

DEVICES = sized(2000, 9000)
CONNACK_BYTES, PUBACK_BYTES = 4, 4


def room_for(files: int) -> None:
    """Let this process, and those it starts, open so many files."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(files, most), most))


def answered_at_once(port: int, forge: Forge, patience_s: float) -> tuple[int, float]:
    """Connect every device and let it answer; return how many were acknowledged, and when."""
    plan, began_s, acknowledged = forge.plan(), time.monotonic(), 0
    waiting: dict[socket.socket, tuple[bytes, bytearray]] = {}
    with selectors.DefaultSelector() as selector:
        for name in forge.names:
            link = socket.create_connection(("127.0.0.1", port), timeout=10)
            link.setblocking(False)
            link.send(connecting(name, will=forge.topic(name, "state")))
            frame = forge.frame(name, plan, 1, 1)
            waiting[link] = publishing(forge.topic(name), frame, 1), bytearray()
            selector.register(link, selectors.EVENT_READ)
        open_links = set(waiting)
        while open_links and time.monotonic() - began_s < patience_s:
            for key, _ in selector.select(0.1):
                link = key.fileobj
                assert isinstance(link, socket.socket)
                answer, heard = waiting[link]
                try:
                    more = link.recv(64)
                except OSError:
                    more = b""
                heard += more
                if more and len(heard) == CONNACK_BYTES:
                    link.send(answer)
                    continue
                acknowledged += len(heard) == CONNACK_BYTES + PUBACK_BYTES
                open_links.discard(link)
                selector.unregister(link)
        took_s = time.monotonic() - began_s
    for link in waiting:
        link.close()
    return acknowledged, took_s


def at_once(stage: Staged, connections: int) -> tuple[int, int, Stage]:
    """Let all devices come at once to a broker that takes so many links."""
    room_for(2 * DEVICES + 200)
    site = stage(sensors=DEVICES, readings=1, gather_s=60)
    site.broker.stop()
    limits = f"{OPEN}{LIMITS}max_connections {connections}\n"
    site.broker = Broker(site.broker.command[0], site.folder / "wide", more=limits)
    with site.broker.start():
        site.write(site.broker.port)
        gateway = site.gateway()
        assert site.asked()
        forge = Forge(site.folder, site.database)
        began_s = time.monotonic()
        acknowledged, took_s = answered_at_once(site.broker.port, forge, 60)
        eventually(lambda: site.stored() >= acknowledged, 30)
        stored_s = time.monotonic() - began_s
        print(
            f"{DEVICES} devices: {acknowledged} acknowledged in {took_s:.1f} s, {site.stored()} "
            f"stored in {stored_s:.1f} s; gateway {gateway.cpu_s():.1f} s of CPU and "
            f"{gateway.resident_mb():.0f} MB, broker {site.broker.resident_mb():.0f} MB"
        )
        return acknowledged, site.stored(), site


@pytest.mark.long
def test_9000_devices_at_once(stage: Staged) -> None:
    """A fleet that comes back after a power cut is all there within seconds."""
    acknowledged, stored, site = at_once(stage, -1)

    assert acknowledged == stored == DEVICES
    assert site.charges()[::2] == (1, 0)


@takes_long
def test_9000_devices_at_once_control(stage: Staged) -> None:
    """A broker with room for half of them leaves the others out."""
    acknowledged, stored, _ = at_once(stage, DEVICES // 2)

    assert acknowledged < DEVICES
    assert stored < DEVICES

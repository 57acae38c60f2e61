"""Very many devices at once, each with a link, a name and a last will of its own."""

import resource
import selectors
import socket
import time
from collections.abc import Callable

import pytest
from harness.brokers import LIMITS, OPEN, Broker
from harness.frames import Forge
from harness.radio import connecting, publishing
from harness.sizes import sized, takes_long
from harness.stage import Stage

from tests.waiting import eventually

Staged = Callable[..., Stage]
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

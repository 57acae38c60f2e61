"""What a broker is told at the door, byte by byte, and what is said of one that is lost."""

import socket
import struct
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import KEEPALIVE_S, SESSION_S, Link
from gateway.settings.operating import Mqtt

# MQTT 5.0, section 2.2.2.2, table 2-4: identifiers of properties, and how long they are.
SESSION_EXPIRY, RECEIVE_MAXIMUM, MAXIMUM_PACKET = 0x11, 0x21, 0x27
SIZES = {SESSION_EXPIRY: "!I", RECEIVE_MAXIMUM: "!H", MAXIMUM_PACKET: "!I"}


class Door:
    """A broker that writes down what it hears first, and then hangs up."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.heard: list[bytes] = []
        self.came = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        while True:
            try:
                link, _ = self.listener.accept()
            except OSError:
                return
            with link:
                link.settimeout(5)
                try:
                    self.heard.append(link.recv(4096))
                except OSError:
                    continue
                self.came.set()

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(30)


@pytest.fixture
def door() -> Iterator[Door]:
    """Return a broker that only listens."""
    door = Door()
    yield door
    door.close()


def connect(packet: bytes) -> dict[str, Any]:
    """Return what a CONNECT says: MQTT 3.1.1 and 5.0, section 3.1."""
    assert packet[0] == 0x10
    assert packet[1] < 128
    assert packet[2:8] == b"\x00\x04MQTT"
    found = {"version": packet[8], "clean": bool(packet[9] & 2), "properties": {}}
    found["keepalive"], at = int.from_bytes(packet[10:12], "big"), 12
    if packet[8] == 5:
        end = at + 1 + packet[at]
        at += 1
        while at < end:
            layout = SIZES[packet[at]]
            (found["properties"][packet[at]],) = struct.unpack_from(layout, packet, at + 1)
            at += 1 + struct.calcsize(layout)
    size = int.from_bytes(packet[at : at + 2], "big")
    return {**found, "name": packet[at + 2 : at + 2 + size].decode()}


@pytest.mark.parametrize("lasting", [True, False])
def test_the_window_and_the_session_are_asked_for_in_the_first_packet(
    door: Door, lasting: bool
) -> None:
    """Without an expiry a broker of MQTT 5 forgets us at once, and what waits for us with it."""
    at = Mqtt(host="127.0.0.1", port=door.port, insecure=True, window=123, version="5")
    with Pump() as pump:
        link = Link(at, "asked", pump, lasting=lasting)
        assert door.came.wait(30)
        link.close()
    said = connect(door.heard[0])

    assert (said["version"], said["clean"], said["name"]) == (5, not lasting, "asked")
    assert said["keepalive"] == KEEPALIVE_S
    assert said["properties"][RECEIVE_MAXIMUM] == 123
    assert said["properties"].get(SESSION_EXPIRY, 0) == (SESSION_S if lasting else 0)


def test_3_1_1_has_no_properties_and_keeps_its_session_by_its_flag(door: Door) -> None:
    """There it is the clean-session flag alone that says how long."""
    at = Mqtt(host="127.0.0.1", port=door.port, insecure=True, version="3.1.1")
    with Pump() as pump:
        link = Link(at, "asked", pump)
        assert door.came.wait(30)
        link.close()
    said = connect(door.heard[0])

    assert (said["version"], said["clean"], said["properties"]) == (4, False, {})


def test_a_broker_that_hangs_up_is_tried_with_both_versions_and_said_to_be_away(
    door: Door,
) -> None:
    """Neither was let in, so nobody knows which of them it would speak."""
    said: list[tuple[bool, str]] = []
    at = Mqtt(host="127.0.0.1", port=door.port, insecure=True)
    with Pump() as pump:
        link = Link(at, "asked", pump, on_state=lambda up, why: said.append((up, why)))
        end = threading.Event()
        for _ in range(100):
            if {packet[8] for packet in door.heard if packet} >= {4, 5}:
                break
            end.wait(0.1)
        link.close()

    assert {packet[8] for packet in door.heard if packet} >= {4, 5}
    assert not any(up for up, _ in said)

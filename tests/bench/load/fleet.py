"""Devices that exist only on the wire: keys, rounds and signed frames, the same everywhere.

What they read is noise already, so there is nothing to veil and no device code runs.
"""

import hashlib
import hmac
import struct
from typing import Any

SITE = "bench"
START = 1  # the first round's number


def devices(count: int, cells: int = 1) -> Any:
    """Return the gateway's half of so many devices, of so many sensors each."""
    from gateway.devices.enrol.enrol import Device, Devices
    from gateway.service.rounds import Place

    by_name = {}
    for index in range(count):
        name, place = f"node-{index:05}", Place(index * cells, cells)
        keys = [hashlib.sha256(b"%s %s" % (job, name.encode())).digest() for job in (b"m", b"c")]
        by_name[name] = Device(name, place, "sealed", keys[0][:4], keys[0], keys[1])
    return Devices(SITE, bytes(32), by_name)


def plan(number: int) -> Any:
    """Return a round; its name follows from its number."""
    from edge.core.records import Grid, Guarantee, Round

    promise = Guarantee(
        (1, 1), (1, 100_000), (1, 50), "one source moves", "local", "a day", "presence"
    )
    return Round(number, "thermal", Grid((10, 1), 0), (4, 8, 0, 4096, 10_000, 1, 0), promise)


def publishes(known: Any, number: int, cells: int = 1) -> list[bytes]:
    """Return an MQTT 3.1.1 PUBLISH at QoS 1 of each device, answering the round of that number."""
    said = frames(known, number, cells)
    packets = []
    for index, (name, frame) in enumerate(zip(known.by_name, said, strict=True)):
        topic = f"heatveil/1/{SITE}/{name}/data".encode()
        packets.append(publish(topic, frame, index % 65_535 + 1))
    return packets


def frames(known: Any, number: int, cells: int = 1) -> list[bytes]:
    """Return what each device answers the round of that number: the same bytes every time."""
    from edge.core import wire

    name, found = wire.name_of(plan(number)), []
    values = struct.pack(f"<{cells}h", *[number % 1000 + at for at in range(cells)])
    head = bytes((0x40 + len(values),)) if len(values) < 24 else bytes((0x58, len(values)))
    seq = number.to_bytes(4, "big")
    for index, device in enumerate(known.by_name.values()):
        topic = f"heatveil/1/{SITE}/{device.name}/data".encode()
        sensor = (index * cells).to_bytes(4, "big")
        body = b"\xa6\x00\x01\x01\x1a%b\x02\x01\x03\x44%b\x04\xd8\x4d%b%b\x05\x1a%b" % (
            *(seq, name, head, values, sensor),
        )
        over = len(topic).to_bytes(2, "big") + topic
        found.append(body + hmac.digest(device.mac_key, over + body, "sha256")[:16])
    return found


def publish(topic: bytes, payload: bytes, packet: int) -> bytes:
    """Return a PUBLISH at QoS 1."""
    rest = len(topic).to_bytes(2, "big") + topic + packet.to_bytes(2, "big") + payload
    return b"\x32" + length(len(rest)) + rest


def connect(name: bytes, will: bytes = b"") -> bytes:
    """Return a CONNECT of 3.1.1 with a clean session, and a last will if it has a topic."""
    flags = 0x02 | (0x0C if will else 0)
    body = (
        b"\x00\x04MQTT\x04" + bytes((flags,)) + b"\x00\x3c" + len(name).to_bytes(2, "big") + name
    )
    if will:
        body += len(will).to_bytes(2, "big") + will + b"\x00\x04lost"
    return b"\x10" + length(len(body)) + body


def subscribe(topic: bytes) -> bytes:
    """Return a SUBSCRIBE at QoS 0."""
    body = b"\x00\x01" + len(topic).to_bytes(2, "big") + topic + b"\x00"
    return b"\x82" + length(len(body)) + body


def length(number: int) -> bytes:
    """Return a remaining length."""
    if number < 128:
        return bytes((number,))
    return bytes((number & 127 | 128,)) + length(number >> 7)

"""Devices on the wire alone: each has its own TLS link, password, keys and subscriptions.

Run by `bench_service.py`: `python tests/bench/load/devices.py '{...}'`, in the folder of a site.
They hear each Round as real ones do, and answer it a tick later (`edge.net.ticker`) and at the
pace asked, with frames that their keys have signed. What they read is noise already, so there is
nothing to veil and no device code runs.
When a reading is on its way and when its receipt is there is taken down for each. Bounded in time;
it speaks to this machine alone.
"""

import hashlib
import hmac
import json
import resource
import select
import socket
import ssl
import struct
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

from gateway.devices.broker.mosquitto import derive_session_id

SITE, MECHANISM = "lab", "thermal"
ROUND = f"heatveil/1/{SITE}/round/{MECHANISM}".encode()
PUBACK, PUBLISH = 0x40, 0x30
LOOK_S = 0.001  # from one look at all links to the next: at once it would be a busy loop
SILENT_S = 30.0  # after which what is still without a receipt is lost


class Device:
    """One device at its broker, by MQTT 3.1.1."""

    def __init__(self, own: dict[str, Any], port: int, context: ssl.SSLContext) -> None:
        self.name, self.sensor = own["name"].encode(), own["sensor"]
        self._key = bytes.fromhex(own["mac_key"])
        data = b"heatveil/1/%s/%s/data" % (SITE.encode(), self.name)
        self._topic = text(data)
        self.sent_s, self._into = 0.0, b""
        link = socket.create_connection(("127.0.0.1", port))
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.link = context.wrap_socket(link, server_hostname="127.0.0.1")
        # Which the broker holds it to
        session = derive_session_id(SITE, own["name"], own["link_key"])
        words = (session.encode(), self.name, own["link_key"].encode())
        rest = b"".join(map(text, words))
        self.link.sendall(packet(0x10, b"\x00\x04MQTT\x04\xc2\x02\x58" + rest))
        receipt = data.removesuffix(b"data") + b"receipt"
        topics = b"".join(text(one) + b"\x01" for one in (ROUND, receipt))
        self.link.sendall(packet(0x82, b"\x00\x01" + topics))
        while not any(kind == 0x90 for kind, _ in self.read()):
            pass
        self.link.setblocking(False)

    def read(self) -> list[tuple[int, bytes]]:
        """Return the packets that came: the first byte of each, and the rest."""
        try:
            data, found = self._into + self.link.recv(65_536), []
        except ssl.SSLWantReadError:
            return []
        if not data:
            raise SystemExit(f"the broker has thrown {self.name.decode()} off")
        at = 0
        while len(data) - at >= 2:
            size, body, shift = 0, at + 1, 0
            while body < len(data):
                size |= (data[body] & 127) << shift
                body, shift = body + 1, shift + 7
                if data[body - 1] < 128:
                    break
            if body + size > len(data):
                break
            found.append((data[at], data[body : body + size]))
            at = body + size
        self._into = data[at:]
        return found

    def frame(self, number: int, name: bytes) -> bytes:
        """Return what it answers the round of that number: the same bytes every time."""
        seq = number.to_bytes(4, "big")
        values = struct.pack("<h", (number + self.sensor) % 100)
        body = b"\xa6\x00\x01\x01\x1a%b\x02\x01\x03\x44%b\x04\xd8\x4d\x42%b\x05\x1a%b" % (
            *(seq, name, values, self.sensor.to_bytes(4, "big")),
        )
        return body + hmac.digest(self._key, self._topic + body, "sha256")[:16]

    def answer(self, number: int, name: bytes) -> None:
        """Send it."""
        rest = self._topic + (number % 65_535 + 1).to_bytes(2, "big")
        self.sent_s = time.monotonic()
        self.link.send(packet(0x32, rest + self.frame(number, name)))


def packet(head: int, rest: bytes) -> bytes:
    """Return an MQTT packet."""
    size, length = len(rest), b""
    while size > 127:
        length, size = length + bytes((size & 127 | 128,)), size >> 7
    return bytes((head,)) + length + bytes((size,)) + rest


def text(word: bytes) -> bytes:
    """Return a word with its length before it."""
    return len(word).to_bytes(2, "big") + word


def main() -> None:
    """Answer rounds until time is up; print what was done as JSON."""
    from edge.core import wire

    asked: dict[str, Any] = json.loads(sys.argv[1])
    context = ssl.create_default_context(cafile="broker/ca.pem")
    owns = json.loads(Path("secrets.json").read_text())["devices"]
    fleet = [Device(own, asked["port"], context) for own in owns]
    by_file, poll = {one.link.fileno(): one for one in fleet}, select.epoll()
    for file in by_file:
        poll.register(file, select.EPOLLIN)
    print("ready", flush=True)
    # When whose answer is due, and to what round.
    due: deque[tuple[float, Device, int, bytes]] = deque()
    heard: dict[bytes, tuple[int, bytes]] = {}  # number and name of each round, by its message
    late_s: list[float] = []
    began_s = until_s = paced_s = 0.0
    answered, sent, waiting, received, before = 0, 0, 0, 0, 0.0
    while True:
        time.sleep(LOOK_S)
        for file, _ in poll.poll(0):
            one = by_file[file]
            for kind, rest in one.read():
                if kind & 0xF0 != PUBLISH:
                    continue
                size = int.from_bytes(rest[:2], "big")
                topic, left = rest[2 : 2 + size], rest[2 + size :]
                if kind & 0x06:
                    one.link.send(packet(PUBACK, left[:2]))
                    left = left[2:]
                if topic != ROUND:
                    if one.sent_s:  # where the gateway says it twice, once counts
                        late_s.append(time.monotonic() - one.sent_s)
                        one.sent_s, received, waiting = 0.0, received + 1, waiting - 1
                elif left and not kind & 1 and (not until_s or time.monotonic() < until_s):
                    if left not in heard:
                        number = wire.decode(left[:-16])[1]
                        heard[left] = number, hashlib.sha256(left[:-16]).digest()[:4]
                    due.append((time.monotonic() + asked["tick_ms"] / 1000, one, *heard[left]))
        now_s = time.monotonic()
        if len(heard) == 2 and not began_s:  # with the first one much is done once and never again
            began_s, until_s = now_s, now_s + asked["seconds"]
            before, sent, received, late_s = cpu_s(), waiting, 0, []
            print("begun", flush=True)
        paced_s = max(paced_s, now_s - 0.05)  # what was not due is no debt
        while due and max(paced_s, due[0][0]) <= now_s:
            _, one, number, name = due.popleft()
            one.answer(number, name)
            answered, sent, waiting = answered + 1, sent + 1, waiting + 1
            paced_s += 1 / asked["rate"]
        over = until_s and now_s > until_s
        done = not waiting or not asked["receipts"] or now_s > until_s + SILENT_S
        if over and not due and done:
            break
    late_s.sort()
    of = {f"p{part}": late_s[int(len(late_s) * part / 100)] for part in (50, 99)} if late_s else {}
    print(
        json.dumps(
            {
                **{
                    "answered": answered,
                    "sent": sent,
                    "received": received,
                    "rounds": len(heard) - 1,
                    "late_s": of,
                },
                **{"worst_s": late_s[-1] if late_s else None, "cpu_s": cpu_s() - before},
                "seconds": time.monotonic() - began_s,
            }
        ),
        flush=True,
    )
    sys.stdin.readline()  # who leaves now would load the broker while others are measured


def cpu_s() -> float:
    """Return the processor time of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()

"""Readings at a steady rate from signed frames, over raw sockets: cheap enough not to be measured.

Run by the benches: `python tests/bench/load/generator.py '{...}'`. It answers round after round as
each is asked, in the order of its devices, and writes when it sent each message. Bounded in count
(rounds times devices), in time (`seconds`) and in memory: one round is made ahead. It speaks to
127.0.0.1 alone.
"""

import json
import resource
import selectors
import socket
import sys
import time
from array import array
from typing import Any

HOST = "127.0.0.1"
OUTSTANDING = 4000  # messages that the broker has not acknowledged, on one connection


class Line:
    """A connection, and what is on its way over it."""

    def __init__(self, port: int, name: bytes, will: bytes = b"") -> None:
        import fleet

        self.socket = socket.create_connection((HOST, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(fleet.connect(name, will))
        self.out, self.outstanding, self.into = bytearray(), 0, b""
        self.welcome = False

    def write(self) -> None:
        """Send what the socket takes."""
        try:
            while self.out:
                sent = self.socket.send(self.out[:262_144])
                del self.out[:sent]
        except BlockingIOError:
            pass

    def read(self) -> list[bytes]:
        """Count acknowledgements; return the payloads that came."""
        import fleet

        del fleet
        try:
            data = self.into + self.socket.recv(262_144)
        except BlockingIOError:
            return []
        at, found = 0, []
        while len(data) - at >= 2:
            size, shift, body = 0, 0, at + 1
            while body < len(data):
                size |= (data[body] & 127) << shift
                shift, body = shift + 7, body + 1
                if not data[body - 1] & 128:
                    break
            if body + size > len(data):
                break
            kind = data[at] & 0xF0
            if kind == 0x40:
                self.outstanding -= 1
            elif kind == 0x20:
                self.welcome = True
            elif kind == 0x30:
                topic = data[body] << 8 | data[body + 1]
                found.append(data[body + 2 + topic : body + size])
            at = body + size
        self.into = data[at:]
        return found


def _back(port: int, names: list[bytes], packets: list[bytes], lines: Any, selector: Any) -> Any:
    """Let every device come back on a link of its own and speak; return when each began to."""
    import fleet

    began_s = []
    for name, packet in zip(names, packets, strict=True):
        began_s.append(time.monotonic())
        will = b"heatveil/1/%s/%s/state" % (fleet.SITE.encode(), name)
        line = Line(port, b"d-" + name, will)
        line.socket.setblocking(False)
        line.out, line.outstanding = bytearray(packet), 1
        line.write()
        lines.append(line)
        selector.register(line.socket, selectors.EVENT_READ, line)
    return began_s


def main() -> None:
    """Answer rounds until all are answered or time is up; print what was done as JSON."""
    import fleet
    from progress import Progress

    asked: dict[str, Any] = json.loads(sys.argv[1])
    known = fleet.devices(asked["devices"], asked["cells"])
    rounds, count = asked["rounds"], asked["devices"]
    last, ahead = fleet.START + rounds - 1, fleet.START
    ready = fleet.publishes(known, ahead, asked["cells"])
    names = [name.encode() for name in known.by_name]
    way = asked["way"]
    few = 1 if way == "back" else asked["connections"]
    lines = [Line(asked["port"], b"g-" + names[at]) for at in range(few)]
    selector = selectors.DefaultSelector()
    for line in lines:
        line.socket.setblocking(False)
        selector.register(line.socket, selectors.EVENT_READ, line)
    lines[0].out += fleet.subscribe(f"heatveil/1/{fleet.SITE}/round/thermal".encode())
    lines[0].write()
    print("ready", flush=True)
    junk = fleet.publish(f"heatveil/1/{fleet.SITE}/node-{count:05}/data".encode(), bytes(60), 1)
    flood = Line(asked["port"], b"flood") if way == "flood" else None
    if flood is not None:
        flood.socket.setblocking(False)
        selector.register(flood.socket, selectors.EVENT_READ, flood)
    began_s, first_s, until_s = time.monotonic(), 0.0, time.monotonic() + asked["seconds"]
    sent_s, rate = array("d"), asked["rate"] or 1e9
    if way == "outage":  # nobody is there to wait for, so an hour of it is sent at once
        rate = 1e9
    number, at, written = 0, 0, 0
    packets: list[bytes] = []
    progress = Progress("sent", rounds * count)
    while (written < rounds * count or any(line.outstanding for line in lines)) and (
        time.monotonic() < until_s
    ):
        progress.at(written)
        came = [one for key, _ in selector.select(0.002) for one in key.data.read()]
        if way == "outage" and at == len(packets) and number < last:  # nobody asks
            came = [b"next"]
        for payload in came:
            if payload and number < last:  # a round is asked
                number, at, packets = number + 1, 0, ready
                if way == "back":
                    sent_s.extend(_back(asked["port"], names, packets, lines, selector))
                    at = written = count
        now_s = time.monotonic()
        if flood is not None and first_s:
            more = OUTSTANDING - flood.outstanding
            flood.out, flood.outstanding = flood.out + junk * more, OUTSTANDING
            flood.write()
        if packets and not first_s:
            first_s = now_s
        due = min(int((now_s - first_s) * rate) + 1, written + 2000) if first_s else 0
        touched = set()
        while at < len(packets) and written < due:
            line = lines[at % len(lines)]
            if line.outstanding >= OUTSTANDING:
                break
            line.out += packets[at]
            line.outstanding += 1
            touched.add(line)
            sent_s.append(now_s)
            at, written = at + 1, written + 1
        for line in touched:
            line.write()
        for line in lines if len(lines) < 50 else ():
            line.write()
        if at == len(packets) and ahead == number < last:
            ahead += 1
            ready = fleet.publishes(known, ahead, asked["cells"])
    with open(asked["out"], "wb") as file:
        sent_s.tofile(file)
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {
                "sent": written,
                "seconds": time.monotonic() - began_s,
                "cpu": used.ru_utime + used.ru_stime,
            }
        ),
        flush=True,
    )


if __name__ == "__main__":
    main()

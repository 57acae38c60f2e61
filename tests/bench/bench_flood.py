"""How late honest devices are while one floods as fast as the broker takes it.

Run it: `python tests/bench/bench_flood.py [--seconds 5]`. Twice: with the guard and the quarantine
of a gateway, and without either, as a control. A mosquitto of its own with dynamic security, on
loopback; the flood is a process of its own that sends one genuine frame over and over, and comes
again when it is thrown off. What is timed is an honest device's way from its frame to the receipt,
which the gateway sends after its commit. Bounded in count and in time; nothing here is asserted.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

HONEST, PAUSE_S, MOST = 5, 0.1, 1_000_000
FLOOD = """
import socket, sys, time
port, user, secret, topic, frame, seconds, most = sys.argv[1:]
def text(s): return len(s).to_bytes(2, "big") + s
def packet(first, body):
    n, size = len(body), b""
    while True:
        n, byte = n >> 7, n & 127
        size += bytes([byte | (128 if n else 0)])
        if not n: return bytes([first]) + size + body
hello = packet(0x10, text(b"MQTT") + b"\\x04\\xc2\\x00\\x3c" + text(b"flood") + text(user.encode())
               + text(secret.encode()))
block = packet(0x30, text(topic.encode()) + bytes.fromhex(frame)) * 100
until, sent, cut = time.monotonic() + float(seconds), 0, 0
print("ready", flush=True)
while time.monotonic() < until and sent < int(most):
    try:
        link = socket.create_connection(("127.0.0.1", int(port)), 5)
        link.sendall(hello)
        if link.recv(4)[3:] != b"\\x00": raise OSError
        while time.monotonic() < until and sent < int(most):
            link.sendall(block); sent += 100
    except OSError:
        cut += 1; time.sleep(0.05)
print(sent, cut, flush=True)
"""


def main() -> None:
    """Print both runs."""
    words = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    words.add_argument("--seconds", type=float, default=5)
    seconds = words.parse_args().seconds
    for guarded in (True, False):
        found = run(seconds, guarded)
        print("with the quarantine:" if guarded else "without, as a control:")
        print(
            f"  {found['sent']:,} frames flooded, thrown off after {found['kick_ms']:.0f} ms, "
            f"{found['cut']} connections refused or cut"
        )
        print(
            f"  honest: {found['answered']} of {found['asked']} receipted, "
            f"median {found['p50_ms']:.1f} ms, p99 {found['p99_ms']:.1f} ms, "
            f"worst {found['worst_ms']:.1f} ms"
        )


def run(seconds: float, guarded: bool) -> dict[str, Any]:
    """Return what became of honest devices, times in milliseconds."""
    import numpy as np

    from edge import receipts, wire
    from edge.records import Report
    from gateway.devices.broker.control import Control
    from gateway.devices.enrol import enrol
    from gateway.service.intake.writer import Intake
    from gateway.service.mqtt.pump import Pump
    from gateway.service.mqtt.service import Link
    from gateway.service.operate.quarantine import Guard, Quarantine
    from gateway.settings.operating import Guard as Settings
    from gateway.store.store import Store

    made = enrol.enrol_fleet("flood", HONEST + 1)
    known, names = (
        enrol.derive_devices(made.secrets),
        [one.identity.name for one in made.secrets.devices],
    )
    honest, poison = names[:HONEST], names[HONEST]

    def frame(name: str, seq: int) -> tuple[str, bytes]:
        topic = wire.topic("flood", name, "data")
        report = Report(b"none", name, 1, seq, [known.by_name[name].place.sensor, 7])
        return topic, bytes(wire.pack_report(report, known.by_name[name].mac_key, topic, 32))

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port = stack.enter_context(broker(folder, ["gateway", *names]))
        comes = lambda name: _as(folder, port, name)  # noqa: E731
        store = Store(folder / "flood.sqlite", "flood")
        stack.callback(store.close)
        pump, field = stack.enter_context(Pump("gateway")), stack.enter_context(Pump("field"))
        guard = Guard(Settings(), names)
        intake = Intake(
            store, known, lambda *_: None, lambda _: None, guard=guard if guarded else None
        )
        stack.callback(intake.stop)
        intake.begin()
        filters = [wire.topic("flood", "+", "data")]
        link = Link(
            comes("gateway"), "gateway", pump, subscribe=filters, on_message=intake.put
        ).wait()
        stack.callback(link.close)
        kicked: list[float] = []
        if guarded:
            control = Control(comes("gateway"), "control", pump).wait()
            stack.callback(control.close)
            hear = lambda _: kicked.append(time.monotonic())  # noqa: E731
            stack.enter_context(Quarantine(store, control, guard, hear))
        asked: dict[tuple[str, int], float] = {}
        taken: dict[tuple[str, int], float] = {}

        def receipt(name: str) -> Any:
            key, topic = known.by_name[name].config_key, wire.topic("flood", name, "receipt")

            def take(link: Any, message: Any) -> None:
                link.ack(message)
                _, seq, _ = receipts.unpack(message.payload, key, topic)
                taken.setdefault((name, seq), time.monotonic())

            return take

        links = {
            name: Link(
                comes(name),
                name,
                field,
                subscribe=[wire.topic("flood", name, "receipt")],
                on_message=receipt(name),
            ).wait()
            for name in honest
        }
        for one in links.values():
            stack.callback(one.close)
        topic, poisoned = frame(poison, 1)
        words = [
            str(port),
            poison,
            _secret(poison),
            topic,
            poisoned.hex(),
            str(seconds),
            str(MOST),
        ]
        command = [sys.executable, "-c", FLOOD, *words]
        child = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        assert child.stdout is not None
        child.stdout.readline()
        began, seq, over = time.monotonic(), 0, threading.Event()
        while time.monotonic() < began + seconds:
            seq += 1
            for name in honest:
                asked[name, seq] = time.monotonic()
                links[name].publish(*frame(name, seq))
            over.wait(PAUSE_S)
        sent, cut = map(int, child.stdout.readline().split())
        child.wait()
        until = time.monotonic() + 10
        while len(taken) < len(asked) and time.monotonic() < until:
            time.sleep(0.01)
        late = time.monotonic()
        times = np.array([taken.get(key, late) - at for key, at in asked.items()]) * 1000
    return {
        "sent": sent,
        "cut": cut,
        "kick_ms": 1000 * (kicked[0] - began) if kicked else float("nan"),
        "asked": len(asked),
        "answered": len(taken),
        "p50_ms": float(np.quantile(times, 0.5)),
        "p99_ms": float(np.quantile(times, 0.99)),
        "worst_ms": float(times.max()),
    }


@contextmanager
def broker(folder: Path, names: list[str]) -> Iterator[int]:
    """Run a mosquitto that lets these in, with the limits that ours has."""
    from gateway.devices.broker import dynamic, mosquitto
    from gateway.devices.broker.embedded import find_free_port
    from gateway.devices.broker.embedded import find_mosquitto as program

    port = find_free_port()
    text = mosquitto.render_configuration(
        "flood", folder, ["127.0.0.1"], port, os.environ.get("USER", "root"), dynamic.find_plugin()
    )
    tls = ("certfile", "keyfile", "tls_version")  # on loopback it would only cost time
    kept = [line for line in text.splitlines() if not line.startswith(tls)]
    (folder / "mosquitto.conf").write_text("\n".join(kept) + "\n")
    (folder / "data").mkdir()
    passwords = {name: _secret(name) for name in names}
    (folder / dynamic.FILE).write_text(dynamic.make_file("flood", "gateway", passwords, "ha"))
    with subprocess.Popen(
        [program() or "mosquitto", "-c", folder / "mosquitto.conf"], stderr=subprocess.DEVNULL
    ) as child:
        time.sleep(0.5)
        try:
            yield port
        finally:
            child.terminate()


def _secret(name: str) -> str:
    return f"secret of {name}"


def _as(folder: Path, port: int, name: str) -> Any:
    from gateway.settings.operating import Mqtt

    file = folder / f"{name}.password"
    file.write_text(_secret(name))
    return Mqtt(host="127.0.0.1", port=port, insecure=True, username=name, password_file=file)


if __name__ == "__main__":
    main()

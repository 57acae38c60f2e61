"""A gateway's life: start, restart, end, and what memory it holds, as processes of their own.

    python tests/bench/bench_start.py [--minutes 1] [--rate 500]

`heatveil serve` and `heatveil fleet` on a mosquitto of this run, all on loopback. Times are of the
wall, and CPU is of the gateway's process alone, for the machine may be shared. The drift is of
genuine frames that come again and again: every one is verified, looked up and receipted at QoS 1.
Where the broker acknowledges these receipts more slowly than the frames come, they wait in memory,
which is a growth of the queue and no leak: look at it on a machine that is not shared.
"""

import argparse
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

PROGRAM = Path(sys.executable).with_name("heatveil")
QUEUE, VIEWERS, SENSORS = 2000, 20, 50
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
SITE = """
[site]
name = "bench"
[room]
cells = 80
length_m = 10.0
[heat]
spread_m2 = 1.0
[sensors]
count = {sensors}
[privacy]
epsilon = "8/1"
delta = "1/100000"
readings = 2
[rounds]
gather_s = 20
every_s = 1
[mqtt]
port = {port}
insecure = true
[page]
port = {page}
health_port = 0
"""


class Gateway:
    """A `heatveil serve`."""

    def __init__(self, config: Path, page: int) -> None:
        self.began_s, self.page, self.config = time.monotonic(), page, config
        with config.with_name("serve.log").open("ab") as log:
            self.process = subprocess.Popen(
                [PROGRAM, "serve", "--config", config], stdout=log, stderr=log
            )

    def asked(self, path: str) -> Any:
        """Return what the page says there, or None."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.page}{path}", timeout=5) as said:
                return json.loads(said.read() or "null")
        except (OSError, ValueError):
            return None

    def wait(self, true: Callable[[], Any], what: str) -> float:
        """Return how long after its start it was true, in seconds."""
        while not true():
            if time.monotonic() - self.began_s > 60 or self.process.poll() is not None:
                sys.exit(f"{what}: not within a minute; see {self.config.parent}/serve.log")
            time.sleep(0.01)
        return time.monotonic() - self.began_s

    def cpu_s(self) -> float:
        """Return the CPU that it has taken, without its solver's."""
        words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) * TICK_S

    def solver(self) -> int:
        """Return the process of its solver."""
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return next(int(child) for task in tasks for child in task.read_text().split())


def memory_mb(process: int) -> float:
    """Return what a process holds in memory, in MB."""
    (line,) = (
        line
        for line in Path(f"/proc/{process}/status").read_text().splitlines()
        if line.startswith("VmRSS")
    )
    return int(line.split()[1]) * 1024 / 1e6


def told(what: str, found: float, goal: float, unit: str) -> None:
    """Print a figure beside what it should be."""
    print(f"{what:44} {found:8.2f} {unit:5} goal {goal:g}{'' if found <= goal else '   MISSED'}")


def rows(config: Path, table: str) -> int:
    """Return how many rows a table of the store has."""
    place = f"file:{config.with_name('heatveil.sqlite')}?mode=ro"
    with closing(sqlite3.connect(place, uri=True)) as store:
        return int(store.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def ends(gateway: Gateway, link: Any, frames: list[Any]) -> float:
    """Return how long SIGTERM takes, while many look on and a full queue is on its way."""
    viewers = [socket.create_connection(("127.0.0.1", gateway.page)) for _ in range(VIEWERS)]
    for viewer in viewers:
        viewer.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        viewer.recv(64)
    for number in range(QUEUE):
        link.publish(*frames[number % len(frames)])
    began_s = time.monotonic()
    gateway.process.send_signal(signal.SIGTERM)
    gateway.process.wait(30)
    took_s = time.monotonic() - began_s
    for viewer in viewers:
        viewer.close()
    return took_s


def drift(gateway: Gateway, link: Any, frames: list[Any], minutes: float, rate: int) -> float:
    """Return by how many MB an hour it grows; the first third is for warming up."""
    seen: list[tuple[float, float]] = []
    began_s, sent = time.monotonic(), 0
    while (now_s := time.monotonic() - began_s) < 60 * minutes:
        while sent < rate * now_s:
            link.publish(*frames[sent % len(frames)])
            sent += 1
        if now_s > 20 * minutes:
            seen.append((now_s / 3600, memory_mb(gateway.process.pid)))
        time.sleep(0.02)
    middle_h, middle_mb = (sum(column) / len(seen) for column in zip(*seen, strict=True))
    over = sum((at - middle_h) ** 2 for at, _ in seen)
    return sum((at - middle_h) * (mb - middle_mb) for at, mb in seen) / over


def main() -> None:
    """Run it all and print a line a figure."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--minutes", type=float, default=1.0)
    words.add_argument("--rate", type=int, default=500)
    asked = words.parse_args()
    from gateway.devices.broker.embedded import find_free_port, run_broker
    from gateway.service.mqtt.pump import Pump
    from gateway.service.mqtt.service import Link
    from gateway.settings.operating import Mqtt

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        broker, page, config = (
            stack.enter_context(run_broker()),
            find_free_port(),
            folder / "site.toml",
        )
        config.write_text(SITE.format(sensors=SENSORS, port=broker.port, page=page))
        words_of_fleet = [PROGRAM, "fleet", "--config", config, "--sources-random", "1", "--enrol"]
        fleet = subprocess.Popen(words_of_fleet, stdout=subprocess.PIPE, text=True)
        stack.callback(fleet.kill)
        assert fleet.stdout
        fleet.stdout.readline()
        mqtt = Mqtt(host=broker.host, port=broker.port, insecure=True)
        link = Link(mqtt, "bench", stack.enter_context(Pump("bench"))).wait()
        stack.callback(link.close)

        def serve() -> Gateway:
            gateway = Gateway(config, page)
            stack.callback(gateway.process.kill)
            return gateway

        gateway = serve()
        told("exec to ready", gateway.wait(lambda: gateway.asked("/readyz"), "ready"), 1.5, "s")
        told("  CPU of it", gateway.cpu_s(), 0.7, "s")
        gateway.wait(lambda: (gateway.asked("/api/map") or {}).get("number") == 2, "maps")
        told("memory of the gateway, two rounds of 50", memory_mb(gateway.process.pid), 96, "MB")
        told(
            "memory of its solver, two maps of 80 cells",
            memory_mb(gateway.service.solver()),
            220,
            "MB",
        )
        fleet.kill()
        with closing(sqlite3.connect(config.with_name("heatveil.sqlite"))) as store:
            answers = store.execute("SELECT device, frame FROM reports").fetchall()
        frames = [(f"heatveil/1/bench/{device}/data", frame) for device, frame in answers]
        if asked.minutes:
            grows = drift(gateway, link, frames, asked.minutes, asked.rate)
            told(f"drift over {asked.minutes:g} min at {asked.rate}/s", grows, 2, "MB/h")
        told(f"SIGTERM to exit, {VIEWERS} viewers", ends(gateway, link, frames), 2, "s")
        between = serve()  # what was left in the queue is no commit: those frames came before
        between.wait(lambda: between.asked("/readyz"), "ready")
        time.sleep(5)
        between.process.terminate()
        between.process.wait(30)
        before = rows(config, "refused")
        for number in range(QUEUE):  # no frames, so that each must be committed as a dead letter
            link.publish(frames[number % len(frames)][0], number.to_bytes(40, "big"))
        link.sent(30)
        gateway = serve()
        first_s = gateway.wait(lambda: rows(config, "refused") > before, "a commit")
        told(f"restart to first commit, {QUEUE} in the queue", first_s, 1, "s")


if __name__ == "__main__":
    main()

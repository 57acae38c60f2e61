"""What `heatveil serve` costs as it is shipped, a reading: processor, time, memory.

Run it: `python tests/bench/bench_service.py [--devices 2000] [--rate 5000] [--seconds 60]`. A
site is made as an operator makes one (`config --sample`, `enrol`, `broker init`), mosquitto runs
with its certificates, passwords and rights, `heatveil serve` with rounds, ledger, maps, page and
health, and one page is open. The devices are raw sockets, a TLS link each, that answer every round
at the pace asked. Then the same rounds are asked again by what one would write instead (paho,
sqlite3, and no more), at the same broker. Nothing is asserted.
What each thread of the gateway took is told by the kernel, to which they are named here: `intake`
decides, commits and makes receipts, `gateway` is the link to the broker, `rounds` the campaign.

A round is over when all have answered, and the next one opens when it is released; maps are drawn
meanwhile. While none is open nothing comes: in all it is less than the pace. How long a reading
is on its way is told to the device's receipt, which follows the commit. In memory a campaign
keeps its releases, one to three bytes a number; SQLite fills its caches, of 2 MB a connection.
"""

import argparse
import http.client
import json
import os
import re
import resource
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

LOAD = Path(__file__).resolve().parent / "load"
ROOT = Path(__file__).resolve().parents[2]
TICKS = os.sysconf("SC_CLK_TCK")
HEATVEIL = [sys.executable, "-c", "from gateway.cli import main; main()"]
# The same, whose threads the kernel knows by their names.
NAMED = """
import threading
from pathlib import Path
from gateway.cli import main

def call_itself(name):
    Path("/proc/self/task", str(threading.get_native_id()), "comm").write_text(name)

def run(thread, run=threading.Thread.run):
    call_itself(thread.name)
    run(thread)

threading.Thread.run = run
call_itself("rounds")
main()
"""
UNIT = ROOT / "gateway" / "deploy" / "heatveil-gateway.service"
ALLOCATOR = dict(re.findall(r"\b(MALLOC_\w+)=(\d+)", UNIT.read_text()))
ENVIRONMENT = {
    **{**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
    **ALLOCATOR,  # as it is shipped: of sixteen heaps each keeps what its largest map took
}


class Process:
    """A process of ours, and what the kernel says of it."""

    def __init__(self, words: list[str], folder: Path, log: str) -> None:
        self.log = folder / log
        self._child = subprocess.Popen(
            words,
            cwd=folder,
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log.open("w"),
            text=True,
        )
        self.id = self._child.pid

    def line(self, begins: str) -> str:
        """Return its next line that begins so."""
        while line := self._child.stdout.readline():  # type: ignore[union-attr]
            if line.startswith(begins):
                return line
        raise SystemExit(f"{self._child.args} ended: {self.log.read_text()[-2000:]}")

    def stop(self) -> None:
        """End it."""
        self._child.terminate()
        self._child.wait()

    def solvers(self) -> list[int]:
        """Return its children that live, whichever thread began them."""
        tasks = Path("/proc", str(self.id), "task").iterdir()
        return [int(one) for task in tasks for one in _read(f"{task}/children").split()]

    def solved_s(self) -> float:
        """Return the processor time of its children, of those too that took too long and ended."""
        ended = _read(f"{self.id}/stat").rpartition(")")[2].split()[13:15]
        return sum(map(int, ended)) / TICKS + sum(map(cpu_s, self.solvers()))


def _read(name: str) -> str:
    try:
        return Path("/proc", name).read_text()
    except OSError:
        return ""


def cpu_s(process: int) -> float:
    """Return a process's own processor time."""
    words = _read(f"{process}/stat").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / TICKS if words else 0.0


def threads_s(process: int) -> Counter[str]:
    """Return the processor time of its threads that live, by their names."""
    took = Counter[str]()
    for task in Path("/proc", str(process), "task").iterdir():
        name = _read(f"{process}/task/{task.name}/comm").strip()
        took[name] += int(_read(f"{process}/task/{task.name}/schedstat").split()[0]) / 1e9
    return took


def rss_mb(process: int) -> float:
    """Return its resident memory."""
    found = [
        line.split()[1] for line in _read(f"{process}/status").splitlines() if "VmRSS" in line
    ]
    return int(found[0]) / 1000 if found else 0.0


def site(folder: Path, devices: int, port: int, page: int, health: int) -> None:
    """Make a site as an operator does."""
    run = {"cwd": folder, "env": ENVIRONMENT, "check": True, "text": True}
    words = [*HEATVEIL, "config", "--sample"]
    sample = subprocess.run(words, stdout=subprocess.PIPE, **run).stdout  # type: ignore[call-overload]
    for old, new in {
        "count = 50 ": f"count = {devices} ",
        'epsilon = "8/1"': 'epsilon = "64/1"',
        "readings = 24": "readings = 20000",
        "every_s = 3600": "every_s = 0",
        "port = 8883": f"port = {port}",
        "port = 8080": f"port = {page}",
        "health_port = 8081": f"health_port = {health}",
    }.items():
        assert sample.count(old) == 1, old
        sample = sample.replace(old, new)
    (folder / "gateway.toml").write_text(sample)
    for words in (["enrol"], ["broker", "init"]):
        command = [*HEATVEIL, *words, "--config", "gateway.toml"]
        subprocess.run(command, stdout=subprocess.DEVNULL, **run)  # type: ignore[call-overload]


def free_ports(number: int) -> list[int]:
    """Return ports that nobody listens on."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def look_on(port: int) -> None:
    """Read the page's events for as long as there are any, as a browser does."""
    until_s = time.monotonic() + 60
    while time.monotonic() < until_s:
        try:
            link = http.client.HTTPConnection("127.0.0.1", port)
            link.request("GET", "/api/v1/events", headers={"Accept": "text/event-stream"})
            answer = link.getresponse()
            while answer.read1(65_536):
                pass
            return
        except OSError:
            time.sleep(0.2)


def main() -> None:
    """Print what was measured."""
    words = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    words.add_argument("--devices", type=int, default=2000)
    words.add_argument("--rate", type=float, default=5000)
    words.add_argument("--tick-ms", type=int, default=100, help="from a Round to its answer")
    words.add_argument("--seconds", type=float, default=60)
    asked = words.parse_args()
    # A device is a socket of the load and one of the broker, which take this limit over.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    port, page, health = free_ports(3)
    common = {**vars(asked), "port": port}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="heatveil-load-")))
        site(folder, asked.devices, port, page, health)
        conf = str(folder / "broker" / "mosquitto.conf")
        broker = Process(["mosquitto", "-c", conf], folder, "broker.log")
        stack.callback(broker.stop)
        time.sleep(1)
        gateway_told = measured(folder, common, broker, page)
        # It keeps nothing in memory, and what a reading costs it is known after a minute.
        peer_told = instead(folder, common | {"seconds": min(asked.seconds, 60)}, broker)
    reading, broker_us, load = gateway_told
    peer_us, peer_broker_us = peer_told
    solver_us, rss = load["solver_us"], load["rss_mb"]
    tenth, half, end = (rss[int(len(rss) * part)] for part in (0.1, 0.5, 1 - 1e-9))
    print(
        f"{load['received']} readings of {asked.devices} devices over TLS in {load['rounds']} "
        f"rounds and {load['seconds']:.0f} s, {load['received'] / load['seconds']:.0f}/s in all, "
        f"paced at {asked.rate:.0f}/s; lost {load['answered'] - load['stored']}\n"
        f"  CPU a reading: gateway {reading:.0f} us, its solver {solver_us:.0f} us, mosquitto "
        f"{broker_us:.0f} us, load {load['cpu_s'] / load['sent'] * 1e6:.0f} us\n"
        f"  of the gateway's: {', '.join(load['threads'])}\n"
        f"  instead, paho + sqlite3: {peer_us:.0f} us, mosquitto {peer_broker_us:.0f} us\n"
        f"  gateway / mosquitto {reading / broker_us:.2f}, gateway / instead "
        f"{reading / peer_us:.2f}\n"
        f"  publish -> receipt: p50 {load['late_s']['p50'] * 1e3:.0f} ms, p99 "
        f"{load['late_s']['p99'] * 1e3:.0f} ms, worst {load['worst_s'] * 1e3:.0f} ms\n"
        f"  maps of {load['maps']} of {load['released']} rounds; in place of {load['unmapped']} "
        "a reason why there is none\n"
        f"  memory of the gateway: {tenth:.0f} MB at a tenth, {half:.0f} at half, {end:.0f} at "
        f"the end, at most {max(rss):.0f}; solver {load['solver_mb']:.0f} MB"
    )


def measured(
    folder: Path, common: dict[str, Any], broker: Process, page: int
) -> tuple[float, float, dict[str, Any]]:
    """Return CPU a reading of gateway and broker in us, and what the load saw of the service."""
    fleet = load(folder, common, receipts=True)
    words = [sys.executable, "-c", NAMED, "serve", "--config", "gateway.toml"]
    gateway = Process(words, folder, "gateway.log")
    try:
        threading.Thread(target=look_on, args=(page,), daemon=True).start()
        fleet.line("begun")
        began = cpu_s(gateway.id), cpu_s(broker.id), gateway.solved_s()
        threads = threads_s(gateway.id)
        rss, done = list[float](), threading.Event()

        def watch() -> None:
            while not done.wait(1):
                rss.append(rss_mb(gateway.id))

        watcher = threading.Thread(target=watch)
        watcher.start()
        told = json.loads(fleet.line("{"))
        done.set()
        watcher.join()
        solver_mb = sum(map(rss_mb, gateway.solvers()))
        ended = cpu_s(gateway.id), cpu_s(broker.id), gateway.solved_s()
        threads = threads_s(gateway.id) - threads
    finally:
        gateway.stop()
        fleet.stop()
    used = [(b - a) / max(told["received"], 1) * 1e6 for a, b in zip(began, ended, strict=True)]
    with sqlite3.connect(folder / "heatveil.sqlite") as store:
        (told["stored"],) = store.execute("SELECT count(*) FROM reports").fetchone()
        (told["released"],) = store.execute("SELECT count(*) FROM releases").fetchone()
        bodies = [json.loads(body) for (body,) in store.execute("SELECT body FROM maps")]
    told["maps"] = sum(body["status"] == "solved" for body in bodies)
    told["unmapped"] = len(bodies) - told["maps"]
    told["threads"] = [
        f"{name} {seconds / max(told['received'], 1) * 1e6:.0f} us"
        for name, seconds in threads.most_common(6)
    ]
    told |= {"rss_mb": rss, "solver_mb": solver_mb, "solver_us": used[2]}
    return used[0], used[1], told


def instead(folder: Path, common: dict[str, Any], broker: Process) -> tuple[float, float]:
    """Return CPU a reading of the peer and of the broker, in us."""
    fleet = load(folder, common, receipts=False)
    before = cpu_s(broker.id)
    peer = Process([sys.executable, str(LOAD / "peer.py"), json.dumps(common)], folder, "peer.log")
    try:
        told = json.loads(peer.line("{"))
        used = cpu_s(broker.id) - before
    finally:
        peer.stop()
        fleet.stop()
    kept = max(told["kept"], 1)
    return told["cpu_s"] / kept * 1e6, used / kept * 1e6


def load(folder: Path, common: dict[str, Any], *, receipts: bool) -> Process:
    """Return the devices of a site, once all of them are at its broker."""
    words = json.dumps({**common, "receipts": receipts})
    started = Process([sys.executable, str(LOAD / "devices.py"), words], folder, "load.log")
    started.line("ready")
    return started


if __name__ == "__main__":
    main()

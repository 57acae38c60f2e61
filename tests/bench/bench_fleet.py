"""Virtual devices in numbers: CPU a frame in one process, and real MicroPythons by the hundred.

    python tests/bench/bench_fleet.py [--nodes 1000] [--rounds 10] [--machines 200]

A mosquitto of this run, on loopback, and beside it a process that asks Rounds and signs a Receipt
for each frame, as a gateway does. Each frame is a whole one: the Round verified, paid for, read,
hidden, signed, kept, at QoS 1 to the broker, and freed by its Receipt. CPU is of the fleet's
process alone; memory is what Linux calls private. Beside it, in the same run: the same links with
frames that were made before.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
SITE, GRAINS = "bench", 8
CPU_MS, MACHINES_S = 0.25, 20.0  # goals: of CPU a frame; till the last frame of as many machines


def asker(port: int, keys: Path, sensors: int) -> None:
    """Ask a Round for each line on stdin; print how many frames have been receipted."""
    from edge import cbor, wire
    from edge.host import post
    from edge.records import Grid, Guarantee, Round
    from gateway.devices.enrol import enrol
    from gateway.service.mqtt.pump import Pump
    from gateway.service.mqtt.service import Link
    from gateway.settings.operating import Mqtt

    devices, taken = enrol.load_devices(keys, SITE), set()

    def came(link: Any, message: Any) -> None:
        name = message.topic.split("/")[3]
        body = cbor.decode(message.payload[: -wire.MAC_BYTES])
        where = wire.topic(SITE, name, "receipt")
        key = devices.by_name[name].config_key
        said = post.pack_receipt(body[2], body[1], True, key, where)
        link.settle([(where, bytes(said))], [message])
        taken.add((name, body[2], body[1]))

    promise = Guarantee((1, 1), (1, 10**5), (1, 50), "a move", "local", "a day", "presence")
    broker = Mqtt(host="127.0.0.1", port=port, insecure=True)
    heard = {"subscribe": [f"heatveil/1/{SITE}/+/data"], "on_message": came, "lasting": False}
    with Pump("asker") as pump:
        link = Link(broker, "asker", pump, **heard).wait()
        print("ready", flush=True)
        for line in sys.stdin:
            if line.strip():
                params = (sensors, GRAINS, 0, 4096, 10_000, 1, 0)
                round = Round(int(line), "thermal", Grid((10, 1), 0), params, promise)
                where = wire.round_topic(SITE, "thermal")
                link.publish(where, bytes(post.pack_round(round, devices.site_key, where)))
            print(len(taken), flush=True)
        link.close()


class Site:
    """A broker, an enrolled fleet and who asks it."""

    def __init__(self, folder: Path, devices: int, stack: ExitStack) -> None:
        from edge.limits import Limits
        from gateway.devices.broker.embedded import find_free_port
        from gateway.devices.enrol import enrol
        from gateway.settings.operating import Mqtt

        self.folder, self.devices, self.port = folder, devices, find_free_port()
        self.limits = Limits(1, GRAINS, 1, 10_000, 10**9, 0)
        self.broker = Mqtt(host="127.0.0.1", port=self.port, insecure=True)
        self.made = enrol.enrol_fleet(SITE, devices)
        enrol.save_devices(enrol.derive_devices(self.made.secrets), folder / "devices.json")
        (folder / "conf").write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n"
            "max_queued_messages 100000\nmax_inflight_messages 1000\n"
        )
        program = shutil.which("mosquitto", path=os.environ.get("PATH", "") + ":/usr/sbin")
        if program is None:
            sys.exit("mosquitto is not here, and this is measured with it: apt install mosquitto")
        broker = subprocess.Popen([program, "-c", folder / "conf"], stderr=subprocess.DEVNULL)
        stack.callback(broker.wait)
        stack.callback(broker.terminate)
        time.sleep(0.5)
        words = [sys.executable, __file__, "--ask", str(self.port), folder / "devices.json"]
        self._asker = subprocess.Popen(
            [*words, "--nodes", str(devices)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        stack.callback(self._asker.wait)
        stack.callback(self._asker.stdin.close)
        self._asker.stdout.readline()
        self._number = 0

    def say(self, word: str) -> int:
        """Return how many frames have been receipted, once it has asked what it is told."""
        self._asker.stdin.write(f"{word}\n")
        return int(self._asker.stdout.readline())

    def rounds(self, count: int) -> float:
        """Ask so many, each when all have answered the one before; return the seconds."""
        began_s, done = time.monotonic(), self.say("")
        for number in range(1, count + 1):
            self._number += 1
            self.say(str(self._number))
            while self.say("") < done + number * self.devices:
                if time.monotonic() - began_s > 80:
                    sys.exit(f"{self.say('') - done} frames came in 80 s, not all")
                time.sleep(0.05)
        return time.monotonic() - began_s

    def fleet(self, place: Any) -> Any:
        """Return devices that have booted, in a room where nothing moves."""
        import numpy as np

        from gateway.devices.enrol import budgets
        from physics.fleet import Fleet
        from physics.sensors import PointSensors

        budgets.provision(self.made, self.limits, place)
        started = budgets.boot(self.made.secrets, place).devices
        sensors = PointSensors(np.arange(self.devices) / self.devices)
        return Fleet(started, sensors, np.random.default_rng(1))


@contextmanager
def site(devices: int) -> Iterator[Site]:
    """Give a site that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="heatveil-") as folder, ExitStack() as stack:
        yield Site(Path(folder), devices, stack)


def memory_mb(process: str = "self") -> float:
    """Return the memory that a process shares with nobody, in MB."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private")) / 1024


def measured(what: str, devices: int, rounds: int, run: Callable[[Site], Any]) -> float:
    """Print what a fleet in this process takes; return ms of CPU a frame."""
    with site(devices) as there, run(there):
        time.sleep(2)  # the first noise is drawn
        before_s = time.process_time()
        wall_s = there.rounds(rounds)
        frames = devices * rounds
        ms = 1000 * (time.process_time() - before_s) / frames
        print(f"{what:44} {ms:6.3f} ms of CPU a frame; {frames / wall_s:6.0f} frames/s "
              f"({frames} frames), {memory_mb():5.0f} MB", flush=True)  # fmt: skip
        return ms


def crowd(loops: int, lasting: bool) -> Callable[[Site], Any]:
    """Return what puts a fleet of edge.device on a site's broker."""

    @contextmanager
    def run(there: Site) -> Iterator[None]:
        from edge.slots import Files
        from gateway.devices.enrol import budgets
        from gateway.devices.fleet import spool
        from gateway.devices.fleet.crowd import Crowd

        place = budgets.keep_in_memory()
        if lasting:
            place = lambda name: Files(str(there.folder), name)  # noqa: E731
        spools = spool.keep_in_folder(there.folder) if lasting else spool.keep_in_memory
        with Crowd(there.broker, there.fleet(place), None, spools, loops=loops) as fleet:
            if missing := fleet.wait():
                sys.exit(f"{len(missing)} devices are not on the broker: {missing}")
            yield

    return run


@contextmanager
def each_by_itself() -> Iterator[None]:
    """Let each device of a crowd verify and read each Round, as if no other one had."""
    from edge import wire
    from gateway.devices.fleet.member import Hall

    def opened(self: Any, key: bytes, message: bytes, where: str) -> tuple[Any, bytes]:
        round = wire.unpack_round(message, key, where)
        return round, wire.name_of(round)

    shared, Hall.opened = Hall.opened, opened
    try:
        yield
    finally:
        Hall.opened = shared


@contextmanager
def links(there: Site) -> Iterator[None]:
    """Put the links of a fleet on a site's broker, which send frames that were made before."""
    import asyncio

    from edge import mqtt, wire
    from edge.records import Report
    from gateway.devices.fleet.crowd import Loop

    asked, clients = wire.round_topic(SITE, "thermal"), []

    async def one(who: Any) -> None:
        where = wire.topic(SITE, who.name, "data")
        reports = [Report(b"name", who.name, 1, seq, [who.sensor, 1000]) for seq in range(100)]
        frames = [wire.pack_report(report, who.mac_key, where, 16) for report in reports]
        news = asyncio.Event()
        client = mqtt.Client("127.0.0.1", there.port, f"link-{who.name}")
        client.topics = [asked, wire.topic(SITE, who.name, "receipt")]
        client.on_message = lambda topic, payload: news.set() if topic == asked else None
        clients.append(client)
        running = asyncio.create_task(client.run())
        for frame in frames:
            await news.wait()
            news.clear()
            await client.publish(where, frame, 1)
        await running

    loop = Loop("links")
    for who, _ in there.made.secrets.devices:
        loop.do(one(who))
    while sum(client.connected for client in clients) < there.devices:
        time.sleep(0.1)
    yield
    loop.close()


def machines(count: int, program: str) -> None:
    """Print how long as many interpreters take, from nothing to a Receipt for a frame of each."""
    from edge.slots import Files
    from gateway.devices.enrol import budgets
    from gateway.devices.fleet import children, micropython
    from gateway.devices.fleet.children import Machines

    with site(count) as there:
        place = lambda name: Files(str(there.folder), name)  # noqa: E731
        budgets.provision(there.made, there.limits, place)
        fleet = there.fleet(budgets.keep_in_memory())
        passwords = dict.fromkeys(fleet.names, "")
        asking = children.Common(there.broker, there.folder, passwords, None)
        asked = children.describe_devices(fleet, asking)
        began_s = time.monotonic()
        running = micropython.prepare(program, there.folder / "made")
        made_s = time.monotonic() - began_s
        with Machines(running.command, asked, running.path) as fleet:
            if missing := fleet.wait():
                sys.exit(f"{len(missing)} machines are not on the broker: {missing}")
            came_s = time.monotonic() - began_s
            there.rounds(1)
            took_s = time.monotonic() - began_s
            more_s = there.rounds(9)
            private = [memory_mb(str(one.process.pid)) for one in fleet._machines.values()]
            print(
                f"{count} x {program}, {running.said}: made in {made_s:.1f} s, all on the broker "
                f"in {came_s:.1f} s, a "
                f"frame of each in {took_s:.1f} s, goal {MACHINES_S:g}"
                f"{'' if took_s <= MACHINES_S else '   MISSED'}; {10 * count} frames in "
                f"{took_s + more_s:.1f} s; "
                f"{sum(private) / count:.2f} MB private each"
            )


def main() -> None:
    """Print all of it."""
    words = argparse.ArgumentParser()
    words.add_argument("--nodes", type=int, default=1000)
    words.add_argument("--rounds", type=int, default=10)
    words.add_argument("--machines", type=int, default=200)
    words.add_argument("--vm", default="micropython-i386")
    words.add_argument("--ask", nargs=2, help=argparse.SUPPRESS)
    given = words.parse_args()
    if given.ask:
        asker(int(given.ask[0]), Path(given.ask[1]), given.nodes)
        return
    nodes, rounds = given.nodes, given.rounds
    ms = measured(f"{nodes} of edge.device, one loop", nodes, rounds, crowd(1, False))
    print(f"goal {CPU_MS} ms{'' if ms <= CPU_MS else '   MISSED'}; {os.getloadavg()[0]:.1f} "
          f"processes want the {os.cpu_count()} cores, which makes each frame dearer")  # fmt: skip
    with each_by_itself():
        what = f"{nodes}, and each opens each Round itself"
        alone = measured(what, nodes, rounds, crowd(1, False))
    print(f"that a Round is opened once for all takes {1 - ms / alone:.0%} off")
    link = measured(f"{nodes} links of edge.mqtt alone, one loop", nodes, rounds, links)
    print(f"the link has {link / ms:.0%} of it, the device the rest")
    few = min(nodes, 200)
    for loops in (1, 8):  # threads, so that a disk may flush for several at once
        what = f"{few} on the disk, {loops} loop{'s' * (loops > 1)}"
        measured(what, few, min(rounds, 5), crowd(loops, True))
    if given.machines:
        machines(given.machines, given.vm)


if __name__ == "__main__":
    main()

"""How many readings a second a gateway takes, what one costs, and how long it is on its way.

Run it: `python tests/bench/bench_ingest.py [--rate 5000] [--seconds 60] [--devices 5000]`. The
load comes from a process of its own over raw sockets; broker (a mosquitto of its own) and gateway
are the real ones, the store is SQLite in WAL with synchronous FULL. Loopback only, bounded in
count and in time. `--rate 0` is as fast as it goes. Nothing here is asserted.

`--peer` runs what one would write instead on the same load: paho, sqlite3, executemany, and no
validation at all. `--cells 64` makes every frame one of a thermal array.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

WAYS = {
    "flood": "one device more says nonsense as fast as the broker takes it",
    "back": "every device connects anew, with its own link and last will, and speaks at once",
    "outage": "all of it waits at the broker before the gateway comes",
}
LOAD = Path(__file__).resolve().parent / "load"


def main() -> None:
    """Print what was asked for."""
    words = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    words.add_argument("--rate", type=int, default=5000)
    words.add_argument("--seconds", type=int, default=20)
    words.add_argument("--devices", type=int, default=5000)
    words.add_argument("--connections", type=int, default=8)
    words.add_argument("--cells", type=int, default=1)
    words.add_argument("--version", default="5")
    words.add_argument("--peer", action="store_true")
    ways = words.add_mutually_exclusive_group()
    for way, says in WAYS.items():
        ways.add_argument(f"--{way}", dest="way", action="store_const", const=way, help=says)
    words.set_defaults(way="steady")
    asked = vars(words.parse_args())
    print(told(run(asked, "taker.py"), asked, "gateway"))
    if asked["peer"]:
        print(told(run(asked, "peer.py"), asked, "paho + sqlite3"))


def run(asked: dict[str, Any], taker: str) -> dict[str, Any]:
    """Return what a taker did with the load."""
    from gateway.brokers import broker

    total = (asked["rate"] or 10_000) * asked["seconds"]
    rounds = 1 if asked["way"] == "back" else max(total // asked["devices"], 1)
    unbounded = broker.CONFIGURATION.replace("queued_messages 100000", "queued_messages 0")
    broker.CONFIGURATION = unbounded
    with broker.embedded("mosquitto") as address, tempfile.TemporaryDirectory() as folder:
        common = {
            **asked,
            "port": address.port,
            "rounds": rounds,
            "seconds": 3 * asked["seconds"] + 30,
        }
        gateway = _start(taker, {**common, "out": f"{folder}/g", "store": f"{folder}/s.sqlite"})
        generator = _start("generator.py", {**common, "out": f"{folder}/l"})
        _line(gateway), _line(generator)
        load = json.loads(_line(generator)) if asked["way"] == "outage" else {}
        before = _cpu_of(address.port)
        gateway.stdin.write("go\n")
        gateway.stdin.flush()
        found = json.loads(_line(gateway))
        broker_cpu = _cpu_of(address.port) - before
        load = load or json.loads(_line(generator))
        gateway.wait(), generator.wait()
        sent_s = np.fromfile(f"{folder}/l", dtype=np.float64)
        with open(f"{folder}/g", "rb") as file:
            devices = np.fromfile(file, np.int32, found["kept"])
            numbers = np.fromfile(file, np.int32, found["kept"])
            times = np.fromfile(file, np.float64, found["kept"])
    at = (numbers.astype(np.int64) - 1) * asked["devices"] + devices
    return {
        **found,
        "broker_cpu": broker_cpu,
        "load": load,
        "took_s": times.max() - sent_s.min(),
        "latency_s": times - sent_s[at],
        "lost": len(sent_s) - len(np.unique(at)),
        "doubled": len(at) - len(np.unique(at)),
    }


def told(found: dict[str, Any], asked: dict[str, Any], who: str) -> str:
    """Return a result as lines."""
    kept, late = found["kept"], found["latency_s"] * 1e3
    rate = kept / found["took_s"]
    half, most, worst = np.percentile(late, 50), np.percentile(late, 99), late.max()
    if asked["way"] == "outage":
        rate = kept / found["seconds"]
    return (
        f"{who}, {asked['way']}: all committed in {found['seconds']:.1f} s\n"
        f"{who}: {kept} readings, {rate:.0f}/s ({rate * asked['cells']:.0f} cells/s), "
        f"MQTT {found['version']}, {found['batches']:.0f} batches\n"
        f"  CPU a reading: gateway {found['cpu'] / kept * 1e6:.1f} us, "
        f"broker {found['broker_cpu'] / kept * 1e6:.1f} us, "
        f"load {found['load']['cpu'] / kept * 1e6:.1f} us\n"
        f"  publish -> commit: median {half:.0f} ms, p99 {most:.0f} ms, worst {worst:.0f} ms\n"
        f"  lost {found['lost']}, doubled {found['doubled']}, refused {found['refused']}\n"
        f"  memory {found['rss']:.1f} MB, {found['rss'] - found['early']:+.1f} MB since a tenth"
    )


def _start(script: str, words: dict[str, Any]) -> Any:
    return subprocess.Popen(
        [sys.executable, str(LOAD / script), json.dumps(words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def _line(process: Any) -> str:
    while line := process.stdout.readline():
        if line.startswith(("ready", "{")):
            return line
    raise SystemExit(f"{process.args[1]} ended without a word")


def _cpu_of(port: int) -> float:
    """Return the processor time of the mosquitto that was started for this port, in seconds."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rsplit(")", 1)[1].split()
            conf = stat.with_name("cmdline").read_bytes().split(b"\0")
            if (
                conf[0].endswith(b"mosquitto")
                and f"listener {port} " in Path(conf[2].decode()).read_text()
            ):
                return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, IndexError):
            continue
    return 0.0


if __name__ == "__main__":
    main()

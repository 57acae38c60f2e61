"""How many readings a second a gateway takes, what one costs, and how long it is on its way.

Run it: `python tests/bench/bench_ingest.py [--rate 5000] [--seconds 60] [--devices 5000]`. The
load comes from a process of its own over raw sockets; broker (a mosquitto of its own) and gateway
are the real ones, the store is SQLite in WAL with synchronous FULL. Loopback only, bounded in
count and in time. `--rate 0` is as fast as it goes. Every ten seconds both say on standard error
how far they are. Nothing here is asserted.

What is lost, doubled or altered is told twice: by the commits against the load's record of what it
sent, and by the rows of the store against the bytes that the load makes. An outage is sent at once
(`--outage --rate 500 --seconds 3600` is an hour of 500/s), and timed from the gateway's return.

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
DRAIN_S = 1200  # at the most, for what waits and for sending it
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
    if asked["peer"] and asked["way"] != "steady":
        words.error("--peer takes the steady load alone")
    unbind()
    print(told(run(asked, "taker.py"), asked, "gateway"))
    if asked["peer"]:
        print(told(run(asked, "peer.py"), asked, "paho + sqlite3"))


def unbind() -> None:
    """Let the broker keep all that waits.

    What it lets fall its device would send again; this load says everything once.
    """
    from gateway.devices.broker import embedded

    for bound in ("queued_messages 100000", "queued_bytes 67108864"):
        assert bound in embedded.CONFIGURATION, bound
        unbounded = embedded.CONFIGURATION.replace(bound, f"{bound.split()[0]} 0")
        embedded.CONFIGURATION = unbounded


def run(asked: dict[str, Any], taker: str) -> dict[str, Any]:
    """Return what a taker did with the load."""
    from gateway.devices.broker import embedded

    sys.path.insert(0, str(LOAD))
    from held import held

    total = (asked["rate"] or 10_000) * asked["seconds"]
    rounds = 1 if asked["way"] == "back" else max(total // asked["devices"], 1)
    limit_s = DRAIN_S if asked["way"] == "outage" else 3 * asked["seconds"] + 30
    with embedded.run_broker("mosquitto") as address, tempfile.TemporaryDirectory() as folder:
        common = {**asked, "port": address.port, "rounds": rounds, "seconds": limit_s}
        store = f"{folder}/s.sqlite"
        gateway = _start(taker, {**common, "out": f"{folder}/g", "store": store})
        _line(gateway)  # in an outage it is away from here on: its session is at the broker
        generator = _start("generator.py", {**common, "out": f"{folder}/l"})
        _line(generator)
        load = json.loads(_line(generator)) if asked["way"] == "outage" else {}
        process = _broker(address.port)
        before = _cpu_of(process)
        gateway.stdin.write("go\n")
        gateway.stdin.flush()
        found = json.loads(_line(gateway))
        broker_cpu, broker_mb = _cpu_of(process) - before, _most(process)
        load = load or json.loads(_line(generator))
        gateway.wait(), generator.wait()
        sent_s = np.fromfile(f"{folder}/l", dtype=np.float64)
        devices, numbers, times = np.fromfile(f"{folder}/g", np.float64).reshape(-1, 3).T
        kept = held(store, common, len(sent_s))._asdict() if taker == "taker.py" else {}
    at = ((numbers - 1) * asked["devices"] + devices).astype(np.int64)
    met = at[at < len(sent_s)]
    return {
        **found,
        **{"broker_cpu": broker_cpu, "broker_mb": broker_mb, "load": load, "sent": len(sent_s)},
        "asked": rounds * asked["devices"],
        "took_s": np.max(times, initial=0) - np.min(sent_s, initial=np.inf),
        "latency_s": times[at < len(sent_s)] - sent_s[met],
        "uncommitted": len(sent_s) - len(np.unique(met)),
        "doubled": len(at) - len(np.unique(at)),
        **kept,
    }


def told(found: dict[str, Any], asked: dict[str, Any], who: str) -> str:
    """Return a result as lines."""
    kept, late, came = found["kept"], found["latency_s"] * 1e3, found["received"]
    if not kept:
        return f"{who}, {asked['way']}: nothing was committed of {found['sent']} that were sent"
    rate = kept / (found["seconds"] if asked["way"] == "outage" else found["took_s"])
    half, most, worst = np.percentile(late, 50), np.percentile(late, 99), late.max()
    whole = found["asked"] == found["sent"] == kept
    store = (
        f"; in the store {found['stored']}, lost {found['lost']}, altered {found['altered']}, "
        f"never sent {found['unsent']}"
        if "stored" in found
        else ""
    )
    return (
        f"{who}, {asked['way']}: {'all' if whole else 'NOT ALL'} committed "
        f"in {found['seconds']:.1f} s: {found['sent']} of {found['asked']} sent, "
        f"{kept} committed\n"
        f"  {rate:.0f} readings/s of {asked['cells']} cells ({rate * asked['cells']:.0f} cells/s) "
        f"from {asked['devices']} devices, MQTT {found['version']}, "
        f"{found['batches']:.0f} batches ({came / found['batches']:.0f} messages each)\n"
        f"  CPU a message that came ({came:.0f}): gateway {found['cpu'] / came * 1e6:.1f} us, "
        f"broker {found['broker_cpu'] / came * 1e6:.1f} us, "
        f"load {found['load']['cpu'] / came * 1e6:.1f} us\n"
        f"  publish -> commit: median {half:.0f} ms, p99 {most:.0f} ms, worst {worst:.0f} ms\n"
        f"  by the load's own record: uncommitted {found['uncommitted']}, "
        f"doubled {found['doubled']}{store}; refused {found['refused']}\n"
        f"  memory: gateway {found['rss']:.1f} MB ({found['rss'] - found['early']:+.1f} since a "
        f"tenth, most {found['most']:.1f}), broker at most {found['broker_mb']:.1f} MB"
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


def _broker(port: int) -> Path:
    """Return where the kernel tells of the mosquitto that was started for this port."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            conf = (process / "cmdline").read_bytes().split(b"\0")
            if (
                conf[0].endswith(b"mosquitto")
                and f"listener {port} " in Path(conf[2].decode()).read_text()
            ):
                return process
        except (OSError, IndexError):
            continue
    raise SystemExit(f"no mosquitto for port {port}: has it ended?")


def _cpu_of(process: Path) -> float:
    """Return its processor time in seconds."""
    words = (process / "stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def _most(process: Path) -> float:
    """Return its resident memory at its most, in MB."""
    from progress import memory

    return memory(process.name)["VmHWM"]


if __name__ == "__main__":
    main()

"""A gateway's ingest in a process of its own, round after round, and what it used for it.

Run by the benches: `python tests/bench/load/taker.py '{...}'`. Link, intake and store are the
service's own. It writes when each reading was committed, in the order of (round, device).
"""

import json
import os
import resource
import sys
import threading
import time
from array import array
from pathlib import Path
from typing import Any


def rss() -> float:
    """Return the resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def cpu() -> float:
    """Return the processor time of this process in seconds."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Watched:
    """Notes which reading was committed when."""

    def __init__(self, store: Any, known: Any) -> None:
        self._keep = store.keep
        self._index = {name: at for at, name in enumerate(known.by_name)}
        self.devices, self.rounds, self.times = array("i"), array("i"), array("d")
        store.keep = self.keep

    def keep(self, kept: Any, *rest: Any) -> None:
        """Keep a batch, and note it."""
        self._keep(kept, *rest)
        now_s, index = time.monotonic(), self._index
        self.devices.extend([index[one.device] for one in kept])
        self.rounds.extend([one.seq for one in kept])
        self.times.extend([now_s] * len(kept))


def main() -> None:
    """Open rounds until all are answered or time is up; print what it took as JSON."""
    import fleet

    from edge import wire
    from gateway.intake.writer import Intake
    from gateway.mqtt.pump import Pump
    from gateway.mqtt.service import Link
    from gateway.operate.guard import Guard
    from gateway.operate.metrics import Metrics
    from gateway.operating import Guard as Limits
    from gateway.operating import Mqtt
    from gateway.rounds import OpenRound
    from gateway.storage.store import Store

    class EveryRound(OpenRound):
        """A round that takes every answer, for those that waited at the broker are of many."""

        def refusal(self, *_: Any) -> None:
            return None

    asked: dict[str, Any] = json.loads(sys.argv[1])
    way, guard = asked["way"], None
    known = fleet.devices(asked["devices"] + (way == "flood"), asked["cells"])
    places = {name: one.place for name, one in known.by_name.items()}
    if way == "flood":
        del places[f"node-{asked['devices']:05}"]
        guard = Guard(Limits(), list(known.by_name))
    store = Store(Path(asked["store"]), fleet.SITE)
    watched, metrics, pump = Watched(store, known), Metrics(), Pump("gateway")
    intake = Intake(store, known, lambda *_: None, lambda _: None, metrics=metrics, guard=guard)
    broker = Mqtt(host="127.0.0.1", port=asked["port"], insecure=True, version=asked["version"])
    data = wire.topic(fleet.SITE, "+", "data")
    link = Link(broker, "heatveil-bench", pump, subscribe=[data], on_message=intake.put).wait()
    topic = wire.round_topic(fleet.SITE, "thermal")
    until_s, rounds = time.monotonic() + asked["seconds"], 0
    if way == "outage":  # the session is there, and we are not
        link.close()
    print("ready", flush=True)
    sys.stdin.readline()
    began, began_s, early = cpu(), time.monotonic(), 0.0
    if way == "outage":
        link = Link(broker, "heatveil-bench", pump, subscribe=[data], on_message=intake.put)
        plan, total = fleet.plan(1), asked["rounds"] * asked["devices"]
        intake.open(EveryRound(plan, wire.name_of(plan), time.monotonic() + 1e6, places))
        while len(watched.times) < total and time.monotonic() < until_s:
            time.sleep(0.05)
            early = early or (rss() if len(watched.times) * 10 >= total else 0.0)
    for number in range(fleet.START, fleet.START + asked["rounds"] * (way != "outage")):
        plan = fleet.plan(number)
        round = OpenRound(plan, wire.name_of(plan), time.monotonic() + 600, places)
        intake.open(round)
        link.publish(topic, wire.pack_round(plan, known.site_key, topic), retain=False)
        while not intake.wait_complete(0.5) and time.monotonic() < until_s:
            pass
        rounds += 1
        if not early and rounds * 10 >= asked["rounds"]:
            early = rss()
        if time.monotonic() >= until_s:
            break
    took_s, used = time.monotonic() - began_s, cpu() - began
    link.sent(5)
    intake.stop()
    link.close()
    pump.close()
    store.close()
    with open(asked["out"], "wb") as file:
        for column in (watched.devices, watched.rounds, watched.times):
            column.tofile(file)
    refused = {
        sample.labels["kind"]: sample.value
        for family in metrics.refused.collect()
        for sample in family.samples
        if sample.name.endswith("_total")
    }
    print(
        json.dumps(
            {
                "kept": len(watched.times),
                "rounds": rounds,
                "seconds": took_s,
                "cpu": used,
                "rss": rss(),
                "early": early,
                "refused": refused,
                "version": str(link.version),
                "batches": metrics.batches._value.get(),
                "threads": threading.active_count(),
            }
        ),
        flush=True,
    )


if __name__ == "__main__":
    main()

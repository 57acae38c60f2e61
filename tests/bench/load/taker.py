"""A gateway's ingest in a process of its own, round after round, and what it used for it.

Run by the benches: `python tests/bench/load/taker.py '{...}'`. Link, intake and store are the
service's own. It writes down which reading was committed when: device, round and time, as three
doubles, in the order of the commits.
"""

import json
import resource
import sys
import threading
import time
from array import array
from pathlib import Path
from typing import Any


def cpu() -> float:
    """Return the processor time of this process in seconds."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Watched:
    """Notes which reading was committed when, in a file."""

    def __init__(self, store: Any, known: Any, file: Any, progress: Any) -> None:
        self._keep, self._file, self._progress = store.keep, file, progress
        self._index = {name: at for at, name in enumerate(known.by_name)}
        self.count = 0
        store.keep = self.keep

    def keep(self, kept: Any, *rest: Any) -> None:
        """Keep a batch, and note it."""
        self._keep(kept, *rest)
        now_s, index = time.monotonic(), self._index
        rows = [part for one in kept for part in (index[one.device], one.seq, now_s)]
        array("d", rows).tofile(self._file)
        self.count += len(kept)
        self._progress.at(self.count)


def main() -> None:
    """Open rounds until all are answered or time is up; print what it took as JSON."""
    import fleet
    from progress import Progress, memory

    from edge.core import wire
    from edge.host import post
    from gateway.service.intake import writer
    from gateway.service.intake.writer import Intake
    from gateway.service.mqtt.pump import Pump
    from gateway.service.mqtt.service import Link
    from gateway.service.operate.metrics import Metrics
    from gateway.service.operate.quarantine import Guard
    from gateway.service.rounds import OpenRound
    from gateway.settings.deployment import Guard as Limits
    from gateway.settings.deployment import Mqtt
    from gateway.store.store import Store

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
    metrics, pump, total = Metrics(), Pump("gateway"), asked["rounds"] * asked["devices"]
    file = open(asked["out"], "wb")  # noqa: SIM115
    watched = Watched(store, known, file, Progress("committed", total))
    intake = Intake(store, known, lambda *_: None, lambda _: None, metrics=metrics, guard=guard)
    broker = Mqtt(host="127.0.0.1", port=asked["port"], insecure=True, version=asked["version"])
    data = wire.topic(fleet.SITE, "+", "data")
    link = Link(broker, "heatveil-bench", pump, subscribe=[data], on_message=intake.put).wait()
    topic = wire.round_topic(fleet.SITE, "thermal")
    rounds = 0
    if way == "outage":  # the session is there, and we are not
        link.close()
    writer.seldom()  # as `heatveil serve` does
    print("ready", flush=True)
    sys.stdin.readline()
    began, began_s, early = cpu(), time.monotonic(), 0.0
    until_s = began_s + asked["seconds"]
    if way == "outage":
        link = Link(broker, "heatveil-bench", pump, subscribe=[data], on_message=intake.put)
        plan = fleet.plan(1)
        intake.open(EveryRound(plan, wire.name_of(plan), time.monotonic() + 1e6, places))
        while watched.count < total and time.monotonic() < until_s:
            time.sleep(0.05)
            early = early or (memory()["VmRSS"] if watched.count * 10 >= total else 0.0)
    for number in range(fleet.START, fleet.START + asked["rounds"] * (way != "outage")):
        plan = fleet.plan(number)
        round = OpenRound(plan, wire.name_of(plan), time.monotonic() + 600, places)
        intake.open(round)
        link.publish(topic, post.pack_round(plan, known.site_key, topic), retain=False)
        while not intake.wait_complete(0.5) and time.monotonic() < until_s:
            pass
        rounds += 1
        if not early and rounds * 10 >= asked["rounds"]:
            early = memory()["VmRSS"]
        if time.monotonic() >= until_s:
            break
    took_s, used = time.monotonic() - began_s, cpu() - began
    link.sent(5)
    intake.stop()
    link.close()
    pump.close()
    store.close()
    file.close()
    refused = {
        sample.labels["kind"]: sample.value
        for family in metrics.refused.collect()
        for sample in family.samples
        if sample.name.endswith("_total") and sample.value
    }
    print(
        json.dumps(
            {
                "kept": watched.count,
                "received": metrics.received._value.get(),
                "rounds": rounds,
                "seconds": took_s,
                "cpu": used,
                "rss": memory()["VmRSS"],
                "most": memory()["VmHWM"],
                "early": early or memory()["VmRSS"],
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

"""Kill -9 at random, hundreds of times, while rounds run: what is lost, doubled, altered?

    python tests/bench/bench_kills.py [--kills 40] [--seed 7] [--devices 16] [--store both]
        [--gather 3]

Gateway, broker, database and devices are processes of their own, the devices edge's own nodes
with budgets and spools on the disk. Each kill takes one of them, or several; the next comes at a
random moment, half of the times before everything is up again. SQLite runs inside the gateway:
there "database" is the gateway killed while it writes to the file. Afterwards everything stays up
until nothing waits, at most 60 s, and is judged by the devices' own records and by a stranger who
heard what was published: see tests/faults/harness/verdicts.py. Exits with 1 if anything is wrong,
and leaves the site where it says, to be looked through.
"""

import argparse
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import quantiles

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "faults"))

from harness.children import Child
from harness.clusters import Cluster
from harness.stage import Stage, staged
from harness.truth import ask
from harness.verdicts import Stranger, wrongs
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from gateway.devices.broker.embedded import find_mosquitto

KINDS = {"gateway": 4, "broker": 2, "devices": 2, "gateway, broker": 2, "all": 2, "database": 3}
STUCK_S, DRAIN_S, A_KILL_S = 60.0, 60.0, 20.0
POSTGRES = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin/postgres")))


class Killing:
    """One site under fire."""

    def __init__(self, site: Stage, cluster: Cluster | None, seed: int) -> None:
        self.site, self.cluster, self.world = site, cluster, random.Random(seed)
        self.gateway, self.devices = site.gateway(start=False), site.edges(start=False)
        self.often, self.ended = Counter[str](), Counter[str]()
        self.firsts_s: list[float] = []
        self.struck: list[Child] = []  # whom we killed, and have not started again

    def progress(self) -> int:
        """Return how many readings count, as cheaply as may be."""
        rows = ask(self.site.database, "SELECT coalesce(sum(reports), 0) FROM newest")
        return int(rows[0][0]) if rows else 0

    def children(self, kind: str) -> list[Child]:
        """Return what a kind of kill takes."""
        database = self.cluster or self.gateway
        one: dict[str, list[Child]] = {
            "gateway": [self.gateway],
            "broker": [self.site.broker],
            "devices": [self.devices],
            "gateway, broker": [self.gateway, self.site.broker],
            "database": [database],
        }
        return one.get(kind) or [self.site.broker, self.gateway, self.devices, database]

    def revive(self) -> None:
        """Start again what has ended, as a service manager does."""
        everybody = [self.cluster, self.site.broker, self.gateway, self.devices]
        for one in everybody:
            if one is not None and not one.alive:
                if one.starts and one in (self.gateway, self.devices) and one not in self.struck:
                    self.ended[one.said().strip().rsplit("\n", 1)[-1][:150]] += 1
                one.start()
        self.struck = []

    def until(self, true: Callable[[], bool], patience_s: float) -> bool:
        """Wait until it is true, and keep everything alive meanwhile."""
        until_s = time.monotonic() + patience_s
        while not (found := true()) and time.monotonic() < until_s:
            time.sleep(0.02)
            self.revive()
        return found

    def strike(self) -> None:
        """Kill something, and start it again."""
        kind = self.world.choices(list(KINDS), list(KINDS.values()))[0]
        self.often[kind] += 1
        patient = self.world.random() < 0.5
        struck = list(dict.fromkeys(self.children(kind)))
        time.sleep(min(self.world.expovariate(2.5), 3))
        if kind == "database" and self.cluster is None:
            self._while_it_writes()
        self.struck = struck
        for one in struck:
            one.kill()
        began_s = time.monotonic()
        self.revive()
        if patient:
            before = self.progress()
            if not self.until(lambda: self.progress() > before, STUCK_S):
                raise RuntimeError(f"stuck after {kind}: {self.gateway.said()[-3000:]}")
            if kind == "gateway":
                self.firsts_s.append(time.monotonic() - began_s)

    def _while_it_writes(self) -> None:
        wal = Path(f"{self.site.database}-wal")
        before, until_s = written_ns(wal), time.monotonic() + 1
        while written_ns(wal) == before and time.monotonic() < until_s:
            pass

    def drained(self) -> bool:
        """Return whether nothing waits anywhere."""
        return not self.site.truth().lost and not ask(self.site.database, "SELECT 1 FROM outbox")


def written_ns(path: Path) -> int:
    """Return when a file was written last; 0 where there is none."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def used_s() -> float:
    """Return the processor time of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(store: str, kills: int, seed: int, devices: int, gather_s: float) -> list[str]:
    """Put a site on stage, kill and judge; return what is wrong."""
    folder, began_s = Path(tempfile.mkdtemp(prefix="heatveil-kills-")), time.monotonic()
    rounds = {"every_s": 0.2, "gather_s": gather_s, "readings": 30 * kills + 100}
    done, bad, before_s = 0, list[str](), used_s()
    with ExitStack() as stack:
        site = stack.enter_context(
            staged(find_mosquitto() or "", folder, sensors=devices, **rounds)
        )
        cluster = site.keep_in(Cluster(POSTGRES[-1])) if store == "postgresql" else None
        stranger = stack.enter_context(Stranger(site.broker.port))
        killing = Killing(site, cluster, seed)
        columns = f"{store:10}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        with Progress(*columns) as bar:
            task = bar.add_task("", total=kills)
            try:
                if not killing.until(lambda: killing.progress() > 0, STUCK_S):
                    raise RuntimeError(f"it never began: {killing.gateway.said()[-3000:]}")
                while done < kills and time.monotonic() - began_s < 120 + A_KILL_S * kills:
                    killing.strike()
                    done += 1
                    bar.advance(task)
                killed_s = time.monotonic() - began_s
                killing.until(killing.drained, DRAIN_S)
            except RuntimeError as fault:
                killed_s = time.monotonic() - began_s
                bad.append(f"after {done} kills: {fault}")
        drained_s = time.monotonic() - began_s - killed_s
        killing.devices.stop()  # so that the judge sees one moment
        killing.gateway.stop()
        bad += wrongs(site, stranger)
        found = site.truth()
        asked, closed = site.opened(), site.released()
        print(
            f"{store}, seed {seed}: {done} kills in {killed_s:.0f} s "
            f"{dict(killing.often)}; drained in {drained_s:.1f} s\n"
            f"  {found.readings} readings in {asked} rounds, {closed} closed; "
            f"{found.refused} came late, each with a row; the stranger heard "
            f"{len(stranger.frames)} of them, {len(stranger.rounds)} rounds, {len(stranger.maps)} "
            f"maps, over {stranger.connections} connections\n  lost {found.lost}  doubled "
            f"{found.doubled}  altered {found.altered}  foreign {found.foreign}"
        )
        silent = "closed_s IS NOT NULL AND name NOT IN (SELECT round FROM reports)"
        vain = ask(site.database, f"SELECT count(*) FROM rounds WHERE {silent}")[0][0]
        print(f"  charged and never answered: {vain} of {asked} rounds, {vain / asked:.1%}")
        if len(killing.firsts_s) > 1:
            cuts = quantiles(killing.firsts_s, n=100, method="inclusive")
            print(
                f"  a gateway's kill to the next reading that counts: p50 {cuts[49]:.1f} s, p99 "
                f"{cuts[98]:.1f} s; the end of a round, its map and another round lie between"
            )
        print(f"  {(used_s() - before_s) / max(done, 1):.1f} s of CPU a kill")
        for why, times in killing.ended.items():
            print(f"  ended by itself {times} times: {why}")
    if done < kills:
        bad.append(f"only {done} of {kills} kills in the time that they have")
    if not bad:
        shutil.rmtree(folder)
    return [*bad, f"the site is left in {folder}"] if bad else []


def main() -> int:
    """Run; return the exit status."""
    given = argparse.ArgumentParser()
    given.add_argument("--kills", type=int, default=40)
    given.add_argument("--seed", type=int, default=7)
    given.add_argument("--devices", type=int, default=16)
    given.add_argument("--gather", type=float, default=3, help="seconds that a round stays open")
    given.add_argument("--store", choices=("sqlite", "postgresql", "both"), default="both")
    asked = given.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # and leave no process behind
    if find_mosquitto() is None:
        print("mosquitto is not here: apt-get install mosquitto")
        return 1
    stores = ["sqlite", "postgresql"] if asked.store == "both" else [asked.store]
    if not POSTGRES and "postgresql" in stores:
        print("PostgreSQL is not here, so that only SQLite is tested: apt-get install postgresql")
        stores.remove("postgresql")
    bad = list[str]()
    for number, store in enumerate(stores):
        kills = asked.kills // len(stores) + (number < asked.kills % len(stores))
        bad += run(store, kills, asked.seed + number, asked.devices, asked.gather)
    for why in bad:
        print(f"WRONG {why}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

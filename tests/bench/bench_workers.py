"""How many readings a second one, two and three workers take, and how soon a dead one is replaced.

Run it: `python tests/bench/bench_workers.py [--devices 4000] [--rounds 5] [--workers 1 2 3]`. The
load comes from `load/generator.py`, as fast as it goes; the broker is a mosquitto, the store a
PostgreSQL, both of its own and gone afterwards; this process leads. Loopback only, bounded in
count and in time. On a machine with few processors read the CPU of a reading: all share them.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

LOAD = Path(__file__).resolve().parent / "load"
sys.path.insert(0, str(LOAD))
PARTITIONS, LEASE_S, PATIENCE_S = 12, 2.0, 60.0


def main() -> None:
    """Print what was asked for."""
    words = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    words.add_argument("--devices", type=int, default=4000)
    words.add_argument("--rounds", type=int, default=5)
    words.add_argument("--workers", type=int, nargs="+", default=[1, 2, 3])
    asked = words.parse_args()
    with postgres() as (port, pid):
        for workers in asked.workers:
            print(run(workers, asked.devices, asked.rounds, port, pid), flush=True)
        print(run(3, asked.devices, 2, port, pid, kill=True), flush=True)


def run(
    workers: int, devices: int, rounds: int, postgres: int, pid: int, kill: bool = False
) -> str:
    """Return what so many workers did with the load, as a line.

    Args:
        kill: end one of them without a warning in the middle of the last round.
    """
    import fleet

    from gateway.devices.broker import embedded
    from gateway.service.mqtt.pump import Pump
    from gateway.service.mqtt.service import Link
    from gateway.settings.operating import Mqtt
    from gateway.store.store import Store

    name = f"bench{workers}{'k' if kill else ''}"
    subprocess.run([*_client("createdb", postgres), name], check=True)
    asked: dict[str, Any] = {"devices": devices, "partitions": PARTITIONS, "lease_s": LEASE_S}
    asked |= {"rounds": rounds, "rate": 0, "cells": 1, "connections": 8, "seconds": PATIENCE_S}
    asked |= {"way": "steady", "peer": False, "version": "5"}
    asked["postgresql"] = f"host=127.0.0.1 port={postgres} user=postgres dbname={name}"
    with embedded.run_broker("mosquitto") as address, tempfile.TemporaryDirectory() as folder:
        asked |= {"port": address.port, "out": f"{folder}/load"}
        from worker import deployment

        store, known = Store.of(deployment(asked)), fleet.devices(devices)
        crew = [_start("worker.py", asked) for _ in range(workers)]
        for one in crew:
            one.stdout.readline()
        _settled(store, workers)
        load = _start("generator.py", asked)
        load.stdout.readline()
        mqtt = Mqtt(host="127.0.0.1", port=address.port, insecure=True)
        with Pump("leader") as pump:
            link = Link(mqtt, "bench-leader", pump).wait()
            database_s, began_s, taken_s = _used(pid), time.monotonic(), ""
            crew_s = sum(_used(one.pid) for one in crew)
            for number in range(fleet.START, fleet.START + rounds):
                victim = crew[0] if kill and number == fleet.START + rounds - 1 else None
                waited_s = _round(store, link, known, number, victim)
                if victim is not None:
                    taken_s = f"; round complete {waited_s:.2f} s after kill -9 of a worker"
            took_s, database_s = time.monotonic() - began_s, _used(pid) - database_s
            crew_s = sum(_used(one.pid) for one in crew) - crew_s
            link.close()
        answers = sum(len(store.answers(_name(number))) for number in range(1, rounds + 1))
        refused = len(store.refused(1000))
        for one in crew:
            one.send_signal(signal.SIGTERM)
        found = [json.loads(line) for one in crew if (line := one.stdout.readline())]
        load.communicate(timeout=PATIENCE_S)
        for one in crew:
            one.wait()
        store.close()
    batches = sum(one["batches"] for one in found)
    spent = f"workers {crew_s / answers * 1e6:.0f} us" if not kill else "workers unknown"
    return (
        f"{workers} workers: {answers} readings of {devices * rounds}, {refused} refused, "
        f"{answers / took_s:.0f}/s, {batches:.0f} batches; CPU a reading: {spent}, "
        f"database {database_s / answers * 1e6:.0f} us{taken_s}"
    )


def _name(number: int) -> bytes:
    import fleet

    from edge import wire

    return bytes(wire.name_of(fleet.plan(number)))


def _round(store: Any, link: Any, known: Any, number: int, victim: Any) -> float:
    """Ask a round, wait for all answers and close it; return how long after a kill that was."""
    import fleet

    from edge import wire
    from edge.host import post
    from gateway.service.intake.outcomes import Asked
    from gateway.service.workers import folds, rounds
    from gateway.store import message_rows

    plan, name = fleet.plan(number), _name(number)
    topic = wire.round_topic(fleet.SITE, "thermal")
    message = post.pack_round(plan, known.site_key, topic)
    asked = Asked(name, name, plan, message, Fraction(1, 10**6))
    if why := store.open_round(asked, Fraction(1000)):
        raise SystemExit(why)
    rounds.opened(store.engine, name, folds.named("thermal"))
    link.publish(topic, message)
    count, until_s, killed_s = len(known.by_name), time.monotonic() + PATIENCE_S, 0.0
    while (
        came := rounds.count_answers(store.engine, name)
    ) < count and time.monotonic() < until_s:
        if victim is not None and not killed_s and came > count / 5:
            os.kill(victim.pid, signal.SIGKILL)
            killed_s = time.monotonic()
        time.sleep(0.02)
    waited_s = time.monotonic() - killed_s
    with store.engine.begin() as connection:
        rounds.close(connection, name)
        sums, reports = message_rows.summed(connection, name)
    if reports != count or len(sums) != count:
        print(f"  round {number}: {reports} of {count} reports, {len(sums)} sensors")
    store.close_round(name, [], reports)
    return waited_s


def _settled(store: Any, workers: int) -> None:
    """Wait until all parts are somebody's, in equal shares, and have had time to subscribe."""
    from sqlalchemy import select

    from gateway.store.schema import leases

    while True:
        with store.engine.connect() as connection:
            rows = select(leases.c.holder).where(leases.c.part >= 0, leases.c.holder != "")
            held = list(connection.scalars(rows))
        if len(held) == PARTITIONS and len(set(held)) == workers:
            break
        time.sleep(0.1)
    time.sleep(1.5)


def _start(script: str, words: dict[str, Any]) -> Any:
    return subprocess.Popen(
        [sys.executable, str(LOAD / script), json.dumps(words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def _programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return found[-1] if found else Path("/usr/local/bin")


def _client(program: str, port: int) -> list[str]:
    return [str(_programs() / program), "-h", "127.0.0.1", "-p", str(port), "-U", "postgres"]


@contextmanager
def postgres() -> Iterator[tuple[int, int]]:
    """Run PostgreSQL on a free port; gives the port and its process."""
    import shutil

    from gateway.devices.broker.embedded import find_free_port

    folder, port = Path(tempfile.mkdtemp(prefix="heatveil-bench-")), find_free_port()
    who: dict[str, Any] = {"user": "postgres"} if os.getuid() == 0 else {}
    if who:
        shutil.chown(folder, "postgres")
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **who}
    made = [_programs() / "initdb", "-D", folder / "data", "-U", "postgres", "-A", "trust"]
    subprocess.run([*made, "-E", "UTF8"], check=True, cwd=folder, **quiet)
    where = ["-p", str(port), "-c", "listen_addresses=127.0.0.1"]
    where += ["-c", f"unix_socket_directories={folder}", "-c", "max_connections=200"]
    run = [_programs() / "postgres", "-D", folder / "data", *where]
    with subprocess.Popen(run, cwd=folder, **quiet) as child:
        while subprocess.run([*_client("pg_isready", port), "-q"]).returncode:
            time.sleep(0.05)
        try:
            yield port, child.pid
        finally:
            child.send_signal(signal.SIGINT)
            child.wait()
            shutil.rmtree(folder, ignore_errors=True)


def _used(pid: int) -> float:
    """Return the processor time of a server and all its processes, ended ones too, in seconds."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(stat.parent.name) == pid:
            total += sum(map(int, words[11:15]))
        elif int(words[1]) == pid:
            total += sum(map(int, words[11:13]))
    return total / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()

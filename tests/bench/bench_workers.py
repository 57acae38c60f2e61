"""Workers that die or sleep: `heatveil work`, beside consumers of a log that speaks MQTT itself.

    python tests/bench/bench_workers.py [--runs 3] [--only jetstream]

200 devices answer one round within two seconds and send again until they have a receipt; two
workers share what comes, with turns of two seconds, and acknowledge after they have committed to
PostgreSQL. Something is struck when a fifth is stored. Here the workers are `heatveil serve` and
`heatveil work` behind mosquitto, whose turns are leases in the database; the peer is what one
would write on NATS JetStream: one durable pull consumer, acknowledged after the commit, with the
device and its number as key. Told are the most of all runs: what is missing a minute later, what
is stored twice, what was stored by a worker whose turn was over, and seconds from the blow until
all is there. Kafka is not in Debian and speaks no MQTT; its consumer groups promise what
JetStream's do, a message again and no fence around the database.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "faults"))

import paho.mqtt.client as mqtt
import psycopg
from harness.children import Child
from harness.clusters import Cluster
from harness.stage import staged
from harness.truth import ask

from gateway.devices.broker.embedded import find_mosquitto
from tests.processes import find_free_port
from tests.waiting import eventually

DEVICES, PACE_S, TURN_S, AWAY_S, RESEND_S, PATIENCE_S = 200, 2.0, 2.0, 4.0, 2.0, 60.0
STOPPED = "worker stopped 4 s"
FAULTS = ("worker killed", "database killed for 4 s", "log killed for 4 s", STOPPED)
SPY = """
CREATE TABLE wrote (port integer, at_s float);
CREATE TABLE turns (holder text, at_s float);
CREATE FUNCTION spy_reports() RETURNS trigger AS $$ BEGIN
  INSERT INTO wrote VALUES (inet_client_port(), extract(epoch FROM clock_timestamp()));
  RETURN NEW; END $$ LANGUAGE plpgsql;
CREATE TRIGGER spy BEFORE INSERT ON reports FOR EACH ROW EXECUTE FUNCTION spy_reports();
"""
SPY_LEASES = """
CREATE FUNCTION spy_leases() RETURNS trigger AS $$ BEGIN
  INSERT INTO turns VALUES (NEW.holder, extract(epoch FROM clock_timestamp()));
  RETURN NEW; END $$ LANGUAGE plpgsql;
CREATE TRIGGER spy AFTER UPDATE ON leases FOR EACH ROW
  WHEN (NEW.epoch <> OLD.epoch) EXECUTE FUNCTION spy_leases();
"""


class Outcome(NamedTuple):
    """What came of one blow."""

    missing: int
    doubled: int
    out_of_turn: int  # of a worker that was stopped alone
    took_s: float


def strike(
    fault: str, worker: Child, database: Cluster, log: Child
) -> tuple[float, float, set[int]]:
    """Strike; return when it began, when it was over, and the ports of the worker."""
    import psutil  # as nats, of `make bench` alone

    ports = {one.laddr.port for one in psutil.Process(worker.pid).net_connections("tcp")}
    began_s = time.time()
    if fault == "worker killed":
        worker.kill()
    elif fault == STOPPED:
        worker.freeze()
        time.sleep(AWAY_S)
        worker.thaw()
    else:
        struck = database if fault.startswith("database") else log
        struck.kill()
        time.sleep(AWAY_S)
        struck.start()
    return began_s, time.time(), ports


def judge(
    database: Cluster, blow: tuple[float, float, set[int]], turn: Callable[[float], float]
) -> Outcome:
    """Wait until all is there, and a turn longer; return what came of it.

    Args:
        turn: gives when the worker that was struck had its next turn after a moment.
    """
    began_s, over_s, ports = blow
    words = database.words

    def stored() -> int:
        return int(ask(words, "SELECT count(*) FROM reports")[0][0])

    eventually(lambda: stored() >= DEVICES, PATIENCE_S)
    took_s = time.time() - began_s
    time.sleep(TURN_S)
    # Of a commit alone: what is rolled back leaves no row. Tried, even where it was there already.
    late = ask(
        words,
        "SELECT count(*) FROM wrote WHERE port = ANY(?) AND at_s > ? AND at_s < ?",
        list(ports),
        over_s,
        turn(over_s),
    )
    distinct = ask(words, "SELECT count(DISTINCT device) FROM reports")[0][0]
    return Outcome(DEVICES - distinct, stored() - distinct, int(late[0][0]), took_s)


def try_heatveil(fault: str, folder: Path, postgres: str) -> Outcome:
    """Strike at `heatveil serve`, a `heatveil work` beside it, and their stores."""
    with ExitStack() as stack:
        program = find_mosquitto() or ""
        site = stack.enter_context(
            staged(program, folder, sensors=DEVICES, readings=1, gather_s=120)
        )
        site.more = f"[workers]\npartitions = 4\nlease_s = {TURN_S}\n"
        cluster = site.keep_in(Cluster(postgres))
        site.gateway()

        def find_holders() -> set[str]:
            rows = ask(cluster.words, "SELECT holder FROM leases WHERE part >= 0 AND holder <> ''")
            return {str(holder) for (holder,) in rows} if len(rows) == 4 else set()

        assert eventually(find_holders, 60), site.folder.joinpath("gateway.txt").read_text()
        (leader,) = find_holders()
        run = f"from gateway.cli import main; main(['work', '--config', {str(site.path)!r}])"
        words = [sys.executable, "-P", "-c", run]
        worker = stack.enter_context(Child(words, folder / "worker.txt")).start()
        assert eventually(lambda: len(find_holders()) == 2, 60), "the worker takes no parts"
        assert eventually(lambda: worker.said().count("a partition receives") >= 2, 60)
        (holder,) = find_holders() - {leader}
        with psycopg.connect(cluster.words) as connection:
            connection.execute(SPY + SPY_LEASES)
        site.hurried(pace_s=PACE_S, resend_s=RESEND_S)
        assert eventually(lambda: site.stored() > 0.2 * DEVICES, 60), "nobody answers"
        blow = strike(fault, worker, cluster, site.broker)

        def turn(after_s: float) -> float:
            rows = ask(
                cluster.words,
                "SELECT min(at_s) FROM turns WHERE holder = ? AND at_s > ?",
                holder,
                after_s,
            )
            return float(rows[0][0] or time.time())

        return judge(cluster, blow, turn)


# The peer: a log that speaks MQTT, and consumers of it as one would write them.


def try_jetstream(fault: str, folder: Path, postgres: str) -> Outcome:
    """Strike at nats-server, one of two consumers, and their database."""
    door, port = find_free_port(), find_free_port()
    (folder / "nats.conf").write_text(
        f'server_name: bench\nlisten: "127.0.0.1:{door}"\n'
        f'jetstream {{ store_dir: "{folder}" }}\nmqtt {{ listen: "127.0.0.1:{port}" }}\n'
    )
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(postgres)).start()
        with psycopg.connect(cluster.words) as connection:
            connection.execute("CREATE TABLE reports (device text PRIMARY KEY, frame bytea)")
            connection.execute(SPY)
        log = Child([find_nats(), "-c", folder / "nats.conf"], folder / "nats.txt")
        stack.enter_context(log).start()
        words = [sys.executable, "-P", __file__, "--consume", str(door), cluster.words]
        workers = [Child(words, folder / f"worker-{who}.txt") for who in range(2)]
        for one in workers:
            stack.enter_context(one).start()
            assert eventually(lambda one=one: "consumes" in one.said(), 30), one.said()
        words = [sys.executable, "-P", __file__, "--answer", str(port)]
        stack.enter_context(Child(words, folder / "devices.txt")).start()

        def count() -> int:
            return int(ask(cluster.words, "SELECT count(*) FROM reports")[0][0])

        assert eventually(lambda: count() > 0.2 * DEVICES, 60), "nobody answers"
        blow = strike(fault, workers[1], cluster, log)
        # What it commits at once on waking was given to it before it was stopped.
        return judge(cluster, blow, lambda after_s: after_s + 0.1)


def find_nats() -> str:
    """Return where nats-server is; Debian keeps it where no path leads."""
    return shutil.which("nats-server", path=f"{os.environ.get('PATH', '')}:/usr/sbin") or ""


async def consume(port: int, words: str) -> None:
    """Take from the log, commit, acknowledge and tell the devices, for ever."""
    import nats
    from nats.js.api import ConsumerConfig

    server = f"nats://127.0.0.1:{port}"
    link = await nats.connect(server, max_reconnect_attempts=-1, reconnect_time_wait=0.1)
    stream = link.jetstream()
    with suppress(nats.js.errors.BadRequestError):  # the other one has made it
        await stream.add_stream(name="reports", subjects=["reports.*"])
    how = ConsumerConfig(ack_wait=TURN_S, max_deliver=-1)
    pulled = await stream.pull_subscribe("reports.*", "workers", stream="reports", config=how)
    print("consumes", flush=True)
    database = None
    while True:
        try:
            database = database or psycopg.connect(words, connect_timeout=2)
            batch = await pulled.fetch(10, timeout=1)
            with database.transaction():
                for one in batch:
                    database.execute(
                        "INSERT INTO reports VALUES (%s, %s) ON CONFLICT DO NOTHING",
                        (one.subject, one.data),
                    )
                time.sleep(0.05)  # what judging them takes, and a disk of a busy machine
            for one in batch:
                await one.ack()
                await link.publish(one.subject.replace("reports", "receipts"), b"")
        except psycopg.OperationalError:
            database = None
            await asyncio.sleep(0.1)
        except (TimeoutError, nats.errors.Error, OSError):
            await asyncio.sleep(0.01)


def answer(port: int) -> None:
    """Answer once as every device, and again until there is a receipt."""
    waiting = {f"n{number}": random.random() * PACE_S for number in range(DEVICES)}
    link = mqtt.Client(
        mqtt.CallbackAPIVersion.VERSION2, "devices", clean_session=False, protocol=mqtt.MQTTv311
    )
    link.on_connect = lambda *_: link.subscribe("receipts/+", 1)
    link.on_message = lambda _, __, one: waiting.pop(one.topic.split("/")[1], None)
    link.reconnect_delay_set(1, 1)
    link.connect("127.0.0.1", port)
    link.loop_start()
    time.sleep(0.5)
    began_s = time.monotonic()
    while waiting:
        now_s = time.monotonic() - began_s
        for name, due_s in list(waiting.items()):
            if due_s <= now_s and name in waiting:
                link.publish(f"reports/{name}", json.dumps([name, 1]), qos=1)
                waiting[name] = now_s + RESEND_S
        time.sleep(0.01)


SIDES = {"heatveil": try_heatveil, "jetstream": try_jetstream}


def main() -> None:
    """Print a line for each blow and side."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--runs", type=int, default=3)
    given.add_argument("--only", choices=SIDES)
    given.add_argument("--consume", nargs=2, help=argparse.SUPPRESS)
    given.add_argument("--answer", type=int, help=argparse.SUPPRESS)
    told = given.parse_args()
    if told.consume:
        asyncio.run(consume(int(told.consume[0]), told.consume[1]))
    if told.answer:
        answer(told.answer)
        return
    postgres = next(map(str, Path("/usr/lib/postgresql").glob("*/bin/postgres")), "")
    needed = {"mosquitto": find_mosquitto(), "postgresql": postgres, "nats-server": find_nats()}
    if lacking := " ".join(package for package, found in needed.items() if not found):
        print(f"not measured, for not all of it is here: apt-get install {lacking}")
        return
    print(f"{'':24} {'':10} missing  twice  out of turn  all there after, s")
    for fault in FAULTS:
        for side in (told.only,) if told.only else SIDES:
            rows = []
            for _ in range(told.runs):
                with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
                    rows.append(SIDES[side](fault, Path(folder), postgres))
            missing, twice, late = (max(row[at] for row in rows) for at in range(3))
            told_late = late if fault == STOPPED else "-"
            took = sorted(row.took_s for row in rows)
            span = f"{took[0]:.1f} to {took[-1]:.1f}"
            print(
                f"{fault:24} {side:10} {missing:7} {twice:6} {told_late:>12}  {span}", flush=True
            )


if __name__ == "__main__":
    main()

"""Makes schema_4.sqlite.gz: a store of schema 4 as the gateway of that time really left it.

Run it in a checkout of the last commit before the gateway had rooms, where the modules are that
it imports; it says there what is in the file, which `test_old_store` has by heart.

    git worktree add /tmp/old ecd953d^
    PYTHONPATH=/tmp/old python make_schema_4.py schema_4.sqlite.gz
"""

import gzip
import json
import random
import sqlite3
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

from edge.core import wire
from edge.core.entropy import Tape
from edge.core.limits import Limits
from edge.core.node import Node
from edge.core.records import Grid, Guarantee, Round
from edge.mechanisms import thermal
from gateway import budgets, enrol
from gateway.service import steps
from gateway.service.intake import Intake
from gateway.session import Message
from gateway.store import Store

SITE, SENSORS = "testsite", 4
PROMISE = Guarantee(
    (1, 1), (1, 100_000), (1, 50), "one source moves", "local", "a day", "presence"
)
BUDGET = Fraction(1, 5)
LIMITS = Limits(1, 8, 1, 10_000, 10**9, 0)


class Bearer:
    """Stands for the link."""

    def __init__(self) -> None:
        self.acked = 0

    def ack(self, _message: Message) -> None:
        self.acked += 1

    def publish(self, *_words: object, **_more: object) -> None:
        pass


def main(out: Path) -> None:
    """Let three rounds come, two of them end, and much go wrong; write the store."""
    made = enrol.make(SITE, SENSORS, fresh=random.Random(7).randbytes)
    devices, place = enrol.known(made.secrets), budgets.in_memory()
    budgets.provision(made, LIMITS, place)
    nodes = {
        who.name: Node(who, budget) for who, budget in budgets.boot(made.secrets, place).devices
    }
    names = list(nodes)
    with tempfile.TemporaryDirectory() as folder:
        path, bearer = Path(folder, "heatveil.sqlite"), Bearer()
        store = Store(path, SITE)
        intake = Intake(store, devices, lambda *_: None, lambda _alarms: None)
        sent = 0

        def put(device: str, frame: bytes) -> None:
            nonlocal sent
            sent += 1
            topic = wire.topic(SITE, device, "data")
            intake.put(bearer, Message(topic, frame, (1, sent)))
            until_s = time.monotonic() + 5
            while bearer.acked < sent and time.monotonic() < until_s:
                time.sleep(0.01)

        for number in (1, 2, 3):
            params = (SENSORS, 8, 0, 4096, 10_000, 1, 0)
            planned = Round(number, "thermal", Grid((10, 1), 0), params, PROMISE)
            asked = steps.signed(planned, store.number_of(wire.name_of(planned)), devices)
            if said := store.open_round(asked, BUDGET):
                raise SystemExit(said)
            intake.open(steps.opened(asked, devices, (), time.monotonic() + 60))
            frames = {one: nodes[one].answer(asked.message, lambda _: [1000]) for one in names}
            come = names if number == 1 else names[: 5 - number]
            for one in come:
                put(one, frames[one])
            put(names[0], frames[names[0]])  # once more, as a broker does
            put(names[1], frames[names[1]][:-1] + b"?")  # forged
            put("nobody", b"a stranger")
            if number == 3:
                continue
            closed = intake.close_round()
            payloads = [closed.reports[one].payload for one in sorted(closed.reports)]
            release = thermal.release(asked.plan, payloads, Tape(b"release"))
            store.close_round(asked.name, release.values, release.reports)
            store.keep_map(asked.name, json.dumps({"kind": "map", "number": number}))
            if number == 2:
                put(names[3], frames[names[3]])  # late
        # A device whose memory was set back answers the open round a second time.
        budgets.provision(made, LIMITS, place := budgets.in_memory())
        again = {who.name: Node(who, b) for who, b in budgets.boot(made.secrets, place).devices}
        put(names[0], again[names[0]].answer(asked.message, lambda _: [2000]))
        intake.stop()
        told(store)
        store.close()
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.close()
        out.write_bytes(gzip.compress(path.read_bytes(), mtime=0))


def told(store: Store) -> None:
    """Say what is in the store, by the words of its own time."""
    print("charges", store.charges())
    print("newest", sorted(store.newest().items()))
    print("alarms", store.alarms())
    for letter in store.refused():
        print("refused", letter.why)
    print("next free", store.number_of(b"none"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""A thousand devices add up 4,096 numbers each: CPU in process, bytes, and a map over a broker.

In process: one core; "again" is a second round of the same roster, whose static keys need no
agreement any more. Over a broker: a stock mosquitto, all devices and `serve` on this machine, the
rounds of one whole map of a crowd in 1,024 squares at the most.
"""

import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import structlog

sys.path.insert(0, str(Path(__file__).parents[2]))  # for the tests' own shard

from edge.core.compat import sha256
from edge.core.entropy import Tape
from gateway.devices.broker import embedded
from gateway.devices.enrol import budgets, enrol, roster
from gateway.devices.enrol.roster import draw_rosters
from gateway.devices.fleet.crowd import Crowd
from gateway.mechanisms import make_first_limits
from gateway.mechanisms.places import Standing
from gateway.service.serving import Service
from gateway.settings import config
from gateway.settings.deployment import Deployment
from physics.fleet import Fleet
from tests import processes
from tests.sums import SITE, STAGES, Town, played, root_of

DEVICES, LENGTH, BITS = 1000, 4096, 32


def served(mosquitto: str, devices: int = DEVICES) -> None:
    """Print how long a map of so many devices takes over a broker, from its first round on."""
    port, folder = embedded.find_free_port(), Path(tempfile.mkdtemp())
    (folder / "m.conf").write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
    sections: dict[str, Any] = {
        "site": {
            "name": "crowd",
            "database": folder / "heatveil.sqlite",
            "devices": folder / "devices.json",
        },
        "room": {"cells": [32, 32]},
        "quadtree": {
            "devices": devices,
            "adjacency": "replace-one",
            "dropout": "1/10",
            "colluders": "1/10",
            "prior": [[5, x, y] for x in range(32) for y in range(32)],
            "rounds": 1,
        },
        "privacy": {"epsilon": "8/1"},
        "rounds": {"mechanism": "quadtree", "gather_s": 300, "every_s": 0, "solve_s": 60},
        "mqtt": {"host": "127.0.0.1", "port": port, "insecure": True},
    }
    deployment = Deployment(**sections)
    query = config.make_query(deployment)
    made, drawn = roster.enrol_in_shards(enrol.enrol_fleet("crowd", devices), query)
    roster.save_shards(deployment.site.devices, "crowd", drawn)
    place = budgets.keep_slots_in_memory()
    budgets.write_first_budgets(made, make_first_limits(deployment, query), place)
    cells = np.array([[i % 1024 for i in range(devices)]])
    booted = budgets.boot_devices(made.secrets, place).devices
    people = Fleet(booted, Standing(cells, 32), None, mechanism="quadtree")
    told: list[dict[str, Any]] = []
    with processes.Child([mosquitto, "-c", folder / "m.conf"], stderr=subprocess.DEVNULL) as child:
        time.sleep(1)
        known = enrol.derive_gateway_half(made.secrets)
        fleet = Crowd(deployment.mqtt, people)
        with fleet, Service(deployment, known, on_event=told.append) as service:
            fleet.wait_connected()
            began, cpu = time.monotonic(), time.process_time()
            service.run_rounds()
            took = time.monotonic() - began, time.process_time() - cpu
        child.terminate()
    reports = [event["reports"] for event in told if event["kind"] == "release"]
    print(
        f"over a broker, {devices} devices, 1,024 numbers each, reports {reports}: "
        f"{took[0]:.1f} s (goal 40), {took[1]:.1f} s of CPU"
    )


def main() -> None:
    """Print what a round takes where 0, 10 and 30 of a hundred vanish, and what it sends."""
    roots = {f"n{i:04}": root_of(f"n{i:04}") for i in range(DEVICES)}
    for missing in (0, 10, 30):
        tape = Tape(sha256(bytes([missing])))
        (found,) = draw_rosters(SITE, roots, 1, 1, BITS, tape, missing=Fraction(missing, 100))
        town = Town(found, LENGTH, BITS, LENGTH)
        vanish = {i: STAGES[1 + i % 4] for i in range(DEVICES * missing // 100)}
        k = town.shard.k
        for number, name in ((1, "first"), (2, "again")):
            numbers = {i: town.numbers(i)(0) for i in town.members}
            body, terms, gateway = b"round %d" % number, town.terms(number), town.collecting()
            gateway.sid = sha256(body + town.shard.digest)
            began = time.process_time()
            play = played(
                town.members,
                gateway,
                terms,
                body,
                lambda i, numbers=numbers: lambda divisor: numbers[i],  # type: ignore[misc]
                lambda i: Tape(os.urandom(32)),
                vanish,
            )
            within = [i for i in town.members if vanish.get(i) not in STAGES[:3]]
            print(
                f"{missing:2} % vanish, k = {k}, {name}: {time.process_time() - began:4.1f} s "
                f"of CPU (goal 9), each {play.members_s / DEVICES * 1000:4.1f} ms, the gateway "
                f"{play.gateway_s:.1f} s; exact: {play.total == town.sum_of(within)}"
            )
        up, down = max(play.up.values()), max(play.down.values())
        print(
            f"   up {up:,} bytes, by the formula {LENGTH * BITS // 8 + 80 * k + 80 + 32 * 5:,}; "
            f"down {down:,}, {128 * k + k // 2 + DEVICES // 8 + 130:,}"
        )


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    served(str(shutil.which("mosquitto")))
    main()

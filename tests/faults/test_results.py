"""kill -9 between drawing a result, storing it and publishing it: one payload, one charge."""

import json
import os
import signal
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from harness import FULL, sized, takes_long
from harness.children import Child
from harness.radio import Listener
from harness.stage import SITE, Stage
from harness.switches import STEPS

from edge.core import wire
from tests.waiting import eventually

Staged = Callable[..., Stage]
POINTS = [f"{step}:{when}" for step in STEPS for when in ("before", "after")]
if not FULL:  # where results are; `make faults` dies at every step
    POINTS = ["keep_map:before", "keep_map:after"]


def payloads(listener: Listener, leaf: str) -> dict[int, set[bytes]]:
    """Return what was published for each round on a leaf: maps by number, rounds by their own."""
    found = defaultdict(set)
    for topic, payload in list(listener.messages):
        if payload and f"/{leaf}/" in topic:
            told = json.loads(payload) if leaf == "map" else {"number": 0}
            if told.get("status") != "unresolved":  # no result yet: a later start may find one
                found[told["number"]].add(payload)
    return found


def died_at(site: Stage, *points: str) -> None:
    """Let the gateway die at each of these points, one life after the other, and live on."""
    for point in points:
        gateway = site.gateway(point)
        assert eventually(lambda gateway=gateway: not gateway.alive, 30), point
    site.gateway()


@pytest.mark.long
@pytest.mark.parametrize("store", sized(["sqlite"], ["sqlite", "postgresql"]))
def test_kill_between_draw_store_publish(stage: Staged, store: str) -> None:
    """Drawn once more is a second result, with the first already out; so it is written first."""
    rounds = sized(2, 8)
    site = stage(readings=rounds, store=store)
    site.hurried(resend_s=1.0)
    with Listener(site.broker.port, f"heatveil/1/{SITE}/#") as listener:
        died_at(site, *POINTS)
        assert eventually(lambda: site.released() == rounds, 60)
        assert eventually(lambda: len(payloads(listener, "map")) >= 1)
        time.sleep(1)
        maps, asked = payloads(listener, "map"), payloads(listener, "round")
    print(f"{len(POINTS)} kills, {rounds} rounds, {sum(map(len, maps.values()))} maps published")

    assert all(len(different) == 1 for different in maps.values()), maps
    assert len(asked[0]) == rounds  # each asked with the same bytes, before and after
    assert site.truth().whole
    assert site.charges() == (rounds, rounds * site.price, 0)


@takes_long
def test_kill_between_draw_store_publish_control(stage: Staged) -> None:
    """Published first and written afterwards, one round has two results."""
    site = stage(readings=1)
    site.hurried(resend_s=1.0)
    with Listener(site.broker.port, f"heatveil/1/{SITE}/#") as listener:
        died_at(site, "publishing_first")
        assert eventually(lambda: len(payloads(listener, "map")[1]) == 2)


@takes_long
def test_the_round_is_signed_by_its_own_site(stage: Staged) -> None:
    """What the listener heard as rounds are rounds: else the counts above counted nothing."""
    site = stage(readings=1)
    with Listener(site.broker.port, f"heatveil/1/{SITE}/round/thermal") as listener:
        site.gateway()
        assert eventually(lambda: any(message for _, message in listener.messages))
    topic, message = next(one for one in listener.messages if one[1])
    key = bytes.fromhex(json.loads((site.folder / "devices.json").read_text())["site_key"])

    assert wire.unpack_round(message, key, topic).number == 1


# The program that draws maps hangs, or dies: the round counts, and the next one goes on.


def solvers(gateway: Child) -> list[int]:
    """Return the processes that draw a gateway's maps."""
    found = []
    for place in Path("/proc").iterdir():
        with suppress(OSError, ValueError, IndexError):
            parent = int((place / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if (
                parent == gateway.pid
                and b"gateway.service.solver" in (place / "cmdline").read_bytes()
            ):
                found.append(int(place.name))
    return found


@pytest.mark.long
@pytest.mark.parametrize("fault", sized(["dies"], ["hangs", "dies"]))
def test_solver_hangs_or_dies(stage: Staged, fault: str) -> None:
    """A map that cannot be drawn is a result, and a new program draws the next."""
    site = stage(readings=3, every_s=2)
    site.path.write_text(site.path.read_text().replace("[rounds]", "[rounds]\nsolve_s = 10"))
    gateway = site.gateway()
    with Listener(site.broker.port, f"heatveil/1/{SITE}/map/#") as listener:
        site.hurried()
        assert eventually(lambda: listener.messages)
        (worker,) = solvers(gateway)
        os.kill(worker, signal.SIGSTOP if fault == "hangs" else signal.SIGKILL)
        assert eventually(lambda: site.released() == 3, 60)
        assert eventually(lambda: len({one for _, one in listener.messages}) >= 3, 30)
    told = [json.loads(one) for _, one in listener.messages]
    print([(one["number"], one["status"], one["why"]) for one in told])

    assert [one["status"] for one in told] == ["solved", "unresolved", "solved"]
    assert solvers(gateway) != [worker]
    assert site.charges() == (3, 3 * site.price, 0)


@takes_long
def test_solver_hangs_control(stage: Staged) -> None:
    """Where it hangs in the gateway itself, there is no next round."""
    site = stage(readings=3)
    site.gateway("inline")
    site.hurried()
    eventually(lambda: site.released() == 3, 6)

    assert site.released() < 3

"""Clocks that are wrong or set, and workers that die."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from harness import sized, takes_long
from harness.children import Child
from harness.clusters import Cluster
from harness.stage import Stage
from harness.truth import ask

from tests.waiting import eventually

# Clocks that are wrong by a day, and clocks that jump: rounds go on as they were.

Staged = Callable[..., Stage]
SENSORS = 40


def faketime() -> str:
    """Return the library that fakes clocks."""
    for found in Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"):
        return str(found)
    pytest.skip(
        "clocks are faked for this test, and libfaketime is not here: apt install faketime"
    )


def skewed(**more: str) -> dict[str, str]:
    """Return the environment of a process that has another date; seconds pass as they do."""
    return {"LD_PRELOAD": faketime(), "FAKETIME_DONT_FAKE_MONOTONIC": "1"} | more


@takes_long
@pytest.mark.parametrize("days", sized(["+1d"], ["+1d", "-1d"]))
def test_clock_skew_on_device(stage: Staged, days: str) -> None:
    """No device is ever asked what time it is."""
    site = stage(readings=2)
    site.gateway()
    edges = site.edges(start=False)
    edges.start(**skewed(FAKETIME=days))
    assert eventually(lambda: site.released() == 2)

    assert site.truth().whole
    assert site.stored() == 40
    day = (site.folder / "spool.log").read_text().split("\n")[0].split()
    assert abs(abs(float(day[1]) - time.time()) - 86_400) < 600  # they have another date indeed


def stepped(site: Stage, steps: list[str], *switches: str) -> tuple[int, float]:
    """Step the gateway's clock while answers come; return who is in the round, and its length."""
    clock = site.folder / "clock"
    clock.write_text("+0\n")
    gateway = site.gateway(*switches, start=False)
    gateway.start(**skewed(FAKETIME_TIMESTAMP_FILE=str(clock), FAKETIME_NO_CACHE="1"))
    assert eventually(lambda: '"event": "round"' in gateway.said())
    began_s = time.monotonic()
    site.hurried(names=[0, SENSORS - 1], pace_s=2.0)
    assert eventually(lambda: site.stored() > 0)  # a round that nobody answered would stay open
    for step in steps:
        clock.write_text(f"{step}\n")
        time.sleep(0.5)
    assert eventually(lambda: site.released() >= 1)
    took_s = time.monotonic() - began_s
    ((reports,),) = ask(site.database, "SELECT reports FROM releases ORDER BY at_s LIMIT 1")
    print(f"{reports} of {SENSORS - 1} answers, closed after {took_s:.1f} s")
    return reports, took_s


@takes_long
def test_clock_step_on_gateway(stage: Staged) -> None:
    """A round closes after its time, whatever the clock on the wall does meanwhile."""
    site = stage(sensors=SENSORS, readings=2, gather_s=6, every_s=3600)
    reports, took_s = stepped(site, ["+1d", "-1d", "+0"])

    assert reports == SENSORS - 1
    assert 5 < took_s < 9
    time.sleep(1)
    assert site.opened() == 1  # and no other came early
    assert site.truth().whole


@pytest.mark.long
def test_clock_step_on_gateway_control(stage: Staged) -> None:
    """By the clock on the wall, a jump of a day ends the round, and opens the next at once."""
    site = stage(sensors=SENSORS, readings=2, gather_s=20, every_s=3600)
    reports, took_s = stepped(site, ["+1d"], "wall_clock")

    assert took_s < 15
    assert reports < SENSORS - 1


# A worker dies and does not come back: the others take over what it had, session and all.

MANY, PARTS = 200, 4


@contextmanager
def two_at_work(
    stage: Staged, program: str, lease_s: float
) -> Iterator[tuple[Stage, Cluster, Child]]:
    """Yield a site whose leader and one worker more have the parts, its database, the worker."""
    site = stage(sensors=MANY, readings=2, gather_s=60)
    site.more = f"[workers]\npartitions = {PARTS}\nlease_s = {lease_s}\n"
    cluster = site.keep_in(Cluster(program))
    site.gateway()
    words = cluster.words
    assert eventually(lambda: len(holders(words)) == PARTS)
    run = f"from gateway.cli import main; main(['work', '--config', {str(site.path)!r}])"
    with Child([sys.executable, "-P", "-c", run], site.folder / "worker.txt") as worker:
        worker.start()
        assert eventually(lambda: len(set(holders(words))) == 2, 60 + lease_s)
        assert eventually(lambda: "a partition receives" in worker.said())
        yield site, cluster, worker


def killed_for_good(stage: Staged, program: str, lease_s: float) -> tuple[int, float]:
    """Kill a worker while devices answer; return what is lost 15 s later, and when none was."""
    with two_at_work(stage, program, lease_s) as (site, _, worker):
        site.hurried(frees="puback", resend_s=0, pace_s=2.0)
        assert eventually(lambda: site.stored() > 0.2 * MANY)
        worker.kill()
        killed_s = time.monotonic()
        assert eventually(lambda: len(site.said()) >= MANY)
        lost = site.settled(15).lost
    took_s = time.monotonic() - killed_s
    print(f"{lost} missing {took_s:.1f} s after the kill")
    assert not site.truth().doubled
    assert not site.truth().altered
    return lost, took_s


def holders(words: str) -> list[str]:
    """Return who has the parts."""
    rows = ask(words, "SELECT holder FROM leases WHERE part >= 0 AND holder <> ''")
    return [str(row[0]) for row in rows]


@takes_long
def test_worker_dies_for_good(stage: Staged, need: Callable[[str], str]) -> None:
    """What waited in its broker sessions is drained by whoever has its parts now."""
    lost, _ = killed_for_good(stage, need("postgres"), 2.0)

    assert lost == 0


@takes_long
def test_worker_dies_for_good_control(stage: Staged, need: Callable[[str], str]) -> None:
    """With a lease that does not run out, its parts wait for a worker that never comes."""
    lost, _ = killed_for_good(stage, need("postgres"), 600.0)

    assert lost > 0


@takes_long
def test_database_dies_under_workers(stage: Staged, need: Callable[[str], str]) -> None:
    """kill -9 of PostgreSQL in mid-round: leases, lead and sums are what they were before."""
    with two_at_work(stage, need("postgres"), 2.0) as (site, cluster, worker):
        site.hurried(frees="puback", resend_s=0, pace_s=2.0)
        assert eventually(lambda: site.stored() > 0.3 * MANY)
        cluster.kill()
        time.sleep(3.0)  # longer than a lease: nobody can know any more what is whose
        cluster.start()
        assert eventually(lambda: len(site.said()) >= MANY)
        found = site.settled(60)
        assert found.whole, found
        assert eventually(lambda: len(set(holders(cluster.words))) == 2)
        assert worker.alive
        assert eventually(lambda: site.released() >= 1)
        rows = ask(cluster.words, "SELECT reports FROM releases ORDER BY at_s")
        assert int(rows[0][0]) == MANY
        assert site.charges()[2] == 0

"""A worker dies and does not come back: the others take over what it had, session and all."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from harness.children import Child
from harness.clusters import Cluster
from harness.sizes import takes_long
from harness.stage import Stage
from harness.truth import ask

from tests.waiting import eventually

Staged = Callable[..., Stage]
SENSORS, PARTS = 200, 4


@contextmanager
def two_at_work(
    stage: Staged, program: str, lease_s: float
) -> Iterator[tuple[Stage, Cluster, Child]]:
    """Yield a site whose leader and one worker more have the parts, its database, the worker."""
    site = stage(sensors=SENSORS, readings=2, gather_s=60)
    site.more = f"[workers]\npartitions = {PARTS}\nlease_s = {lease_s}\n"
    cluster = site.keep_in(Cluster(program))
    site.gateway()
    words = cluster.words
    assert eventually(lambda: len(holders(words)) == PARTS, 60)
    run = f"from gateway.cli import main; main(['work', '--config', {str(site.path)!r}])"
    with Child([sys.executable, "-P", "-c", run], site.folder / "worker.txt") as worker:
        worker.start()
        assert eventually(lambda: len(set(holders(words))) == 2, 60 + lease_s)
        assert eventually(lambda: "a part listens" in worker.said(), 30)
        yield site, cluster, worker


def killed_for_good(stage: Staged, program: str, lease_s: float) -> tuple[int, float]:
    """Kill a worker while devices answer; return what is lost 15 s later, and when none was."""
    with two_at_work(stage, program, lease_s) as (site, _, worker):
        site.hurried(frees="puback", resend_s=0, pace_s=2.0)
        assert eventually(lambda: site.stored() > 0.2 * SENSORS)
        worker.kill()
        killed_s = time.monotonic()
        assert eventually(lambda: len(site.said()) >= SENSORS)
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
        assert eventually(lambda: site.stored() > 0.3 * SENSORS)
        cluster.kill()
        time.sleep(3.0)  # longer than a lease: nobody can know any more what is whose
        cluster.start()
        assert eventually(lambda: len(site.said()) >= SENSORS)
        found = site.settled(60)
        assert found.whole, found
        assert eventually(lambda: len(set(holders(cluster.words))) == 2, 30)
        assert worker.alive
        assert eventually(lambda: site.released() >= 1, 60)
        rows = ask(cluster.words, "SELECT reports FROM releases ORDER BY at_s")
        assert int(rows[0][0]) == SENSORS
        assert site.charges()[2] == 0

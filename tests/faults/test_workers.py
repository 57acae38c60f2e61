"""A worker dies and does not come back: the others take over what it had, session and all."""

import sys
import time
from collections.abc import Callable, Iterator

import pytest
from harness.children import Child, eventually
from harness.clusters import postgresql
from harness.sizes import takes_long
from harness.stage import Stage
from harness.truth import ask

Staged = Callable[..., Stage]
SENSORS, PARTS = 200, 4


@pytest.fixture
def words(need: Callable[[str], str]) -> Iterator[str]:
    """Return libpq's words for a new database."""
    with postgresql(need("postgres")) as words:
        yield words


def killed_for_good(stage: Staged, words: str, lease_s: float) -> tuple[int, float]:
    """Kill a worker while devices answer; return what is lost 15 s later, and when none was."""
    site = stage(sensors=SENSORS, readings=2, gather_s=60)
    site.more = f'[store]\npostgresql = "{words}"\n'
    site.more += f"[workers]\npartitions = {PARTS}\nlease_s = {lease_s}\n"
    site.write(site.broker.port)
    site.database = words
    site.gateway()
    assert eventually(lambda: len(holders(words)) == PARTS, 30)
    run = f"from gateway.cli import main; main(['work', '--config', {str(site.path)!r}])"
    with Child([sys.executable, "-P", "-c", run], site.folder / "worker.txt") as worker:
        worker.start()
        assert eventually(lambda: len(set(holders(words))) == 2, 20 + lease_s)
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
def test_worker_dies_for_good(stage: Staged, words: str) -> None:
    """What waited in its broker sessions is drained by whoever has its parts now."""
    lost, _ = killed_for_good(stage, words, 2.0)

    assert lost == 0


@takes_long
def test_worker_dies_for_good_control(stage: Staged, words: str) -> None:
    """With a lease that does not run out, its parts wait for a worker that never comes."""
    lost, _ = killed_for_good(stage, words, 600.0)

    assert lost > 0

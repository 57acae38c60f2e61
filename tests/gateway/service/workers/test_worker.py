"""Worker processes that are killed and stopped in mid-round: nothing lost, nothing doubled."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edge.mechanisms import thermal
from gateway.service.workers.part import part_of
from gateway.store.schema import leases
from gateway.store.store import Store
from tests.waiting import eventually

DEVICES, PARTITIONS, LEASE_S = 240, 6, 2.0
BUSY_S = 6.0  # more than a lease that a take-over may last here; 0.3 s on a machine at rest


def holders(store: Store) -> dict[int, str]:
    """Return who has which part."""
    with store.engine.connect() as connection:
        rows = connection.execute(leases.select().where(leases.c.part >= 0)).all()
    return {row.part: row.holder for row in rows}


def shared_by(store: Store, *names: str) -> bool:
    """Return whether these workers, and they alone, have the parts in equal shares."""
    found = [holder.split("-")[0] for holder in holders(store).values()]
    each = PARTITIONS / len(names)
    return all(each - 1 < found.count(name) < each + 1 for name in names) and set(found) == set(
        names
    )


# The clock of its machine is so many seconds off.
OFF = "import time; real = time.time; time.time = lambda: real() + {seconds}"


@pytest.mark.long
def test_workers_die_and_stop_in_mid_round_and_nothing_is_lost_or_doubled(
    site: Callable[[int], Any], store: Store
) -> None:
    """kill -9 of one, SIGSTOP of another beyond its lease: the parts change hands in time.

    Their machines are a day apart from the leader's, each to its side: no clock of theirs counts.
    """
    home = site(DEVICES)
    leader = home.start("serve", "--rounds", "1")
    ada = home.start("work", "--name", "ada", before=OFF.format(seconds=86400))
    bob = home.start("work", "--name", "bob", before=OFF.format(seconds=-86400))
    assert eventually(lambda: shared_by(store, "leader", "ada", "bob"))
    assert eventually(lambda: len(home.listening(leader, ada, bob)) == PARTITIONS)
    round, frames = home.asked()
    names = sorted(frames)
    first, second, third = ({name: frames[name] for name in names[i::3]} for i in range(3))
    home.say(first)
    assert eventually(lambda: first.keys() <= home.receipts.keys())

    dead = {part for part, holder in holders(store).items() if holder.startswith("ada")}
    home.say(second)
    os.kill(ada.pid, signal.SIGKILL)
    killed_s = time.monotonic()
    ada.wait()
    assert eventually(lambda: second.keys() <= home.receipts.keys())
    waited = [home.receipts[name] for name in second if part_of(name, PARTITIONS) in dead]
    print(f"\ntaken over after kill -9, last receipt: {max(waited) - killed_s:.2f} s")
    assert max(waited) - killed_s < LEASE_S + BUSY_S

    assert eventually(lambda: shared_by(store, "leader", "bob"))
    stopped = {part for part, holder in holders(store).items() if holder.startswith("bob")}
    os.kill(bob.pid, signal.SIGSTOP)
    stopped_s = time.monotonic()
    *most, (last, frame) = third.items()
    home.say(dict(most))
    assert eventually(lambda: dict(most).keys() <= home.receipts.keys())
    waited = [home.receipts[name] for name in dict(most) if part_of(name, PARTITIONS) in stopped]
    print(f"taken over after SIGSTOP, last receipt: {max(waited) - stopped_s:.2f} s")
    assert max(waited) - stopped_s < LEASE_S + BUSY_S
    assert eventually(lambda: shared_by(store, "leader"))
    os.kill(bob.pid, signal.SIGCONT)
    assert eventually(lambda: shared_by(store, "leader", "bob"))  # it is a worker again
    home.say({last: frame})
    assert leader.wait(timeout=60) == 0, home.log(leader)
    bob.send_signal(signal.SIGTERM)
    asked_s = time.monotonic()
    assert bob.wait(timeout=60) == 0
    assert time.monotonic() - asked_s < BUSY_S

    assert dict(store.answers(round)) == frames
    assert store.refused() == []
    assert store.alarms() == {}
    release = thermal.release(home.plan, home.payloads(frames), None)
    assert store.release(round) == (release.values, DEVICES)
    assert set(holders(store).values()) == {""}


# A worker that takes a second for each commit and writes down what came of it, so that it can be
# stopped with readings in its hands.
SLOW = """
import time
from gateway.service.workers.rounds import PartStore

keep, said = PartStore.keep, open({path!r}, "a", buffering=1)

def slowly(self, kept, *rest):
    if kept:
        said.write("tries\\n")
        time.sleep({pause_s})
    try:
        keep(self, kept, *rest)
    except Exception as fault:
        said.write(type(fault).__name__ + "\\n")
        raise
    if kept:
        said.write(f"keeps {{len(kept)}}\\n")

PartStore.keep = slowly
"""


@pytest.mark.long
def test_a_worker_that_wakes_up_after_its_lease_cannot_commit(
    site: Callable[[int], Any], store: Store, tmp_path: Path
) -> None:
    """Stopped with readings in its hands: they are its successor's."""
    home = site(40)
    paths = {name: tmp_path / name for name in ("zombie", "heir")}
    slow = {
        name: SLOW.format(path=str(path), pause_s=pause_s)
        for (name, path), pause_s in zip(paths.items(), (1.0, 2.5), strict=True)
    }
    quiet = (
        "import gateway.service.workers.gathering as g; g.Worker.__enter__ = lambda self: self\n"
    )
    quiet += "g.Worker.__exit__ = lambda self, *_: None"
    leader = home.start("serve", "--rounds", "1", before=quiet)
    zombie = home.start("work", "--name", "zombie", before=slow["zombie"])
    # Before a session is there for the first time, the broker keeps nothing for it.
    assert eventually(lambda: len(home.listening(zombie)) == PARTITIONS)
    round, frames = home.asked()
    home.say(frames)
    assert eventually(lambda: paths["zombie"].exists() and paths["zombie"].read_text())
    os.kill(zombie.pid, signal.SIGSTOP)
    assert "keeps" not in paths["zombie"].read_text()
    heir = home.start("work", "--name", "heir", before=slow["heir"])
    assert eventually(lambda: shared_by(store, "heir"))
    assert eventually(lambda: paths["heir"].exists() and paths["heir"].read_text())
    os.kill(zombie.pid, signal.SIGCONT)  # while its heir has the same readings in its hands
    assert leader.wait(timeout=60) == 0, home.log(leader)
    for child in (zombie, heir):
        child.send_signal(signal.SIGTERM)
        child.wait(timeout=60)

    said = paths["zombie"].read_text().split("\n")
    first = said.index("LeaseLost")
    assert not any(line.startswith("keeps") for line in said[:first])
    assert dict(store.answers(round)) == frames
    assert store.refused() == []
    release = thermal.release(home.plan, home.payloads(frames), None)
    assert store.release(round) == (release.values, len(frames))
    assert eventually(lambda: home.receipts.keys() == frames.keys(), 5)

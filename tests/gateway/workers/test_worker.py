"""Worker processes that are killed and stopped in mid-round: nothing lost, nothing doubled."""

import os
import signal
import time
from collections.abc import Callable
from typing import Any

from edge import thermal
from gateway.storage.schema import leases
from gateway.storage.store import Store
from gateway.workers.parts import part_of
from gateway.workers.worker import LONGEST_S

DEVICES, PARTITIONS, LEASE_S = 240, 6, 2.0


def eventually(true: Callable[[], Any], patience_s: float = 20.0) -> bool:
    """Wait until it is true; return whether it came to that."""
    until_s = time.monotonic() + patience_s
    while not true() and time.monotonic() < until_s:
        time.sleep(0.01)
    return bool(true())


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


def test_workers_die_and_stop_in_mid_round_and_nothing_is_lost_or_doubled(
    site: Callable[[int], Any], store: Store
) -> None:
    """kill -9 of one, SIGSTOP of another beyond its lease: the parts change hands in time."""
    home = site(DEVICES)
    leader = home.start("serve", "--rounds", "1")
    ada = home.start("work", "--name", "ada")
    bob = home.start("work", "--name", "bob")
    assert eventually(lambda: shared_by(store, "leader", "ada", "bob"))
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
    assert max(waited) - killed_s < LEASE_S + LONGEST_S + 1.5

    assert eventually(lambda: shared_by(store, "leader", "bob"))
    stopped = {part for part, holder in holders(store).items() if holder.startswith("bob")}
    os.kill(bob.pid, signal.SIGSTOP)
    stopped_s = time.monotonic()
    *most, (last, frame) = third.items()
    home.say(dict(most))
    assert eventually(lambda: dict(most).keys() <= home.receipts.keys())
    waited = [home.receipts[name] for name in dict(most) if part_of(name, PARTITIONS) in stopped]
    print(f"taken over after SIGSTOP, last receipt: {max(waited) - stopped_s:.2f} s")
    assert max(waited) - stopped_s < LEASE_S + LONGEST_S + 1.5
    assert eventually(lambda: shared_by(store, "leader"))
    os.kill(bob.pid, signal.SIGCONT)
    assert eventually(lambda: shared_by(store, "leader", "bob"))  # it is a worker again
    home.say({last: frame})
    assert leader.wait(timeout=30) == 0, home.log(leader)
    bob.send_signal(signal.SIGTERM)
    asked_s = time.monotonic()
    assert bob.wait(timeout=10) == 0
    assert time.monotonic() - asked_s < 2

    assert dict(store.answers(round)) == frames
    assert store.refused() == []
    assert store.alarms() == {}
    release = thermal.release(home.plan, home.payloads(frames), None)
    assert store.release(round) == (release.values, DEVICES)
    assert set(holders(store).values()) == {""}

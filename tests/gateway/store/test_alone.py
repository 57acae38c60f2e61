"""One gateway to a store: the second is turned away."""

import subprocess
import sys
import threading
import time
from typing import Any

import psycopg
import pytest

from gateway.faults import OperatorFault
from gateway.store import opening as locks
from gateway.store import postgres
from gateway.store.opening import alone
from gateway.store.places import Database, Place
from tests import processes

HOLDS = """
import sys
from pathlib import Path
from gateway.store.opening import alone
from gateway.store.places import Database

place = Path(sys.argv[1]) if len(sys.argv) == 2 else Database(sys.argv[1], Path(sys.argv[2]))
with alone(place):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_gateway_is_turned_away(place: Place) -> None:
    """Two would throw each other off the broker."""
    with alone(place), pytest.raises(OperatorFault, match="another gateway runs on the database"):
        alone(place).__enter__()
    with alone(place):
        pass


@pytest.mark.long
def test_the_lock_goes_with_a_process_that_is_killed(place: Place) -> None:
    """A gateway that died must not keep its successor out."""
    words = [str(place)]
    if isinstance(place, Database):
        words = [place.words, str(place.password_file)]
    command = [sys.executable, "-c", HOLDS, *words]
    with processes.Child(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        with pytest.raises(OperatorFault, match="another gateway"):
            alone(place).__enter__()
        child.kill()
    with _soon(place):
        pass


@pytest.mark.long
def test_the_lock_is_taken_again_after_the_server_was(
    own_cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that was started again has forgotten who held what; we have not."""
    monkeypatch.setattr(locks, "LOOK_S", 0.1)
    place, lost = own_cluster.place(), threading.Event()
    with alone(place, lost=lost.set):
        own_cluster.stop("immediate")
        own_cluster.start()
        with psycopg.connect(**own_cluster.words(), autocommit=True) as look:
            held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
            for _ in range(100):
                if look.execute(held).fetchone() == (1,):
                    break
                time.sleep(0.1)
        with pytest.raises(OperatorFault, match="another gateway"):
            alone(place).__enter__()
        assert not lost.is_set()

        taken = locks._taken
        monkeypatch.setattr(locks, "_taken", lambda *_: None)  # another one was quicker
        own_cluster.stop("immediate")
        own_cluster.start()
        assert lost.wait(10)
        monkeypatch.setattr(locks, "_taken", taken)


@pytest.mark.long
def test_the_server_asks_whether_the_holder_is_still_there(own_cluster: Any) -> None:
    """A machine that lost its power says no goodbye: its lock would stay for two hours."""
    engine = postgres.engine(own_cluster.place()).execution_options(isolation_level="AUTOCOMMIT")
    usual, asked = engine.connect(), locks._taken(engine)
    assert asked is not None
    seconds = []
    for connection in (usual, asked):
        names = ("idle", "interval", "count")
        idle, every, times = (
            int(connection.exec_driver_sql(f"SHOW tcp_keepalives_{name}").scalar())
            for name in names
        )
        seconds.append(idle + every * times)
        connection.close()
    engine.dispose()
    assert seconds[1] <= 15
    assert seconds[0] > 600  # the server's own: what is held against the lock's connection


def _soon(place: Place) -> Any:
    """Return the lock as soon as it is free: the server has to notice first."""
    for _ in range(50):
        held = alone(place)
        try:
            held.__enter__()
        except OperatorFault:
            time.sleep(0.1)
            continue
        held.__exit__(None, None, None)
        return alone(place)
    raise AssertionError("it is still held")

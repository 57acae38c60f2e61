"""A deployment says where its store is, and everything that opens one goes there."""

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest

from gateway.faults import OperatorFault
from gateway.settings import config
from gateway.store import opening as locks
from gateway.store import postgres
from gateway.store.opening import alone
from gateway.store.places import Database, Place, place_of
from gateway.store.store import Store
from tests import processes

SITE = """
[site]
name = "lab"
[room]
cells = 10
[heat]
spread_m2 = 0.01
[sensors]
count = 4
[privacy]
epsilon = "8/1"
delta = "1/100000"
"""


def _deployment(folder: Path, more: str = "") -> Any:
    path = folder / "site.toml"
    path.write_text(SITE + more)
    return config.load(path)


def test_without_a_word_it_is_the_file_beside_the_deployment(tmp_path: Path) -> None:
    """Relative paths count from the deployment file."""
    deployment = _deployment(tmp_path)
    assert place_of(deployment) == tmp_path / "heatveil.sqlite"
    Store.of(deployment).close()
    assert (tmp_path / "heatveil.sqlite").exists()


def test_with_a_word_it_is_postgresql(tmp_path: Path, database: Database) -> None:
    """The password file too counts from there, and a backup is not ours to make."""
    assert database.password_file is not None
    (tmp_path / "word").write_text(database.password_file.read_text())
    more = f'[store]\npostgresql = "{database.words}"\npassword_file = "word"\n'
    deployment = _deployment(tmp_path, more)
    store = Store.of(deployment)

    assert place_of(deployment) == Database(database.words, tmp_path / "word")
    assert store.engine.dialect.name == "postgresql"
    with pytest.raises(OperatorFault, match="Run pg_dump"):
        store.backup(tmp_path / "copy")
    store.close()
    assert not (tmp_path / "heatveil.sqlite").exists()


def test_two_that_make_a_store_at_once_make_one(database: Database) -> None:
    """Workers start together; the second finds the tables of the first."""
    faults: list[BaseException] = []

    def make() -> None:
        try:
            Store(database, "lab").close()
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []


@pytest.mark.long
def test_without_psycopg_it_is_said_what_to_install(tmp_path: Path) -> None:
    """PostgreSQL is for those who ask for it, and nobody else has to install its driver."""
    program = (
        "import sys; sys.modules['psycopg'] = None; "
        "from gateway.store.store import Store; from gateway.store.places import Database\n"
        "try: Store(Database('host=127.0.0.1'), 'lab')\n"
        "except Exception as fault: print(type(fault).__name__, fault)"
    )
    ran = processes.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout.startswith("OperatorFault"), ran.stderr
    assert "heatveil[postgres]" in ran.stdout


# One gateway to a store: the second is turned away.

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

        taken = locks._take
        monkeypatch.setattr(locks, "_take", lambda *_: None)  # another one was quicker
        own_cluster.stop("immediate")
        own_cluster.start()
        assert lost.wait(10)
        monkeypatch.setattr(locks, "_take", taken)


@pytest.mark.long
def test_the_server_asks_whether_the_holder_is_still_there(own_cluster: Any) -> None:
    """A machine that lost its power says no goodbye: its lock would stay for two hours."""
    engine = postgres.engine(own_cluster.place()).execution_options(isolation_level="AUTOCOMMIT")
    usual, asked = engine.connect(), locks._take(engine)
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

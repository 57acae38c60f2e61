"""PostgreSQL keeps what SQLite is held to, over a server that is gone; no secret shows."""

import subprocess
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy.exc import DBAPIError

from gateway.faults import OperatorFault
from gateway.service.intake.outcomes import Asked, Kept
from gateway.store import places
from gateway.store.places import Database
from gateway.store.store import Store
from tests import processes

KEY = b"key1"


def kept(seq: int, frame: bytes = b"frame") -> Kept:
    return Kept("north", 1, seq, seq.to_bytes(4, "big"), frame, KEY)


def test_a_commit_is_on_the_disk_whatever_the_server_would_do(database: Database) -> None:
    """A server that was made fast for others would lose what a device has let go of."""
    words = database.words.replace("options='", "options='-c synchronous_commit=off ")
    store = Store(Database(words, database.password_file), "lab")
    with store.engine.connect() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
    store.close()


def test_an_error_says_nothing_of_the_row_it_is_about(database: Database) -> None:
    """PostgreSQL would print the row; errors go to logs, and logs to places nobody reviews."""
    store = Store(database, "lab")
    store.keep([kept(1)])
    broken: Any = kept(2, b"what nobody may read")._replace(device=None)
    for batch in ([kept(1, b"what nobody may read")], [broken]):
        with pytest.raises(DBAPIError) as caught:
            store.keep(batch)
        for said in (str(caught.value), repr(caught.value), str(caught.value.orig)):
            assert "nobody" not in said
            assert b"what nobody may read".hex() not in said
            assert "north" not in said
    store.close()


def test_the_password_is_in_no_error(database: Database, cluster: Any, tmp_path: Path) -> None:
    """Whatever is wrong with the way to the database, its key is not shown for it."""
    wrong, secret = tmp_path / "wrong", "hunter2-and-more"
    wrong.write_text(secret)
    faults = {
        Database(database.words, wrong): "password authentication failed",
        Database(database.words, tmp_path / "none"): "cannot be read",
        Database(f"{database.words} password={secret}"): "must not",
        Database(f"postgresql://keeper:{secret}@127.0.0.1/x"): "must not",
        Database(f"host=127.0.0.1 {secret}"): "cannot be read",
        Database(f"postgresql://keeper:{secret}@[127.0.0.1/x"): "cannot be read",
        Database("host=127.0.0.1 port=1 user=keeper", wrong): "cannot be opened",
    }
    for place, said in faults.items():
        with pytest.raises(OperatorFault, match=said) as caught:
            Store(place, "lab")
        causes, fault = [], caught.value.__cause__ or caught.value
        while fault is not None:
            causes.append(repr(fault))
            fault = fault.__cause__ or fault.__context__
        assert secret not in " ".join([str(caught.value), repr(place), *causes])


@pytest.mark.long
def test_a_server_that_is_gone_is_waited_for(own_cluster: Any) -> None:
    """The same batch is tried until the server is there again, and is then there once."""
    store = Store(own_cluster.place(), "lab")
    store.keep([kept(1)])
    own_cluster.stop("immediate")
    stopping, done = threading.Event(), threading.Event()

    def keep() -> None:
        places.patiently(stopping, store.keep, [kept(2)])
        done.set()

    thread = threading.Thread(target=keep)
    thread.start()
    time.sleep(1)
    assert not done.is_set()
    own_cluster.start()
    assert done.wait(10)
    thread.join()
    assert store.newest() == {("north", KEY): (1, 2)}

    own_cluster.stop("immediate")
    stopping.set()
    with pytest.raises(places.Stopped):
        places.patiently(stopping, store.keep, [kept(3)])
    own_cluster.start()
    assert places.patiently(threading.Event(), store.newest) == {("north", KEY): (1, 2)}
    store.close()


OPENS = """
import sys
from fractions import Fraction
from types import SimpleNamespace as Some
from pathlib import Path
from gateway.service.intake.outcomes import Asked
from gateway.store.places import Database
from gateway.store.store import Store

store = Store(Database(sys.argv[1], Path(sys.argv[2])), "lab")
promise = Some(neighbours="n", trust="t", epsilon=None, delta=None)
sys.stdin.readline()
for n in range(40):
    plan = Some(number=int(sys.argv[3]) * 1000 + n, mechanism="thermal", guarantee=promise)
    name = plan.number.to_bytes(4, "big")
    print(store.open_round(Asked(name, name, plan, b"", Fraction(1, 7)), Fraction(40, 7)) == "")
"""


@pytest.mark.long
def test_two_processes_cannot_spend_more_than_there_is(database: Database) -> None:
    """Each sees what the other has charged before it charges: there is enough for forty."""
    Store(database, "lab").close()
    words = [database.words, str(database.password_file)]
    children = [
        processes.Child(
            [sys.executable, "-c", OPENS, *words, str(n)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in (1, 2)
    ]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    said = "".join(child.communicate(timeout=60)[0] for child in children)

    assert said.count("True") == 40
    assert said.count("False") == 40
    store = Store(database, "lab")
    assert sum(charge.rho for charge in store.charges()) == Fraction(40, 7)
    store.close()


@pytest.mark.long
def test_a_lock_that_another_holds_is_waited_for_only_so_long(
    database: Database, cluster: Any, home: Any
) -> None:
    """Else a tool that was left in a transaction would hold a gateway for ever, unheard."""
    store, plan = Store(database, "lab"), home.round()
    options = database.words.partition("options=")[2].strip("'")
    with psycopg.connect(**cluster.words(), options=options) as other:
        other.execute("SELECT * FROM about FOR UPDATE")
        began_s = time.monotonic()
        with pytest.raises(DBAPIError) as caught:
            store.open_round(Asked(b"name", b"name", plan, b"", Fraction(1)), Fraction(1))
        assert places.of_the_disk(caught.value)
        assert 1 < time.monotonic() - began_s < 10
    store.close()

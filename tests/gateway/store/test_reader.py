"""Who only reads the store: pages of it, and stores at other places."""

import sqlite3
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError

from gateway.faults import OperatorFault
from gateway.service.intake.outcomes import (
    Alarm,
    AskedRound,
    CountedReport,
    DeadLetter,
    HeardMessage,
    SecondAnswer,
)
from gateway.service.ledger import Charge
from gateway.settings import config
from gateway.store import opening as locks
from gateway.store import postgres
from gateway.store.opening import lock_store
from gateway.store.places import Database, Place, find_place
from gateway.store.reader import SLEPT, MissingNumbers, Reader
from gateway.store.schema import SCHEMA
from gateway.store.store import Store
from tests import processes, sites

# What people read is what the gateway wrote, and reading leaves no trace and bars no way.

RHO = Fraction(1, 7)
KEY = b"key1"


def _name(number: int) -> bytes:
    return number.to_bytes(4, "big")


def _filled(place: Place, home: Any) -> Store:
    """Return a store with three rounds: released and drawn, released, open."""
    store = Store(place, "lab")
    for number in (1, 2, 3):
        asked = AskedRound(_name(number), _name(number), home.round(number), b"message", RHO)
        assert store.open_round(asked, 4 * RHO, keys=dict.fromkeys("abcd", b"")) == ""
        kept = [
            CountedReport(who, 1, number, _name(number), b"frame", KEY)
            for who in ("north", "south")
        ]
        store.keep_batch(kept)
    for number in (1, 2):
        store.close_round(_name(number), [number, None], 2)
        store.keep_map(_name(number), f'{{"number": {number}}}')
    letters = [DeadLetter("a/b", "why", b"12345", kind) for kind in ("late", "flood", "late")]
    again = [SecondAnswer(_name(1), Charge(RHO, "north"), b"again")]
    heard = [HeardMessage("north", 1, 9, _name(3), b"late", KEY)]
    store.keep_batch([], letters, again, heard, [Alarm("south", KEY, "set back")])
    store.keep_batch([], alarms=[Alarm("unheard", KEY, "leapt")])
    store.quarantine("south", "it floods")
    store.quarantine("unheard", "shut")
    store.keep_jumped_clocks(["west", "south"])
    store.keep_jumped_clocks(["north"])
    return store


def test_everything_that_was_written_is_shown(place: Place, home: Any) -> None:
    """Each row under its round's number, newest first, page by page, exact."""
    store = _filled(place, home)
    reader = Reader(place)

    assert [row.number for row in reader.list_rounds(2)] == [3, 2]
    assert [row.number for row in reader.list_rounds(2, before=2)] == [1]
    first, last = reader.find_round(1), reader.find_round(3)
    assert last is not None
    assert first.closed_s is not None
    assert first.opened_s <= first.closed_s
    assert (first.reports, first.enrolled, first.rho, first.outcome) == (2, 4, RHO, "closed")
    assert first.name_hex == "00000001"
    assert (last.reports, last.closed_s, last.outcome) == (None, None, "open")
    assert reader.find_round(4) is None
    assert reader.read_release(2) == [2, None]
    assert reader.read_release(3) is None
    assert reader.read_map() == {"number": 2}
    assert reader.read_map(1) == {"number": 1}
    assert reader.read_map(3) is None
    assert reader.read_message(1) == b"message"
    assert [(one.device, one.frame) for one in reader.list_answers(1)] == [
        ("north", b"frame"),
        ("south", b"frame"),
    ]
    charges = reader.list_charges(2)
    assert [(row.number, row.device, row.rho) for row in charges] == [
        (1, "north", RHO),
        (3, "", RHO),
    ]
    assert [row.number for row in reader.list_charges(9, before=charges[-1].id)] == [2, 1]
    assert reader.read_ledger(4 * RHO).spent == 4 * RHO
    assert reader.read_promise()[1] == 4 * RHO
    north, south = reader.list_devices()
    enrolled = {"south": b"newk", "north": KEY, "east": b"newk", "unheard": KEY}
    east, new, same, gone = reader.list_devices(enrolled)
    assert (north.name, north.epoch, north.seq, north.reports) == ("north", 1, 9, 3)
    assert (south.alarm, south.quarantine, south.reports) == ("set back", "it floods", 3)
    assert (north.alarm, north.quarantine) == (None, None)
    assert (north.clock, south.clock) == (SLEPT, None)  # as was said last
    assert (east.name, east.last_s, east.quarantine) == ("east", None, None)
    assert (same.alarm, same.reports, same.quarantine) == (None, 0, "it floods")
    assert (gone.alarm, gone.quarantine, gone.last_s) == ("leapt", "shut", None)
    assert new == north
    assert north.last_s is not None
    assert north.last_s > first.opened_s
    refused = reader.list_refused(2)
    assert [(row.kind, row.size) for row in refused] == [("late", 5), ("flood", 5)]
    assert [row.kind for row in reader.list_refused(2, before=refused[-1].id)] == ["late"]
    assert reader.count_refused_by_kind() == {"flood": 1, "late": 2}
    assert reader.list_gaps("north") == [MissingNumbers(1, 4, 8)]
    assert reader.list_gaps("south") == []
    reader.close()
    store.close()


def test_what_one_device_sent_is_looked_up(tmp_path: Path, home: Any) -> None:
    """A page asks for it, and a store of a year holds millions of reports."""
    store = _filled(tmp_path / "heatveil.sqlite", home)
    reader, asked = Reader(tmp_path / "heatveil.sqlite"), list[Any]()
    event.listen(reader._engine, "before_cursor_execute", lambda *given: asked.append(given[2:4]))
    reader.list_gaps("north")
    with sqlite3.connect(tmp_path / "heatveil.sqlite") as file:
        steps = [
            row[3]
            for said, given in asked
            if "SELECT" in said
            for row in file.execute(f"EXPLAIN QUERY PLAN {said}", given)
        ]

    assert any(step.startswith("SEARCH reports") for step in steps)
    assert not [step for step in steps if step.startswith("SCAN reports")]
    reader.close()
    store.close()


@pytest.mark.long
def test_a_reader_cannot_write(place: Place, home: Any) -> None:
    """Whatever asks for it, and wherever its mistake is."""
    _filled(place, home).close()
    reader = Reader(place)
    with pytest.raises(DBAPIError), reader._engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM charges")
    assert len(reader.list_charges()) == 4
    reader.close()


def test_reading_leaves_nothing_behind_and_makes_nothing(tmp_path: Path, home: Any) -> None:
    """A log that belongs to who read, as root perhaps, would keep the gateway out."""
    path = tmp_path / "heatveil.sqlite"
    with pytest.raises(OperatorFault, match="there is no store"):
        Reader(path)
    assert list(tmp_path.iterdir()) == []
    _filled(path, home).close()
    before = path.read_bytes()

    reader = Reader(path)
    assert len(reader.list_rounds()) == 3
    reader.close()

    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == before


def test_a_store_of_another_schema_is_not_read(tmp_path: Path) -> None:
    """Older: the gateway brings it up to date, and nobody else does; newer: nobody here can."""
    path = tmp_path / "heatveil.sqlite"
    Store(path, "lab").close()
    older, newer = "heatveil serve brings it up to date", "Use its version"
    for schema, said in ((SCHEMA - 1, older), (SCHEMA + 1, newer)):
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE about SET schema = ?", [schema])
        connection.close()
        with pytest.raises(OperatorFault, match=said):
            Reader(path)


# A deployment says where its store is, and everything that opens one goes there.


def _deployment(folder: Path, more: str = "") -> Any:
    path = folder / "site.toml"
    path.write_text(sites.small("lab", 1883) + more)
    return config.load_deployment(path)


def test_without_a_word_it_is_the_file_beside_the_deployment(tmp_path: Path) -> None:
    """Relative paths count from the deployment file."""
    deployment = _deployment(tmp_path)
    assert find_place(deployment) == tmp_path / "heatveil.sqlite"
    Store.open_for(deployment).close()
    assert (tmp_path / "heatveil.sqlite").exists()


def test_with_a_word_it_is_postgresql(tmp_path: Path, database: Database) -> None:
    """The password file too counts from there, and a backup is not ours to make."""
    (tmp_path / "word").write_text(database.password_file.read_text())
    more = f'[store]\npostgresql = "{database.words}"\npassword_file = "word"\n'
    deployment = _deployment(tmp_path, more)
    store = Store.open_for(deployment)

    assert find_place(deployment) == Database(database.words, tmp_path / "word")
    assert store.engine.dialect.name == "postgresql"
    with pytest.raises(OperatorFault, match="Run pg_dump"):
        store.backup(tmp_path / "copy")
    store.close()
    assert not (tmp_path / "heatveil.sqlite").exists()


def test_two_that_make_a_store_at_once_make_one(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers start together; the second finds the tables of the first."""
    monkeypatch.setattr(postgres, "OPTIONS", "-c lock_timeout=60000")
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
    assert "pip install -e '.[postgres]'" in ran.stdout


# One gateway to a store: the second is turned away.


def test_a_second_gateway_is_turned_away(place: Place) -> None:
    """Two would throw each other off the broker."""
    with (
        lock_store(place),
        pytest.raises(OperatorFault, match="another gateway runs on the database"),
    ):
        lock_store(place).__enter__()
    with lock_store(place):
        pass


def test_a_gateway_that_ends_gives_its_lock_back_before_its_connection_goes(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server hears of a closed connection a moment later: too late for who starts at once."""
    let_go, still = locks._let_go, list[Any]()
    monkeypatch.setattr(locks, "_let_go", still.append)
    with lock_store(database):
        pass
    with lock_store(database):
        pass

    assert len(still) == 2
    for connection in still:
        let_go(connection)


@pytest.mark.long
def test_the_lock_is_taken_again_after_the_server_was(
    own_cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that was started again has forgotten who held what; we have not."""
    monkeypatch.setattr(locks, "LOOK_S", 0.1)
    place, lost = own_cluster.place(), threading.Event()
    with lock_store(place, lost=lost.set):
        own_cluster.stop("immediate")
        own_cluster.start()
        with psycopg.connect(**own_cluster.words(), autocommit=True) as look:
            held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
            for _ in range(100):
                if look.execute(held).fetchone() == (1,):
                    break
                time.sleep(0.1)
        with pytest.raises(OperatorFault, match="another gateway"):
            lock_store(place).__enter__()
        assert not lost.is_set()

        taken = locks._take
        monkeypatch.setattr(locks, "_take", lambda *_: None)  # another one was quicker
        own_cluster.stop("immediate")
        own_cluster.start()
        assert lost.wait(60)
        monkeypatch.setattr(locks, "_take", taken)


@pytest.mark.long
def test_the_server_asks_whether_the_holder_is_still_there(own_cluster: Any) -> None:
    """A machine that lost its power says no goodbye: its lock would stay for two hours."""
    engine = postgres.make_engine(own_cluster.place()).execution_options(
        isolation_level="AUTOCOMMIT"
    )
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
